//! Tables in Arrow's memory format, exported through the PyCapsule interface.

use std::sync::Arc;

use anabranch_lab::results::{Column, Table as LabTable, Values};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringViewArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table of results.
///
/// It implements Arrow's PyCapsule interface, so that ``pyarrow.table(t)``, ``polars.DataFrame(t)`` and
/// ``pandas.DataFrame.from_arrow(t)`` read it without copying the columns.
#[pyclass(frozen, module = "anabranch")]
pub(crate) struct Table(RecordBatch);

impl Table {
    /// Moves the columns into Arrow arrays.
    pub(crate) fn of(table: LabTable) -> PyResult<Self> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = table.columns.into_iter().map(arrow).unzip();
        let schema = Arc::new(Schema::new(fields));
        RecordBatch::try_new(schema, arrays).map(Self).map_err(refused)
    }
}

/// A column with its type; values may be missing.
fn arrow(column: Column) -> (Field, ArrayRef) {
    let (kind, array): (DataType, ArrayRef) = match column.values {
        // Views, because polars has strings in this form and would copy those in another one.
        Values::Words(words) => (DataType::Utf8View, Arc::new(StringViewArray::from(words))),
        Values::Whole(numbers) => (DataType::Int64, Arc::new(Int64Array::from(numbers))),
        Values::Numbers(numbers) => (DataType::Float64, Arc::new(Float64Array::from(numbers))),
    };
    (Field::new(column.name, kind, true), array)
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn refused(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.0.schema_ref();
        schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!(
            "<anabranch.Table: {} rows, {} columns>",
            self.0.num_rows(),
            self.0.num_columns()
        )
    }

    /// The table as a stream of one record batch (Arrow's PyCapsule interface).
    ///
    /// `requested_schema` is a wish that a producer may ignore, as this one does.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

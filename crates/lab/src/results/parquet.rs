//! Tables as Parquet: one row group; the same table gives the same bytes.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use super::table::{Column, Table, Values};

/// The table as a Parquet file.
pub(super) fn parquet(table: &Table) -> Result<Vec<u8>> {
    // The library's default contains its version; the file must not depend on it.
    let properties = WriterProperties::builder()
        .set_created_by("anabranch".into())
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema(table)?, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let mut columns = table.columns.iter();
    while let Some(mut column) = group.next_column()? {
        if let Some(Column { values, .. }) = columns.next() {
            write(&mut column, values)?;
        }
        column.close()?;
    }
    group.close()?;
    writer.into_inner()
}

fn schema(table: &Table) -> Result<TypePtr> {
    let fields = table.columns.iter().map(|column| {
        let (physical, logical) = match column.values {
            Values::Words(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Values::Whole(_) => (Physical::INT64, None),
            Values::Numbers(_) => (Physical::DOUBLE, None),
        };
        let field = Type::primitive_type_builder(&column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()?;
        Ok(Arc::new(field))
    });
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(
        Type::group_type_builder("table").with_fields(fields).build()?,
    ))
}

fn write(writer: &mut SerializedColumnWriter<'_>, values: &Values) -> Result<()> {
    match values {
        Values::Words(words) => {
            let bytes = words.iter().map(|word| word.as_deref().map(ByteArray::from));
            write_typed::<ByteArrayType>(writer, &bytes.collect::<Vec<_>>())
        }
        Values::Whole(numbers) => write_typed::<Int64Type>(writer, numbers),
        Values::Numbers(numbers) => write_typed::<DoubleType>(writer, numbers),
    }
}

/// Writes the present values, and definition levels for missing ones.
fn write_typed<D: DataType>(writer: &mut SerializedColumnWriter<'_>, values: &[Option<D::T>]) -> Result<()> {
    let present: Vec<D::T> = values.iter().flatten().cloned().collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    writer.typed::<D>().write_batch(&present, Some(&levels), None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use ::parquet::file::reader::{FileReader as _, SerializedFileReader};

    use super::super::table::Table;
    use super::parquet;

    #[test]
    fn parquet_is_readable_and_reproducible() {
        let mut table = Table::default();
        table.words("series", ["plain".to_owned(), "split".to_owned()]);
        table.numbers("goodput", [Some(19.25), None]);
        table.whole("seed", [1, 2]);
        let bytes = parquet(&table).unwrap();
        assert_eq!(parquet(&table).unwrap(), bytes);
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<String> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().to_string())
            .collect();
        assert_eq!(
            rows,
            [
                "{series: \"plain\", goodput: 19.25, seed: 1}",
                "{series: \"split\", goodput: null, seed: 2}"
            ]
        );
    }
}

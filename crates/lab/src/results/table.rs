//! Result tables: named columns of strings, integers or numbers, with missing values.

/// A column.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its values, one for each row.
    pub values: Values,
}

/// The values of a column; `None` where missing.
#[derive(Clone, PartialEq, Debug)]
pub enum Values {
    /// Strings.
    Words(Vec<Option<String>>),
    /// Integers.
    Whole(Vec<Option<i64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
}

/// A table.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// Its columns, all of the same length.
    pub columns: Vec<Column>,
}

impl Table {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Adds a column of strings.
    pub fn words<W: Into<Option<String>>>(&mut self, name: &str, values: impl IntoIterator<Item = W>) {
        self.add(name, Values::Words(values.into_iter().map(Into::into).collect()));
    }

    /// Adds a column of integers.
    pub fn whole<N: Into<Option<i64>>>(&mut self, name: &str, values: impl IntoIterator<Item = N>) {
        self.add(name, Values::Whole(values.into_iter().map(Into::into).collect()));
    }

    /// Adds a column of numbers.
    pub fn numbers<N: Into<Option<f64>>>(&mut self, name: &str, values: impl IntoIterator<Item = N>) {
        self.add(
            name,
            Values::Numbers(values.into_iter().map(Into::into).collect()),
        );
    }

    /// Keeps only the columns selected by name.
    pub fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        self.columns.retain(|column| keeps(&column.name));
    }

    fn add(&mut self, name: &str, values: Values) {
        self.columns.push(Column {
            name: name.to_owned(),
            values,
        });
    }
}

impl Values {
    /// Number of values, including missing ones.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Words(values) => values.len(),
            Self::Whole(values) => values.len(),
            Self::Numbers(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Converts to the integer type of tables.
pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

//! Output of results: a table, or JSON.

use std::fmt::Write as _;

/// A column of figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its heading and its key in JSON, with the unit: `gbit_per_s`.
    pub name: &'static str,
    /// Digits after the decimal point, in the table.
    pub decimals: usize,
}

/// Rows of figures under a title.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    title: String,
    columns: Vec<Column>,
    rows: Vec<(String, Vec<f64>)>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(title: impl Into<String>, columns: &[Column]) -> Self {
        Self {
            title: title.into(),
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; an unknown figure is NaN.
    ///
    /// # Panics
    ///
    /// If there is not one figure for each column.
    pub fn row(&mut self, name: impl Into<String>, figures: &[f64]) {
        assert_eq!(figures.len(), self.columns.len(), "one figure for each column");
        self.rows.push((name.into(), figures.to_vec()));
    }

    /// Prints the table, or JSON.
    pub fn print(&self, json: bool) {
        println!("{}", if json { self.json() } else { self.text() });
    }

    fn text(&self) -> String {
        let first = self.rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut text = format!("{}\n{:first$}", self.title, "");
        let width = |column: &Column| column.name.len().max(10);
        for column in &self.columns {
            let _ = write!(text, "  {:>1$}", column.name, width(column));
        }
        for (name, figures) in &self.rows {
            let _ = write!(text, "\n{name:first$}");
            for (column, figure) in self.columns.iter().zip(figures) {
                let _ = match figure.is_nan() {
                    true => write!(text, "  {:>1$}", "-", width(column)),
                    false => write!(text, "  {figure:>0$.1$}", width(column), column.decimals),
                };
            }
        }
        text.push('\n');
        text
    }

    /// One object on one line. Titles and names contain no characters that JSON would have to escape.
    fn json(&self) -> String {
        let rows = self.rows.iter().map(|(name, figures)| {
            let figures = self.columns.iter().zip(figures);
            let members = figures.map(|(column, figure)| match figure.is_finite() {
                true => format!(",\"{}\":{figure}", column.name),
                false => format!(",\"{}\":null", column.name),
            });
            format!("{{\"name\":\"{name}\"{}}}", members.collect::<String>())
        });
        let rows = rows.collect::<Vec<_>>().join(",");
        format!("{{\"title\":\"{}\",\"rows\":[{rows}]}}", self.title)
    }
}

/// The median; NaN if there are no figures.
#[must_use]
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_written_as_text_and_json() {
        let columns = [Column {
            name: "ns",
            decimals: 1,
        }];
        let mut table = Table::new("cost", &columns);
        table.row("one", &[1.25]);
        table.row("none", &[f64::NAN]);
        assert_eq!(
            table.text(),
            "cost\n              ns\none          1.2\nnone           -\n"
        );
        assert_eq!(
            table.json(),
            r#"{"title":"cost","rows":[{"name":"one","ns":1.25},{"name":"none","ns":null}]}"#
        );
    }

    #[test]
    fn median_of_odd_even_and_no_values() {
        assert!(median(&[]).is_nan());
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}

//! Tables as CSV (RFC 4180), with the shortest exact decimal form of numbers.

use core::fmt::Write as _;

use super::table::{Table, Values};

/// The table as CSV with a header line; missing values are empty.
pub(super) fn csv(table: &Table) -> String {
    let mut text = String::new();
    let names = table.columns.iter().map(|column| quoted(&column.name));
    line(&mut text, names);
    for row in 0..table.rows() {
        line(
            &mut text,
            table.columns.iter().map(|column| cell(&column.values, row)),
        );
    }
    text
}

fn line(text: &mut String, cells: impl Iterator<Item = String>) {
    for (index, cell) in cells.enumerate() {
        let separator = if index == 0 { "" } else { "," };
        // Writing into a string cannot fail.
        let _ = write!(text, "{separator}{cell}");
    }
    text.push('\n');
}

fn cell(values: &Values, row: usize) -> String {
    match values {
        Values::Words(words) => words[row].as_deref().map(quoted),
        Values::Whole(numbers) => numbers[row].map(|number| number.to_string()),
        Values::Numbers(numbers) => numbers[row].map(|number| number.to_string()),
    }
    .unwrap_or_default()
}

/// RFC 4180 §2: cells with commas, quotes or line breaks are quoted, and quotes in them doubled.
fn quoted(word: &str) -> String {
    if word.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", word.replace('"', "\"\""))
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::Table;
    use super::csv;

    #[test]
    fn missing_values_are_empty_and_commas_quoted() {
        let mut table = Table::default();
        table.words("series", ["plain".to_owned(), "with \"x\", and y".to_owned()]);
        table.numbers("goodput", [Some(19.25), None]);
        table.whole("seed", [1, 2]);
        assert_eq!(
            csv(&table),
            "series,goodput,seed\nplain,19.25,1\n\"with \"\"x\"\", and y\",,2\n"
        );
    }
}

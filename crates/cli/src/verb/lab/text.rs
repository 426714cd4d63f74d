//! Text tables with aligned columns.

use crate::failure::Failure;
use crate::output::print;

/// Prints a JSON object on one line.
pub(super) fn print_json(object: &serde_json::Value) -> Result<(), Failure> {
    print(format!("{object}\n"))
}

/// Formats rows of cells, the first row being the header: first column left-aligned, the others right-aligned.
pub(super) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let cell = if column == 0 {
                format!("{cell:<width$}")
            } else {
                format!("  {cell:>width$}")
            };
            text += &cell;
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_aligned() {
        let rows = [["series", "10", "100"], ["base", "19.2", "9"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(columns(&rows), "series    10  100\nbase    19.2    9\n");
    }
}

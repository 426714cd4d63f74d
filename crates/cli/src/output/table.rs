//! Result table of the demo: a row for each run.

use super::DemoRow;
use super::units::{bytes_text, rate_text};

const HEAD: [&str; 9] = [
    "run",
    "size",
    "time",
    "goodput",
    "upper bound",
    "of bound",
    "of sum",
    "of best path",
    "carried by each path",
];

/// The table as text; every line ends with a newline.
pub(super) fn table(rows: &[DemoRow], sum_of_single: f64) -> String {
    let best = rows
        .iter()
        .filter(|row| row.carried.len() == 1)
        .map(|row| row.goodput_bit_s)
        .fold(0.0, f64::max);
    let mut table: Vec<[String; 9]> = vec![HEAD.map(str::to_owned)];
    table.extend(rows.iter().map(|row| cells(row, sum_of_single, best)));
    let width = |column: usize| {
        table
            .iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 9] = std::array::from_fn(width);
    table.iter().map(|row| aligned(row, widths)).collect()
}

fn cells(row: &DemoRow, sum_of_single: f64, best: f64) -> [String; 9] {
    // Single paths are not compared with themselves, nor runs with a link failure with runs without.
    let compared = |text: String| {
        if row.carried.len() > 1 && !row.cut {
            text
        } else {
            String::new()
        }
    };
    [
        row.run.clone(),
        bytes_text(row.size),
        format!("{:.1} s", row.seconds),
        rate_text(row.goodput_bit_s),
        rate_text(row.upper_bound_bit_s),
        percent(row.goodput_bit_s, row.upper_bound_bit_s),
        compared(percent(row.goodput_bit_s, sum_of_single)),
        compared(percent(row.goodput_bit_s, best)),
        shares(&row.carried),
    ]
}

fn percent(part: f64, whole: f64) -> String {
    format!("{:.0} %", 100.0 * part / whole)
}

fn shares(carried: &[u64]) -> String {
    let all: u64 = carried.iter().sum();
    let shares: Vec<String> = carried
        .iter()
        .map(|bytes| percent(*bytes as f64, all.max(1) as f64))
        .collect();
    shares.join(" + ")
}

/// Aligns the first column to the left, the others to the right.
fn aligned(row: &[String; 9], widths: [usize; 9]) -> String {
    let cells = row
        .iter()
        .zip(widths)
        .enumerate()
        .map(|(column, (cell, width))| match column {
            0 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
    let text = cells.collect::<Vec<_>>().join("  ");
    format!("{}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_over_several_paths_show_sum_and_best_path() {
        let row = |run: &str, megabits: f64, carried: Vec<u64>, cut| DemoRow {
            run: run.into(),
            size: 20_000_000,
            seconds: 4.0,
            goodput_bit_s: megabits * 1e6,
            upper_bound_bit_s: 50e6,
            verified: true,
            cut,
            carried,
        };
        let rows = [
            row("one", 10.0, vec![1], false),
            row("both", 45.0, vec![1, 3], false),
            row("cut", 9.0, vec![2, 1], true),
        ];
        let text = table(&rows, 50.0e6);
        let fields: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split("  ").filter(|cell| !cell.is_empty()).collect())
            .collect();
        let trimmed: Vec<Vec<&str>> = fields
            .iter()
            .map(|line| line.iter().map(|cell| cell.trim()).collect())
            .collect();
        assert_eq!(
            trimmed[1],
            [
                "one",
                "20.0 MB",
                "4.0 s",
                "10.0 Mbit/s",
                "50.0 Mbit/s",
                "20 %",
                "100 %"
            ]
        );
        assert_eq!(trimmed[2][5..], ["90 %", "90 %", "450 %", "25 % + 75 %"]);
        assert_eq!(trimmed[3][5..], ["18 %", "67 % + 33 %"]);
    }
}

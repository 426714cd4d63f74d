//! Reports: a self-contained HTML page for each experiment, its figures as files, and an index.

mod charts;
mod figures;
mod index;
mod page;
mod style;

use std::io;
use std::path::{Path, PathBuf};

use anabranch_chart::{Chart, PngError};
use thiserror::Error;

pub use figures::figure;
pub use index::{Entry, index};

use crate::summary::ResultSummary;

/// Why a report could not be written.
#[derive(Debug, Error)]
pub enum ReportError {
    /// A file cannot be written.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    /// A figure cannot be rendered.
    #[error(transparent)]
    Png(#[from] PngError),
}

/// Scale of PNG files: sharp in print at column width.
const SCALE: f32 = 2.0;

/// Writes the report of an experiment to `folder`: the page `NAME.html`, and each figure as SVG and PNG. Returns the file of
/// the page. The same summary gives the same bytes.
///
/// # Errors
///
/// [`ReportError`].
pub fn write(summary: &ResultSummary, folder: &Path) -> Result<PathBuf, ReportError> {
    let charts = charts::of(summary);
    let all: Vec<&Chart> = charts.all().collect();
    for (number, chart) in all.iter().enumerate() {
        let name = file_name(&summary.plan, number, all.len());
        let drawing = chart.draw();
        put(folder, &format!("{name}.svg"), drawing.svg().as_bytes())?;
        put(folder, &format!("{name}.png"), &drawing.png(SCALE)?)?;
    }
    let name = format!("{}.html", summary.plan);
    put(folder, &name, page::page(summary, &charts).as_bytes())?;
    Ok(folder.join(name))
}

/// The figures of an experiment as SVG, in the order of its report. The same summary gives the same bytes.
#[must_use]
pub fn svgs(summary: &ResultSummary) -> Vec<String> {
    let charts = charts::of(summary);
    charts.all().map(|chart| chart.draw().svg()).collect()
}

/// Writes the index of all experiments to `folder` as `index.html`, and returns its file.
///
/// # Errors
///
/// [`ReportError`].
pub fn write_index(entries: &[Entry], folder: &Path) -> Result<PathBuf, ReportError> {
    put(folder, "index.html", index(entries).as_bytes())?;
    Ok(folder.join("index.html"))
}

/// File name of figure `number` of `all`, without extension.
fn file_name(plan: &str, number: usize, all: usize) -> String {
    if all == 1 {
        plan.to_owned()
    } else {
        format!("{plan}-{}", number + 1)
    }
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), ReportError> {
    let file = folder.join(name);
    crate::file::write(&file, bytes).map_err(|error| ReportError::Io(file, error))
}

#[cfg(test)]
mod tests;

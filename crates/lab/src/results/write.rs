//! Where do results go? Into a folder: tables as CSV and Parquet, and the settings that runs refer to.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use thiserror::Error;

use super::parquet::parquet;
use super::table::Table;
use super::{Results, csv, tables};

/// Why results are not in their folder.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The system did not let it be.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The Parquet library refused.
    #[error("parquet: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
}

/// Writes results into `folder`, which is made if need be; each file is complete or what it was before.
///
/// | file | what is in it |
/// |---|---|
/// | `runs.csv`, `.parquet` | one row for each run: line, coordinates, seed, setting, version, scalars |
/// | `summary.csv`, `.parquet` | one row for each place of each line of the figure |
/// | `series.csv`, `.parquet` | the time series, if the plan asks for them |
/// | `histograms.csv`, `.parquet` | the histograms, if the plan asks for them |
/// | `checks.csv` | what the checks found |
/// | `settings.json` | by its digest, each setting with every choice spelled out |
///
/// # Errors
///
/// [`WriteError`].
pub fn write(results: &Results<'_>, folder: &Path) -> Result<(), WriteError> {
    both(folder, "runs", &tables::runs(results))?;
    both(folder, "summary", &tables::summary(results))?;
    for (name, table) in [
        ("series", tables::time_series(results)),
        ("histograms", tables::histograms(results)),
    ] {
        if table.rows() > 0 {
            both(folder, name, &table)?;
        } else {
            // An earlier form of the plan may have asked for it.
            remove(&folder.join(format!("{name}.csv")))?;
            remove(&folder.join(format!("{name}.parquet")))?;
        }
    }
    put(
        folder,
        "checks.csv",
        csv::csv(&tables::findings(results)).as_bytes(),
    )?;
    put(folder, "settings.json", settings(results).as_bytes())?;
    Ok(())
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io::Error::new(
            error.kind(),
            format!("{}: {error}", file.display()),
        )),
        _ => Ok(()),
    }
}

fn both(folder: &Path, name: &str, table: &Table) -> Result<(), WriteError> {
    put(folder, &format!("{name}.csv"), csv::csv(table).as_bytes())?;
    put(folder, &format!("{name}.parquet"), &parquet(table)?)?;
    Ok(())
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let file = folder.join(name);
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
    crate::file::write(&file, bytes).map_err(named)
}

/// A line for each different setting.
fn settings(results: &Results<'_>) -> String {
    let different: BTreeMap<&str, String> = results
        .runs
        .iter()
        .map(|run| (run.setting.as_str(), run.point.setting_text()))
        .collect();
    let lines: Vec<String> = different
        .iter()
        .map(|(digest, text)| format!("\"{digest}\": {text}"))
        .collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

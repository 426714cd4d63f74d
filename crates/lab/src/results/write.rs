//! Writing of results to a folder: tables as CSV and Parquet, and the settings of the runs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use thiserror::Error;

use super::parquet::parquet;
use super::table::Table;
use super::{Results, csv, tables};

/// Why results could not be written or read.
#[derive(Debug, Error)]
pub enum WriteError {
    /// A file cannot be written or read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The Parquet library failed.
    #[error("parquet: {0}")]
    Parquet(#[from] ::parquet::errors::ParquetError),
}

/// Writes results to `folder`, which is created if missing. Each file is replaced atomically.
///
/// | file | contents |
/// |---|---|
/// | `runs.csv`, `.parquet` | one row for each run: series, coordinates, seed, setting, version, metrics |
/// | `summary.csv`, `.parquet` | one row for each point of each series of the figure |
/// | `time-series.csv`, `.parquet` | the time series, if the plan asks for them |
/// | `histograms.csv`, `.parquet` | the histograms, if the plan asks for them |
/// | `cells.csv`, `.parquet` | the drawn cells, if the plan draws some |
/// | `repetitions.csv`, `.parquet` | the repetitions of each cell, if the plan has a stop rule |
/// | `checks.csv` | findings of the checks |
/// | `settings.json` | each setting in full, by its digest |
///
/// # Errors
///
/// [`WriteError`].
pub fn write(results: &Results<'_>, folder: &Path) -> Result<(), WriteError> {
    both(folder, "runs", &tables::runs(results))?;
    both(folder, "summary", &tables::summary(results))?;
    for (name, table) in [
        ("time-series", tables::time_series(results)),
        ("histograms", tables::histograms(results)),
        ("cells", tables::cells(results.plan)),
        ("repetitions", tables::repetitions(results)),
    ] {
        if table.rows() > 0 {
            both(folder, name, &table)?;
        } else {
            // An earlier version of the plan may have recorded it.
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

/// Writes a table to `file`, which is replaced atomically: as CSV if its name ends so, otherwise as Parquet.
///
/// # Errors
///
/// [`WriteError`].
pub fn write_table(table: &Table, file: &Path) -> Result<(), WriteError> {
    let is_csv = file.extension().is_some_and(|ending| ending == "csv");
    let bytes = match is_csv {
        true => csv::csv(table).into_bytes(),
        false => parquet(table)?,
    };
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
    Ok(crate::file::write(file, &bytes).map_err(named)?)
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

/// One line for each distinct setting.
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

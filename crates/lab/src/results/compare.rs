//! Did something change? Two folders of results, paired by line, coordinates and seed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use super::WriteError;
use crate::stats::Summary;

/// What two results have in common, and how they differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Runs of the same place and seed that both have.
    pub pairs: usize,
    /// The metrics that both have of them.
    pub metrics: BTreeSet<String>,
    /// For each place, those metrics that are not the same in all pairs.
    pub differences: Vec<Difference>,
}

/// How one metric differs between two results.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// Line and coordinates.
    pub place: String,
    /// The metric.
    pub metric: String,
    /// Its mean in the first results.
    pub before: f64,
    /// Its mean in the second results.
    pub after: f64,
    /// The differences of the pairs, second less first.
    pub difference: Summary,
}

/// The scalars of one run by name, and the place and seed that it is paired by.
type Row = (String, String, BTreeMap<String, f64>);

/// Compares the results in two folders.
///
/// # Errors
///
/// If a folder has no `runs.csv`, or one that was not written by this program.
pub fn compare(before: &Path, after: &Path) -> Result<Comparison, WriteError> {
    let [before, after] = [read(before)?, read(after)?];
    let mut count = 0;
    let mut metrics = BTreeSet::new();
    let mut pairs: BTreeMap<(usize, &str), Pairs<'_>> = BTreeMap::new();
    for (place, seed, values) in &after {
        let same = |(other, other_seed, _): &&Row| other == place && other_seed == seed;
        let Some((_, _, earlier)) = before.iter().find(same) else {
            continue;
        };
        count += 1;
        let order = after
            .iter()
            .position(|(other, _, _)| other == place)
            .unwrap_or_default();
        for (metric, value) in values {
            if let Some(earlier) = earlier.get(metric) {
                metrics.insert(metric.clone());
                let entry = pairs
                    .entry((order, metric))
                    .or_insert_with(|| (place, Vec::new()));
                entry.1.push((*earlier, *value));
            }
        }
    }
    let differences = pairs.into_iter().filter_map(|((_, metric), (place, pairs))| {
        let of = |part: fn(&(f64, f64)) -> f64| Summary::of(&pairs.iter().map(part).collect::<Vec<_>>());
        let difference = of(|(before, after)| after - before)?;
        let differs = difference.min != 0.0 || difference.max != 0.0;
        differs.then_some(Difference {
            place: place.to_owned(),
            metric: metric.to_owned(),
            before: of(|pair| pair.0)?.mean,
            after: of(|pair| pair.1)?.mean,
            difference,
        })
    });
    let differences = differences.collect();
    Ok(Comparison {
        pairs: count,
        metrics,
        differences,
    })
}

/// A place with the values of its pairs.
type Pairs<'r> = (&'r str, Vec<(f64, f64)>);

/// The rows of `runs.csv`: what stands before `seed` is the place, what stands after `version` are scalars.
fn read(folder: &Path) -> Result<Vec<Row>, WriteError> {
    let file = folder.join("runs.csv");
    let named =
        |error: std::io::Error| std::io::Error::new(error.kind(), format!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(&file).map_err(named)?;
    let mut lines = records(&text).into_iter();
    let names = lines.next().unwrap_or_default();
    let column = |name: &str| names.iter().position(|known| known == name);
    let (Some(seed), Some(version)) = (column("seed"), column("version")) else {
        let text = format!("{} was not written by this program", file.display());
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, text).into());
    };
    let row = |cells: Vec<String>| {
        let place: Vec<String> = names[..seed]
            .iter()
            .zip(&cells)
            .filter(|(_, cell)| !cell.is_empty())
            .map(|(name, cell)| {
                if name == "line" {
                    cell.clone()
                } else {
                    format!("{name} {cell}")
                }
            })
            .collect();
        let scalars = names.iter().zip(&cells).skip(version + 1);
        let scalars = scalars.filter_map(|(name, cell)| Some((name.clone(), cell.parse().ok()?)));
        let seed = cells.get(seed).cloned().unwrap_or_default();
        (place.join(", "), seed, scalars.collect())
    };
    Ok(lines.map(row).collect())
}

/// The cells of CSV, line by line.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(core::mem::take(&mut cell)),
            '\n' if !is_quoted => {
                record.push(core::mem::take(&mut cell));
                records.push(core::mem::take(&mut record));
            }
            letter => cell.push(letter),
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn runs_are_paired_by_place_and_seed() {
        let [before, after] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let head = "line,alone,south,seed,setting,version,goodput,timeouts\n";
        let rows = |plus: f64| {
            let row = |seed: i32| format!("\"a, b\",,10,{seed},x,0.1.0,{},4\n", f64::from(seed) + plus);
            format!("{head}{}{}", row(1), row(2))
        };
        std::fs::write(before.path().join("runs.csv"), rows(0.0)).unwrap();
        std::fs::write(after.path().join("runs.csv"), rows(0.5)).unwrap();
        let compared = compare(before.path(), after.path()).unwrap();
        assert_eq!(compared.pairs, 2);
        assert!(compared.metrics.iter().eq(["goodput", "timeouts"]));
        let differences = compared.differences;
        assert_eq!(differences.len(), 1, "what is equal is left out");
        let [found] = &differences[..] else { panic!() };
        assert_eq!(
            (found.place.as_str(), found.metric.as_str()),
            ("a, b, south 10", "goodput")
        );
        assert_eq!(
            (found.before, found.after, found.difference.mean),
            (1.5, 2.0, 0.5)
        );
        assert!(found.difference.is_significant());
    }
}

//! Comparison of two folders of results, paired by series, coordinates and seed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use super::WriteError;
use super::read::{Row, Runs};
use crate::stats::SampleStats;

/// Differences between two results.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Number of runs with the same point and seed in both.
    pub pairs: usize,
    /// Runs that only one side has.
    pub unpaired: Sides,
    /// Metrics that both runs of some pair have.
    pub metrics: BTreeSet<String>,
    /// Metrics that only one side has.
    pub one_sided_metrics: BTreeSet<String>,
    /// Metrics that differ in some pair, for each point.
    pub differences: Vec<Difference>,
    /// Metrics that only one run of some pair has, for each point.
    pub one_sided: Vec<OneSided>,
}

/// Counts on each side.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Sides {
    /// In the first results.
    pub before: usize,
    /// In the second results.
    pub after: usize,
}

/// Difference of a metric at a point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// Series and coordinates.
    pub point: String,
    /// The metric.
    pub metric: String,
    /// Its mean in the first results.
    pub before: f64,
    /// Its mean in the second results.
    pub after: f64,
    /// Statistics of the differences, second minus first.
    pub difference: SampleStats,
}

/// A metric that only one run of a pair has, such as a completion time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OneSided {
    /// Series and coordinates.
    pub point: String,
    /// The metric.
    pub metric: String,
    /// Number of pairs in which only that side has it.
    #[serde(flatten)]
    pub pairs: Sides,
}

/// Compares the results in two folders.
///
/// # Errors
///
/// If a folder has no valid `runs.csv`.
pub fn compare(before: &Path, after: &Path) -> Result<Comparison, WriteError> {
    let [before, after] = [Runs::read(before)?, Runs::read(after)?];
    let common: BTreeSet<&str> = before
        .metrics
        .intersection(&after.metrics)
        .map(String::as_str)
        .collect();
    let mut partners: BTreeMap<_, _> = before
        .rows
        .iter()
        .map(|row| ((&row.point, &row.seed), row))
        .collect();
    let mut points = Points::default();
    let (mut pairs, mut unpaired) = (0, Sides::default());
    for row in &after.rows {
        let Some(partner) = partners.remove(&(&row.point, &row.seed)) else {
            unpaired.after += 1;
            continue;
        };
        pairs += 1;
        points.add(partner, row, &common);
    }
    unpaired.before = partners.len();
    let one_sided = points.each(|point, metric, values| {
        let pairs = values.one_sided;
        (pairs != Sides::default()).then_some(OneSided { point, metric, pairs })
    });
    Ok(Comparison {
        pairs,
        unpaired,
        metrics: points.metrics(),
        one_sided_metrics: before
            .metrics
            .symmetric_difference(&after.metrics)
            .cloned()
            .collect(),
        differences: points.each(difference),
        one_sided,
    })
}

/// Values of paired runs, by point and metric.
#[derive(Default)]
struct Points<'r> {
    /// Order of the points in the second results.
    orders: BTreeMap<&'r str, usize>,
    values: BTreeMap<(usize, &'r str), (&'r str, Values)>,
}

/// Values of a metric at a point.
#[derive(Default)]
struct Values {
    pairs: Vec<(f64, f64)>,
    one_sided: Sides,
}

impl<'r> Points<'r> {
    fn add(&mut self, before: &Row, after: &'r Row, metrics: &BTreeSet<&'r str>) {
        let next = self.orders.len();
        let order = *self.orders.entry(&after.point).or_insert(next);
        for metric in metrics {
            let both = (before.values.get(*metric), after.values.get(*metric));
            if both == (None, None) {
                continue;
            }
            let entry = self.values.entry((order, metric));
            let (_, values) = entry.or_insert_with(|| (&after.point, Values::default()));
            match both {
                (Some(before), Some(after)) => values.pairs.push((*before, *after)),
                (Some(_), None) => values.one_sided.before += 1,
                (None, _) => values.one_sided.after += 1,
            }
        }
    }

    fn metrics(&self) -> BTreeSet<String> {
        let paired = self
            .values
            .iter()
            .filter(|(_, (_, values))| !values.pairs.is_empty());
        paired.map(|((_, metric), _)| (*metric).to_owned()).collect()
    }

    fn each<T>(&self, evaluate: impl Fn(String, String, &Values) -> Option<T>) -> Vec<T> {
        let all = self.values.iter();
        let found = all
            .filter_map(|((_, metric), (point, values))| evaluate((*point).into(), (*metric).into(), values));
        found.collect()
    }
}

/// The difference; `None` if all pairs are equal.
fn difference(point: String, metric: String, values: &Values) -> Option<Difference> {
    let of =
        |part: fn(&(f64, f64)) -> f64| SampleStats::of(&values.pairs.iter().map(part).collect::<Vec<_>>());
    let difference = of(|(before, after)| after - before)?;
    let differs = difference.min != 0.0 || difference.max != 0.0;
    Some(Difference {
        point,
        metric,
        before: of(|pair| pair.0)?.mean,
        after: of(|pair| pair.1)?.mean,
        difference,
    })
    .filter(|_| differs)
}

#[cfg(test)]
mod tests {
    use super::{OneSided, Sides, compare};

    #[test]
    fn runs_are_paired_by_point_and_seed() {
        let [before, after] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let head = "series,single-path,south,seed,setting,version,goodput,timeouts\n";
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
        assert_eq!(differences.len(), 1, "equal metrics are omitted");
        let [found] = &differences[..] else { panic!() };
        assert_eq!(
            (found.point.as_str(), found.metric.as_str()),
            ("a, b, south 10", "goodput")
        );
        assert_eq!(
            (found.before, found.after, found.difference.mean),
            (1.5, 2.0, 0.5)
        );
        assert!(found.difference.is_significant());
    }
    #[test]
    fn one_sided_runs_and_metrics_are_reported() {
        let [before, after] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let write = |folder: &tempfile::TempDir, text: &str| {
            std::fs::write(folder.path().join("runs.csv"), text).unwrap();
        };
        write(
            &before,
            "series,seed,version,goodput,outage,old\na,1,0,5,,1\na,2,0,5,1,1\na,3,0,5,2,1\nb,1,0,5,,1\n",
        );
        write(
            &after,
            "series,seed,version,goodput,outage\na,1,0,5,3\na,2,0,5,1\na,3,0,5,\nc,1,0,5,\nc,2,0,5,\n",
        );
        let compared = compare(before.path(), after.path()).unwrap();
        assert_eq!(compared.pairs, 3);
        assert_eq!(compared.unpaired, Sides { before: 1, after: 2 });
        assert!(compared.one_sided_metrics.iter().eq(["old"]));
        assert_eq!(compared.differences, [], "common values are equal");
        let outage = OneSided {
            point: "a".into(),
            metric: "outage".into(),
            pairs: Sides { before: 1, after: 1 },
        };
        assert_eq!(compared.one_sided, [outage]);
    }
}

//! Did something change? Two folders of results, paired by line, coordinates and seed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use super::WriteError;
use super::read::{Row, Runs};
use crate::stats::SampleStats;

/// What two results have in common, and how they differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Runs of the same place and seed that both have.
    pub pairs: usize,
    /// Runs that one alone has.
    pub without_partner: Sides,
    /// The metrics that both have of some pair.
    pub metrics: BTreeSet<String>,
    /// The metrics that one alone has, of any run.
    pub metrics_of_one: BTreeSet<String>,
    /// For each place, those metrics that are not the same in all pairs.
    pub differences: Vec<Difference>,
    /// For each place, those metrics that one run of a pair has and the other has not.
    pub one_sided: Vec<OneSided>,
}

/// How many there are on each side.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Sides {
    /// Of the first results.
    pub before: usize,
    /// Of the second results.
    pub after: usize,
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
    pub difference: SampleStats,
}

/// A metric that was measured in one run of a pair only: what never happened has no time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OneSided {
    /// Line and coordinates.
    pub place: String,
    /// The metric.
    pub metric: String,
    /// The pairs in which each side alone has it.
    #[serde(flatten)]
    pub pairs: Sides,
}

/// Compares the results in two folders.
///
/// # Errors
///
/// If a folder has no `runs.csv`, or one that was not written by this program.
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
        .map(|row| ((&row.place, &row.seed), row))
        .collect();
    let mut places = Places::default();
    let (mut pairs, mut without_partner) = (0, Sides::default());
    for row in &after.rows {
        let Some(partner) = partners.remove(&(&row.place, &row.seed)) else {
            without_partner.after += 1;
            continue;
        };
        pairs += 1;
        places.add(partner, row, &common);
    }
    without_partner.before = partners.len();
    let one_sided = places.each(|place, metric, values| {
        let pairs = values.one_sided;
        (pairs != Sides::default()).then_some(OneSided { place, metric, pairs })
    });
    Ok(Comparison {
        pairs,
        without_partner,
        metrics: places.metrics(),
        metrics_of_one: before
            .metrics
            .symmetric_difference(&after.metrics)
            .cloned()
            .collect(),
        differences: places.each(difference),
        one_sided,
    })
}

/// What pairs of runs have, by place and metric.
#[derive(Default)]
struct Places<'r> {
    /// In the order of the second results.
    orders: BTreeMap<&'r str, usize>,
    values: BTreeMap<(usize, &'r str), (&'r str, Values)>,
}

/// One metric in the pairs of one place.
#[derive(Default)]
struct Values {
    pairs: Vec<(f64, f64)>,
    one_sided: Sides,
}

impl<'r> Places<'r> {
    fn add(&mut self, before: &Row, after: &'r Row, metrics: &BTreeSet<&'r str>) {
        let next = self.orders.len();
        let order = *self.orders.entry(&after.place).or_insert(next);
        for metric in metrics {
            let both = (before.values.get(*metric), after.values.get(*metric));
            if both == (None, None) {
                continue;
            }
            let entry = self.values.entry((order, metric));
            let (_, values) = entry.or_insert_with(|| (&after.place, Values::default()));
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

    fn each<T>(&self, look: impl Fn(String, String, &Values) -> Option<T>) -> Vec<T> {
        let all = self.values.iter();
        let seen =
            all.filter_map(|((_, metric), (place, values))| look((*place).into(), (*metric).into(), values));
        seen.collect()
    }
}

/// `None` if all pairs are the same.
fn difference(place: String, metric: String, values: &Values) -> Option<Difference> {
    let of =
        |part: fn(&(f64, f64)) -> f64| SampleStats::of(&values.pairs.iter().map(part).collect::<Vec<_>>());
    let difference = of(|(before, after)| after - before)?;
    let differs = difference.min != 0.0 || difference.max != 0.0;
    Some(Difference {
        place,
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
    #[test]
    fn what_one_side_alone_has_is_told() {
        let [before, after] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let write = |folder: &tempfile::TempDir, text: &str| {
            std::fs::write(folder.path().join("runs.csv"), text).unwrap();
        };
        write(
            &before,
            "line,seed,version,goodput,outage,old\na,1,0,5,,1\na,2,0,5,1,1\na,3,0,5,2,1\nb,1,0,5,,1\n",
        );
        write(
            &after,
            "line,seed,version,goodput,outage\na,1,0,5,3\na,2,0,5,1\na,3,0,5,\nc,1,0,5,\nc,2,0,5,\n",
        );
        let compared = compare(before.path(), after.path()).unwrap();
        assert_eq!(compared.pairs, 3);
        assert_eq!(compared.without_partner, Sides { before: 1, after: 2 });
        assert!(compared.metrics_of_one.iter().eq(["old"]));
        assert_eq!(compared.differences, [], "what both have is the same");
        let outage = OneSided {
            place: "a".into(),
            metric: "outage".into(),
            pairs: Sides { before: 1, after: 1 },
        };
        assert_eq!(compared.one_sided, [outage]);
    }
}

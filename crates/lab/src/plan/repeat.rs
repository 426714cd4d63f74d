//! Stop rule of a plan: repetitions until intervals are narrow enough.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::Problem;
use super::figure::{Check, CheckKind, Metrics};
use super::points::Point;
use super::quantity::Share;
use super::tree::{self, Value};

/// Further repetitions until the intervals of checks are narrow enough. `repetitions` is the least number of them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RepeatPlan {
    /// Largest number of repetitions of a cell.
    at_most: u32,
    /// Half the width of an interval that is narrow enough, relative to its value.
    half_width: Share,
    /// Repetitions that a round adds. As many as `repetitions` unless set.
    step: Option<u32>,
    /// Metrics whose checks count. Those of all checks unless set.
    y: Option<Metrics>,
}

/// When the repetitions of a cell end. A cell is a combination of values on all axes; its series have the same seeds.
#[derive(Clone, PartialEq, Debug)]
pub struct Repeat {
    /// Least number of repetitions.
    pub at_least: u64,
    /// Largest number of repetitions.
    pub at_most: u64,
    /// Repetitions that a round adds.
    pub step: u64,
    /// Half the width of an interval that is narrow enough, relative to its value.
    pub half_width: f64,
    /// The metrics whose checks count; empty if all do.
    pub metrics: Vec<String>,
}

impl Repeat {
    /// Reads the table `[repeat]` of a plan with these `repetitions` and checks.
    pub(super) fn read<'c>(
        table: Value<'_>,
        repetitions: u32,
        checks: impl Iterator<Item = &'c Check> + Clone,
        default: &'c str,
    ) -> Result<Self, Problem> {
        let whole = table.span();
        let keys = ["at-most", "half-width", "step", "y"];
        let [at_most, half_width, step, y] = keys.map(|key| tree::place(&table, &[key]));
        let plan: RepeatPlan = tree::read(table)?;
        let examined: Vec<&str> = checks.map(|check| examined(check, default)).collect();
        let metrics = plan.y.map_or_else(Vec::new, |metrics| metrics.all().to_vec());
        if let Some(unknown) = metrics.iter().find(|name| !examined.contains(&name.as_str())) {
            return Err(Problem::unknown(y, "metric of a check", unknown, examined));
        }
        let fault = match () {
            () if examined.is_empty() => Some((
                whole,
                "`[repeat]` needs checks, whose intervals become narrow".to_owned(),
            )),
            () if plan.at_most < repetitions => {
                let text = format!("expected at least {repetitions}, the `repetitions` of the plan");
                Some((at_most, text))
            }
            () if plan.half_width.0 <= 0.0 => Some((half_width, "expected a share above zero".to_owned())),
            () if plan.step == Some(0) => Some((step, "expected at least one".to_owned())),
            () => None,
        };
        match fault {
            Some((place, text)) => Err(Problem::new(place, text)),
            None => Ok(Self {
                at_least: repetitions.into(),
                at_most: plan.at_most.into(),
                step: plan.step.unwrap_or(repetitions).into(),
                half_width: plan.half_width.0,
                metrics,
            }),
        }
    }

    /// Whether the intervals of a check of this metric have to be narrow.
    #[must_use]
    pub fn counts(&self, metric: &str) -> bool {
        self.metrics.is_empty() || self.metrics.iter().any(|name| name == metric)
    }

    /// The number of repetitions after a further round.
    #[must_use]
    pub fn after_a_round(&self, repetitions: u64) -> u64 {
        self.at_most.min(repetitions + self.step)
    }
}

/// The metric or histogram that a check examines.
fn examined<'c>(check: &'c Check, default: &'c str) -> &'c str {
    match (&check.y, check.kind) {
        (Some(name), _) => name,
        (None, CheckKind::Share) => "",
        (None, _) => default,
    }
}

/// The values of a point on all axes, as text: the cell that it belongs to.
#[must_use]
pub fn cell_of(point: &Point) -> Vec<String> {
    let texts = point.coordinates.iter().map(|own| own.text.clone());
    texts.collect()
}

/// `points` with as many repetitions of each cell as `wanted` says. Seeds follow one another from the first.
pub(super) fn extended(points: &[Point], wanted: &BTreeMap<Vec<String>, u64>) -> Vec<Point> {
    let is_same = |one: &Point, other: &Point| {
        (&one.series, &one.single_path, &one.coordinates)
            == (&other.series, &other.single_path, &other.coordinates)
    };
    let repeated = |group: &[Point]| -> Vec<Point> {
        let first = &group[0];
        let known = group.len() as u64;
        let count = wanted
            .get(&cell_of(first))
            .map_or(known, |count| known.max(*count));
        let seeds = first.seed..first.seed + count;
        seeds
            .map(|seed| Point {
                seed,
                ..first.clone()
            })
            .collect()
    };
    points.chunk_by(is_same).flat_map(repeated).collect()
}

//! Figure, references and checks of a plan.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::axis::Coordinate;
use super::named::Named;
use super::quantity::Share;

/// The figure of an experiment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Figure {
    /// The sweep shown on the x axis. The first one unless set.
    pub x: Option<String>,
    /// The metrics, one panel each. Goodput unless set.
    pub y: Metrics,
    /// Statistic over the seeds.
    pub statistic: Statistic,
    /// Label of the x axis.
    pub x_label: Option<String>,
    /// Label of the y axis.
    pub y_label: Option<String>,
    /// Scale of the x axis.
    pub x_scale: FigureScale,
    /// Scale of the y axis.
    pub y_scale: FigureScale,
}

/// Scale of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureScale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic.
    Log,
}

/// One metric or several.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(untagged, expecting = "the name of a metric, or a list of them")]
pub enum Metrics {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Metrics {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(metric) => core::slice::from_ref(metric),
            Self::Several(metrics) => metrics,
        }
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::One("goodput".into())
    }
}

/// Statistic over the values of several seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The mean, with its 95 % confidence interval.
    #[default]
    Mean,
    /// The median, with minimum and maximum.
    Median,
}

/// A reference series, as written in the plan.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ReferencePlan {
    pub(super) name: String,
    pub(super) y: Option<Metrics>,
    pub(super) formula: Option<String>,
    pub(super) points: Option<Vec<Vec<f64>>>,
    pub(super) single_path: Option<String>,
    /// `best`: runs over each part of the paths, single ones included, of which the one with the highest goodput counts.
    pub(super) subset: Option<String>,
    #[serde(default, rename = "where")]
    pub(super) only: Named<Label>,
}

/// A reference series to compare the variants with.
#[derive(Clone, PartialEq, Debug)]
pub struct Reference {
    /// Its name.
    pub name: String,
    /// The metrics in whose panels it is shown. All unless set.
    pub y: Option<Metrics>,
    /// Origin of its values.
    pub origin: Origin,
    /// Only where the other axes have these values; not with `single-path`.
    pub only: Named<Label>,
}

/// Origin of the values of a reference.
#[derive(Clone, PartialEq, Debug)]
pub enum Origin {
    /// A formula over the coordinates of each point.
    Formula(super::formula::Formula),
    /// Values (x, y) taken from a paper.
    Points(Vec<(f64, f64)>),
    /// Runs over a single path.
    SinglePath(SinglePath),
}

/// Selection of the single path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub enum SinglePath {
    /// The path with the highest goodput.
    Best,
    /// This path.
    Path(String),
    /// The part of the paths with the highest goodput: one or several, but not all.
    BestSubset,
}

/// A check: a condition that must hold if the claim is true.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Check {
    /// The claim in words.
    pub claim: String,
    /// Kind of condition.
    pub kind: CheckKind,
    /// The series to check: the name of a variant or reference.
    pub series: String,
    /// The series to compare with: for `ratio`, and for `first`, `peak` and `share-of-points` of a ratio. Of several, at each point the one
    /// with the greatest mean.
    pub to: Option<SeriesNames>,
    /// The metric to compare with, if it differs; without `to`, of the same series.
    pub to_y: Option<String>,
    /// The metric. The first one of the figure unless set. For `share`, the histogram.
    pub y: Option<String>,
    /// Range on the x axis, inclusive. All unless set. For `first` and `peak`, the range in which it must lie.
    #[serde(default, deserialize_with = "pair")]
    #[schemars(with = "Option<[f64; 2]>")]
    pub x: Option<(f64, f64)>,
    /// Only where the other axes have these values.
    #[serde(default, rename = "where")]
    pub only: Named<Label>,
    /// Lower bound.
    pub at_least: Option<f64>,
    /// Upper bound.
    pub at_most: Option<f64>,
    /// `share`: the range of values to count, inclusive.
    #[serde(default, deserialize_with = "pair")]
    #[schemars(with = "Option<[u64; 2]>")]
    pub between: Option<(u64, u64)>,
    /// `share-of-points`: the share of the points at which the bounds must hold.
    pub share: Option<Share>,
    /// `share-of-points`: what tells whether the bounds hold at a point. Its mean unless set.
    pub counted: Option<Counted>,
    /// `monotone`: direction.
    pub direction: Option<Direction>,
    /// `monotone`: relative step in the wrong direction that is tolerated. 0 unless set.
    pub tolerance: Option<Share>,
    /// Whose statement it is. The paper's unless set; our own if the plan's source begins so.
    pub states: Option<Statement>,
}

/// One series or several.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(untagged, expecting = "the name of a series, or a list of them")]
pub enum SeriesNames {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl SeriesNames {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(name) => core::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

/// What tells whether bounds hold at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// The mean, or the ratio of two means.
    #[default]
    Means,
    /// The 95 % confidence interval of that point alone: the bounds hold unless it lies wholly outside.
    Intervals,
}

/// Whose statement a check examines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statement {
    /// What the paper states.
    Paper,
    /// What follows from the paper in our reading.
    OurReading,
    /// What we state ourselves.
    OurOwn,
}

/// A quantity of runs: a metric, or the share of a histogram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quantity {
    /// The metric or histogram.
    pub metric: String,
    /// The range of values of the histogram, inclusive.
    pub between: Option<(u64, u64)>,
}

impl Quantity {
    /// A metric.
    #[must_use]
    pub fn of_metric(metric: &str) -> Self {
        Self {
            metric: metric.to_owned(),
            between: None,
        }
    }

    /// Its name: the metric, or such as `share of sack.tsns in 0 to 99`.
    #[must_use]
    pub fn name(&self) -> String {
        match self.between {
            Some((low, high)) => format!("share of {} in {low} to {high}", self.metric),
            None => self.metric.clone(),
        }
    }
}

impl Check {
    /// The quantity that it examines.
    #[must_use]
    pub fn quantity(&self, plan: &super::Plan) -> Quantity {
        let default = plan.figure.y.all().first().cloned().unwrap_or_default();
        Quantity {
            metric: self.y.clone().unwrap_or(default),
            between: self.between.filter(|_| self.kind == CheckKind::Share),
        }
    }

    /// The quantity to compare with, if it differs.
    #[must_use]
    pub fn other_quantity(&self) -> Option<Quantity> {
        self.to_y.as_deref().map(Quantity::of_metric)
    }

    /// Whose statement it is, in a plan with this `source`.
    #[must_use]
    pub fn statement(&self, source: &str) -> Statement {
        let default = if source.starts_with("our own") {
            Statement::OurOwn
        } else {
            Statement::Paper
        };
        self.states.unwrap_or(default)
    }
}

/// A value of an axis: a word or a number.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(untagged, expecting = "a value of the axis")]
pub enum Label {
    /// A whole number.
    Whole(i64),
    /// Another number.
    Number(f64),
    /// A word.
    Word(String),
}

impl Label {
    /// Whether this is the value; numbers are compared as numbers, so 1 equals 1.0.
    #[must_use]
    pub fn is(&self, value: &Coordinate) -> bool {
        match self {
            Self::Whole(number) => value.number == Some(*number as f64),
            Self::Number(number) => value.number == Some(*number),
            Self::Word(word) => value.text == *word,
        }
    }
}

impl core::fmt::Display for Label {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Whole(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// A range: exactly two numbers.
fn pair<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<(T, T)>, D::Error> {
    let Some(numbers) = Option::<Vec<T>>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let two: Result<[T; 2], Vec<T>> = numbers.try_into();
    let [from, to] = two.map_err(|all| D::Error::invalid_length(all.len(), &"two numbers, from and to"))?;
    Ok(Some((from, to)))
}

/// Kind of check.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckKind {
    /// The value of the series, at each x of the range.
    Value,
    /// The ratio to another series, at each x of the range.
    Ratio,
    /// The first x at which the value or ratio is within the bounds; it must lie in the range.
    First,
    /// The x at which the value or ratio is greatest; it must lie in the range.
    Peak,
    /// The series rises or falls over the whole range.
    Monotone,
    /// The share of a histogram within `between`, at each x of the range.
    Share,
    /// The share of the points of the range at which the value or ratio is within the bounds.
    ShareOfPoints,
}

/// Direction of a monotone series.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Never falling.
    Rising,
    /// Never rising.
    Falling,
}

//! What is drawn, and what must hold? The figure of an experiment, its reference lines and its checks.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::axis::Coordinate;
use super::named::Named;
use super::quantity::Share;

/// The figure that the results are for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Figure {
    /// The axis of the sweep along which is drawn; the first one unless set.
    pub x: Option<String>,
    /// The metrics that are drawn, each in a panel of its own. Goodput unless set.
    pub y: Metrics,
    /// What stands for several seeds.
    pub statistic: Statistic,
    /// What is written beside the x axis.
    pub x_label: Option<String>,
    /// What is written beside the y axis.
    pub y_label: Option<String>,
    /// Where numbers are on the x axis.
    pub x_scale: FigureScale,
    /// Where numbers are on the y axis.
    pub y_scale: FigureScale,
}

/// Where numbers are on an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureScale {
    /// At equal distances.
    #[default]
    Linear,
    /// Powers of ten at equal distances.
    Log,
}

/// One metric or several.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
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

/// What stands for the values of several seeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The mean, with its 95 % confidence interval.
    #[default]
    Mean,
    /// The median, with the least and the greatest value.
    Median,
}

/// A line that stands beside the variants, as the plan has it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ReferencePlan {
    pub(super) name: String,
    pub(super) y: Option<Metrics>,
    pub(super) formula: Option<String>,
    pub(super) points: Option<Vec<Vec<f64>>>,
    pub(super) single_path: Option<String>,
    #[serde(default, rename = "where")]
    pub(super) only: Named<Label>,
}

/// A line that stands beside the variants.
#[derive(Clone, PartialEq, Debug)]
pub struct Reference {
    /// Its name.
    pub name: String,
    /// The metrics whose panels it belongs to; all of them unless set.
    pub y: Option<Metrics>,
    /// Where its values come from.
    pub origin: Origin,
    /// Only where the other axes have these values; not for runs.
    pub only: Named<Label>,
}

/// Where the values of a reference line come from.
#[derive(Clone, PartialEq, Debug)]
pub enum Origin {
    /// Computed from the coordinates of each point.
    Formula(super::formula::Formula),
    /// Read off a paper: x and y.
    Points(Vec<(f64, f64)>),
    /// Runs over single paths.
    SinglePath(SinglePath),
}

/// Which single path is meant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub enum SinglePath {
    /// Each of them, and the best result counts.
    Best,
    /// This one.
    Path(String),
}

/// What must hold.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Check {
    /// What is claimed, in words.
    pub claim: String,
    /// What is looked at.
    pub kind: CheckKind,
    /// The line: the name of a variant or reference.
    pub series: String,
    /// The line that it is held against, for `ratio` and where `first` looks at a ratio.
    pub to: Option<String>,
    /// The metric of that line, if not the same; without `to`, of the same line.
    pub to_y: Option<String>,
    /// The metric; the first one of the figure unless set. For `share`, the histogram.
    pub y: Option<String>,
    /// From where to where on the x axis, both included; everywhere unless set. For `first`, where it has to happen.
    #[serde(default, deserialize_with = "pair")]
    pub x: Option<(f64, f64)>,
    /// Only where the other axes have these values.
    #[serde(default, rename = "where")]
    pub only: Named<Label>,
    /// It must not be less.
    pub at_least: Option<f64>,
    /// It must not be more.
    pub at_most: Option<f64>,
    /// `share`: the numbers from here to here are counted.
    #[serde(default, deserialize_with = "pair")]
    pub between: Option<(u64, u64)>,
    /// `monotone`: which way.
    pub direction: Option<Direction>,
    /// `monotone`: how much of a step back is not counted as one, as a share of the value. 0 unless set.
    pub tolerance: Option<Share>,
}

/// A value of an axis: a word or a number.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
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
    /// Whether this is the value: numbers are compared as numbers, so that 1 is 1.0.
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

/// From where to where: two numbers, not more.
fn pair<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<(T, T)>, D::Error> {
    let Some(numbers) = Option::<Vec<T>>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let two: Result<[T; 2], Vec<T>> = numbers.try_into();
    let [from, to] = two.map_err(|all| D::Error::invalid_length(all.len(), &"two numbers, from and to"))?;
    Ok(Some((from, to)))
}

/// What a check looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckKind {
    /// The value of the line, at each x of the range.
    Value,
    /// Its ratio to another line, at each x of the range.
    Ratio,
    /// The first x at which its value, or its ratio to another line, is as said: it lies in the range.
    First,
    /// The x at which its value, or its ratio to another line, is greatest: it lies in the range.
    Peak,
    /// The line rises or falls all over the range.
    Monotone,
    /// The share of a distribution, at each x of the range.
    Share,
}

/// Which way a line goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Never down.
    Rising,
    /// Never up.
    Falling,
}

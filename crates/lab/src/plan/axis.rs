//! Axes of a sweep: values for one or several keys of the setting, independent or tied to another axis.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::DeValue;

use super::error::Problem;
use super::tree::{self, Table, Value};

/// The table of an axis, without `sets`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AxisPlan {
    #[schemars(with = "Option<Vec<Scalar>>")]
    values: Option<Vec<Spanned<Scalar>>>,
    from: Option<f64>,
    to: Option<f64>,
    step: Option<f64>,
    #[serde(default)]
    unit: String,
    #[schemars(with = "Option<String>")]
    with: Option<Spanned<String>>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number or a word")]
enum Scalar {
    Whole(i64),
    Number(f64),
    Word(String),
}

/// The value of a point on an axis.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Coordinate {
    /// The axis.
    pub axis: String,
    /// The value without unit, as shown in results.
    pub text: String,
    /// The value as a number, if it is one.
    pub number: Option<f64>,
}

/// An axis of a sweep.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// The unit of its values; empty if they have none.
    pub unit: String,
    /// Its values, in the order of the plan.
    pub values: Vec<Coordinate>,
    /// The axis that it is tied to with `with`.
    pub with: Option<String>,
    keys: Vec<Spanned<String>>,
    places: Vec<core::ops::Range<usize>>,
}

/// The axis of drawn cells.
pub(super) const CELL: &str = "cell";
/// Maximum number of values of an axis.
const MAX_VALUES: usize = 10_000;

impl Axis {
    /// The axis that it is tied to, or itself: axes with the same leader change together.
    pub(crate) fn leader(&self) -> &str {
        self.with.as_deref().unwrap_or(&self.name)
    }

    pub(super) fn read(name: &str, value: &Value<'_>) -> Result<Self, Problem> {
        let (keys, rest) = take_keys(value)?;
        let plan: AxisPlan = tree::read(rest)?;
        let values = plan.scalars(value)?;
        if values.is_empty() {
            return Err(Problem::new(
                tree::place(value, &["values"]),
                format_args!("the sweep `{name}` is empty; expected at least one value"),
            ));
        }
        let coordinates = values.iter().map(|value| value.get_ref().coordinate(name));
        Ok(Self {
            name: name.to_owned(),
            values: coordinates.collect(),
            places: values.iter().map(Spanned::span).collect(),
            unit: plan.unit,
            with: plan.with.map(Spanned::into_inner),
            keys,
        })
    }

    /// The axis of drawn cells, which sets no key itself.
    pub(super) fn of_cells(numbers: &[u64]) -> Self {
        let coordinate =
            |number: &u64| Scalar::Whole(i64::try_from(*number).unwrap_or(i64::MAX)).coordinate(CELL);
        Self {
            name: CELL.to_owned(),
            unit: String::new(),
            values: numbers.iter().map(coordinate).collect(),
            with: None,
            keys: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Applies value number `index` to a setting.
    pub(super) fn apply(&self, index: usize, setting: &mut Table<'_>) -> Result<(), Problem> {
        let Some(place) = self.places.get(index) else {
            return Ok(());
        };
        let text = format!("{}{}", self.values[index].text, self.unit);
        let value = Spanned::new(place.clone(), DeValue::String(Cow::Owned(text)));
        let mut keys = self.keys.iter();
        keys.try_for_each(|key| tree::put(setting, key, &value))
    }

    /// Positions of its values on an x axis: numbers at their value; if some are words, all by their index.
    #[must_use]
    pub fn places(&self) -> Vec<f64> {
        let numbers: Option<Vec<f64>> = self.values.iter().map(|value| value.number).collect();
        numbers.unwrap_or_else(|| (0..self.values.len()).map(|place| place as f64).collect())
    }

    /// Whether all of its values are numbers.
    #[must_use]
    pub fn is_numeric(&self) -> bool {
        self.values.iter().all(|value| value.number.is_some())
    }

    /// The keys of the setting that it sets.
    pub fn sets(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.get_ref().as_str())
    }

    /// Its position in the file.
    pub(super) fn place(&self) -> core::ops::Range<usize> {
        self.keys.first().map_or(0..0, Spanned::span)
    }
}

/// The keys that an axis sets, with their positions in the file, and the rest of its table.
pub(super) fn take_keys<'t>(value: &Value<'t>) -> Result<(Vec<Spanned<String>>, Value<'t>), Problem> {
    let expected = |place| {
        Problem::new(
            place,
            "expected `sets`: a key such as \"paths.south.rate\", or a list of them",
        )
    };
    let mut rest = value.clone();
    let sets = match rest.get_mut() {
        DeValue::Table(table) => table.remove("sets"),
        _ => None,
    };
    let sets = sets.ok_or_else(|| expected(value.span()))?;
    let key = |value: &Value<'_>| match value.get_ref() {
        DeValue::String(key) => Ok(Spanned::new(value.span(), key.clone().into_owned())),
        _ => Err(expected(value.span())),
    };
    let keys = match sets.get_ref() {
        DeValue::Array(keys) if !keys.is_empty() => keys.iter().map(key).collect::<Result<_, _>>()?,
        _ => vec![key(&sets)?],
    };
    Ok((keys, rest))
}

impl AxisPlan {
    fn scalars(&self, value: &Value<'_>) -> Result<Vec<Spanned<Scalar>>, Problem> {
        let problem = |text: &str| Problem::new(value.span(), text);
        match (&self.values, self.from, self.to, self.step) {
            (Some(values), None, None, None) => Ok(values.clone()),
            (None, Some(from), Some(to), Some(step)) if step > 0.0 && from <= to => {
                let count = ((to - from) / step + 1e-9).floor() as usize + 1;
                if count > MAX_VALUES {
                    return Err(problem("expected at most 10,000 values"));
                }
                // Steps such as 0.1 have no exact binary form; round the accumulated error away.
                let rounded = |number: f64| (number * 1e9).round() / 1e9;
                let scalar = |index: usize| Scalar::Number(rounded(from + step * index as f64));
                let spanned = (0..count).map(|index| Spanned::new(value.span(), scalar(index)));
                Ok(spanned.collect())
            }
            (None, Some(_), Some(_), Some(_)) => Err(problem(
                "the sweep is empty: expected `from` <= `to` and `step` > 0",
            )),
            _ => Err(problem("expected `values`, or `from`, `to` and `step`")),
        }
    }
}

impl Scalar {
    fn coordinate(&self, axis: &str) -> Coordinate {
        let (text, number) = match self {
            Self::Whole(number) => (number.to_string(), Some(*number as f64)),
            Self::Number(number) => (number.to_string(), Some(*number)),
            Self::Word(word) => (word.clone(), word.parse().ok()),
        };
        let number = number.filter(|number| number.is_finite());
        Coordinate {
            axis: axis.to_owned(),
            text,
            number,
        }
    }
}

/// All combinations of the axes' values, as indices: a tied axis has the index of its leader. The last axis changes
/// fastest.
pub(super) fn combinations(axes: &[Axis]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        let leader = axis
            .with
            .as_ref()
            .and_then(|with| axes.iter().position(|other| other.name == *with));
        let extended = |chosen: &Vec<usize>| -> Vec<Vec<usize>> {
            let indices = match leader {
                Some(leader) => chosen[leader]..chosen[leader] + 1,
                None => 0..axis.values.len(),
            };
            indices.map(|index| [&chosen[..], &[index]].concat()).collect()
        };
        all = all.iter().flat_map(extended).collect();
    }
    all
}

/// Refuses a key that is set twice: the second value would override the first.
pub(super) fn check_keys(axes: &[Axis]) -> Result<(), Problem> {
    let mut known: Vec<&str> = Vec::new();
    for key in axes.iter().flat_map(|axis| &axis.keys) {
        let name = key.get_ref().as_str();
        if known.contains(&name) {
            let text = format!("`{name}` is set by two sweeps, or twice by one; remove one of them");
            return Err(Problem::new(key.span(), text));
        }
        known.push(name);
    }
    Ok(())
}

/// Refuses tied axes before their leader or of another length.
pub(super) fn check_pairs(axes: &[Axis]) -> Result<(), Problem> {
    for (index, axis) in axes.iter().enumerate() {
        let Some(with) = &axis.with else {
            continue;
        };
        let before = axes[..index].iter().filter(|other| other.with.is_none());
        let Some(leader) = before.clone().find(|other| other.name == *with) else {
            let known = before.map(|other| other.name.as_str());
            return Err(Problem::unknown(
                axis.place(),
                "axis before this one",
                with,
                known,
            ));
        };
        if leader.values.len() != axis.values.len() {
            let (ours, theirs) = (axis.values.len(), leader.values.len());
            let text =
                format!("the axis has {ours} values, but `{with}` has {theirs}; tied axes need equally many");
            return Err(Problem::new(axis.place(), text));
        }
    }
    Ok(())
}

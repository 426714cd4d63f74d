//! Distributions of drawn settings: `uniform`, `log-uniform`, `choice`, alone or within tables. Which value does a cell get?

use core::ops::Range;
use std::borrow::Cow;

use anabranch_types::Rng;
use toml::Spanned;
use toml::de::DeValue;

use super::super::error::Problem;
use super::super::tree::{Table, Value};
use super::amount::{Amount, Link, Unit};

/// Keys of a table that is a distribution.
const RANGES: [&str; 2] = ["uniform", "log-uniform"];
const CHOICE: &str = "choice";
const WEIGHTS: &str = "weights";

/// How a value is drawn.
#[derive(Clone, Debug)]
pub(super) enum Distribution<'t> {
    /// Always this value.
    Fixed(Value<'t>),
    /// A number between two ends.
    Between(Between),
    /// One of several, each with its weight.
    Choice(Vec<(Self, f64)>),
    /// A table whose values are drawn.
    Table(Vec<(Spanned<Cow<'t, str>>, Self)>, Range<usize>),
}

/// A number between two ends.
#[derive(Clone, Debug)]
pub(super) struct Between {
    low: Amount,
    high: Amount,
    unit: Unit,
    /// Whether each order of magnitude is as likely as the others.
    is_log: bool,
    place: Range<usize>,
}

impl<'t> Distribution<'t> {
    /// Reads the distribution for `key`. Tables that are none contain some, or fixed values.
    pub(super) fn read(value: &Value<'t>, key: &str) -> Result<Self, Problem> {
        let DeValue::Table(table) = value.get_ref() else {
            return Ok(Self::Fixed(value.clone()));
        };
        if let Some(found) = Self::of_table(table, key)? {
            return Ok(found);
        }
        let entry = |(name, inner): (&Spanned<Cow<'t, str>>, &Value<'t>)| {
            Ok((name.clone(), Self::read(inner, name.get_ref())?))
        };
        let entries = table.iter().map(entry).collect::<Result<_, Problem>>()?;
        Ok(Self::Table(entries, value.span()))
    }

    /// The distribution that a table describes; `None` if it is a table of settings.
    pub(super) fn of_table(table: &Table<'t>, key: &str) -> Result<Option<Self>, Problem> {
        let is_array = |name: &str| table.get(name).is_some_and(|value| value.get_ref().is_array());
        let names = || RANGES.into_iter().chain([CHOICE]);
        let Some(kind) = names().find(|name| is_array(name)) else {
            return Ok(None);
        };
        let allowed = |name: &str| name == kind || (kind == CHOICE && name == WEIGHTS);
        if let Some(other) = table.keys().find(|name| !allowed(name.get_ref())) {
            let text = format!(
                "`{}` does not go with `{kind}`; remove one of them",
                other.get_ref()
            );
            return Err(Problem::new(other.span(), text));
        }
        let Some(value) = table.get(kind) else {
            return Ok(None);
        };
        if kind == CHOICE {
            return choice(value, table.get(WEIGHTS), key).map(Some);
        }
        Between::read(value, kind == "log-uniform", key).map(|between| Some(Self::Between(between)))
    }

    /// Whether an end is a multiple of what the path has.
    pub(super) fn is_relative(&self) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::Between(between) => between.low.is_relative() || between.high.is_relative(),
            Self::Choice(all) => all.iter().any(|(one, _)| one.is_relative()),
            Self::Table(entries, _) => entries.iter().any(|(_, one)| one.is_relative()),
        }
    }

    /// Draws a value for a path.
    pub(super) fn draw(&self, rng: &mut Rng, link: Link) -> Result<Value<'t>, Problem> {
        match self {
            Self::Fixed(value) => Ok(value.clone()),
            Self::Between(between) => between.draw(rng, link),
            Self::Choice(all) => {
                let sum: f64 = all.iter().map(|(_, weight)| weight).sum();
                let mut rest = rng.unit() * sum;
                let mut chosen = all.iter().filter(|(_, weight)| *weight > 0.0);
                let found = chosen.clone().find(|(_, weight)| {
                    rest -= weight;
                    rest < 0.0
                });
                // The last one, should the subtraction have left a rounding error.
                let (one, _) = found
                    .or_else(|| chosen.next_back())
                    .ok_or_else(|| Problem::new(0..0, "a `choice` without a value"))?;
                one.draw(rng, link)
            }
            Self::Table(entries, place) => {
                let drawn = entries
                    .iter()
                    .map(|(name, one)| Ok((name.clone(), one.draw(rng, link)?)));
                let table: Table<'t> = drawn.collect::<Result<_, Problem>>()?;
                Ok(Spanned::new(place.clone(), DeValue::Table(table)))
            }
        }
    }
}

fn choice<'t>(
    value: &Value<'t>,
    weights: Option<&Value<'t>>,
    key: &str,
) -> Result<Distribution<'t>, Problem> {
    let DeValue::Array(all) = value.get_ref() else {
        return Err(Problem::new(value.span(), "expected a list of values"));
    };
    let weights = match weights {
        Some(weights) => weights_of(weights)?,
        None => vec![1.0; all.len()],
    };
    if all.is_empty() || weights.len() != all.len() {
        let text = format!(
            "expected one value or more with a weight for each, found {} values and {} weights",
            all.len(),
            weights.len()
        );
        return Err(Problem::new(value.span(), text));
    }
    let each = all.iter().map(|one| Distribution::read(one, key));
    let each: Vec<Distribution<'t>> = each.collect::<Result<_, _>>()?;
    Ok(Distribution::Choice(each.into_iter().zip(weights).collect()))
}

fn weights_of(value: &Value<'_>) -> Result<Vec<f64>, Problem> {
    let expected = || {
        Problem::new(
            value.span(),
            "expected a list of weights, such as [3, 1], not all of them 0",
        )
    };
    let DeValue::Array(all) = value.get_ref() else {
        return Err(expected());
    };
    let number = |value: &Value<'_>| match value.get_ref() {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    };
    let weights: Option<Vec<f64>> = all.iter().map(number).collect();
    weights
        .filter(|all| all.iter().all(|weight| weight.is_finite() && *weight >= 0.0))
        .filter(|all| all.iter().sum::<f64>() > 0.0)
        .ok_or_else(expected)
}

impl Between {
    fn read(value: &Value<'_>, is_log: bool, key: &str) -> Result<Self, Problem> {
        let place = value.span();
        let problem = |text: &str| Problem::new(place.clone(), text);
        let ends = match value.get_ref() {
            DeValue::Array(ends) => ends.iter().collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        let [low, high] = ends[..] else {
            return Err(problem("expected two ends, such as [\"1ms\", \"500ms\"]"));
        };
        let (low, high) = (Amount::read(low, key)?, Amount::read(high, key)?);
        let unit = low
            .unit_with(high)
            .ok_or_else(|| problem("the ends count different things; expected two rates, two times, …"))?;
        let between = Self {
            low,
            high,
            unit,
            is_log,
            place: place.clone(),
        };
        let [lowest, highest] = between.ends(Link::default()).unwrap_or([1.0, 2.0]);
        let is_relative = low.is_relative() || high.is_relative();
        if !is_relative && lowest >= highest {
            return Err(problem("expected the lower end first"));
        }
        if is_log && !low.is_relative() && lowest <= 0.0 {
            return Err(problem("the ends of `log-uniform` must be above zero"));
        }
        Ok(between)
    }

    /// Its ends for a path. An upper end below the lower one counts as that one.
    fn ends(&self, link: Link) -> Result<[f64; 2], Problem> {
        let low = self.low.of(link, &self.place)?;
        let high = self.high.of(link, &self.place)?;
        Ok([low, high.max(low)])
    }

    fn draw<'t>(&self, rng: &mut Rng, link: Link) -> Result<Value<'t>, Problem> {
        let [low, high] = self.ends(link)?;
        let number = if self.is_log && low > 0.0 {
            (low.ln() + rng.unit() * (high / low).ln()).exp()
        } else {
            low + rng.unit() * (high - low)
        };
        let text = self.unit.text(number);
        Ok(Spanned::new(
            self.place.clone(),
            DeValue::String(Cow::Owned(text)),
        ))
    }
}

/// A drawn value in words: `37.2Mbit`, or `bursts loss 1% length 4`.
pub(super) fn in_words(value: &Value<'_>) -> String {
    match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(is) => is.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(all) => all.iter().map(in_words).collect::<Vec<_>>().join(" "),
        DeValue::Table(table) => {
            let entries = table.iter();
            let entries = entries.map(|(name, inner)| format!("{} {}", name.get_ref(), in_words(inner)));
            entries
                .map(|text| text.trim_end().to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        }
    }
}

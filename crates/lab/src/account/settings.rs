//! What were the runs set to? What all have in common, what each line changes, and what is swept.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::{Plan, Point};

/// The settings of all runs, by dotted keys.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Settings {
    /// What all runs have in common. What is off or not there is left out.
    pub common: BTreeMap<String, String>,
    /// What differs from line to line.
    pub changed: Vec<Changed>,
    /// What is swept.
    pub swept: Vec<Swept>,
}

/// A setting that differs from line to line.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Changed {
    /// Its key.
    pub key: String,
    /// Its value for each line that has one.
    pub values: BTreeMap<String, String>,
}

/// A sweep.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Swept {
    /// The axis.
    pub axis: String,
    /// The keys that it sets.
    pub keys: Vec<String>,
    /// Its values.
    pub values: Vec<String>,
    /// Their unit; empty if they have none.
    pub unit: String,
}

impl Settings {
    pub(super) fn of(plan: &Plan) -> Self {
        let first = plan.points.iter().map(|point| point.seed).min();
        // Runs over single paths have less of everything, so they say nothing of what is common.
        let points = plan.points.iter();
        let points = points.filter(|point| Some(point.seed) == first && point.alone.is_none());
        let flat: Vec<(&Point, BTreeMap<String, String>)> =
            points.map(|point| (point, flat(point))).collect();
        let mut keys: Vec<&String> = flat.iter().flat_map(|(_, setting)| setting.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut settings = Self {
            swept: plan.axes.iter().map(swept).collect(),
            ..Self::default()
        };
        for key in keys {
            let all = || flat.iter().map(|(_, setting)| setting.get(key));
            match all().next().flatten() {
                Some(value) if all().all(|other| other == Some(value)) => {
                    settings.common.insert(key.clone(), value.clone());
                }
                _ => settings.changed.extend(changed(key, &flat)),
            }
        }
        settings
    }

    /// The keys that were set otherwise than they are `now`, for all lines or for one: a profile may have changed since. What was
    /// not there yet had no other value.
    pub(super) fn otherwise(&self, now: &Self) -> Vec<String> {
        let value = |settings: &Self, key: &str, line: &str| {
            let of_line = settings.changed.iter().find(|changed| changed.key == key);
            let common = settings.common.get(key);
            common
                .or_else(|| of_line.and_then(|changed| changed.values.get(line)))
                .cloned()
        };
        let lines = self
            .changed
            .iter()
            .chain(&now.changed)
            .flat_map(|changed| changed.values.keys());
        let lines: BTreeSet<&str> = lines.map(String::as_str).chain([""]).collect();
        let keys = self
            .common
            .keys()
            .chain(self.changed.iter().map(|changed| &changed.key));
        let differs = |key: &&String| {
            lines.iter().any(|line| {
                let (then, now) = (value(self, key, line), value(now, key, line));
                then.is_some() && now.is_some() && then != now
            })
        };
        let keys: BTreeSet<&String> = keys.filter(differs).collect();
        keys.into_iter().cloned().collect()
    }
}

/// The values of `key` by line, if it does not depend on where in the sweep a run is.
fn changed(key: &str, flat: &[(&Point, BTreeMap<String, String>)]) -> Option<Changed> {
    let mut values: BTreeMap<String, Option<&String>> = BTreeMap::new();
    for (point, setting) in flat {
        let value = setting.get(key);
        if *values.entry(point.line.clone()).or_insert(value) != value {
            return None;
        }
    }
    let values = values
        .into_iter()
        .filter_map(|(line, value)| Some((line, value?.clone())));
    Some(Changed {
        key: key.to_owned(),
        values: values.collect(),
    })
}

fn swept(axis: &crate::plan::Axis) -> Swept {
    Swept {
        axis: axis.name.clone(),
        keys: axis.sets().map(str::to_owned).collect(),
        values: axis.values.iter().map(|value| value.text.clone()).collect(),
        unit: axis.unit.clone(),
    }
}

/// The setting of a point with dotted keys.
fn flat(point: &Point) -> BTreeMap<String, String> {
    let mut flat = BTreeMap::new();
    let setting =
        serde_json::to_value(&*point.setting).expect("invariant: settings have only names for keys");
    flatten("", &setting, &mut flat);
    flat
}

fn flatten(key: &str, value: &Value, flat: &mut BTreeMap<String, String>) {
    let inner = |name: &str| {
        if key.is_empty() {
            name.to_owned()
        } else {
            format!("{key}.{name}")
        }
    };
    match value {
        Value::Object(table) => {
            for (name, value) in table {
                flatten(&inner(name), value, flat);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                flatten(&inner(&index.to_string()), value, flat);
            }
        }
        Value::Null | Value::Bool(false) => {}
        Value::String(text) => {
            flat.insert(key.to_owned(), text.clone());
        }
        Value::Bool(true) | Value::Number(_) => {
            flat.insert(key.to_owned(), value.to_string());
        }
    }
}

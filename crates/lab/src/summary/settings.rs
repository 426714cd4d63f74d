//! Settings of the runs: common to all, different by series, and swept.

use std::collections::{BTreeMap, BTreeSet};

use anabranch_policy::catalog::CATALOG;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::{Plan, Point};

/// A point with its setting as dotted keys.
type Flat<'p> = (&'p Point, BTreeMap<String, String>);

/// The settings of all runs, as dotted keys.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Settings {
    /// Settings common to all runs. Settings that are off or absent are omitted.
    pub common: BTreeMap<String, String>,
    /// Settings that differ between series.
    pub changed: Vec<Changed>,
    /// The sweeps.
    pub swept: Vec<Swept>,
}

/// A setting that differs between series.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Changed {
    /// Its key.
    pub key: String,
    /// Its value in each series that has one.
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
    /// Their unit; empty without unit.
    pub unit: String,
}

impl Settings {
    pub(super) fn of(plan: &Plan) -> Self {
        let first = plan.points.iter().map(|point| point.seed).min();
        // Runs over single paths have only part of the setting.
        let points = plan.points.iter();
        let points = points.filter(|point| Some(point.seed) == first && point.single_path.is_none());
        let points: Vec<Flat<'_>> = points.map(|point| (point, flat(point))).collect();
        let mut keys: Vec<&String> = points.iter().flat_map(|(_, setting)| setting.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut settings = Self {
            // The axis of drawn cells sets no key itself.
            swept: plan
                .axes
                .iter()
                .filter(|axis| axis.sets().next().is_some())
                .map(swept)
                .collect(),
            ..Self::default()
        };
        for key in keys {
            let all = || points.iter().map(|(_, setting)| setting.get(key));
            match all().next().flatten() {
                Some(value) if all().all(|other| other == Some(value)) => {
                    settings.common.insert(key.clone(), value.clone());
                }
                _ => settings.changed.extend(changed(key, &points)),
            }
        }
        let single = plan.points.iter();
        let single = single.filter(|point| Some(point.seed) == first && point.single_path.is_some());
        let single: Vec<Flat<'_>> = single.map(|point| (point, flat(point))).collect();
        settings.add_single_path(&plan.variants, &single);
        settings
    }

    /// Adds settings in which runs over single paths differ from the variants, except their paths.
    fn add_single_path(&mut self, variants: &[String], single: &[Flat<'_>]) {
        let of_paths = |key: &str| ["paths.", "script."].iter().any(|begin| key.starts_with(begin));
        let keys = single.iter().flat_map(|(_, setting)| setting.keys());
        let keys: BTreeSet<&String> = keys.filter(|key| !of_paths(key)).collect();
        for key in keys {
            let Some(of_single) = changed(key, single) else {
                continue;
            };
            let common = self.common.get(key);
            if of_single.values.values().all(|value| Some(value) == common) {
                continue;
            }
            let of_variants = self.common.remove(key).into_iter();
            let of_variants = of_variants.flat_map(|value| {
                variants
                    .iter()
                    .map(move |variant| (variant.clone(), value.clone()))
            });
            let known = self.changed.iter().position(|changed| changed.key == *key);
            let known = known.unwrap_or_else(|| {
                self.changed.push(Changed {
                    key: key.clone(),
                    values: BTreeMap::new(),
                });
                self.changed.len() - 1
            });
            let values = &mut self.changed[known].values;
            values.extend(of_variants);
            values.extend(of_single.values);
        }
        self.changed.sort_by(|left, right| left.key.cmp(&right.key));
    }

    /// The keys whose value differs from the value `now`, for all series or for one: a profile may have changed since. A key that
    /// did not exist then is counted if it is a parameter of the same policy and differs from the default of that policy.
    pub(super) fn changed_defaults(&self, now: &Self) -> Vec<String> {
        let changed = self.changed.iter().chain(&now.changed);
        let all_series = changed.flat_map(|changed| changed.values.keys());
        let all_series: BTreeSet<&str> = all_series.map(String::as_str).chain([""]).collect();
        let differs = |key: &&String| all_series.iter().any(|series| self.differs(now, key, series));
        let keys: BTreeSet<&String> = self.keys().chain(now.keys()).filter(differs).collect();
        keys.into_iter().cloned().collect()
    }

    fn differs(&self, now: &Self, key: &str, series: &str) -> bool {
        let has = |settings: &Self| settings.keys().any(|other| other == key);
        match (self.value(key, series), now.value(key, series)) {
            (Some(then), Some(now)) => then != now,
            // A setting that is off is not listed.
            (Some(then), None) => then == "true" && !has(now),
            (None, Some(_)) => !has(self) && self.lacks_parameter(now, key, series),
            (None, None) => false,
        }
    }

    /// Whether the policy in use had no parameter `key`, and now has it with another value than its default.
    fn lacks_parameter(&self, now: &Self, key: &str, series: &str) -> bool {
        let Some((policy, parameter)) = key.rsplit_once('.') else {
            return false;
        };
        let algorithm = now.value(policy, series);
        let default = algorithm.and_then(|algorithm| default_of(policy, algorithm, parameter));
        algorithm == self.value(policy, series) && default.is_some() && default != now.value(key, series)
    }

    /// All keys except the swept ones.
    fn keys(&self) -> impl Iterator<Item = &String> {
        let changed = self.changed.iter().map(|changed| &changed.key);
        self.common.keys().chain(changed)
    }

    /// The value of `key` in a series.
    fn value(&self, key: &str, series: &str) -> Option<&str> {
        let of_series = || self.changed.iter().find(|changed| changed.key == key);
        let common = self.common.get(key);
        common
            .or_else(|| of_series()?.values.get(series))
            .map(String::as_str)
    }
}

/// The default of a parameter of an algorithm, by the key of its extension point.
fn default_of(policy: &str, algorithm: &str, parameter: &str) -> Option<&'static str> {
    let point = policy.strip_prefix("policies.")?;
    let point = CATALOG.iter().find(|known| known.name == point)?;
    let algorithm = point.algorithms.iter().find(|known| known.name == algorithm)?;
    let parameter = algorithm
        .parameters
        .iter()
        .find(|known| known.name == parameter)?;
    Some(parameter.default)
}

/// The values of `key` by series; `None` if it varies within a series.
fn changed(key: &str, flat: &[Flat<'_>]) -> Option<Changed> {
    let mut values: BTreeMap<String, Option<&String>> = BTreeMap::new();
    for (point, setting) in flat {
        let value = setting.get(key);
        if *values.entry(point.series.clone()).or_insert(value) != value {
            return None;
        }
    }
    let values = values
        .into_iter()
        .filter_map(|(series, value)| Some((series, value?.clone())));
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

/// The setting of a point as dotted keys.
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

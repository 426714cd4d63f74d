//! Settings of the runs: common to all, different by series, and swept.

use std::collections::{BTreeMap, BTreeSet};

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
            swept: plan.axes.iter().map(swept).collect(),
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

    /// The keys whose value differs from the value `now`, for all series or for one: a profile may have changed since. A key
    /// that did not exist then is not counted.
    pub(super) fn changed_defaults(&self, now: &Self) -> Vec<String> {
        let value = |settings: &Self, key: &str, series: &str| {
            let of_series = settings.changed.iter().find(|changed| changed.key == key);
            let common = settings.common.get(key);
            common
                .or_else(|| of_series.and_then(|changed| changed.values.get(series)))
                .cloned()
        };
        let all_series = self
            .changed
            .iter()
            .chain(&now.changed)
            .flat_map(|changed| changed.values.keys());
        let all_series: BTreeSet<&str> = all_series.map(String::as_str).chain([""]).collect();
        let keys = self
            .common
            .keys()
            .chain(self.changed.iter().map(|changed| &changed.key));
        let differs = |key: &&String| {
            all_series.iter().any(|series| {
                let is_off =
                    !now.common.contains_key(*key) && now.changed.iter().all(|other| other.key != **key);
                match (value(self, key, series), value(now, key, series)) {
                    (Some(then), Some(now)) => then != now,
                    // A setting that is off is not listed.
                    (Some(then), None) => is_off && then == "true",
                    (None, _) => false,
                }
            })
        };
        let keys: BTreeSet<&String> = keys.filter(differs).collect();
        keys.into_iter().cloned().collect()
    }
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

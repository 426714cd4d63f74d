//! Points of a plan: one run for each variant, each combination of the sweeps' values, and each seed.

use std::sync::Arc;

use toml::Spanned;
use toml::de::DeValue;

use super::axis::{Coordinate, combinations};
use super::backend::BackendPlan;
use super::draw::Cell;
use super::error::Problem;
use super::figure::{Origin, SinglePath};
use super::head::Head;
use super::inputs::Inputs;
use super::named::Named;
use super::quantity::RateLimit;
use super::setting::{CrossTrafficPlan, LinkPlan, ScriptStep, Setting};
use super::tree::{self, Table, Value};
use super::validate;

/// Maximum number of runs of a plan; the list of runs is kept in memory.
const MAX_RUNS: u64 = 1_000_000;

/// One run of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// The series that it belongs to: a variant, or a reference with runs over single paths.
    pub series: String,
    /// The single path that it uses, or the part of the paths joined by `+`, if it belongs to such a reference.
    pub single_path: Option<String>,
    /// Its values on the axes of the sweep.
    pub coordinates: Vec<Coordinate>,
    /// The random seed.
    pub seed: u64,
    /// Everything else that the run depends on.
    pub setting: Arc<Setting>,
}

/// Maximum number of paths of which all parts are run.
const MAX_OF_SUBSETS: usize = 8;

/// Cost of a second of real time, in simulated bits: about what all cores simulate in a second.
const REAL_TIME: f64 = 1e10;

impl Point {
    /// The setting as JSON, with every choice and default spelled out.
    #[must_use]
    pub fn setting_text(&self) -> String {
        serde_json::to_string(&*self.setting).expect("invariant: settings have only names for keys")
    }

    /// Estimated cost of the run: the bits that the links can carry in its duration.
    #[must_use]
    pub fn work(&self) -> f64 {
        let Setting {
            time,
            paths,
            bottleneck,
            backend,
            ..
        } = &*self.setting;
        let seconds = (time.warm_up.0 + time.measure.0).as_secs_f64();
        if *backend == BackendPlan::Testbed {
            return seconds * REAL_TIME;
        }
        let traced = |link: &LinkPlan| link.trace.as_ref()?.mean_rate();
        let rate = |link: &LinkPlan| match link.rate {
            None if link.trace.is_some() => {
                traced(link).map_or(f64::INFINITY, |rate| rate.as_bits_per_second() as f64)
            }
            Some(RateLimit::At(rate)) => rate.0.as_bits_per_second() as f64,
            Some(RateLimit::Unlimited) | None => f64::INFINITY,
        };
        let sum: f64 = paths.iter().map(|(_, link)| rate(link)).sum();
        let limit = bottleneck.as_ref().map_or(f64::INFINITY, rate).min(sum).min(1e10);
        limit * seconds
    }
}

/// All runs, sorted by series, then by coordinates in the order of the axes, then by seed.
pub(super) fn of(head: &Head<'_>, base: &Value<'_>, inputs: &mut Inputs) -> Result<Vec<Point>, Problem> {
    check_number(head)?;
    let mut points = Vec::new();
    let combinations = combinations(&head.axes);
    for variant in &head.variants {
        for chosen in &combinations {
            let setting = setting(head, base, chosen, &variant.changes)?;
            let setting = finish(setting, &variant.place, inputs)?;
            push(&mut points, head, (&variant.name, None), chosen, setting);
        }
    }
    for (reference, changes, place) in &head.references {
        let Origin::SinglePath(alone) = &reference.origin else {
            continue;
        };
        for chosen in &combinations {
            let merged = setting(head, base, chosen, changes)?;
            let whole: Setting = tree::read(merged.clone())?;
            for (path, setting) in single_paths(&whole, alone, place)? {
                // A setting that is invalid over several paths may be valid over each.
                let setting = checked(setting, &merged, place, inputs)?;
                push(&mut points, head, (&reference.name, Some(path)), chosen, setting);
            }
        }
    }
    Ok(points)
}

/// Refuses too many runs before they are listed.
fn check_number(head: &Head<'_>) -> Result<(), Problem> {
    let free = head.axes.iter().filter(|axis| axis.with.is_none());
    let series_count = head.variants.len() + head.references.len();
    let factors = free.map(|axis| axis.values.len()).chain([series_count]);
    let fixed = head.seeds.end - head.seeds.start;
    let repetitions = head.repeat.as_ref().map_or(fixed, |repeat| repeat.at_most);
    let runs = factors.fold(repetitions, |runs, factor| runs.saturating_mul(factor as u64));
    if runs <= MAX_RUNS {
        return Ok(());
    }
    Err(Problem::new(
        0..0,
        format_args!("the plan has {runs} runs, expected at most {MAX_RUNS}"),
    ))
}

/// The drawn cells.
pub(super) fn cells(head: &Head<'_>, base: &Value<'_>) -> Result<Vec<Cell>, Problem> {
    let (Some(draw), DeValue::Table(base)) = (&head.draw, base.get_ref()) else {
        return Ok(Vec::new());
    };
    let numbers = draw.numbers().iter();
    numbers
        .map(|number| draw.apply(*number, &mut base.clone()))
        .collect()
}

fn setting<'t>(
    head: &Head<'t>,
    base: &Value<'t>,
    chosen: &[usize],
    changes: &Table<'t>,
) -> Result<Value<'t>, Problem> {
    let DeValue::Table(mut table) = base.get_ref().clone() else {
        return Err(Problem::new(base.span(), "expected a table"));
    };
    for (axis, index) in head.axes.iter().zip(chosen) {
        axis.apply(*index, &mut table)?;
    }
    if let (Some(draw), Some(cell)) = (&head.draw, chosen.first()) {
        draw.apply(draw.numbers()[*cell], &mut table)?;
    }
    tree::merge(&mut table, changes);
    tree::order_policies(&mut table);
    Ok(Spanned::new(base.span(), DeValue::Table(table)))
}

fn finish(
    merged: Value<'_>,
    place: &core::ops::Range<usize>,
    inputs: &mut Inputs,
) -> Result<Setting, Problem> {
    let setting: Setting = tree::read(merged.clone())?;
    checked(setting, &merged, place, inputs)
}

/// The setting with the content of its input files, if it is valid.
fn checked(
    mut setting: Setting,
    merged: &Value<'_>,
    place: &core::ops::Range<usize>,
    inputs: &mut Inputs,
) -> Result<Setting, Problem> {
    let outcome = validate::check(&setting).and_then(|()| inputs.load(&mut setting));
    outcome.map(|()| setting).map_err(|fault| {
        let path: Vec<&str> = fault.path.iter().map(String::as_str).collect();
        let found = tree::place(merged, &path);
        // A default has no position in the file; report it at the variant.
        let is_whole = found == merged.span();
        Problem::new(if is_whole { place.clone() } else { found }, fault.text)
    })
}

fn push(
    points: &mut Vec<Point>,
    head: &Head<'_>,
    series: (&str, Option<String>),
    chosen: &[usize],
    setting: Setting,
) {
    let setting = Arc::new(setting);
    let values = head.axes.iter().zip(chosen);
    let coordinates: Vec<Coordinate> = values.map(|(axis, index)| axis.values[*index].clone()).collect();
    points.extend(head.seeds.clone().map(|seed| Point {
        series: series.0.to_owned(),
        single_path: series.1.clone(),
        coordinates: coordinates.clone(),
        seed,
        setting: setting.clone(),
    }));
}

/// The setting reduced to a single path or a part of the paths, for each selected one.
fn single_paths(
    whole: &Setting,
    alone: &SinglePath,
    place: &core::ops::Range<usize>,
) -> Result<Vec<(String, Setting)>, Problem> {
    let names: Vec<&str> = whole.paths.names().collect();
    let parts = match alone {
        SinglePath::Best => names.iter().map(|name| vec![*name]).collect(),
        SinglePath::BestSubset if (2..=MAX_OF_SUBSETS).contains(&names.len()) => proper_subsets(&names),
        SinglePath::BestSubset => {
            let text = "`subset` needs 2 to 8 paths, of which it leaves out some";
            return Err(Problem::new(place.clone(), text));
        }
        SinglePath::Path(name) if names.contains(&name.as_str()) => vec![vec![name.as_str()]],
        SinglePath::Path(name) => return Err(Problem::unknown(place.clone(), "path", name, names)),
    };
    let only = parts.iter().map(|part| (part.join("+"), only(whole, part)));
    Ok(only.collect())
}

/// The setting without the other paths.
fn only(whole: &Setting, names: &[&str]) -> Setting {
    // These paths exist from the start.
    let is_on_them = |step: &&ScriptStep| {
        step.path().is_some_and(|path| names.contains(&path)) && step.join.is_none() && step.leave.is_none()
    };
    // Cross traffic on the other paths is left out.
    let crosses = |flow: &CrossTrafficPlan| {
        let through = flow.through.as_deref();
        through.is_none_or(|through| names.contains(&through))
    };
    let flows = whole.cross_traffic.iter().filter(|(_, flow)| crosses(flow));
    let flows = flows.map(|(name, flow)| (name.to_owned(), flow.clone()));
    let links = whole.paths.iter().filter(|(name, _)| names.contains(name));
    let links = links.map(|(name, link)| (name.to_owned(), link.clone()));
    Setting {
        paths: Named(links.collect()),
        cross_traffic: Named(flows.collect()),
        script: whole.script.iter().filter(is_on_them).cloned().collect(),
        ..whole.clone()
    }
}

/// All parts of `names` that are neither empty nor complete, the smallest first.
fn proper_subsets<'n>(names: &[&'n str]) -> Vec<Vec<&'n str>> {
    let all = 1_u32 << names.len();
    let part = |mask: u32| -> Vec<&'n str> {
        let chosen = names.iter().enumerate();
        let chosen = chosen.filter(|(index, _)| mask & (1 << index) != 0);
        chosen.map(|(_, name)| *name).collect()
    };
    let mut parts: Vec<Vec<&str>> = (1..all - 1).map(part).collect();
    parts.sort_by_key(Vec::len);
    parts
}

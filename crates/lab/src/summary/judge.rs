//! Checks judged from a result summary, so that a change of checks or statistics needs no new runs.

use std::collections::BTreeSet;

use super::{Panel, PanelPoint, PanelSeries, ResultSummary, SeriesOrigin, panels};
use crate::check::{self, Finding, Verdict};
use crate::plan::{Check, Coordinate, Plan, Quantity};
use crate::results::{CellRepetitions, Series, SeriesPoint, SeriesSet, split};
use crate::stats::SampleStats;

/// A place where a series was run.
struct Place {
    /// The series.
    name: String,
    /// The values on the other axes.
    others: Vec<Coordinate>,
    x: f64,
    /// The value on the x axis as written in the plan.
    label: String,
    /// The number of its repetitions.
    repetitions: usize,
}

impl ResultSummary {
    /// The summary with the findings of the checks of `plan`, which is the plan of its runs.
    pub(super) fn judged_by(self, plan: &Plan) -> Self {
        let places = self.places(plan);
        let series_of = |quantity: &Quantity| {
            let name = quantity.name();
            let mut panels = self.panels.iter().chain(&self.checked);
            let panel = panels.find(|panel| panel.metric == name)?;
            Some(self.series(plan, &places, panel))
        };
        let judged = |check: &Check| {
            let earlier = self.findings.iter().find(|finding| finding.claim == check.claim);
            let found = || {
                let series = series_of(&check.quantity(plan))?;
                let others = match check.other_quantity() {
                    Some(quantity) => Some(series_of(&quantity)?),
                    None => None,
                };
                Some(check::judge(check, &series, others.as_ref()))
            };
            found().unwrap_or_else(|| Finding::without_intervals(check, earlier))
        };
        let findings: Vec<Finding> = plan.checks.iter().map(judged).collect();
        Self {
            verdict: Verdict::of_all(findings.iter().map(|finding| finding.verdict)),
            findings,
            ..self
        }
    }

    /// Whether the runs are at the places of `plan`, at all of them and at no others, and the x axis is the same one. Settings may be others.
    pub(super) fn has_places_of(&self, plan: &Plan) -> bool {
        let places = self.places(plan);
        let x = panels::x(plan);
        // Words are kept as positions, and units in the label only.
        if (&x.words, &x.label) != (&self.x.words, &self.x.label) {
            return false;
        }
        let Some(panel) = self.panels.first() else {
            return false;
        };
        let is_run =
            |series: &&PanelSeries| matches!(series.origin, SeriesOrigin::Variant | SeriesOrigin::SinglePath);
        let has = |place: &Place| {
            let words: Vec<String> = place.others.iter().map(|other| plan.in_words(other)).collect();
            let mut series = panel.series.iter().filter(is_run);
            series.any(|series| {
                series.name == place.name
                    && series.coordinates == words
                    && series.points.iter().any(|point| point.x == place.x)
            })
        };
        let kept = panel
            .series
            .iter()
            .filter(is_run)
            .map(|series| series.points.len());
        kept.sum::<usize>() == places.len() && places.iter().all(has)
    }

    /// The series of a panel.
    fn series(&self, plan: &Plan, places: &[Place], panel: &Panel) -> SeriesSet {
        let mut all_series: Vec<Series> = Vec::new();
        for place in places {
            let Place {
                name,
                others,
                x,
                label,
                repetitions,
            } = place;
            let words: Vec<String> = others.iter().map(|other| plan.in_words(other)).collect();
            let is_it = |series: &&PanelSeries| series.name == *name && series.coordinates == words;
            let kept = panel.series.iter().find(is_it);
            let point = kept.and_then(|series| series.points.iter().find(|point| point.x == *x));
            let index = all_series
                .iter()
                .position(|series| series.name == *name && series.others == *others)
                .unwrap_or_else(|| {
                    all_series.push(Series::new(name, others.clone()));
                    all_series.len() - 1
                });
            let series = &mut all_series[index];
            if point.is_none_or(|point| point.count < *repetitions) {
                series.gaps.push((*x, label.clone()));
            }
            series
                .points
                .extend(point.map(|point| self.point(point, label.clone(), *repetitions)));
        }
        all_series.extend(self.references(plan, places, panel));
        for series in &mut all_series {
            series.points.sort_by(|left, right| left.x.total_cmp(&right.x));
        }
        SeriesSet {
            metric: panel.metric.clone(),
            statistic: self.statistic,
            series: all_series,
        }
    }

    /// The series of a panel whose values are known: formulas, and figures of papers.
    fn references(&self, plan: &Plan, places: &[Place], panel: &Panel) -> Vec<Series> {
        let is_exact =
            |series: &&PanelSeries| matches!(series.origin, SeriesOrigin::Formula | SeriesOrigin::Paper);
        let others_of = |kept: &PanelSeries| {
            let words = |others: &Vec<Coordinate>| -> Vec<String> {
                others.iter().map(|other| plan.in_words(other)).collect()
            };
            let mut places = places.iter();
            let place = places.find(|place| words(&place.others) == kept.coordinates);
            place.map_or_else(Vec::new, |place| place.others.clone())
        };
        let series = |kept: &PanelSeries| Series {
            is_exact: true,
            points: kept
                .points
                .iter()
                .map(|point| {
                    let mut places = places.iter();
                    let place = places.find(|place| place.x == point.x);
                    let label = place.map_or_else(|| point.x.to_string(), |place| place.label.clone());
                    self.point(point, label, self.seeds.len())
                })
                .collect(),
            ..Series::new(&kept.name, others_of(kept))
        };
        panel.series.iter().filter(is_exact).map(series).collect()
    }

    fn point(&self, kept: &PanelPoint, label: String, repetitions: usize) -> SeriesPoint {
        let known = SampleStats::of(&kept.values);
        let is_complete = kept.values.len() == repetitions;
        let by_seed = self.seeds.iter().copied().zip(kept.values.iter().copied());
        SeriesPoint {
            x: kept.x,
            label,
            stats: known.unwrap_or(SampleStats {
                count: kept.count,
                mean: kept.value,
                confidence: (kept.high - kept.low) / 2.0,
                median: kept.value,
                min: kept.low,
                max: kept.high,
            }),
            by_seed: if is_complete {
                by_seed.collect()
            } else {
                Vec::new()
            },
        }
    }

    /// The numbers of repetitions, least and greatest, of the cells in which a point of a series may lie. Kept results name cells in words;
    /// more than one fits only where axes are tied to the x axis.
    pub(crate) fn repetitions_of(&self, series: &PanelSeries, point: &PanelPoint) -> (usize, usize) {
        let is_x = |word: &str| {
            let Some((_, text)) = word.split_once(' ') else {
                return false;
            };
            match self.x.words.get(point.x as usize) {
                Some(known) => text
                    .strip_prefix(known.as_str())
                    .is_some_and(|unit| unit.is_empty() || unit.starts_with(' ')),
                None => text.split(' ').next().and_then(|text| text.parse().ok()) == Some(point.x),
            }
        };
        let fits = |cell: &&CellRepetitions| {
            let has = |word: &String| cell.cell.contains(word);
            let mut rest = cell.cell.iter().filter(|word| !series.coordinates.contains(word));
            series.coordinates.iter().all(has) && (self.x.label.is_empty() || rest.any(|word| is_x(word)))
        };
        let counts = || {
            self.repetitions
                .iter()
                .filter(fits)
                .map(|cell| cell.count as usize)
        };
        let all = self.seeds.len();
        (counts().min().unwrap_or(all), counts().max().unwrap_or(all))
    }

    /// All places of a plan, in the order of its points.
    fn places(&self, plan: &Plan) -> Vec<Place> {
        let mut known = BTreeSet::new();
        let mut places = Vec::new();
        for point in &plan.points {
            let texts: Vec<&str> = point.coordinates.iter().map(|own| own.text.as_str()).collect();
            if known.insert((point.series.as_str(), texts)) {
                let (x, label, others) = split(plan, &point.coordinates);
                let cell: Vec<String> = point.coordinates.iter().map(|own| plan.in_words(own)).collect();
                places.push(Place {
                    name: point.series.clone(),
                    others,
                    x,
                    label,
                    repetitions: self.repetitions_at(&cell),
                });
            }
        }
        places
    }
}

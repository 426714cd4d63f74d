//! Repetitions of each cell under a plan's stop rule: how many there are, and why they ended.

use core::fmt;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Results, split};
use crate::check::{Width, widths};
use crate::plan::{Check, Coordinate, Repeat, cell_of};

/// Why the repetitions of a cell ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// All intervals that count are narrow enough.
    Narrow,
    /// The largest number of repetitions was reached before.
    Most,
    /// No check examines the cell.
    Unexamined,
    /// Runs failed.
    Failed,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Narrow => "narrow enough",
            Self::Most => "largest number reached",
            Self::Unexamined => "examined by no check",
            Self::Failed => "runs failed",
        })
    }
}

/// The repetitions of a cell.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CellRepetitions {
    /// The values on all axes, such as `south 40 Mbit`.
    pub cell: Vec<String>,
    /// Their number.
    pub count: u64,
    /// Why they ended; missing while they go on.
    pub ended: Option<StopReason>,
    /// Half the width of the widest interval that counts, relative to its value; missing if it has no end, or if there is none.
    pub half_width: Option<f64>,
    /// The claim of the check with the widest interval; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub widest: String,
}

/// A cell with the key by which a plan is repeated.
struct Cell<'r> {
    key: Vec<String>,
    coordinates: &'r [Coordinate],
    count: u64,
    has_failed: bool,
}

/// The repetitions of each cell, in the order of the plan; empty if their number is fixed.
///
/// They follow from the results alone: the same results always give the same decision.
#[must_use]
pub fn repetitions(results: &Results<'_>) -> Vec<CellRepetitions> {
    let found = judged(results);
    found.into_iter().map(|(_, repetitions)| repetitions).collect()
}

/// The cells whose repetitions go on, with the number after the next round.
pub(crate) fn next_round(results: &Results<'_>) -> BTreeMap<Vec<String>, u64> {
    let Some(repeat) = &results.plan.repeat else {
        return BTreeMap::new();
    };
    let open = judged(results).into_iter();
    let open = open.filter(|(_, repetitions)| repetitions.ended.is_none());
    open.map(|(key, repetitions)| (key, repeat.after_a_round(repetitions.count)))
        .collect()
}

fn judged(results: &Results<'_>) -> Vec<(Vec<String>, CellRepetitions)> {
    let Some(repeat) = &results.plan.repeat else {
        return Vec::new();
    };
    let counting = |check: &&Check| repeat.counts(&check.quantity(results.plan).metric);
    let checks = results.plan.checks.iter().filter(counting);
    let all: Vec<(&str, Vec<Width>)> = checks
        .map(|check| (check.claim.as_str(), widths(check, results)))
        .collect();
    let judge = |cell: Cell<'_>| {
        let (x, _, others) = split(results.plan, cell.coordinates);
        let here = |width: &&Width| width.x == x && width.others == others;
        let widths = all
            .iter()
            .flat_map(|(claim, widths)| widths.iter().filter(here).map(|width| (*claim, width.half)));
        // Of equal widths the first counts.
        let widest = widths.reduce(|most, next| if next.1 > most.1 { next } else { most });
        let repetitions = CellRepetitions {
            cell: cell
                .coordinates
                .iter()
                .map(|own| results.plan.in_words(own))
                .collect(),
            count: cell.count,
            ended: ended(repeat, &cell, widest.map(|(_, half)| half)),
            half_width: widest.map(|(_, half)| half).filter(|half| half.is_finite()),
            widest: widest.map_or_else(String::new, |(claim, _)| claim.to_owned()),
        };
        (cell.key, repetitions)
    };
    cells(results).into_iter().map(judge).collect()
}

fn ended(repeat: &Repeat, cell: &Cell<'_>, widest: Option<f64>) -> Option<StopReason> {
    match widest {
        _ if cell.has_failed => Some(StopReason::Failed),
        None => Some(StopReason::Unexamined),
        Some(half) if half <= repeat.half_width => Some(StopReason::Narrow),
        Some(_) if cell.count >= repeat.at_most => Some(StopReason::Most),
        Some(_) => None,
    }
}

fn cells<'r>(results: &'r Results<'_>) -> Vec<Cell<'r>> {
    let mut cells: Vec<Cell<'_>> = Vec::new();
    let mut places: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for run in &results.runs {
        let key = cell_of(run.point);
        let index = *places.entry(key.clone()).or_insert_with(|| {
            cells.push(Cell {
                key,
                coordinates: &run.point.coordinates,
                count: 0,
                has_failed: false,
            });
            cells.len() - 1
        });
        let cell = &mut cells[index];
        let first = results.plan.points.first().map_or(0, |point| point.seed);
        cell.count = cell.count.max(run.point.seed - first + 1);
        cell.has_failed |= run.outcome.is_err();
    }
    cells
}

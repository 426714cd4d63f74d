//! What is known of a bed that another process has? What that process wrote down a moment ago.

use std::fs;
use std::io;
use std::path::PathBuf;

use anabranch_emu::bed::{Bed, BedLink, Side, Timing};
use serde::{Deserialize, Serialize};

/// A bed that is up, at one moment.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
pub(super) struct State {
    /// The process that has it.
    pub(super) owner: u32,
    /// What the paths are like, for people.
    pub(super) paths: Vec<String>,
    /// Packets delivered and dropped at each link: of each path, there and back.
    pub(super) links: Vec<Tally>,
    /// Packets delivered in time or late.
    pub(super) packets: u64,
    /// Microseconds that the share of packets that the name says was not later than.
    pub(super) late_p50_us: Option<u64>,
    pub(super) late_p99_us: Option<u64>,
    pub(super) late_max_us: Option<u64>,
    /// How often the machine stood still, and for how many milliseconds altogether.
    pub(super) standstills: u64,
    pub(super) stood_still_ms: u64,
    /// Packets lost before or behind the links, where none should be.
    pub(super) strays: u64,
}

/// Of one link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
pub(super) struct Tally {
    pub(super) delivered: u64,
    pub(super) dropped: u64,
}

impl State {
    pub(super) fn of(bed: &Bed, paths: &[String]) -> Self {
        let lanes = (0..paths.len()).flat_map(|path| Side::BOTH.map(|from| BedLink { path, from }));
        let tally = |lane| {
            let statistics = bed.statistics(lane);
            Tally {
                delivered: statistics.delivered.packets,
                dropped: statistics.dropped_in_total().packets,
            }
        };
        let timing = bed.timing();
        let late = |share| Timing::quantile(&timing, share).map(|late| late.as_micros() as u64);
        Self {
            owner: std::process::id(),
            paths: paths.to_vec(),
            links: lanes.map(tally).collect(),
            packets: timing.late.count(),
            late_p50_us: late(0.5),
            late_p99_us: late(0.99),
            late_max_us: late(1.0),
            standstills: timing.stalls,
            stood_still_ms: timing.stalled.as_millis() as u64,
            strays: timing.refused + bed.overflows().unwrap_or(0),
        }
    }

    /// Writes it down; a reader sees all of it or what was there before.
    pub(super) fn store(&self, bed: &str) -> io::Result<()> {
        let (file, unfinished) = (file(bed, "state"), file(bed, "state-new"));
        fs::write(&unfinished, serde_json::to_vec(self)?)?;
        fs::rename(unfinished, file)
    }

    /// What the process `owner` wrote down of its bed last.
    pub(super) fn load(bed: &str, owner: u32) -> Option<Self> {
        let bytes = fs::read(file(bed, "state")).ok()?;
        let state: Self = serde_json::from_slice(&bytes).ok()?;
        (state.owner == owner).then_some(state)
    }
}

/// A file beside the one that says whose the bed is.
pub(super) fn file(bed: &str, ending: &str) -> PathBuf {
    PathBuf::from(anabranch_emu::bed::FOLDER).join(format!("{bed}.{ending}"))
}

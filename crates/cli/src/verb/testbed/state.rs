//! State file of a test bed, written by the process that owns it.

use std::fs;
use std::io;
use std::path::PathBuf;

use anabranch_emu::bed::{Bed, BedLink, Side, Timing};
use serde::{Deserialize, Serialize};

/// State of a running test bed.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
pub(super) struct State {
    /// The owning process.
    pub(super) owner: u32,
    /// Descriptions of the paths.
    pub(super) paths: Vec<String>,
    /// Counters of the links: forward and reverse of each path.
    pub(super) links: Vec<Tally>,
    /// Packets delivered in total.
    pub(super) packets: u64,
    /// Lateness of packets in microseconds: median, 99th percentile, maximum.
    pub(super) lateness_p50_us: Option<u64>,
    pub(super) lateness_p99_us: Option<u64>,
    pub(super) lateness_max_us: Option<u64>,
    /// Stalls of the whole machine: number, and total duration in milliseconds.
    pub(super) host_stalls: u64,
    pub(super) host_stalls_ms: u64,
    /// Packets lost outside the emulated links.
    pub(super) stray_losses: u64,
}

/// Counters of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
pub(super) struct Tally {
    pub(super) delivered: u64,
    pub(super) dropped: u64,
}

impl State {
    pub(super) fn of(bed: &Bed, paths: &[String]) -> Self {
        let links = (0..paths.len()).flat_map(|path| Side::BOTH.map(|from| BedLink { path, from }));
        let tally = |link| {
            let statistics = bed.statistics(link);
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
            links: links.map(tally).collect(),
            packets: timing.late.count(),
            lateness_p50_us: late(0.5),
            lateness_p99_us: late(0.99),
            lateness_max_us: late(1.0),
            host_stalls: timing.stalls,
            host_stalls_ms: timing.stalled.as_millis() as u64,
            stray_losses: timing.refused + bed.overflows().unwrap_or(0),
        }
    }

    /// Writes the state file atomically.
    pub(super) fn store(&self, bed: &str) -> io::Result<()> {
        let (file, unfinished) = (file(bed, "state"), file(bed, "state-new"));
        fs::write(&unfinished, serde_json::to_vec(self)?)?;
        fs::rename(unfinished, file)
    }

    /// Reads the state written by the process `owner`.
    pub(super) fn load(bed: &str, owner: u32) -> Option<Self> {
        let bytes = fs::read(file(bed, "state")).ok()?;
        let state: Self = serde_json::from_slice(&bytes).ok()?;
        (state.owner == owner).then_some(state)
    }
}

/// A file beside the ownership file of the test bed.
pub(super) fn file(bed: &str, ending: &str) -> PathBuf {
    PathBuf::from(anabranch_emu::bed::FOLDER).join(format!("{bed}.{ending}"))
}

//! Design 1 of in-order arrival. To which path is each unsent byte bound?
//!
//! The bytes stay in the send queue; only the ranges that are bound to paths are stored here.

use alloc::collections::VecDeque;

use anabranch_types::PathId;

use super::Delays;
use crate::path_scheduler::{full, nanos, open};
use crate::{Backlog, PathFacts, Pick};

/// Overhead of a full packet: bytes of a chunk that are not user data (RFC 9260 §3.3.1).
const CHUNK_HEADER: u64 = 16;

/// A run of consecutive bytes bound to one path.
#[derive(Clone, Copy, Debug)]
struct Run {
    path: PathId,
    bytes: u64,
}

/// All unsent bytes, in order.
#[derive(Debug, Default)]
pub(super) struct Queued {
    runs: VecDeque<Run>,
}

impl Queued {
    pub(super) fn forget(&mut self) {
        self.runs.clear();
    }

    /// `bytes` of user data were sent on `path`.
    pub(super) fn sent(&mut self, path: PathId, mut bytes: u64) {
        for run in self.runs.iter_mut().filter(|run| run.path == path) {
            let part = run.bytes.min(bytes);
            run.bytes -= part;
            bytes -= part;
            if bytes == 0 {
                break;
            }
        }
        self.runs.retain(|run| run.bytes > 0);
    }

    pub(super) fn pick(&mut self, paths: &[PathFacts], backlog: &Backlog, delays: &Delays) -> Pick {
        let is_candidate = |id| open(paths).chain(full(paths)).any(|path| path.id == id);
        if self.runs.iter().any(|run| !is_candidate(run.path)) {
            // A path failed: what was bound to it is bound again, and so is everything behind it.
            self.forget();
        }
        let Some(best) = open(paths).min_by_key(|path| (delays.of(path), path.id)) else {
            return Pick::Wait { until: None };
        };
        self.bind(paths, backlog.unsent_bytes, delays);
        let has_room = |id| open(paths).any(|path| path.id == id);
        if let Some(ahead) = backlog.bound {
            let next = self.runs_from(ahead).next();
            return match next {
                Some(run) if !has_room(run.path) => Pick::Wait { until: None },
                Some(run) => Pick::On(run.path),
                None => Pick::On(best.id),
            };
        }
        let mut skip: u64 = 0;
        for run in &self.runs {
            if has_room(run.path) {
                return match skip {
                    0 => Pick::On(run.path),
                    skip => Pick::Ahead { path: run.path, skip },
                };
            }
            skip = skip.saturating_add(run.bytes);
        }
        if self.runs.is_empty() {
            return Pick::On(best.id);
        }
        Pick::Wait { until: None }
    }

    fn runs_from(&self, ahead: u64) -> impl Iterator<Item = &Run> {
        let mut passed: u64 = 0;
        self.runs.iter().skip_while(move |run| {
            passed = passed.saturating_add(run.bytes);
            passed <= ahead
        })
    }

    fn bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.bytes).sum()
    }

    fn bytes_on(&self, path: PathId) -> u64 {
        let runs = self.runs.iter().filter(|run| run.path == path);
        runs.map(|run| run.bytes).sum()
    }

    /// Binds what was submitted since the last call.
    fn bind(&mut self, paths: &[PathFacts], unsent: u64, delays: &Delays) {
        let mut bound = self.bytes();
        while bound > unsent {
            let Some(last) = self.runs.back_mut() else { break };
            let surplus = last.bytes.min(bound - unsent);
            last.bytes -= surplus;
            bound -= surplus;
            if last.bytes == 0 {
                self.runs.pop_back();
            }
        }
        while bound < unsent {
            let chosen = open(paths)
                .chain(full(paths))
                .min_by_key(|path| (self.delivery(path, delays), path.id));
            let Some(path) = chosen else { break };
            let bytes = packet_of(path).min(unsent - bound);
            bound += bytes;
            match self.runs.back_mut() {
                Some(last) if last.path == path.id => last.bytes += bytes,
                _ => self.runs.push_back(Run { path: path.id, bytes }),
            }
        }
    }

    /// When one more chunk would arrive if it were queued on `path` (DeD), in nanoseconds.
    fn delivery(&self, path: &PathFacts, delays: &Delays) -> u64 {
        let chunk = u64::from(path.max_data_chunk);
        let queue = self.bytes_on(path.id).div_ceil(packet_of(path)) + 1;
        let now = path.cwnd.saturating_sub(path.in_flight) / chunk;
        let rounds = queue.saturating_sub(now).div_ceil((path.cwnd / chunk).max(1));
        let round = nanos(path.srtt().unwrap_or_else(|| path.rto()));
        rounds
            .saturating_mul(round)
            .saturating_add(nanos(delays.of(path)))
    }
}

/// User data of a full packet on `path`.
fn packet_of(path: &PathFacts) -> u64 {
    u64::from(path.max_data_chunk).saturating_sub(CHUNK_HEADER).max(1)
}

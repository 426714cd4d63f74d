//! Within-window path scheduler. Which path is next, if none may hold the send window for longer than it lasts?
//!
//! Source: ours, from the idea of BLEST (Ferlin et al. 2016).
//!
//! Idea: all paths share one send window. It moves on when its oldest chunk is acknowledged, so a path that holds chunks for long, or
//! loses them, limits all others. Those paths send with which a window is acknowledged soonest; none of them fills its queue for
//! longer than half a window lasts, except the best one.
//!
//! ```text
//! m_d    = smallest RTT of a chunk on d; before one is acknowledged, of any packet
//! base_d = m + min(rttvar, srtt / 8, 2 · (srtt − m))                   how long an empty d holds a chunk
//! r_d    = delivery rate of d, measured once per srtt and smoothed: 7/8 of the old value; in slow start cwnd / srtt
//! c_d    = r_d, or what the congestion control permits if that is more and d does not use it
//! M      = send window: what may be outstanding above the cumulative TSN
//!
//! for a set S of paths:
//! T = max(M / Σ c, max base)                                           all of S without losses
//! l = losses expected on d in one window: M · c_d / Σ c / PMDCS · loss events per chunk, forgotten with a half-life of 10 s
//! time for a window = T + Σ_d l / (1 + l) · max(0, λ · (base_d + min base) − T)
//! S = paths in the order of base that do not make this time longer, without those that do
//!
//! hold_d = base_d while in flight + PMDCS ≤ 5/4 · r_d · base_d, else (in flight + PMDCS) / r_d + variation
//! d of S may send if hold_d ≤ max(M / Σ c / 2, max base), the one with the largest c always
//! On(smallest hold_d of those that may send and can take data); none: Wait
//! ```
//!
//! S is chosen once per smallest base, and when other paths can be used. The losses of a path that rests are forgotten, so it is tried
//! again. Where nothing is in flight, the first path that can take data is used. A path without an RTT sample is tried first, to get one.

mod measured;
mod senders;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::time::Duration;

use anabranch_types::{Instant, PathId};

use self::measured::{Measured, SECOND};
use self::senders::{Candidate, Senders, choose};
use super::{nanos, open};
use crate::math::mul_div;
use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_set::PathSet;
use crate::path_table::PathTable;
use crate::{AckSample, Backlog, PathFacts, PathScheduler, Pick, Policy, may_carry_data, path_facts};

/// Parameters of [`WithinWindow`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WithinWindowParameters {
    /// How much longer than two round trips a lost chunk is expected to hold the window (λ), in thousandths.
    pub lambda_per_mille: u32,
}

impl WithinWindowParameters {
    /// The default values.
    pub const DEFAULT: Self = Self {
        lambda_per_mille: 1_250,
    };
}

impl Default for WithinWindowParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for WithinWindowParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "lambda",
        default: "1.25",
        meaning: "how much longer than a round trip there and one on the fastest path a lost chunk holds the window, 1.0 to 10.0",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "lambda" => Slot::thousandths(&mut self.lambda_per_mille, 1_000..=10_000),
            _ => return None,
        })
    }
}

/// Within-window path scheduler.
#[derive(Debug)]
pub struct WithinWindow {
    parameters: WithinWindowParameters,
    /// Of paths that have carried data beside others.
    measured: PathTable<Measured>,
    /// Allocated when there is a choice.
    choice: Option<Box<Choice>>,
}

/// The paths that send, as chosen last.
#[derive(Debug, Default)]
struct Choice {
    senders: Senders,
    /// The paths that could send then.
    usable: PathSet,
    /// When they are chosen anew at the latest.
    until: Instant,
    /// Always empty between calls: memory for the next choice.
    candidates: Vec<Candidate>,
}

impl WithinWindow {
    /// Creates the scheduler.
    #[must_use]
    pub fn new(parameters: WithinWindowParameters) -> Self {
        Self {
            parameters,
            measured: PathTable::default(),
            choice: None,
        }
    }

    /// Delivery rate of `path` in bytes per second; at least one chunk per round trip, which takes `base`.
    fn rate(&self, path: &PathFacts, base: u64) -> u64 {
        let measured = self.measured.of(path.id).map_or(0, Measured::rate);
        let in_slow_start = path.ssthresh == u64::MAX;
        let rate = if measured == 0 || in_slow_start {
            by_window(path).max(measured)
        } else {
            measured
        };
        // One chunk per round trip.
        let least = mul_div(path.max_data_chunk.into(), SECOND, base.max(1));
        rate.max(least).max(1)
    }

    /// What `path` would carry if it got all data it can take: its delivery rate, which is lower while others share the window with
    /// it, or what its congestion control permits.
    fn capacity(&self, path: &PathFacts) -> u64 {
        let rate = self.rate(path, self.base(path));
        if self.measured.of(path.id).is_some_and(Measured::is_filled) {
            return rate;
        }
        let permitted = path.pacing_rate.map_or_else(|| by_window(path), NonZeroU64::get);
        rate.max(permitted)
    }

    /// Round-trip time of `path` without a queue of ours, in nanoseconds. On a slow path a full chunk takes longer than the packets of
    /// the handshake, which have the smallest round-trip time.
    fn base(&self, path: &PathFacts) -> u64 {
        let smallest = self.smallest(path);
        nanos(smallest).saturating_add(variation(path, smallest))
    }

    fn smallest(&self, path: &PathFacts) -> Duration {
        let of_data = self.measured.of(path.id).and_then(Measured::smallest_rtt);
        of_data.max(path.min_rtt()).unwrap_or_default()
    }

    /// How long `path` holds a chunk that is sent now, in nanoseconds.
    fn hold(&self, path: &PathFacts) -> u64 {
        let smallest = self.smallest(path);
        let variation = variation(path, smallest);
        let base = nanos(smallest).saturating_add(variation);
        let rate = self.rate(path, base);
        let after = path.in_flight.saturating_add(path.max_data_chunk.into());
        // A little more than an empty path needs, so that a higher rate is noticed.
        if after <= mul_div(mul_div(rate, base, SECOND), 5, 4) {
            return base;
        }
        base.max(mul_div(after, SECOND, rate).saturating_add(variation))
    }

    /// Chooses the paths that send, if it is time.
    fn update(&mut self, paths: &[PathFacts], window: u64, now: Instant) {
        let could_send = |path: &&PathFacts| may_carry_data(path, paths) && path.srtt().is_some();
        let could_send = || paths.iter().filter(could_send);
        let mut usable = PathSet::default();
        could_send().for_each(|path| usable.insert(path.id));
        let mut choice = self.choice.take().unwrap_or_default();
        if usable != choice.usable || now >= choice.until {
            for path in could_send() {
                if let Some(measured) = self.measured.of_mut(path.id) {
                    measured.forget(now);
                }
            }
            let mut candidates = core::mem::take(&mut choice.candidates);
            candidates.extend(could_send().map(|path| self.candidate(path)));
            choice.senders = choose(&mut candidates, window, self.parameters.lambda_per_mille.into());
            choice.usable = usable;
            let fastest = candidates.first().map_or(0, |path| path.base);
            choice.until = now + Duration::from_nanos(fastest);
            candidates.clear();
            choice.candidates = candidates;
        }
        self.choice = Some(choice);
    }

    fn candidate(&self, path: &PathFacts) -> Candidate {
        Candidate {
            id: path.id,
            base: self.base(path),
            capacity: self.capacity(path),
            losses: self.measured.of(path.id).map_or(0, Measured::losses),
            chunk: path.max_data_chunk.into(),
            sends: false,
        }
    }

    /// Whether a chunk on `path`, which holds it for `hold`, is acknowledged before half a window has been sent, or `path` is the best one.
    /// The other half is for what the estimates do not foresee, and costs nothing: a queue in front of a path does not make it faster.
    fn may_send(&self, path: &PathFacts, hold: u64) -> bool {
        let Some(Choice { senders, .. }) = self.choice.as_deref() else {
            return true;
        };
        senders.best == Some(path.id)
            || senders.paths.contains(path.id) && hold <= senders.slowest.max(senders.sending / 2)
    }
}

/// The rate at which the cwnd of `path` is sent each round trip.
fn by_window(path: &PathFacts) -> u64 {
    mul_div(path.cwnd, SECOND, path.srtt().map_or(0, nanos).max(1))
}

/// Half a round trip is assumed before it is measured, which would keep a path from being used. So it is limited, also by what the
/// round-trip times exceed the smallest one.
fn variation(path: &PathFacts, smallest: Duration) -> u64 {
    let srtt = path.srtt().unwrap_or_default();
    nanos(path.rttvar().min(srtt / 8).min(2 * srtt.saturating_sub(smallest)))
}

impl Policy for WithinWindow {
    fn name(&self) -> &'static str {
        "within-window"
    }
}

impl PathScheduler for WithinWindow {
    fn remove_path(&mut self, path: PathId) {
        self.measured.remove(path);
        self.choice = None;
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        if paths.len() < 2 {
            return;
        }
        for acked in ack.paths {
            let Some(facts) = path_facts(paths, acked.path) else {
                continue;
            };
            if self.measured.of(acked.path).is_none() {
                self.measured.insert(acked.path, Measured::default());
            }
            if let Some(measured) = self.measured.of_mut(acked.path) {
                measured.on_ack(acked, facts, now);
            }
        }
    }

    fn pick(&mut self, paths: &[PathFacts], backlog: &Backlog, now: Instant) -> Pick {
        let Some(first) = open(paths).next() else {
            return Pick::Wait { until: None };
        };
        if paths.len() == 1 {
            return Pick::On(first.id);
        }
        if let Some(unknown) = open(paths).find(|path| path.srtt().is_none()) {
            return Pick::On(unknown.id);
        }
        self.update(paths, backlog.send_window, now);
        let holds = open(paths).map(|path| (self.hold(path), path));
        let may_send = holds.filter(|(hold, path)| self.may_send(path, *hold));
        match may_send.map(|(hold, path)| (hold, path.id)).min() {
            Some((_, path)) => Pick::On(path),
            None if paths.iter().all(|path| path.in_flight == 0) => Pick::On(first.id),
            None => Pick::Wait { until: None },
        }
    }
}

//! RACK loss detection (RFC 8985). Which outstanding chunks are lost by time?
//!
//! Source: RFC 8985 (RACK), applied to each path separately.
//!
//! Idea: a chunk is lost if a chunk sent later on the same path was acknowledged, and it has itself been outstanding for
//! an RTT plus a reordering window. So packets that arrive slightly out of order are not retransmitted, however many
//! overtook them, and losses near the end are detected without three SACKs.
//!
//! ```text
//! SACK: newest = the acknowledged chunk sent last; rtt = how long that took
//!       (ignored if it was retransmitted and took less than min RTT: the original was acknowledged)
//! lost: sent before newest, and at least rtt + window ago
//! ask again: when all that was sent before newest is that old
//! window = share · min RTT, at most the smoothed RTT
//! with `variation` > 0: window at least variation · deviation, and rtt at least the mean of all RTTs
//! ```
//!
//! `variation` is ours: where packets overtake one another because their delays vary, those that overtake have a low RTT, and
//! the smallest RTT says nothing about the variation. Nor do srtt and RTTVAR, because the one sample that they take in a round
//! trip is that of the packet which overtook all others. So mean and mean deviation are of the shortest and the longest RTT of each
//! SACK, with the gains of RFC 6298 divided by the chunks in flight (RFC 7323, appendix G).
//!
//! Deviations: the reordering window applies from the beginning, not only once reordering was seen, and does not adapt to
//! reported duplicates: with several paths these may come from retransmissions on other paths. Where gaps do not
//! force SACKs (`ack-policy = dac`), a delayed one may arrive later than the window allows.

use core::time::Duration;

use anabranch_types::{Instant, PathId, SendNumber};

use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_table::PathTable;
use crate::{AckSample, Late, LossDetection, LossThreshold, PathAck, PathFacts, Policy, path_facts};

/// Parameters of [`Rack`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RackParameters {
    /// The reordering window, in thousandths of the smallest RTT.
    pub window: u32,
    /// The reordering window is at least this many times the mean deviation of the RTT; 0 to ignore it, as RFC 8985 does.
    pub variation: u16,
}

impl Default for RackParameters {
    fn default() -> Self {
        Self {
            window: 250,
            variation: 0,
        }
    }
}

impl Parameters for RackParameters {
    const LIST: &'static [Parameter] = &[
        Parameter {
            name: "window",
            default: "0.25",
            meaning: "reordering window: how late an overtaken chunk may be, as a share of the smallest RTT, 0.0 to 4.0",
        },
        Parameter {
            name: "variation",
            default: "0",
            meaning: "the reordering window is at least this many times the mean deviation of the RTT, beyond its mean, 0 to 16",
        },
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "window" => Slot::thousandths(&mut self.window, 0..=4_000),
            "variation" => Slot::number(&mut self.variation, 0..=16),
            _ => return None,
        })
    }
}

/// RACK loss detection.
#[derive(Debug)]
pub struct Rack {
    parameters: RackParameters,
    paths: PathTable<Watched>,
}

/// What is known of a path.
#[derive(Clone, Copy, Debug, Default)]
struct Watched {
    newest: Option<Newest>,
    /// Of all RTTs; only with `variation`.
    spread: Option<Spread>,
}

/// Mean and mean deviation of round-trip times, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Spread {
    mean: u64,
    deviation: u64,
}

impl Spread {
    fn first(rtt: u64) -> Self {
        Self {
            mean: rtt,
            deviation: rtt / 2,
        }
    }

    /// Takes one of about `samples` samples of a round trip (RFC 7323, appendix G).
    fn add(&mut self, rtt: u64, samples: u64) {
        let apart = self.mean.abs_diff(rtt);
        self.deviation = moved(self.deviation, apart, 4 * samples);
        self.mean = moved(self.mean, rtt, 8 * samples);
    }
}

/// `value`, by one `share`th of the way closer to `target`.
const fn moved(value: u64, target: u64, share: u64) -> u64 {
    if target > value {
        value + (target - value) / share
    } else {
        value - (value - target) / share
    }
}

/// The acknowledged chunk of a path that was sent last.
#[derive(Clone, Copy, Debug)]
struct Newest {
    send_number: SendNumber,
    sent_at: Instant,
    /// How long a chunk may be outstanding before it is lost.
    patience: Duration,
}

impl Rack {
    /// Creates a detector without paths.
    #[must_use]
    pub fn new(parameters: RackParameters) -> Self {
        Self {
            parameters,
            paths: PathTable::default(),
        }
    }

    fn window(&self, path: &PathFacts) -> Duration {
        let smallest = path.min_rtt().unwrap_or_default();
        let window = smallest.saturating_mul(self.parameters.window) / 1_000;
        window.min(path.srtt().unwrap_or_default())
    }

    /// How long a chunk may be outstanding if the newest one took `took`.
    fn patience(&self, path: &PathFacts, took: Duration, spread: Option<Spread>) -> Duration {
        let window = self.window(path);
        let Some(spread) = spread else {
            return took.saturating_add(window);
        };
        let varies = spread
            .deviation
            .saturating_mul(u64::from(self.parameters.variation));
        let took = took.max(Duration::from_nanos(spread.mean));
        took.saturating_add(window.max(Duration::from_nanos(varies)))
    }

    /// The spread of the round-trip times of `path` after those of an acknowledgement.
    fn spread_after(
        &self,
        known: Option<Spread>,
        path: &PathFacts,
        ack: &PathAck,
        now: Instant,
    ) -> Option<Spread> {
        if self.parameters.variation == 0 {
            return None;
        }
        let samples = (path.in_flight / u64::from(path.max_data_chunk).max(1)).max(1);
        let mut spread = known;
        for rtt in ack.round_trip_times(now).into_iter().flatten() {
            let rtt = u64::try_from(rtt.as_nanos()).unwrap_or(u64::MAX);
            spread.get_or_insert_with(|| Spread::first(rtt)).add(rtt, samples);
        }
        spread
    }
}

/// The newest send that `ack` acknowledges, and how long it took; `None` if that is ambiguous.
fn newest_of(ack: &PathAck, path: &PathFacts, now: Instant) -> Option<(SendNumber, Instant, Duration)> {
    let (send_number, sent_at) = (ack.latest_send_number?, ack.latest_sent_at?);
    let took = now - sent_at;
    let was_sent_once = ack.rtt_sample.is_some_and(|once| once.sent_at >= sent_at);
    let is_sure = was_sent_once || path.min_rtt().is_none_or(|smallest| took >= smallest);
    is_sure.then_some((send_number, sent_at, took))
}

impl Policy for Rack {
    fn name(&self) -> &'static str {
        "rack"
    }
}

impl LossDetection for Rack {
    fn add_path(&mut self, path: PathId) {
        self.paths.insert(path, Watched::default());
    }

    fn remove_path(&mut self, path: PathId) {
        self.paths.remove(path);
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        for path_ack in ack.paths {
            let Some(facts) = path_facts(paths, path_ack.path) else {
                continue;
            };
            let news = newest_of(path_ack, facts, now);
            let Some((send_number, sent_at, took)) = news else {
                continue;
            };
            let Some(known) = self.paths.of(path_ack.path).copied() else {
                continue;
            };
            let spread = self.spread_after(known.spread, facts, path_ack, now);
            let patience = self.patience(facts, took, spread);
            let is_newest = known.newest.is_none_or(|newest| newest.send_number < send_number);
            let newest = Newest {
                send_number,
                sent_at,
                patience,
            };
            let watched = Watched {
                newest: if is_newest { Some(newest) } else { known.newest },
                spread,
            };
            self.paths.insert(path_ack.path, watched);
        }
    }

    fn on_timeout(&mut self, path: PathId) {
        if let Some(known) = self.paths.of_mut(path) {
            known.newest = None;
        }
    }

    fn loss_threshold(&self, path: PathId, now: Instant) -> LossThreshold {
        let Some(newest) = self.paths.of(path).and_then(|watched| watched.newest) else {
            return LossThreshold::NONE;
        };
        let all_judged = newest.sent_at + newest.patience;
        let is_old_enough = |until: Instant| until + newest.patience <= now;
        LossThreshold {
            late: Some(now - newest.patience)
                .filter(|until| is_old_enough(*until))
                .map(|until| Late {
                    before: newest.send_number,
                    until,
                }),
            again_at: Some(all_judged).filter(|moment| *moment > now),
            ..LossThreshold::NONE
        }
    }
}

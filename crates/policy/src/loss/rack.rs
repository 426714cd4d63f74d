//! Which outstanding chunks are lost, if time decides?
//!
//! Source: RFC 8985 (RACK), applied to each path alone.
//!
//! Idea: a chunk is lost if a chunk that left later on the same path was acknowledged, and it had a round trip and a bit
//! more to be acknowledged itself. The bit is for reordering on the path: packets that arrive a little out of order are
//! not sent again, however many overtook. And a few that are lost at the end are found without three SACKs.
//!
//! ```text
//! SACK: newest = the latest transmission acknowledged; rtt = how long that took
//!       (not if it was a retransmission that was acknowledged sooner than any round trip: that was the original)
//! lost: left before newest, and at least rtt + window ago
//! ask again: when all that left before newest is that old
//! window = share · smallest round trip, at most the smoothed one
//! ```
//!
//! Deviations: the window is there from the beginning, not only once reordering was seen, and it does not adapt to
//! reported duplicates: with several paths these come from retransmissions elsewhere just as well. Where gaps do not
//! hurry acknowledgements (`ack-policy = dac`), one that is delayed may come later than the window allows.

use core::time::Duration;

use anabranch_types::{Instant, PathId, SendNumber};

use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_table::PathTable;
use crate::{AckSample, Late, LossDetection, LossThreshold, PathAck, PathFacts, Policy, path_facts};

/// Parameters of [`Rack`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RackParameters {
    /// The reordering window, in thousandths of the smallest round-trip time.
    pub window: u32,
}

impl Default for RackParameters {
    fn default() -> Self {
        Self { window: 250 }
    }
}

impl Parameters for RackParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "window",
        default: "0.25",
        meaning: "reordering window: how late an overtaken chunk may be, as a share of the smallest RTT, 0.0 to 4.0",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        (name == "window").then(|| Slot::thousandths(&mut self.window, 0..=4_000))
    }
}

/// Recent acknowledgement.
#[derive(Debug)]
pub struct Rack {
    parameters: RackParameters,
    paths: PathTable<Option<Newest>>,
}

/// The latest transmission of a path that was acknowledged.
#[derive(Clone, Copy, Debug)]
struct Newest {
    send_number: SendNumber,
    sent_at: Instant,
    /// How long a chunk may be out before it is lost.
    patience: Duration,
}

impl Rack {
    /// A detector without paths.
    #[must_use]
    pub fn new(parameters: RackParameters) -> Self {
        Self {
            parameters,
            paths: PathTable::default(),
        }
    }

    fn window(&self, path: &PathFacts) -> Duration {
        let smallest = path.min_rtt.unwrap_or_default();
        let window = smallest.saturating_mul(self.parameters.window) / 1_000;
        window.min(path.srtt.unwrap_or_default())
    }
}

/// The newest transmission that `ack` tells of, and how long it took; `None` if that is not sure.
fn newest_of(ack: &PathAck, path: &PathFacts, now: Instant) -> Option<(SendNumber, Instant, Duration)> {
    let (send_number, sent_at) = (ack.latest_send_number?, ack.latest_sent_at?);
    let took = now - sent_at;
    let was_sent_once = ack.rtt_sample.is_some_and(|once| once.sent_at >= sent_at);
    let is_sure = was_sent_once || path.min_rtt.is_none_or(|smallest| took >= smallest);
    is_sure.then_some((send_number, sent_at, took))
}

impl Policy for Rack {
    fn name(&self) -> &'static str {
        "rack"
    }
}

impl LossDetection for Rack {
    fn add_path(&mut self, path: PathId) {
        self.paths.insert(path, None);
    }

    fn remove_path(&mut self, path: PathId) {
        self.paths.remove(path);
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        for path_ack in ack.paths {
            let Some(facts) = path_facts(paths, path_ack.path) else {
                continue;
            };
            let window = self.window(facts);
            let news = newest_of(path_ack, facts, now);
            let Some((known, (send_number, sent_at, took))) = self.paths.of_mut(path_ack.path).zip(news)
            else {
                continue;
            };
            if known.is_none_or(|known| known.send_number < send_number) {
                *known = Some(Newest {
                    send_number,
                    sent_at,
                    patience: took.saturating_add(window),
                });
            }
        }
    }

    fn on_timeout(&mut self, path: PathId) {
        if let Some(known) = self.paths.of_mut(path) {
            *known = None;
        }
    }

    fn loss_threshold(&self, path: PathId, now: Instant) -> LossThreshold {
        let Some(newest) = self.paths.of(path).copied().flatten() else {
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

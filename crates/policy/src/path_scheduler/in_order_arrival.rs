//! In-order arrival path scheduler. Which path is next, if data is to arrive in order?
//!
//! Source: F. Yang, "Non-Renegable Selective Acknowledgments and Scheduling for TCP and Multipath TCP", University of
//! Delaware 2015, chapter 5.
//!
//! Idea: send data out of order so that it arrives in order. A full path has a delivery delay too: that of an empty
//! path plus the round trips until it can send. So the next data waits for a fast path although a slow one can take
//! data, and the slow path carries what the fast one would not deliver any sooner.
//!
//! ```text
//! CommD_d: from the first send to arrival in order among what was sent on d, retransmissions included;
//!          smoothed: 7/8 of the old value, 1/8 of the sample
//! DeD_d  = CommD_d                                        if d can take data
//!        = (waiting_d / cwnd_d + 1) · srtt_d + CommD_d    if not
//!
//! design 2: for each unsent chunk, in order:
//!     d = smallest DeD;  d can take data: send this chunk on d;  else: waiting_d += 1 (it is scheduled virtually)
//! design 1: each chunk is queued for good on the path with the smallest DeD, and sent when that can take data
//! ```
//!
//! Of design 2, only the sum is computed: all full paths together take what arrives there before it would on the best
//! path that can take data, and that path takes the chunk behind.
//!
//! Deviations:
//! - SCTP has no timestamps. A sample ends when the SACK arrives, less half the smallest RTT of the path it
//!   arrived over. If SACKs return on one path (`sack-path = primary`), that is the same for all paths and changes
//!   nothing; if they return on the path of the data, it is right as far as both directions of a path are equally long.
//!   Both halves include the delay of acknowledgements, as in the paper. Before the first sample: half the RTT.
//! - Bytes of chunks where the paper counts packets.
//! - Messages are numbered when they are passed over, in the order of the stream scheduler. A message in several DATA
//!   chunks is not interrupted once it has begun (RFC 9260 §6.9): its rest takes the best path that can take data, if
//!   that is where it belongs or farther ahead.
//! - What is passed over must fit the peer's receive window together with what is sent ahead of it.
//! - `growth = on` expects the cwnd to grow by one chunk per round trip. The paper's example (30 of 34 packets on
//!   the fast path, §5.1) needs that; its formula does not include it.

mod queued;

use core::time::Duration;

use anabranch_types::{Instant, PathId};

use self::queued::Queued;
use super::{full, nanos, open};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_table::PathTable;
use crate::{AckSample, Backlog, PathFacts, PathScheduler, Pick, Policy, path_facts};

/// Parameters of [`InOrderArrival`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InOrderArrivalParameters {
    /// Which of the two designs: 1 or 2.
    pub design: u8,
    /// Whether the cwnd is expected to grow by one chunk per round trip (design 2).
    pub growth: bool,
}

impl InOrderArrivalParameters {
    /// The values of the paper.
    pub const DEFAULT: Self = Self {
        design: 2,
        growth: false,
    };
}

impl Default for InOrderArrivalParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for InOrderArrivalParameters {
    const LIST: &'static [Parameter] = &[
        Parameter {
            name: "design",
            default: "2",
            meaning: "1: each chunk is bound to a path when it is submitted; 2: when it is sent",
        },
        Parameter {
            name: "growth",
            default: "off",
            meaning: "expect the cwnd to grow by one chunk per round trip (design 2): on or off",
        },
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "design" => Slot::number(&mut self.design, 1..=2),
            "growth" => Slot::text(&mut self.growth),
            _ => return None,
        })
    }
}

/// In-order arrival path scheduler.
#[derive(Debug)]
pub struct InOrderArrival {
    parameters: InOrderArrivalParameters,
    delays: Delays,
    /// Empty in design 2.
    queued: Queued,
}

impl InOrderArrival {
    /// Creates the scheduler.
    #[must_use]
    pub fn new(parameters: InOrderArrivalParameters) -> Self {
        Self {
            parameters,
            delays: Delays::default(),
            queued: Queued::default(),
        }
    }

    /// Bytes that would arrive sooner by waiting for `full` than by using `best` now.
    fn waits_for(&self, full: &PathFacts, best: &PathFacts) -> u64 {
        let round = full.srtt().map_or(0, nanos);
        let gap = nanos(self.delays.of(best)).saturating_sub(nanos(self.delays.of(full)));
        // Of two equal delays the one with the lower id counts as smaller.
        let gap = gap.saturating_sub(u64::from(full.id > best.id));
        let Some(rounds) = gap.checked_div(round) else {
            return 0;
        };
        let growth = match self.parameters.growth {
            true => rounds.saturating_mul(rounds + 1) / 2,
            false => 0,
        };
        let grown = growth.saturating_mul(u64::from(full.max_data_chunk));
        rounds.saturating_mul(full.cwnd).saturating_add(grown)
    }

    fn pick_by_arrival(&self, paths: &[PathFacts], backlog: &Backlog) -> Pick {
        let Some(best) = open(paths).min_by_key(|path| (self.delays.of(path), path.id)) else {
            return Pick::Wait { until: None };
        };
        let others = full(paths).map(|path| self.waits_for(path, best));
        let skip = others.fold(0, u64::saturating_add);
        match backlog.bound {
            _ if skip == 0 => Pick::On(best.id),
            Some(ahead) if skip <= ahead => Pick::On(best.id),
            None if skip < backlog.unsent_bytes => Pick::Ahead { path: best.id, skip },
            _ => Pick::Wait { until: None },
        }
    }
}

impl Policy for InOrderArrival {
    fn name(&self) -> &'static str {
        "in-order-arrival"
    }
}

impl PathScheduler for InOrderArrival {
    fn add_path(&mut self, path: PathId) {
        self.delays.measured.insert(path, None);
    }

    fn remove_path(&mut self, path: PathId) {
        self.delays.measured.remove(path);
        self.queued.forget();
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        let Some(home) = path_facts(paths, ack.arrived_on).and_then(|path| path.min_rtt()) else {
            return;
        };
        for path in ack.paths {
            if let Some(sent_at) = path.in_order_since {
                let sample = (now - sent_at).saturating_sub(home / 2);
                self.delays.sample(path.path, sample);
            }
        }
    }

    fn pick(&mut self, paths: &[PathFacts], backlog: &Backlog, _now: Instant) -> Pick {
        if self.parameters.design == 1 {
            self.queued.pick(paths, backlog, &self.delays)
        } else {
            self.pick_by_arrival(paths, backlog)
        }
    }

    fn on_sent(&mut self, path: PathId, bytes: u64, _now: Instant) {
        self.queued.sent(path, bytes);
    }
}

/// The smoothed communication delays (CommD).
#[derive(Debug, Default)]
struct Delays {
    measured: PathTable<Option<Duration>>,
}

impl Delays {
    /// The delay of a path without samples: zero, so that it soon gets one.
    fn of(&self, path: &PathFacts) -> Duration {
        let measured = self.measured.of(path.id).copied().flatten();
        measured
            .or_else(|| path.srtt().map(|srtt| srtt / 2))
            .unwrap_or_default()
    }

    fn sample(&mut self, path: PathId, sample: Duration) {
        if let Some(delay) = self.measured.of_mut(path) {
            *delay = Some(delay.map_or(sample, |old| (old * 7 + sample) / 8));
        }
    }
}

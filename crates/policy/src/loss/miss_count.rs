//! Split fast retransmit. A chunk is lost after three miss indications, counted on each path separately.
//!
//! Sources: RFC 9260 §7.2.4 (three miss indications, HTNA); J. Iyengar, P. Amer, R. Stewart, "Concurrent multipath
//! transfer using SCTP multihoming over independent end-to-end paths", IEEE/ACM ToN 14(5), 2006 (split fast
//! retransmit, delayed acknowledgements for CMT).
//!
//! Idea: a chunk gets a miss indication when a SACK newly acknowledges a later chunk *of the same path*; chunks of other
//! paths overtake it all the time and prove nothing. A path sends in TSN order, so the chunks with at least three miss
//! indications are always a prefix of what it has outstanding, and three watermarks replace counters.
//!
//! ```text
//! SACK newly acknowledges l … h on the path; n = packets that it stands for (DAC), 1 without DAC
//!   miss indication at h                      what is below h: +1
//!   if no other path was acknowledged: n − 1 miss indications at l    what is below l: +n in all
//!   in recovery and cumulative TSN advanced: the first miss indication is at the highest TSN ever acknowledged
//! lost: below the third-highest miss indication
//! retransmissions: the same with send numbers in place of TSNs
//! ```
//!
//! Deviations: RFC 9260's rule for recovery counts for all missing TSNs; here only on the paths of which the SACK
//! acknowledged something, else the advance of one path would add miss indications on another. A retransmission may be
//! declared lost again, see [`FastRetransmitOnce`].

use anabranch_types::{Instant, PathId, SendNumber, UnwrappedTsn};

use super::watermarks::Watermarks;
use crate::parameters::{Parameter, Parameters, Slot, Word};
use crate::path_table::PathTable;
use crate::{AckSample, Eligible, LossDetection, LossThreshold, PathAck, PathFacts, Policy, path_facts};

/// Whether a fast-retransmitted chunk may be fast-retransmitted again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FastRetransmitOnce {
    /// Never (RFC 9260 §7.2.4). If the retransmission is lost too, only the T3-rtx timer helps, and with several paths all
    /// of them stall on that chunk. A chunk that chunk rescheduling moved may be lost again once it is older than two
    /// smoothed RTTs of its path.
    Always,
    /// Only a chunk that was never retransmitted on another path: D. Sarnow, "SACK Handling for CMT-SCTP in the
    /// FreeBSD Kernel" (HAW Hamburg 2017, §6.2.1).
    OnPathChange,
    /// At most once per smoothed RTT of its path.
    PerRtt,
    /// A retransmission is lost when three SACKs acknowledged later sends on its path.
    ///
    /// Deviates from RFC 9260 §7.2.4. The RFC forbids a second fast retransmission because a TSN does not tell
    /// whether what was acknowledged was sent before or after the retransmission. The send number does, and
    /// Sarnow shows what the prohibition costs under CMT: one chunk lost twice stalls all paths until its timeout.
    #[default]
    PerPathOrder,
}

impl Word for FastRetransmitOnce {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("always", Self::Always),
        ("on-path-change", Self::OnPathChange),
        ("per-rtt", Self::PerRtt),
        ("per-path-order", Self::PerPathOrder),
    ];
}

/// Parameters of [`MissCount`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MissCountParameters {
    /// Whether a retransmission may be declared lost again.
    pub fr_once: FastRetransmitOnce,
}

impl Parameters for MissCountParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "fr-once",
        default: "per-path-order",
        meaning: "whether a chunk is fast-retransmitted only once: always (RFC 9260 §7.2.4), or per-path-order: again when three \
                  later sends on its path were acknowledged; on-path-change: the same, but only for a chunk that \
                  never changed its path; per-rtt: the same, but at most once per round trip",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "fr-once" => Slot::text(&mut self.fr_once),
            _ => return None,
        })
    }
}

/// Three miss indications, counted on each path separately.
#[derive(Debug)]
pub struct MissCount {
    parameters: MissCountParameters,
    paths: PathTable<MissIndications>,
}

#[derive(Debug, Default)]
struct MissIndications {
    first_sent: Watermarks<UnwrappedTsn>,
    sent_again: Watermarks<SendNumber>,
    highest_acked: Option<UnwrappedTsn>,
    /// One or two smoothed RTTs before the last SACK, as `fr-once` needs it; never decreases.
    long_ago: Option<Instant>,
}

impl MissIndications {
    //= rfc9260 6.7-4, 6.7-5
    fn on_ack(&mut self, ack: &PathAck, packets: u8, all_missing: bool) {
        self.highest_acked = self.highest_acked.max(ack.highest_newly_acked);
        let first_miss = if all_missing {
            self.highest_acked
        } else {
            ack.highest_newly_acked
        };
        if let Some(highest) = first_miss {
            self.first_sent.note_miss(highest);
        }
        if let Some(lowest) = ack.lowest_newly_acked {
            (1..packets).for_each(|_| self.first_sent.note_miss(lowest));
        }
        if let Some(latest) = ack.latest_send_number {
            self.sent_again.note_miss(latest);
        }
    }
}

/// A SACK of a peer that acknowledges every second packet stands for two at most.
const MAX_PACKETS: u8 = 2;

impl MissCount {
    /// Creates a detector without paths.
    #[must_use]
    pub fn new(parameters: MissCountParameters) -> Self {
        Self {
            parameters,
            paths: PathTable::default(),
        }
    }

    fn note_round_trips(&mut self, paths: &[PathFacts], now: Instant) {
        let round_trips = match self.parameters.fr_once {
            FastRetransmitOnce::Always => 2,
            FastRetransmitOnce::PerRtt => 1,
            FastRetransmitOnce::OnPathChange | FastRetransmitOnce::PerPathOrder => return,
        };
        for facts in paths {
            if let Some(srtt) = facts.srtt() {
                let misses = self.paths.of_mut_or_default(facts.id);
                misses.long_ago = misses.long_ago.max(Some(now - srtt * round_trips));
            }
        }
    }
}

impl Policy for MissCount {
    fn name(&self) -> &'static str {
        "miss-count"
    }
}

impl LossDetection for MissCount {
    /// The first acknowledgement makes the state of a path: most associations are idle.
    fn add_path(&mut self, _path: PathId) {}

    fn remove_path(&mut self, path: PathId) {
        self.paths.remove(path);
    }

    //= rfc9260 7.2.4-3
    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        let acked = || ack.paths.iter().filter(|path| path.newly_acked_chunks > 0);
        // Packets that were counted together but arrived over several paths cannot be attributed: each counts once.
        let packets = if acked().nth(1).is_some() {
            1
        } else {
            ack.packet_count.unwrap_or(1)
        };
        self.note_round_trips(paths, now);
        for path_ack in acked() {
            let in_recovery = path_facts(paths, path_ack.path).is_some_and(|path| path.in_recovery);
            // "If an endpoint is in Fast Recovery and a SACK chunks arrives that advances the Cumulative TSN Ack
            // Point, the miss indications are incremented for all TSNs reported missing" (RFC 9260 §7.2.4).
            let all_missing = in_recovery && ack.cumulative_advanced;
            let misses = self.paths.of_mut_or_default(path_ack.path);
            misses.on_ack(path_ack, packets.min(MAX_PACKETS), all_missing);
        }
    }

    fn on_timeout(&mut self, path: PathId) {
        if let Some(misses) = self.paths.of_mut(path) {
            *misses = MissIndications::default();
        }
    }

    //= rfc9260 7.2.4-2
    fn loss_threshold(&self, path: PathId, _now: Instant) -> LossThreshold {
        let Some(misses) = self.paths.of(path) else {
            return LossThreshold::NONE;
        };
        let eligible = match self.parameters.fr_once {
            FastRetransmitOnce::Always => misses.long_ago.map(Eligible::MovedBefore),
            FastRetransmitOnce::OnPathChange => Some(Eligible::OnOnePath),
            FastRetransmitOnce::PerRtt => misses.long_ago.map(Eligible::SentBefore),
            FastRetransmitOnce::PerPathOrder => Some(Eligible::Any),
        };
        LossThreshold {
            below: misses.first_sent.third(),
            resent_before: eligible.and_then(|_| misses.sent_again.third()),
            eligible: eligible.unwrap_or_default(),
            ..LossThreshold::NONE
        }
    }
}

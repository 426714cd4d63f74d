//! Paths. What does the association keep for one path? Its addresses, timers, estimator and recovery.
//!
//! What others may read is in [`anabranch_policy::PathFacts`]; the machinery is here. [`PathSet`] owns both.

mod duplicates;
mod event;
mod heartbeat;
mod ids;
mod loss_rate;
mod mtu;
mod pairing;
mod recovery;
mod set;
mod t3;
mod tail_probe;

use core::time::Duration;

use anabranch_policy::Reachability;
use anabranch_types::{Instant, PathAddr, earliest};

pub(crate) use anabranch_policy::RttEstimator;
pub(crate) use duplicates::Duplicates;
pub use event::{PathChange, PathEvent};
pub(crate) use heartbeat::{Heartbeat, HeartbeatInfo, ProbeBudget};
pub(crate) use ids::PathIds;
pub(crate) use loss_rate::LossRate;
pub(crate) use mtu::{MtuSearch, PathMtu};
pub(crate) use pairing::{MAX_PATHS, pair_addresses, pair_through};
pub(crate) use recovery::{ProportionalRate, Recovery};
pub(crate) use set::{Arrived, PathSet, Sizes, covers, max_packet};
pub(crate) use t3::T3;
pub(crate) use tail_probe::TailProbe;

//= rfc9260 7.3-2
/// The machinery of one path.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) addr: PathAddr,
    pub(crate) rtt: RttEstimator,
    pub(crate) loss_rate: LossRate,
    pub(crate) t3: T3,
    pub(crate) heartbeat: Heartbeat,
    /// How large its packets are.
    pub(crate) mtu: PathMtu,
    pub(crate) recovery: Option<Recovery>,
    /// One packet may exceed the window, to carry the first fast retransmission (RFC 9260 §7.2.4 step 3).
    pub(crate) retransmission_credit: bool,
    /// A timeout let go of all that was in flight on it: one packet at a time leaves until something is acknowledged
    /// (RFC 9260 §7.2.1, §7.2.3).
    pub(crate) one_at_a_time: bool,
    /// When DATA last left on it.
    pub(crate) data_sent_at: Option<Instant>,
    /// When something that was sent on it was last acknowledged.
    pub(crate) acked_at: Option<Instant>,
    /// When the loss policy wants to be asked again.
    pub(crate) loss_check_at: Option<Instant>,
    pub(crate) tail_probe: TailProbe,
    /// When a heartbeat on it was last answered.
    pub(crate) answered_at: Option<Instant>,
    /// When something that was sent on it was last not answered in time.
    pub(crate) failed_at: Option<Instant>,
    /// Duplicates came and it has not answered since: SACKs may get lost on it.
    pub(crate) sacks_doubted: bool,
    /// When the burst policy lets the next packet go.
    pub(crate) release_at: Option<Instant>,
    /// No new data before this moment, as the chunk-rescheduling policy decided.
    pub(crate) blocked_until: Option<Instant>,
    /// What is also in flight on another path.
    pub(crate) duplicates: Duplicates,
    pub(crate) counters: PathCounters,
}

impl Path {
    pub(crate) fn new(addr: PathAddr, mtu: PathMtu, rtt: RttEstimator) -> Self {
        Self {
            addr,
            rtt,
            loss_rate: LossRate::default(),
            t3: T3::default(),
            heartbeat: Heartbeat::default(),
            mtu,
            recovery: None,
            retransmission_credit: false,
            one_at_a_time: false,
            data_sent_at: None,
            acked_at: None,
            answered_at: None,
            failed_at: None,
            sacks_doubted: false,
            loss_check_at: None,
            tail_probe: TailProbe::default(),
            release_at: None,
            blocked_until: None,
            duplicates: Duplicates::default(),
            counters: PathCounters::default(),
        }
    }

    /// Whether no DATA left on it after `moment`.
    pub(crate) fn was_silent_since(&self, moment: Instant) -> bool {
        self.data_sent_at.is_none_or(|sent_at| sent_at <= moment)
    }

    //= rfc9260 7.2.1-2
    /// Whether the one packet that may leave after a timeout has left, and neither anything was acknowledged since nor its
    /// timer expired.
    pub(crate) fn waits_for_answer(&self) -> bool {
        self.one_at_a_time && self.t3.expires().is_some()
    }

    /// Whether something that was sent on it was acknowledged or answered not longer ago than a timeout.
    pub(crate) fn answered_lately(&self, now: Instant) -> bool {
        let last = self.acked_at.max(self.answered_at);
        last.is_some_and(|last| now - last <= self.rtt.rto_without_back_off())
    }

    /// The next moment at which anything is due on it.
    pub(crate) fn deadline(&self, tries_sizes: bool) -> Option<Instant> {
        let deadlines = [
            self.t3.expires(),
            self.heartbeat.deadline(),
            self.mtu.deadline(tries_sizes),
            self.release_at,
            self.blocked_until,
            self.loss_check_at,
            self.tail_probe.deadline(),
            self.duplicates.deadline(),
        ];
        earliest(deadlines)
    }
}

/// What a path did so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PathCounters {
    /// SCTP packets sent.
    pub packets_sent: u64,
    /// Bytes of them, common headers included.
    pub bytes_sent: u64,
    /// Bytes of user data in DATA chunks sent for the first time.
    pub payload_sent: u64,
    /// Bytes of user data in DATA chunks sent again.
    pub payload_retransmitted: u64,
    /// Bytes of user data in duplicates of DATA chunks that were in flight on other paths.
    pub payload_duplicated: u64,
    /// SCTP packets received.
    pub packets_received: u64,
    /// Bytes of them, common headers included.
    pub bytes_received: u64,
    /// Bytes of user data in DATA chunks received, duplicates included.
    pub payload_received: u64,
    /// DATA chunks found lost because later ones were acknowledged.
    pub fast_retransmits: u64,
    /// Times that it was suspected because others were acknowledged and it was not.
    pub suspicions: u64,
    /// Expiries of the T3-rtx timer.
    pub timeouts: u64,
    /// Probes for a lost tail.
    pub tail_probes: u64,
    /// DATA chunks that a chunk-rescheduling policy moved to this path.
    pub rescheduled: u64,
    /// Probes of packet sizes sent (RFC 8899).
    pub mtu_probes: u64,
    /// Times that the peer's encapsulation port changed (NAT rebinding, RFC 6951 §5.4).
    pub rebindings: u64,
}

/// How a path is doing, for the application.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PathStatistics {
    /// Which path.
    pub id: anabranch_types::PathId,
    /// Its two ends.
    pub addr: PathAddr,
    /// Whether it can be used.
    pub reachability: Reachability,
    /// Whether it is the primary path.
    pub primary: bool,
    /// The largest IP packet that is sent on it, in bytes.
    pub mtu: u16,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; [`u64::MAX`] while unset.
    pub ssthresh: u64,
    /// Bytes of chunks in flight.
    pub in_flight: u64,
    /// What it did so far.
    pub counters: PathCounters,
}

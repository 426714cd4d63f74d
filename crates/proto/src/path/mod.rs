//! Paths. Which state belongs to one path? Addresses, timers, RTT estimator and fast recovery.
//!
//! State that policies and other modules read is in [`anabranch_policy::PathFacts`]; the other state is here. [`PathSet`] owns
//! both.

mod counters;
mod damping;
mod duplicates;
mod ecn;
mod event;
mod heartbeat;
mod ids;
mod join;
mod list;
mod loss_rate;
mod mtu;
mod pairing;
mod preference;
mod probes;
mod recovery;
mod sending;
mod set;
mod t3;
mod tail_probe;

use alloc::boxed::Box;
use core::time::Duration;

use anabranch_policy::Reachability;
use anabranch_types::{Instant, PathAddr, earliest};

pub(crate) use anabranch_policy::RttEstimator;
pub use counters::PathCounters;
pub(crate) use counters::Tally;
pub(crate) use damping::Damping;
use duplicates::Duplicates;
pub(crate) use ecn::{Marks, PathEcn, Reduced};
pub use event::{PathChange, PathEvent};
pub(crate) use heartbeat::{Check, Heartbeat, HeartbeatInfo, ProbeBudget};
pub(crate) use ids::PathIds;
pub(crate) use join::Join;
use list::PathList;
pub(crate) use loss_rate::LossRate;
pub(crate) use mtu::{MtuSearch, PathMtu};
pub use pairing::pair_addresses;
pub(crate) use pairing::{MAX_PATHS, pair_through};
pub use preference::PathPreference;
pub(crate) use preference::Preferred;
pub(crate) use probes::ReachabilityProbes;
pub(crate) use recovery::{ProportionalRate, Recovery, RecoveryKind};
pub(crate) use sending::Sending;
pub(crate) use set::{Arrived, PathSet, Sizes, covers, max_packet};
use t3::T3;
use tail_probe::TailProbe;

use crate::on_demand::OnDemand;

/// Minimum silence. Batches, bursts and busy hosts cause shorter pauses between packets.
const LEAST_SILENCE: Duration = Duration::from_millis(100);

//= rfc9260 7.3-2
/// The internal state of one path, beside its facts.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) addr: PathAddr,
    pub(crate) loss_rate: LossRate,
    pub(crate) sending: OnDemand<Sending>,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) probes: ReachabilityProbes,
    pub(crate) damping: OnDemand<Damping>,
    /// The packet size before path MTU discovery begins, or without it.
    unsearched: u16,
    /// Path MTU discovery; `None` while it is disabled.
    pub(crate) mtu: Option<Box<PathMtu>>,
    /// Marks of packets (ECN).
    pub(crate) ecn: Option<Box<PathEcn>>,
    /// Time of the last DATA sent.
    pub(crate) data_sent_at: Option<Instant>,
    /// Time of the last acknowledgement of data sent on this path, or of a truncated SACK for such data.
    pub(crate) acked_at: Option<Instant>,
    /// Time of the last packet received on it.
    pub(crate) heard_at: Option<Instant>,
    pub(crate) join: Join,
    /// Time of the last HEARTBEAT ACK.
    pub(crate) answered_at: Option<Instant>,
    /// Time of the last error.
    pub(crate) failed_at: Option<Instant>,
    /// When duplicate data arrived, if no heartbeat was acknowledged since: SACKs may be lost on this path.
    pub(crate) sacks_doubted: Option<Instant>,
    /// Whether the application has disabled heartbeats.
    pub(crate) heartbeats_disabled: bool,
    /// Whether a heartbeat was sent early because a receive buffer that sizes itself needs a round-trip time.
    pub(crate) rtt_asked: bool,
    /// Preferences of both ends for it.
    pub(crate) preferred: Option<Box<Preferred>>,
    pub(crate) counters: Tally,
}

/// Time within which an answer on a path with these round-trip times is expected: SRTT plus four times RTTVAR, or plus [`LEAST_SILENCE`] if
/// that is longer, and at most the RTO. RTO.Min is not needed, because it allows for delayed acknowledgements.
pub(crate) fn patience(rtt: &RttEstimator) -> Duration {
    let varied = |smoothed| smoothed + (rtt.variation() * 4).max(LEAST_SILENCE);
    let timeout = rtt.rto_without_back_off();
    rtt.smoothed().map_or(timeout, varied).min(timeout)
}

impl Path {
    pub(crate) fn new(addr: PathAddr, unsearched: u16) -> Self {
        Self {
            addr,
            loss_rate: LossRate::default(),
            sending: OnDemand::default(),
            heartbeat: Heartbeat::default(),
            probes: ReachabilityProbes::default(),
            damping: OnDemand::default(),
            unsearched,
            mtu: None,
            ecn: None,
            data_sent_at: None,
            acked_at: None,
            heard_at: None,
            join: Join::default(),
            answered_at: None,
            failed_at: None,
            sacks_doubted: None,
            heartbeats_disabled: false,
            rtt_asked: false,
            preferred: None,
            counters: Tally::default(),
        }
    }

    /// How it is to be used, by both ends.
    pub(crate) fn preference(&self) -> PathPreference {
        self.preferred
            .as_ref()
            .map_or_else(PathPreference::default, |preferred| preferred.effective())
    }

    /// How the application wants it to be used, if it has said so.
    pub(crate) fn own_preference(&self) -> Option<PathPreference> {
        self.preferred.as_ref().and_then(|preferred| preferred.own)
    }

    /// Whether there is a preference that the peer has not confirmed.
    pub(crate) fn has_untold_preference(&self) -> bool {
        self.preferred
            .as_ref()
            .is_some_and(|preferred| preferred.own.is_some() && !preferred.is_told)
    }

    /// The maximum size of IP packets.
    pub(crate) fn packet_size(&self) -> u16 {
        self.mtu.as_ref().map_or(self.unsearched, |mtu| mtu.size())
    }

    /// Notes that packets of the path were acknowledged, for path MTU discovery.
    #[inline]
    pub(crate) fn carried_packets(&mut self, now: Instant) {
        if let Some(mtu) = &mut self.mtu {
            mtu.carried_others(now);
        }
    }

    /// Whether no DATA was sent after `moment`.
    pub(crate) fn was_silent_since(&self, moment: Instant) -> bool {
        self.data_sent_at.is_none_or(|sent_at| sent_at <= moment)
    }

    //= rfc9260 7.2.1-2
    /// Whether the one packet that is permitted after a timeout has been sent, and neither data was acknowledged since nor T3 has
    /// expired.
    pub(crate) fn waits_for_answer(&self) -> bool {
        let sending = self.sending.active();
        sending.is_some_and(|sending| sending.one_at_a_time && sending.t3.expires().is_some())
    }

    /// Whether no packet was received on the path, whose round-trip times are `rtt`, within its [`patience`].
    pub(crate) fn is_silent(&self, rtt: &RttEstimator, now: Instant) -> bool {
        self.heard_at
            .is_none_or(|heard_at| heard_at + patience(rtt) < now)
    }

    /// Whether data or a heartbeat was acknowledged within the last RTO of `rtt`.
    pub(crate) fn answered_lately(&self, rtt: &RttEstimator, now: Instant) -> bool {
        let last = self.acked_at.max(self.answered_at);
        last.is_some_and(|last| now - last <= rtt.rto_without_back_off())
    }

    /// Handles a HEARTBEAT ACK; returns when the heartbeat or probe was sent if it is outstanding. All others that are outstanding
    /// need no answer any more.
    pub(crate) fn heartbeat_answered(&mut self, info: &HeartbeatInfo) -> Option<Instant> {
        if let Some(sent_at) = self.heartbeat.answered(info) {
            self.probes.settle();
            return Some(sent_at);
        }
        let sent_at = self.probes.answered(info.nonce)?;
        self.heartbeat = Heartbeat::default();
        Some(sent_at)
    }

    /// The earliest deadline of the path.
    pub(crate) fn deadline(&self, tries_sizes: bool) -> Option<Instant> {
        earliest([
            self.sending.active().and_then(Sending::deadline),
            self.heartbeat.deadline(),
            self.mtu.as_ref().and_then(|mtu| mtu.deadline(tries_sizes)),
        ])
    }
}

/// Statistics of a path, for the application.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PathStatistics {
    /// Id of the path.
    pub id: anabranch_types::PathId,
    /// Local and remote address.
    pub addr: PathAddr,
    /// Reachability of the path.
    pub reachability: Reachability,
    /// Whether it is active and rests, because a path with a smaller cost is active.
    pub resting: bool,
    /// How it is to be used: the larger cost and the smaller limit of both ends.
    pub preference: PathPreference,
    /// Whether this is the primary path.
    pub primary: bool,
    /// Maximum IP packet size on the path, in bytes.
    pub mtu: u16,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time seen; `None` before the first sample.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Congestion window in bytes.
    pub cwnd: u64,
    /// Slow-start threshold in bytes; [`u64::MAX`] while unset.
    pub ssthresh: u64,
    /// Bytes of chunks in flight.
    pub in_flight: u64,
    /// Whether data waits that cwnd would let through now, but pacing delays.
    pub pacing_limited: bool,
    /// DATA chunks sent on the path, retransmissions included.
    pub sent_chunks: u64,
    /// DATA chunks declared lost on the path.
    pub lost_chunks: u64,
    /// Counters of the path.
    pub counters: PathCounters,
}

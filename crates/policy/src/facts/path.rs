//! Path facts: what policies know of a path.

use core::num::NonZeroU64;
use core::time::Duration;

use anabranch_types::{Instant, PathId, SendNumber};

use crate::rtt::RttEstimator;

/// The state of a path (RFC 9260 §8.2, RFC 7829).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reachability {
    /// The peer has not yet proved that it is at this address (RFC 9260 §5.4): heartbeats only.
    Unconfirmed,
    /// In use.
    Active,
    /// Potentially failed after an error: no new data while a better path exists (RFC 7829).
    PotentiallyFailed,
    /// Inactive after too many errors; heartbeats continue (RFC 9260 §8.2).
    Inactive,
}

/// Facts that the core shows of one path. Sizes in bytes.
#[derive(Clone, Debug)]
pub struct PathFacts {
    /// Id of the path.
    pub id: PathId,
    /// State of the path.
    pub reachability: Reachability,
    /// Whether it rests, because a path that is to be preferred is active: it takes no data then. Only active paths rest.
    pub resting: bool,
    /// Whether it is the primary path (RFC 9260 §6.4).
    pub primary: bool,
    /// Whether its addresses are IPv6.
    pub ipv6: bool,
    /// Whether fast recovery is under way on it (RFC 9260 §7.2.4).
    pub in_recovery: bool,
    /// Number of consecutive errors (RFC 9260 §8.2).
    pub errors: u16,
    /// Largest SCTP packet that fits the path, common header included.
    pub max_packet: u16,
    /// Largest DATA chunk that fits such a packet, header included (PMDCS, RFC 9260 §1.3).
    pub max_data_chunk: u16,
    /// Round-trip times and retransmission timeout.
    pub rtt: RttEstimator,
    /// Congestion window in bytes, as the congestion control last set it.
    pub cwnd: u64,
    /// Slow-start threshold in bytes, as the congestion control last set it; [`u64::MAX`] while unset.
    pub ssthresh: u64,
    /// Pacing rate in bytes per second: that of the congestion control, or the limit of the path if that is less; `None` if there is
    /// neither.
    pub pacing_rate: Option<NonZeroU64>,
    /// The lowest id of the paths that share its bottleneck, its own included, as detection has found it (see
    /// [`crate::SharedBottleneck`]); `None` without detection.
    pub bottleneck: Option<PathId>,
    /// Bytes in flight: sent on this path and neither acknowledged nor declared lost, without those that have arrived but that SACKs have
    /// no room to report.
    pub in_flight: u64,
    /// Bytes sent on this path and still held in the send buffer: gap-acknowledged chunks count, cumulatively acknowledged
    /// ones do not.
    pub queued: u64,
    /// Bytes of duplicates of other paths' chunks that were sent on it within about the last round trip. They fill its
    /// cwnd too; it is not known whether they arrived.
    pub duplicated_bytes: u64,
    /// Bytes that cwnd, burst limit and buffer share allow to be sent now; 0 if any of them is exhausted. Computed just
    /// before a scheduler is called.
    pub sendable: u64,
    /// Data waits that the cwnd would let through now, but pacing delays it.
    pub pacing_limited: bool,
    /// When the last packet was sent on it.
    pub last_sent: Option<Instant>,
    /// Whether DATA arrived over it since the last SACK that was sent on it.
    pub data_since_sack: bool,
    /// The number of that SACK among all SACKs of the association, counted from 1; 0 if there was none.
    pub last_sack: u64,
    /// Chunks declared lost on it in total; with TCP, SYNs too.
    pub lost_chunks: u64,
    /// The smoothed loss rate of the path, in millionths. Each chunk acknowledged or declared lost counts 1/256, so that
    /// about the last five hundred matter.
    pub loss_per_million: u32,
    /// Chunks sent on it in total.
    pub sent_chunks: u64,
}

impl PathFacts {
    /// Facts of a path that has not carried anything yet.
    #[must_use]
    pub const fn new(id: PathId, max_packet: u16, max_data_chunk: u16, rtt: RttEstimator) -> Self {
        Self {
            id,
            reachability: Reachability::Unconfirmed,
            resting: false,
            primary: false,
            ipv6: false,
            in_recovery: false,
            errors: 0,
            max_packet,
            max_data_chunk,
            rtt,
            cwnd: 0,
            ssthresh: u64::MAX,
            pacing_rate: None,
            bottleneck: None,
            in_flight: 0,
            queued: 0,
            duplicated_bytes: 0,
            sendable: 0,
            pacing_limited: false,
            last_sent: None,
            data_since_sack: false,
            last_sack: 0,
            lost_chunks: 0,
            loss_per_million: 0,
            sent_chunks: 0,
        }
    }

    /// Smoothed round-trip time; `None` before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// Round-trip time variation; zero before the first sample.
    #[must_use]
    pub fn rttvar(&self) -> Duration {
        self.rtt.variation()
    }

    /// Smallest round-trip time seen.
    #[must_use]
    pub fn min_rtt(&self) -> Option<Duration> {
        self.rtt.smallest()
    }

    /// The last round-trip time measured.
    #[must_use]
    pub fn latest_rtt(&self) -> Option<Duration> {
        self.rtt.latest()
    }

    /// Retransmission timeout, back-off included.
    #[must_use]
    pub const fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Whether the path is active; it may rest.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        matches!(self.reachability, Reachability::Active)
    }

    //= rfc7829 3.2-3, 3.2-4, 3.2-5
    /// Whether data may use the path: it is active and does not rest.
    #[must_use]
    pub const fn is_usable(&self) -> bool {
        self.is_active() && !self.resting
    }

    /// Whether a packet of data may be sent on it now.
    #[must_use]
    pub const fn can_take_data(&self) -> bool {
        self.is_usable() && self.sendable > 0
    }
}

/// A packet with data that was sent on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentPacket {
    /// Bytes of its chunks.
    pub bytes: u64,
    /// Bytes in flight on the path before it.
    pub in_flight_before: u64,
    /// The send number of its last chunk.
    pub last: SendNumber,
}

/// Decision of a burst policy: the bytes that may be sent on a path now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendAllowance {
    /// Bytes that may be sent now.
    pub bytes: u64,
    /// If `bytes` is 0: the time of the next decision; `None` to wait for the next acknowledgement.
    pub again_at: Option<Instant>,
}

impl SendAllowance {
    /// Nothing until the next acknowledgement.
    pub const NONE: Self = Self {
        bytes: 0,
        again_at: None,
    };
    /// No limit.
    pub const UNLIMITED: Self = Self {
        bytes: u64::MAX,
        again_at: None,
    };
}

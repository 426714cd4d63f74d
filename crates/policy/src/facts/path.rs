//! How is a path doing?

use core::time::Duration;

use anabranch_types::{Instant, PathId};

/// Whether a path can be used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reachability {
    /// The peer has not proved yet that it is at this address (RFC 9260 §5.4): heartbeats only.
    Unconfirmed,
    /// In use.
    Active,
    /// Under suspicion after an error: no new data while a better path exists (RFC 7829).
    PotentiallyFailed,
    /// Given up after too many errors; heartbeats go on (RFC 9260 §8.2).
    Inactive,
}

/// What the core knows of one path. Sizes in bytes.
#[derive(Clone, Debug)]
pub struct PathFacts {
    /// Which path.
    pub id: PathId,
    /// Whether it can be used.
    pub reachability: Reachability,
    /// Whether it is the primary path (RFC 9260 §6.4).
    pub primary: bool,
    /// Whether its addresses are IPv6.
    pub ipv6: bool,
    /// Whether fast recovery is under way on it (RFC 9260 §7.2.4).
    pub in_recovery: bool,
    /// Consecutive errors (RFC 9260 §8.2).
    pub errors: u16,
    /// Largest SCTP packet that fits the path, common header included.
    pub max_packet: u16,
    /// Largest DATA chunk that fits such a packet, header included (PMDCS, RFC 9260 §1.3).
    pub max_data_chunk: u16,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Round-trip time variation; zero before the first sample.
    pub rttvar: Duration,
    /// Smallest round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout, back-off included.
    pub rto: Duration,
    /// Congestion window, as the controller last said.
    pub cwnd: u64,
    /// Slow-start threshold, as the controller last said.
    pub ssthresh: u64,
    /// Sent on this path, neither acknowledged nor counted lost.
    pub in_flight: u64,
    /// Sent on this path and still held in the send buffer: gap-acked chunks count, cumulatively acknowledged
    /// ones do not.
    pub queued: u64,
    /// Copies of chunks of other paths that left on it within the last round trip, or so: they fill its window too. What
    /// becomes of them nobody says.
    pub duplicated_bytes: u64,
    /// What window, burst limit and buffer share let through now; 0 if any of them is used up. Computed just
    /// before a scheduler is asked.
    pub sendable: u64,
    /// Data waits that the window would let through now, but the burst policy lets it go only later.
    pub pacing_limited: bool,
    /// When the last packet left on it.
    pub last_sent: Option<Instant>,
    /// DATA came over it since the last SACK that left on it.
    pub data_since_sack: bool,
    /// The number of that SACK among all of the association, counted from 1; 0 if there was none.
    pub last_sack: u64,
    /// Chunks declared lost on it, ever; with TCP, SYNs too.
    pub lost_chunks: u64,
    /// The share of its chunks that were lost lately: smoothed, in parts of a million. Each chunk acknowledged or
    /// declared lost counts 1/256, so that about the last five hundred matter.
    pub loss_per_million: u32,
    /// Chunks sent on it, ever.
    pub sent_chunks: u64,
}

impl PathFacts {
    /// Facts of a path that has not carried anything yet.
    #[must_use]
    pub const fn new(id: PathId, max_packet: u16, max_data_chunk: u16, rto_initial: Duration) -> Self {
        Self {
            id,
            reachability: Reachability::Unconfirmed,
            primary: false,
            ipv6: false,
            in_recovery: false,
            errors: 0,
            max_packet,
            max_data_chunk,
            srtt: None,
            rttvar: Duration::ZERO,
            min_rtt: None,
            rto: rto_initial,
            cwnd: 0,
            ssthresh: u64::MAX,
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

    /// Whether data may be put on the path at all: the peer is known to be there and has not been given up.
    #[must_use]
    pub const fn is_usable(&self) -> bool {
        matches!(self.reachability, Reachability::Active)
    }

    /// Whether a packet of data may leave on it now.
    #[must_use]
    pub const fn can_take_data(&self) -> bool {
        self.is_usable() && self.sendable > 0
    }
}

/// How much may leave at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendAllowance {
    /// Bytes that may leave now.
    pub bytes: u64,
    /// If `bytes` is 0: when to ask again; `None` for "when something is acknowledged".
    pub again_at: Option<Instant>,
}

impl SendAllowance {
    /// Nothing until something is acknowledged.
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

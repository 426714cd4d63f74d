//! Arrivals. What did a packet with DATA bring, and when is it acknowledged?

use anabranch_types::{Instant, PathId, UnwrappedTsn};

/// One packet with DATA, as the ack policy sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The path that it arrived over.
    pub path: PathId,
    /// Whether it is the first packet with DATA of the association.
    pub first: bool,
    /// Whether it carried a duplicate TSN.
    pub duplicate: bool,
    /// The lowest missing TSN below the highest received one, after this packet.
    pub lowest_missing: Option<UnwrappedTsn>,
    /// The highest TSN among its chunks that are not duplicates.
    pub highest_new: Option<UnwrappedTsn>,
    /// Whether it filled a gap or opened one (RFC 9260 §6.7).
    pub gaps_changed: bool,
    /// Whether one of its chunks carries the I bit (RFC 9260 §3.3.1).
    pub immediate: bool,
    /// Packets with DATA since the last SACK, this one included.
    pub packets_since_sack: u32,
}

/// When the SACK for a packet leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckWhen {
    /// Immediately.
    Now,
    /// With the next packet that is sent, at this moment at the latest.
    By(Instant),
}

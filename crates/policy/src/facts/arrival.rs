//! What came in, and when is it acknowledged?

use anabranch_types::{Instant, PathId, UnwrappedTsn};

/// One packet with DATA, as the ack policy sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The path that it came over.
    pub path: PathId,
    /// It is the first packet with DATA of the association.
    pub first: bool,
    /// It carried a TSN that was there already.
    pub duplicate: bool,
    /// The lowest TSN below the highest received one that is missing, after this packet.
    pub lowest_missing: Option<UnwrappedTsn>,
    /// The highest TSN among its chunks that were not there before.
    pub highest_new: Option<UnwrappedTsn>,
    /// It filled a gap or opened one (RFC 9260 §6.7).
    pub gaps_changed: bool,
    /// One of its chunks carries the I bit (RFC 9260 §3.3.1).
    pub immediate: bool,
    /// Packets with DATA since the last SACK, this one included.
    pub packets_since_sack: u32,
}

/// When the SACK for a packet leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckWhen {
    /// At once.
    Now,
    /// With the next packet that leaves anyway, at this moment at the latest.
    By(Instant),
}

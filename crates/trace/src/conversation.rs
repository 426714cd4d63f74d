//! Conversation: a TCP connection or SCTP association in a capture. Which segments belong to it, and what does each
//! acknowledge?
//!
//! An association includes all its addresses. Packets of one direction share verification tag and ports. The two
//! directions are joined by the handshake, or by packets between the same two addresses in both directions.

mod cover;
mod ends;
mod group;

use core::net::IpAddr;
use core::ops::Range;
use std::collections::BTreeMap;

use crate::segment::{Protocol, Segment};

pub use group::conversations;

/// One TCP connection or SCTP association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conversation {
    /// `"SCTP"` or `"TCP"`.
    pub protocol: &'static str,
    /// Ports of the sender of the first segment, and of its peer.
    pub ports: (u16, u16),
    /// Address pairs (sender of the first segment, its peer), in the order of first use.
    pub paths: Vec<(IpAddr, IpAddr)>,
    /// Its segments in order of time.
    pub rows: Vec<Row>,
}

/// Direction of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the sender of the first segment.
    Forward,
    /// To the sender of the first segment.
    Reverse,
}

impl Direction {
    const fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Forward => 0,
            Self::Reverse => 1,
        }
    }
}

/// One segment of a conversation: a row of the flow graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Number of its frame in the capture, from 1.
    pub number: usize,
    /// Nanoseconds since the first segment of the conversation.
    pub at: u64,
    /// Its direction.
    pub direction: Direction,
    /// Index in [`Conversation::paths`].
    pub path: usize,
    /// Bytes of the IP packet.
    pub length: usize,
    /// Summary of its content.
    pub label: String,
    /// Sequence numbers that it carries, unwrapped to 64 bits.
    pub carries: Vec<Range<u64>>,
    /// Whether everything that it carries was sent before.
    pub retransmission: bool,
    /// Its acknowledgement, if any.
    pub acknowledges: Option<Acknowledged>,
}

/// An acknowledgement with sequence numbers unwrapped to 64 bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acknowledged {
    /// Cumulative acknowledgement: everything before this number has arrived.
    pub before: u64,
    /// Gap blocks, in ascending order.
    pub blocks: Vec<Range<u64>>,
    /// Indices in [`Conversation::rows`] of the segments of which it newly acknowledges something.
    pub covers: Vec<usize>,
}

impl Conversation {
    /// Builds a conversation from its segments.
    fn of(segments: Vec<Segment>) -> Option<Self> {
        let first = segments.first()?;
        let (began, ports) = (first.at, first.ports);
        let mut known = ends::Ends::of(first);
        let protocol = match first.protocol {
            Protocol::Sctp { .. } => "SCTP",
            Protocol::Tcp => "TCP",
        };
        let mut conversation = Self {
            protocol,
            ports,
            paths: Vec::new(),
            rows: Vec::with_capacity(segments.len()),
        };
        let mut cover = cover::Cover::default();
        // A map: a capture may have as many addresses as packets.
        let mut paths = BTreeMap::new();
        for segment in segments {
            let direction = known.direction(&segment);
            let ends = match direction {
                Direction::Forward => (segment.from, segment.to),
                Direction::Reverse => (segment.to, segment.from),
            };
            let path = *paths.entry(ends).or_insert_with(|| {
                conversation.paths.push(ends);
                conversation.paths.len() - 1
            });
            let row = cover.row(segment, direction, path, began, &conversation.rows);
            conversation.rows.push(row);
        }
        Some(conversation)
    }

    /// Bytes of IP packets in each direction (forward, reverse).
    #[must_use]
    pub fn bytes(&self) -> (usize, usize) {
        let of = |direction| {
            let rows = self.rows.iter().filter(|row| row.direction == direction);
            rows.map(|row| row.length).sum()
        };
        (of(Direction::Forward), of(Direction::Reverse))
    }

    /// Nanoseconds from the first segment to the last.
    #[must_use]
    pub fn duration(&self) -> u64 {
        self.rows.last().map_or(0, |row| row.at)
    }
}

#[cfg(test)]
mod tests;

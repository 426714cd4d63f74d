//! Which segments belong together, and what does each acknowledge?
//!
//! A conversation is a TCP connection or an SCTP association with all its addresses. The packets of one direction of
//! an association share its verification tag and its ports; the two directions are joined by a handshake, or by two
//! packets that went between the same addresses there and back.

mod cover;
mod group;

use core::net::IpAddr;
use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use crate::segment::{Protocol, Segment};

pub use group::conversations;

/// One TCP connection or SCTP association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conversation {
    /// What they speak.
    pub protocol: &'static str,
    /// The ports of who spoke first, and of the other.
    pub ports: (u16, u16),
    /// Between which addresses, those of who spoke first before those of the other; in the order of first use.
    pub lanes: Vec<(IpAddr, IpAddr)>,
    /// What was said, in the order of time.
    pub rows: Vec<Row>,
}

/// Which way a segment went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From who spoke first.
    Forth,
    /// To who spoke first.
    Back,
}

impl Direction {
    const fn index(self) -> usize {
        match self {
            Self::Forth => 0,
            Self::Back => 1,
        }
    }
}

/// One segment of a conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Number of its frame in the capture, from 1.
    pub number: usize,
    /// Nanoseconds since the first segment of the conversation.
    pub at: u64,
    /// Which way.
    pub direction: Direction,
    /// Over which of [`Conversation::lanes`].
    pub lane: usize,
    /// Bytes of the IP packet.
    pub length: usize,
    /// What it says.
    pub label: String,
    /// Sequence numbers that it carries, wraps counted.
    pub carries: Vec<Range<u64>>,
    /// Whether all that it carries was sent before.
    pub again: bool,
    /// What it acknowledges, if anything.
    pub acknowledges: Option<Acknowledged>,
}

/// What a segment acknowledges; sequence numbers with their wraps counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acknowledged {
    /// Everything before this number has arrived.
    pub before: u64,
    /// And these ranges, in ascending order.
    pub blocks: Vec<Range<u64>>,
    /// Rows, by their place in [`Conversation::rows`], of which it acknowledges something for the first time.
    pub covers: Vec<usize>,
}

impl Conversation {
    /// Puts the segments of one conversation in order.
    fn of(segments: Vec<Segment>) -> Option<Self> {
        let first = segments.first()?;
        let (began, ports, opener) = (first.at, first.ports, first.from);
        let protocol = match first.protocol {
            Protocol::Sctp { .. } => "SCTP",
            Protocol::Tcp => "TCP",
        };
        let mut conversation = Self {
            protocol,
            ports,
            lanes: Vec::new(),
            rows: Vec::with_capacity(segments.len()),
        };
        let mut cover = cover::Cover::default();
        // A capture may have as many addresses as packets.
        let mut openers = BTreeSet::from([opener]);
        let mut lanes = BTreeMap::new();
        for segment in segments {
            let forth = segment.ports == ports && (ports.0 != ports.1 || openers.contains(&segment.from));
            // With equal ports only addresses tell the directions apart; an address belongs to whom it was first
            // seen with.
            let direction = if forth { Direction::Forth } else { Direction::Back };
            let ends = match direction {
                Direction::Forth => (segment.from, segment.to),
                Direction::Back => (segment.to, segment.from),
            };
            openers.insert(ends.0);
            let lane = *lanes.entry(ends).or_insert_with(|| {
                conversation.lanes.push(ends);
                conversation.lanes.len() - 1
            });
            let row = cover.row(segment, direction, lane, began, &conversation.rows);
            conversation.rows.push(row);
        }
        Some(conversation)
    }

    /// Bytes of IP packets, there and back.
    #[must_use]
    pub fn bytes(&self) -> (usize, usize) {
        let of = |direction| {
            let rows = self.rows.iter().filter(|row| row.direction == direction);
            rows.map(|row| row.length).sum()
        };
        (of(Direction::Forth), of(Direction::Back))
    }

    /// Nanoseconds from the first segment to the last.
    #[must_use]
    pub fn duration(&self) -> u64 {
        self.rows.last().map_or(0, |row| row.at)
    }
}

#[cfg(test)]
mod tests;

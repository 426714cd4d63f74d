//! The two ends of a conversation. Which of them sent a segment?

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use anabranch_types::VerificationTag;

use super::Direction;
use crate::segment::{Protocol, Segment};

/// What is known of both ends so far. Sets and maps: a capture may have as many addresses as packets.
pub(super) struct Ends {
    /// Ports of the sender of the first segment, and of its peer.
    ports: (u16, u16),
    /// Addresses of the sender of the first segment, and of its peer. On one host both may have the same.
    initiator: BTreeSet<IpAddr>,
    peer: BTreeSet<IpAddr>,
    /// Verification tags of the packets of each direction.
    tags: BTreeMap<VerificationTag, Direction>,
}

impl Ends {
    pub(super) fn of(first: &Segment) -> Self {
        Self {
            ports: first.ports,
            initiator: BTreeSet::from([first.from]),
            peer: BTreeSet::from([first.to]),
            tags: BTreeMap::new(),
        }
    }

    /// The direction of a segment, which the ends learn from.
    pub(super) fn direction(&mut self, segment: &Segment) -> Direction {
        let direction = self.known(segment);
        let (from, to) = match direction {
            Direction::Forward => (&mut self.initiator, &mut self.peer),
            Direction::Reverse => (&mut self.peer, &mut self.initiator),
        };
        from.insert(segment.from);
        to.insert(segment.to);
        if let Protocol::Sctp { tag, peer_tag } = segment.protocol {
            if tag != VerificationTag::ZERO {
                self.tags.entry(tag).or_insert(direction);
            }
            if let Some(tag) = peer_tag {
                self.tags.entry(tag).or_insert_with(|| direction.opposite());
            }
        }
        direction
    }

    /// Ports tell the directions apart. If they are equal, addresses do, and on one host or for new addresses the tag; but an ABORT
    /// may have the tag of the other direction (RFC 9260 §8.4).
    fn known(&self, segment: &Segment) -> Direction {
        if self.ports.0 != self.ports.1 {
            return if segment.ports == self.ports {
                Direction::Forward
            } else {
                Direction::Reverse
            };
        }
        let (tag, other_tag) = match segment.protocol {
            Protocol::Sctp { tag, .. } if tag != VerificationTag::ZERO => {
                // Each direction has one tag: a further one is that of the other direction.
                let other = self.tags.values().next().copied();
                (self.tags.get(&tag).copied(), other.map(Direction::opposite))
            }
            Protocol::Sctp { .. } | Protocol::Tcp => (None, None),
        };
        let from = self.owner(segment.from);
        let to = self.owner(segment.to).map(Direction::opposite);
        let first = match self.initiator.contains(&segment.from) {
            true => Direction::Forward,
            false => Direction::Reverse,
        };
        from.or(tag).or(to).or(other_tag).unwrap_or(first)
    }

    /// Direction of what is sent from an address of one end only.
    fn owner(&self, address: IpAddr) -> Option<Direction> {
        match (self.initiator.contains(&address), self.peer.contains(&address)) {
            (true, false) => Some(Direction::Forward),
            (false, true) => Some(Direction::Reverse),
            (true, true) | (false, false) => None,
        }
    }
}

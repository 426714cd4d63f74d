//! Packet log. A ring of the last packets of a host, for the message of a failing test.

use std::collections::VecDeque;

use anabranch_types::{Instant, PathAddr};

/// Which way a packet went, as its host sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Out.
    Sent,
    /// In.
    Received,
}

/// A packet that a host saw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoggedPacket {
    /// When.
    pub at: Instant,
    /// Which way.
    pub direction: Direction,
    /// Between where, as the host sees it.
    pub path: PathAddr,
    /// The SCTP packet.
    pub bytes: Vec<u8>,
}

/// The last packets of a host; keeps nothing unless told to.
#[derive(Clone, Debug, Default)]
pub struct PacketLog {
    limit: usize,
    packets: VecDeque<LoggedPacket>,
}

impl PacketLog {
    /// Keeps the last `limit` packets from now on.
    pub fn keep(&mut self, limit: usize) {
        self.limit = limit;
        self.packets.truncate(limit);
    }

    /// The packets kept, oldest first.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = &LoggedPacket> {
        self.packets.iter()
    }

    pub(crate) fn note(&mut self, at: Instant, direction: Direction, path: PathAddr, packet: &[u8]) {
        if self.limit == 0 {
            return;
        }
        let mut bytes = if self.packets.len() >= self.limit {
            self.packets
                .pop_front()
                .map_or_else(Vec::new, |oldest| oldest.bytes)
        } else {
            Vec::new()
        };
        bytes.clear();
        bytes.extend_from_slice(packet);
        self.packets.push_back(LoggedPacket {
            at,
            direction,
            path,
            bytes,
        });
    }
}

//! Packet log: a ring buffer of the last packets of a host, for the message of a failing test.

use std::collections::VecDeque;

use anabranch_types::{Instant, PathAddr};

/// Direction of a packet, as seen by its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Sent.
    Sent,
    /// Received.
    Received,
}

/// A packet sent or received by a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoggedPacket {
    /// Time.
    pub at: Instant,
    /// Direction.
    pub direction: Direction,
    /// Its addresses, as seen by the host.
    pub path: PathAddr,
    /// The SCTP packet.
    pub bytes: Vec<u8>,
}

/// The last packets of a host; empty unless enabled.
#[derive(Clone, Debug, Default)]
pub struct PacketLog {
    limit: usize,
    packets: VecDeque<LoggedPacket>,
}

impl PacketLog {
    /// Enables the log for the last `limit` packets.
    pub fn keep(&mut self, limit: usize) {
        self.limit = limit;
        self.packets.truncate(limit);
    }

    /// The logged packets, oldest first.
    pub fn packets(&self) -> impl ExactSizeIterator<Item = &LoggedPacket> {
        self.packets.iter()
    }

    #[inline]
    pub(crate) fn note(&mut self, at: Instant, direction: Direction, path: PathAddr, packet: &[u8]) {
        if self.limit > 0 {
            self.keep_packet(at, direction, path, packet);
        }
    }

    fn keep_packet(&mut self, at: Instant, direction: Direction, path: PathAddr, packet: &[u8]) {
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

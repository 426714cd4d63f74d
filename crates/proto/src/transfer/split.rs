//! PART chunks (ADR 0075): transmission of a DATA or I-DATA chunk that has become larger than the packets of its path.
//!
//! The path MTU was larger when the chunk was made. The chunk has a TSN, so its message cannot be fragmented again (RFC 9260 §6.9). Not
//! every network forwards IP fragments, and the operating system fragments only for the MTU of its device or one that ICMP reported.
//! If the peer supports PART chunks, the chunk is divided into several of them, each in a packet of its own.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use anabranch_types::{Instant, PathId, Tsn};
use anabranch_wire::{Chunk, Chunks, CommonHeader, PacketBuilder, Part};

use super::Transfer;
use crate::on_demand::Idle;

/// A chunk of which not all parts have been sent.
#[derive(Debug)]
struct Divided {
    path: PathId,
    tsn: Tsn,
    /// The whole chunk, with its header.
    bytes: Vec<u8>,
    /// Number of bytes that have been sent.
    sent: usize,
}

/// The divided chunks, in the order of their transmission.
#[derive(Debug, Default)]
pub(super) struct Splitting(VecDeque<Divided>);

impl Idle for Splitting {
    const IDLE: &'static Self = &Self(VecDeque::new());

    fn is_idle(&self) -> bool {
        self.0.is_empty()
    }
}

impl Transfer {
    /// Whether chunks may be divided: the peer supports PART chunks.
    pub(crate) const fn splits_chunks(&self) -> bool {
        self.splits_chunks
    }

    /// Queues the first chunk of `packet`, which was written for `path`, to be sent in parts.
    pub(crate) fn divide(&mut self, path: PathId, packet: &[u8]) {
        let chunk = packet.get(CommonHeader::LEN..).unwrap_or_default();
        let Some(Ok(raw)) = Chunks::of(chunk).next() else {
            return;
        };
        let tsn = match raw.decode() {
            Ok(Chunk::Data(data)) => data.tsn,
            Ok(Chunk::IData(data)) => data.tsn,
            _ => return,
        };
        self.splitting.make_mut().0.push_back(Divided {
            path,
            tsn,
            bytes: raw.bytes.to_vec(),
            sent: 0,
        });
    }

    /// Writes a packet that is not planned: the next PART chunk, or, if `may_probe`, an MTU probe. Returns its path and length.
    pub(crate) fn write_unplanned(
        &mut self,
        header: CommonHeader,
        buffer: &mut Vec<u8>,
        may_probe: bool,
        now: Instant,
    ) -> Option<(PathId, usize)> {
        if self.splitting.is_active()
            && let Some(written) = self.write_part(header, buffer, now)
        {
            return Some(written);
        }
        may_probe.then(|| self.write_mtu_probe(header, buffer, now))?
    }

    /// Writes the next PART chunk into a packet. Returns its path and the length of the packet.
    #[cold]
    fn write_part(
        &mut self,
        header: CommonHeader,
        buffer: &mut Vec<u8>,
        now: Instant,
    ) -> Option<(PathId, usize)> {
        // Chunks whose path was removed are retransmitted on another one.
        let paths = &self.paths;
        let queue = &mut self.splitting.active_mut()?.0;
        queue.retain(|divided| paths.contains(divided.path));
        let Some(mut divided) = queue.pop_front() else {
            self.splitting.release_if_idle();
            return None;
        };
        let limit = self.paths.fact(divided.path).max_packet;
        let mut builder = PacketBuilder::new(buffer, header, limit.into());
        let bytes = &divided.bytes[divided.sent..];
        let room = builder.room().saturating_sub(Part::HEADER_LEN);
        let bytes = &bytes[..bytes.len().min(room)];
        let pushed = builder.push(&Part {
            tsn: divided.tsn,
            offset: divided.sent as u16,
            total: divided.bytes.len() as u16,
            bytes,
        });
        debug_assert!(pushed.is_ok(), "the part was cut to fit");
        let size = builder.finish_unsealed();
        // The first packet was counted when the chunk was written.
        if divided.sent > 0 {
            self.packet_sent(divided.path, size, now);
        }
        divided.sent += bytes.len();
        let path = divided.path;
        if divided.sent < divided.bytes.len() {
            self.splitting.make_mut().0.push_front(divided);
        }
        self.splitting.release_if_idle();
        Some((path, size))
    }
}

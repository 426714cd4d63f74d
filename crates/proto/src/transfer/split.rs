//! Chunks in parts. How does a chunk leave that was cut when the packets of its path were larger?
//!
//! Its TSN is given, so it cannot be cut again (RFC 9260 §6.9). IP would have to fragment it, which not every network carries, and
//! which no system does for a size that nobody reported. If the peer supports it, the chunk leaves in PART chunks instead, each in
//! a packet of its own.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use anabranch_types::{Instant, PathId, Tsn};
use anabranch_wire::{Chunk, Chunks, CommonHeader, PacketBuilder, Part};

use super::Transfer;

/// What is left of a chunk that leaves in parts.
#[derive(Debug)]
struct Rest {
    path: PathId,
    tsn: Tsn,
    /// The whole chunk.
    bytes: Vec<u8>,
    /// How much of it has left.
    sent: usize,
}

/// Chunks that leave in parts, of which the last has not left.
#[derive(Debug, Default)]
pub(crate) struct Splitting {
    /// The peer takes parts.
    is_agreed: bool,
    rests: VecDeque<Rest>,
}

impl Splitting {
    /// The handshake told whether the peer takes parts.
    pub(crate) const fn negotiated(&mut self, is_agreed: bool) {
        self.is_agreed = is_agreed;
    }

    /// Whether chunks may leave in parts.
    pub(crate) const fn is_agreed(&self) -> bool {
        self.is_agreed
    }

    /// Sends the chunk of `packet`, which was written for `path`, in parts.
    pub(crate) fn begin(&mut self, path: PathId, packet: &[u8]) {
        let chunk = packet.get(CommonHeader::LEN..).unwrap_or_default();
        let Some(Ok(raw)) = Chunks::of(chunk).next() else {
            return;
        };
        let tsn = match raw.decode() {
            Ok(Chunk::Data(data)) => data.tsn,
            Ok(Chunk::IData(data)) => data.tsn,
            _ => return,
        };
        self.rests.push_back(Rest {
            path,
            tsn,
            bytes: raw.bytes.to_vec(),
            sent: 0,
        });
    }
}

impl Transfer {
    /// Writes a packet for which there is no plan: a part of a chunk, or a probe of a packet size. Returns its path and length.
    pub(crate) fn write_unplanned(
        &mut self,
        header: CommonHeader,
        buffer: &mut Vec<u8>,
        may_probe: bool,
        now: Instant,
    ) -> Option<(PathId, usize)> {
        if !self.splitting.rests.is_empty()
            && let Some(written) = self.write_part(header, buffer, now)
        {
            return Some(written);
        }
        may_probe.then(|| self.write_mtu_probe(header, buffer, now))?
    }

    /// Writes the next part of a chunk that leaves in parts. Gives its path and the length of the packet.
    #[cold]
    fn write_part(
        &mut self,
        header: CommonHeader,
        buffer: &mut Vec<u8>,
        now: Instant,
    ) -> Option<(PathId, usize)> {
        // Chunks whose path was removed are retransmitted on another one.
        let paths = &self.paths;
        self.splitting.rests.retain(|rest| paths.contains(rest.path));
        let mut rest = self.splitting.rests.pop_front()?;
        let limit = self.paths.fact(rest.path).max_packet;
        let mut builder = PacketBuilder::new(buffer, header, limit.into());
        let bytes = &rest.bytes[rest.sent..];
        let room = builder.room().saturating_sub(Part::HEADER_LEN);
        let bytes = &bytes[..bytes.len().min(room)];
        let pushed = builder.push(&Part {
            tsn: rest.tsn,
            offset: rest.sent as u16,
            total: rest.bytes.len() as u16,
            bytes,
        });
        debug_assert!(pushed.is_ok(), "it was made to fit");
        let size = builder.finish_unsealed();
        // The packet was counted when the chunk was written.
        if rest.sent > 0 {
            self.packet_sent(rest.path, size, now);
        }
        rest.sent += bytes.len();
        let path = rest.path;
        if rest.sent < rest.bytes.len() {
            self.splitting.rests.push_front(rest);
        }
        Some((path, size))
    }
}

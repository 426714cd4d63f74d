//! Protocol overhead: bytes other than user data in the packets that a host sends, above IP and UDP.

use anabranch_wire::{Chunk, Packet};

/// The common header of SCTP (RFC 9260 §3.1).
const COMMON_HEADER: u64 = 12;
/// The header of a DATA chunk (RFC 9260 §3.3.1).
const DATA_HEADER: u64 = 16;
/// The header of an I-DATA chunk (RFC 8260 §2.1).
const I_DATA_HEADER: u64 = 20;

/// Composition of a host's packets. Retransmitted bytes count again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Overhead {
    /// Packets.
    pub packets: u64,
    /// Bytes of user data.
    pub payload: u64,
    /// Overhead of packets with user data: SCTP's common header, chunk headers and padding; TCP's header with its options.
    pub headers: u64,
    /// All other bytes: packets without user data, and control chunks bundled with it.
    pub control: u64,
}

impl Overhead {
    /// Counts an SCTP packet.
    pub(crate) fn note_sctp(&mut self, bytes: &[u8]) {
        let (mut payload, mut headers) = (0, 0);
        let chunks = Packet::parse_unverified(bytes).into_iter();
        let chunks = chunks.flat_map(|packet| packet.chunks());
        for chunk in chunks.filter_map(|chunk| chunk.and_then(|chunk| chunk.decode()).ok()) {
            let (length, header) = match chunk {
                Chunk::Data(data) => (data.payload.len() as u64, DATA_HEADER),
                Chunk::IData(data) => (data.payload.len() as u64, I_DATA_HEADER),
                _ => continue,
            };
            payload += length;
            headers += header + length.next_multiple_of(4) - length;
        }
        if headers > 0 {
            headers += COMMON_HEADER;
        }
        self.add(bytes, payload, headers);
    }

    /// Counts a TCP segment.
    pub(crate) fn note_tcp(&mut self, bytes: &[u8]) {
        // Data offset: the length of the header in words of 32 bits (RFC 9293 §3.1).
        let header = bytes.get(12).map_or(0, |byte| u64::from(byte >> 4) * 4);
        let payload = (bytes.len() as u64).saturating_sub(header);
        self.add(bytes, payload, if payload > 0 { header } else { 0 });
    }

    fn add(&mut self, bytes: &[u8], payload: u64, headers: u64) {
        self.packets += 1;
        self.payload += payload;
        self.headers += headers;
        self.control += (bytes.len() as u64).saturating_sub(payload + headers);
    }

    /// The difference since `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            packets: self.packets - earlier.packets,
            payload: self.payload - earlier.payload,
            headers: self.headers - earlier.headers,
            control: self.control - earlier.control,
        }
    }
}

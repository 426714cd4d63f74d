//! Handshake streams. Which bytes of TLS has the peer, and which have we?
//!
//! One stream for each level and direction (RFC 9000 §7.5). What a packet lost is sent again from the first missing byte.

use std::collections::BTreeMap;

/// More than any handshake: 16 certificates of 4 KiB.
const MAX_STREAM: usize = 64 * 1024;
/// Fragments that may wait for an earlier one.
const MAX_PIECES: usize = 128;

/// Bytes to send.
#[derive(Debug, Default)]
pub(super) struct SendStream {
    /// Those up to `end`; empty as soon as none has to be sent again.
    bytes: Vec<u8>,
    end: u32,
    acked: u32,
}

impl SendStream {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let pushed = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.end = self.end.saturating_add(pushed);
    }

    pub(super) const fn end(&self) -> u32 {
        self.end
    }

    pub(super) const fn acked(&self) -> u32 {
        self.acked
    }

    pub(super) const fn is_acked(&self) -> bool {
        self.acked == self.end
    }

    /// Takes an acknowledgement; returns whether it is the first of some bytes. One of bytes never sent is ignored.
    pub(super) const fn on_ack(&mut self, received: u32) -> bool {
        let progress = received > self.acked && received <= self.end;
        if progress {
            self.acked = received;
        }
        progress
    }

    pub(super) fn ack_all(&mut self) {
        self.acked = self.end;
        self.bytes = Vec::new();
    }

    /// At most `len` bytes from `offset`.
    pub(super) fn fragment(&self, offset: u32, len: usize) -> &[u8] {
        let first = (self.end as usize).saturating_sub(self.bytes.len());
        let rest = (offset as usize).checked_sub(first);
        let rest = rest.and_then(|index| self.bytes.get(index..)).unwrap_or_default();
        &rest[..rest.len().min(len)]
    }
}

/// The peer sent more than a handshake has, or too many fragments with gaps between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TooMuch;

/// Bytes received.
#[derive(Debug, Default)]
pub(super) struct ReceiveStream {
    /// Bytes read by TLS.
    next: u32,
    pieces: BTreeMap<u32, Vec<u8>>,
}

impl ReceiveStream {
    /// Bytes received without a gap, and read.
    pub(super) const fn received(&self) -> u32 {
        self.next
    }

    /// Takes a fragment; `offset` plus its length fits 32 bits.
    pub(super) fn insert(&mut self, offset: u32, data: &[u8]) -> Result<(), TooMuch> {
        let end = offset as usize + data.len();
        if end > MAX_STREAM {
            return Err(TooMuch);
        }
        if end <= self.next as usize || data.is_empty() {
            return Ok(());
        }
        if self
            .pieces
            .get(&offset)
            .is_some_and(|piece| piece.len() >= data.len())
        {
            return Ok(());
        }
        // Overlapping fragments are stored as they are, so their sum is bounded too.
        let stored: usize = self.pieces.values().map(Vec::len).sum();
        if self.pieces.len() >= MAX_PIECES || stored + data.len() > 2 * MAX_STREAM {
            return Err(TooMuch);
        }
        self.pieces.insert(offset, data.to_vec());
        Ok(())
    }

    /// The bytes that follow those read, as far as they are there.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Some(entry) = self.pieces.first_entry() {
            if *entry.key() > self.next {
                break;
            }
            let (offset, piece) = entry.remove_entry();
            let known = (self.next - offset) as usize;
            if let Some(new) = piece.get(known..) {
                bytes.extend_from_slice(new);
                self.next += new.len() as u32;
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use anabranch_types::Seed;

    use super::{MAX_STREAM, ReceiveStream, SendStream, TooMuch};

    #[test]
    fn fragments_in_any_order_with_overlaps_give_the_stream() {
        let sent: Vec<u8> = (0..5_000_u32).map(|number| (number * 7) as u8).collect();
        for seed in 0..50 {
            let mut rng = Seed(seed).rng();
            let mut stream = ReceiveStream::default();
            let mut read = Vec::new();
            while read.len() < sent.len() {
                let ahead = (sent.len() - read.len()).min(2_000) as u64;
                let offset = (read.len() as u64 + rng.below(ahead)).saturating_sub(rng.below(300)) as usize;
                let len = (1 + rng.below(700) as usize).min(sent.len() - offset);
                match stream.insert(offset as u32, &sent[offset..offset + len]) {
                    Ok(()) => read.extend(stream.take()),
                    // Too many overlaps: the first missing byte must still be accepted after a drain.
                    Err(TooMuch) => break,
                }
                assert_eq!(stream.received() as usize, read.len());
            }
            assert_eq!(read, sent[..read.len()]);
        }
    }

    #[test]
    fn memory_of_a_stream_is_bounded_for_any_fragments() {
        let mut stream = ReceiveStream::default();
        assert_eq!(stream.insert(MAX_STREAM as u32, &[0]), Err(TooMuch));
        let accepted = (0..10_000)
            .filter(|offset| stream.insert(2 + 2 * offset, &[0]).is_ok())
            .count();
        assert!(accepted <= 128);
    }

    #[test]
    fn acknowledgement_of_unsent_bytes_is_ignored() {
        let mut stream = SendStream::default();
        stream.push(b"hello");
        assert!(!stream.on_ack(6));
        assert!(stream.on_ack(3));
        assert!(!stream.on_ack(2));
        assert_eq!((stream.fragment(3, 9), stream.is_acked()), (&b"lo"[..], false));
    }
}

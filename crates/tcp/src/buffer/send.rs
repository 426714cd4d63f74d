//! Send buffer: bytes that the application has written and that are not acknowledged yet.

use alloc::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Size of the blocks in which small writes are joined.
const BLOCK: usize = 1 << 14;

/// Bytes not yet sent, and the count of bytes sent that may have to be retransmitted.
///
/// Sent bytes are stored in the records of their senders; here only their space is counted. Positions count all bytes ever
/// written, from 1, as on a subflow.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    capacity: u64,
    /// In ascending order of position, with gaps where bytes were sent ahead of others.
    unsent: VecDeque<Piece>,
    unsent_bytes: u64,
    /// The position behind everything written.
    end: u64,
    /// Sent and not yet released.
    held: u64,
    /// Free memory in which small writes are joined. It is shared by segments that are sent, and released, one after another.
    block: BytesMut,
}

/// Contiguous bytes, and the position of the first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Piece {
    pub(crate) place: u64,
    pub(crate) bytes: Bytes,
}

impl Piece {
    fn split_to(&mut self, length: usize) -> Self {
        let place = self.place;
        self.place += length as u64;
        Self {
            place,
            bytes: self.bytes.split_to(length),
        }
    }

    const fn end(&self) -> u64 {
        self.place + self.bytes.len() as u64
    }
}

impl SendBuffer {
    pub(crate) fn new(capacity: u64) -> Self {
        Self {
            capacity,
            unsent: VecDeque::new(),
            unsent_bytes: 0,
            end: 1,
            held: 0,
            block: BytesMut::new(),
        }
    }

    /// Bytes that the application may write now.
    pub(crate) const fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.used())
    }

    pub(crate) const fn used(&self) -> u64 {
        self.unsent_bytes + self.held
    }

    pub(crate) const fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) const fn unsent(&self) -> u64 {
        self.unsent_bytes
    }

    /// The position behind everything written.
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// The position of the first unsent byte, or behind everything.
    pub(crate) fn first_unsent(&self) -> u64 {
        self.unsent.front().map_or(self.end, |piece| piece.place)
    }

    /// Accepts as many bytes as there is room for; returns the rest.
    pub(crate) fn write(&mut self, mut bytes: Bytes) -> Bytes {
        let room = usize::try_from(self.room()).unwrap_or(usize::MAX);
        let taken = bytes.split_to(bytes.len().min(room));
        if !taken.is_empty() {
            let place = self.end;
            self.unsent_bytes += taken.len() as u64;
            self.end += taken.len() as u64;
            self.unsent.push_back(Piece { place, bytes: taken });
        }
        bytes
    }

    /// Takes the next contiguous bytes to send, at most `most`. They still count as held in the buffer.
    pub(crate) fn take(&mut self, most: u64) -> Piece {
        self.take_behind(0, most)
    }

    /// Takes bytes to send from beyond the next `skip` unsent ones.
    pub(crate) fn take_behind(&mut self, skip: u64, most: u64) -> Piece {
        let most = most.min(self.unsent_bytes.saturating_sub(skip));
        let length = usize::try_from(most).unwrap_or(usize::MAX);
        let at = self.part_at(skip);
        let taken = match self.unsent.get_mut(at) {
            Some(piece) if piece.bytes.len() > length => piece.split_to(length),
            Some(piece) if piece.bytes.len() == length => self.unsent.remove(at).unwrap_or_default(),
            Some(_) => self.gather(at, length),
            None => Piece::default(),
        };
        self.unsent_bytes -= taken.bytes.len() as u64;
        self.held += taken.bytes.len() as u64;
        taken
    }

    /// The position of the byte behind `skip` unsent ones. Bytes sent ahead earlier may lie between, so the distance may be
    /// larger than `skip`.
    pub(crate) fn place_behind(&self, skip: u64) -> u64 {
        let mut left = skip;
        for piece in &self.unsent {
            let length = piece.bytes.len() as u64;
            if left < length {
                return piece.place + left;
            }
            left -= length;
        }
        self.end
    }

    /// Splits a piece behind `skip` unsent bytes, and returns its index.
    fn part_at(&mut self, skip: u64) -> usize {
        let mut left = skip;
        let mut at = 0;
        while let Some(piece) = self.unsent.get_mut(at)
            && left > 0
        {
            let length = piece.bytes.len() as u64;
            if left < length {
                let before = piece.split_to(left as usize);
                self.unsent.insert(at, before);
            }
            left = left.saturating_sub(length);
            at += 1;
        }
        at
    }

    /// Joins contiguous bytes of several pieces, so that segments are full.
    fn gather(&mut self, at: usize, length: usize) -> Piece {
        if self.block.capacity() < length {
            self.block.reserve(BLOCK.max(length));
        }
        let place = self.unsent[at].place;
        while self.block.len() < length
            && let Some(front) = self.unsent.get_mut(at)
            && front.place == place + self.block.len() as u64
        {
            let part = front.split_to(front.bytes.len().min(length - self.block.len()));
            self.block.extend_from_slice(&part.bytes);
            if front.place == front.end() {
                self.unsent.remove(at);
            }
        }
        Piece {
            place,
            bytes: self.block.split().freeze(),
        }
    }

    /// Releases `bytes` sent bytes that will not be retransmitted.
    pub(crate) const fn release(&mut self, bytes: u64) {
        self.held -= bytes;
    }

    /// Discards everything: nothing will be retransmitted.
    pub(crate) fn clear(&mut self) {
        self.unsent.clear();
        self.unsent_bytes = 0;
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::SendBuffer;

    fn buffer_of(parts: &[&'static str]) -> SendBuffer {
        let mut buffer = SendBuffer::new(100);
        for part in parts {
            assert!(buffer.write(Bytes::from_static(part.as_bytes())).is_empty());
        }
        buffer
    }

    #[test]
    fn small_writes_are_joined_into_full_segments() {
        let mut buffer = buffer_of(&["ab", "cde", "f", "ghij"]);
        assert_eq!(&buffer.take(4).bytes[..], b"abcd");
        assert_eq!(&buffer.take(1).bytes[..], b"e");
        assert_eq!(&buffer.take(1).bytes[..], b"f");
        assert_eq!(&buffer.take(100).bytes[..], b"ghij");
        assert_eq!(buffer.unsent(), 0);
    }

    #[test]
    fn sent_bytes_take_buffer_space_until_released() {
        let mut buffer = SendBuffer::new(10);
        let rest = buffer.write(Bytes::from_static(b"0123456789AB"));
        assert_eq!(&rest[..], b"AB");
        buffer.take(6);
        assert_eq!(buffer.room(), 0);
        buffer.release(4);
        assert_eq!(buffer.room(), 4);
    }

    #[test]
    fn bytes_taken_ahead_leave_a_gap_that_ends_segments() {
        let mut buffer = buffer_of(&["abc", "defg", "hi"]);
        assert_eq!(buffer.place_behind(4), 5);
        let ahead = buffer.take_behind(4, 3);
        assert_eq!((buffer.place_behind(3), buffer.place_behind(4)), (4, 8));
        assert_eq!((buffer.place_behind(6), buffer.place_behind(60)), (10, 10));
        assert_eq!((ahead.place, &ahead.bytes[..]), (5, &b"efg"[..]));
        let next = buffer.take(100);
        assert_eq!((next.place, &next.bytes[..]), (1, &b"abcd"[..]));
        assert_eq!(buffer.first_unsent(), 8);
        let last = buffer.take(100);
        assert_eq!((last.place, &last.bytes[..]), (8, &b"hi"[..]));
        assert_eq!(buffer.take_behind(5, 1).bytes.len(), 0);
        assert_eq!((buffer.unsent(), buffer.used()), (0, 9));
    }
}

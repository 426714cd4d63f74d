//! What has the application handed over that is not acknowledged yet?

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use bytes::Bytes;

/// Bytes not yet sent, and the count of those that were sent and may be needed again.
///
/// What was sent lies in the records of the scoreboard; here it only takes up room.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    capacity: u64,
    unsent: VecDeque<Bytes>,
    unsent_bytes: u64,
    /// Sent and not yet given back.
    held: u64,
}

impl SendBuffer {
    pub(crate) const fn new(capacity: u64) -> Self {
        Self {
            capacity,
            unsent: VecDeque::new(),
            unsent_bytes: 0,
            held: 0,
        }
    }

    /// Bytes that the application may hand over now.
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

    /// Takes bytes over as far as there is room; returns what is left of them.
    pub(crate) fn write(&mut self, mut bytes: Bytes) -> Bytes {
        let taken = bytes.split_to(
            bytes
                .len()
                .min(usize::try_from(self.room()).unwrap_or(usize::MAX)),
        );
        if !taken.is_empty() {
            self.unsent_bytes += taken.len() as u64;
            self.unsent.push_back(taken);
        }
        bytes
    }

    /// The next bytes to be sent, at most `most`. They stay in the buffer as held.
    pub(crate) fn take(&mut self, most: u64) -> Bytes {
        let length = usize::try_from(most.min(self.unsent_bytes)).unwrap_or(usize::MAX);
        self.unsent_bytes -= length as u64;
        self.held += length as u64;
        match self.unsent.front_mut() {
            Some(front) if front.len() > length => front.split_to(length),
            Some(front) if front.len() == length => self.unsent.pop_front().unwrap_or_default(),
            _ => self.gather(length).into(),
        }
    }

    /// Bytes from several pieces, put together so that segments are full.
    fn gather(&mut self, length: usize) -> Vec<u8> {
        let mut gathered = Vec::with_capacity(length);
        while gathered.len() < length
            && let Some(mut front) = self.unsent.pop_front()
        {
            let part = front.split_to(front.len().min(length - gathered.len()));
            gathered.extend_from_slice(&part);
            if !front.is_empty() {
                self.unsent.push_front(front);
            }
        }
        gathered
    }

    /// `bytes` that were sent will not be needed again.
    pub(crate) const fn release(&mut self, bytes: u64) {
        self.held -= bytes;
    }

    /// Forgets everything: nobody will ask for it again.
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

    #[test]
    fn segments_are_full_although_writes_are_small() {
        let mut buffer = SendBuffer::new(100);
        for part in ["ab", "cde", "f", "ghij"] {
            assert!(buffer.write(Bytes::from_static(part.as_bytes())).is_empty());
        }
        assert_eq!(&buffer.take(4)[..], b"abcd");
        assert_eq!(&buffer.take(1)[..], b"e");
        assert_eq!(&buffer.take(1)[..], b"f");
        assert_eq!(&buffer.take(100)[..], b"ghij");
        assert_eq!(buffer.unsent(), 0);
    }

    #[test]
    fn what_was_sent_takes_up_room_until_it_is_given_back() {
        let mut buffer = SendBuffer::new(10);
        let rest = buffer.write(Bytes::from_static(b"0123456789AB"));
        assert_eq!(&rest[..], b"AB");
        buffer.take(6);
        assert_eq!(buffer.room(), 0);
        buffer.release(4);
        assert_eq!(buffer.room(), 4);
    }
}

//! Test payload of our application. Did a message arrive unchanged?

use anabranch::Bytes;

use crate::plan::AppPlan;

/// A prime, so that messages with consecutive numbers differ in every byte.
const PERIOD: u64 = 251;
/// Size of a message number in bytes.
const HEAD: usize = size_of::<u64>();

/// Messages of one application. Each starts with its number on its stream, truncated to the message length, followed by
/// bytes derived from that number.
pub(super) struct TestPayload {
    length: usize,
    /// The content of a message with number n starts at byte n modulo the period.
    bytes: Vec<u8>,
}

impl TestPayload {
    pub(super) fn new(app: &AppPlan) -> Self {
        Self::of(app.message.0 as usize)
    }

    fn of(length: usize) -> Self {
        let bytes = (0..PERIOD + length as u64).map(|place| (place % PERIOD) as u8);
        Self {
            length,
            bytes: bytes.collect(),
        }
    }

    pub(super) fn write(&self, number: u64) -> Bytes {
        let number = self.visible(number);
        let (head, body) = self.parts(number);
        [&number.to_le_bytes()[..head], body].concat().into()
    }

    /// Returns the number of an intact message, truncated to the message length; `None` if the message is corrupted.
    pub(super) fn read(&self, message: &[u8]) -> Option<u64> {
        let mut number = [0; HEAD];
        let (head, body) = message.split_at_checked(self.length.min(HEAD))?;
        number[..head.len()].copy_from_slice(head);
        let number = u64::from_le_bytes(number);
        (body == self.parts(number).1).then_some(number)
    }

    /// Truncates `number` to the bytes that fit into a message.
    pub(super) const fn visible(&self, number: u64) -> u64 {
        if self.length < HEAD {
            number & ((1 << (8 * self.length)) - 1)
        } else {
            number
        }
    }

    /// Returns the length of a message's number field, and the bytes after it.
    fn parts(&self, number: u64) -> (usize, &[u8]) {
        let head = self.length.min(HEAD);
        let start = (number % PERIOD) as usize;
        (head, &self.bytes[start + head..start + self.length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_payload_byte_is_detected() {
        let payload = TestPayload::of(100);
        let message = payload.write(1_000_000);
        assert_eq!(payload.read(&message), Some(1_000_000));
        for at in 0..message.len() {
            let mut changed = message.to_vec();
            changed[at] ^= 1;
            assert_ne!(payload.read(&changed), Some(1_000_000), "byte {at}");
        }
        assert_eq!(payload.read(&message[..99]), None, "one byte too short");
        assert_eq!(payload.read(&[&message[..], &[0]].concat()), None, "one too long");
    }

    #[test]
    fn short_message_carries_low_bits_of_its_number() {
        let payload = TestPayload::of(2);
        assert_eq!(payload.read(&payload.write(65_537)), Some(1));
        assert_eq!(payload.visible(65_537), 1);
    }
}

//! What does our application send, and has it arrived as it was sent?

use anabranch::Bytes;

use crate::plan::AppPlan;

/// A prime, so that the letters of neighbouring numbers differ in every byte.
const PERIOD: u64 = 251;
/// Bytes of a number.
const HEAD: usize = size_of::<u64>();

/// The letters of one application: each begins with its number on its stream, as much of it as it has room for, and goes on
/// with bytes that follow from that.
pub(super) struct Letters {
    length: usize,
    /// From its n-th byte on, what the letters are made of whose number is n, modulo the period.
    bytes: Vec<u8>,
}

impl Letters {
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

    /// The number of a letter that is as it was sent, as much of it as can be seen.
    pub(super) fn read(&self, letter: &[u8]) -> Option<u64> {
        let mut number = [0; HEAD];
        let (head, body) = letter.split_at_checked(self.length.min(HEAD))?;
        number[..head.len()].copy_from_slice(head);
        let number = u64::from_le_bytes(number);
        (body == self.parts(number).1).then_some(number)
    }

    /// As much of `number` as fits into a letter.
    pub(super) const fn visible(&self, number: u64) -> u64 {
        if self.length < HEAD {
            number & ((1 << (8 * self.length)) - 1)
        } else {
            number
        }
    }

    /// How long the head of a letter is, and what follows it.
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
    fn a_letter_tells_its_number_and_any_change_of_it() {
        let letters = Letters::of(100);
        let letter = letters.write(1_000_000);
        assert_eq!(letters.read(&letter), Some(1_000_000));
        for at in 0..letter.len() {
            let mut changed = letter.to_vec();
            changed[at] ^= 1;
            assert_ne!(letters.read(&changed), Some(1_000_000), "byte {at}");
        }
        assert_eq!(letters.read(&letter[..99]), None, "one byte too short");
        assert_eq!(letters.read(&[&letter[..], &[0]].concat()), None, "one too long");
    }

    #[test]
    fn short_letters_tell_what_fits_of_their_number() {
        let letters = Letters::of(2);
        assert_eq!(letters.read(&letters.write(65_537)), Some(1));
        assert_eq!(letters.visible(65_537), 1);
    }
}

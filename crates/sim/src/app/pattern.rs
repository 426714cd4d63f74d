//! Payload of test messages. The content depends on the message number, so that the reader detects any mix-up.

use std::sync::LazyLock;

use anabranch_types::Seed;
use bytes::Bytes;

/// Longest message length.
pub const LONGEST_MESSAGE: usize = 1 << 20;

/// Number of different messages of the same length.
const STARTS: u64 = 1 << 16;
/// Spreads consecutive numbers over the starts; odd, so that no start repeats within [`STARTS`] messages.
const STRIDE: u64 = 40_503;

/// Random bytes, generated once. Messages are slices of them, so creating one copies nothing and comparing one runs at memory
/// speed. They are never freed, so that simulations in several threads need no reference count.
static NOISE: LazyLock<&'static [u8]> = LazyLock::new(|| {
    let mut noise = vec![0; LONGEST_MESSAGE + STARTS as usize];
    Seed(0).split("pattern").rng().fill(&mut noise);
    Box::leak(noise.into_boxed_slice())
});

/// Content of message number `number` with a length of `bytes`, at most [`LONGEST_MESSAGE`].
#[must_use]
pub fn pattern(number: u32, bytes: usize) -> Bytes {
    let start = (u64::from(number) * STRIDE % STARTS) as usize;
    Bytes::from_static(&NOISE[start..start + bytes.min(LONGEST_MESSAGE)])
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_MESSAGE, pattern};

    #[test]
    fn patterns_have_the_length_and_differ_by_number() {
        assert_eq!(pattern(7, 1_000).len(), 1_000);
        assert_eq!(pattern(u32::MAX, LONGEST_MESSAGE).len(), LONGEST_MESSAGE);
        assert_ne!(pattern(7, 16), pattern(8, 16));
        assert_eq!(pattern(7, 16), pattern(7, 100).slice(..16));
    }
}

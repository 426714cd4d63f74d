//! Order-independent checksums over messages. Did everything arrive once and intact, without storing it?

use anabranch_proto::ReceivedMessage;
use anabranch_sim::app::pattern;
use anabranch_types::StreamId;

/// Totals of one direction of one or many associations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    checksum: u64,
}

impl Sums {
    pub(crate) fn add_message(&mut self, number: u32, bytes: usize, stream: StreamId, unordered: bool) {
        self.messages += 1;
        self.bytes += bytes as u64;
        let place = u64::from(stream.0) << 1 | u64::from(unordered);
        let message = mix(mix(u64::from(number)) ^ bytes as u64) ^ place;
        self.checksum = self.checksum.wrapping_add(mix(message));
    }

    /// Adds the sums of an association. Messages swapped between two associations change the result.
    pub(crate) fn add(&mut self, association: Self) {
        self.messages += association.messages;
        self.bytes += association.bytes;
        self.checksum = self.checksum.wrapping_add(mix(association.checksum));
    }
}

/// The finalizer of SplitMix64: every bit of the result depends on every bit of the word.
const fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// Receiver side: sums, and checks of content and order.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    pub(crate) sums: Sums,
    /// The number of the last ordered message, by stream.
    last: Vec<Option<u32>>,
}

impl Reader {
    pub(crate) fn new(streams: u16) -> Self {
        Self {
            sums: Sums::default(),
            last: vec![None; streams.into()],
        }
    }

    /// Checks and counts a message.
    ///
    /// # Panics
    ///
    /// If its content does not match its number, or it is out of order in its stream.
    pub(crate) fn take(&mut self, message: &ReceivedMessage) {
        let (number, bytes) = (message.ppid.0, message.payload.len());
        assert_eq!(message.payload, pattern(number, bytes), "message {number}");
        self.sums
            .add_message(number, bytes, message.stream, message.unordered);
        if !message.unordered {
            let last = self.last[usize::from(message.stream.0)].replace(number);
            assert!(last < Some(number), "message {number} came after {last:?}");
        }
    }
}

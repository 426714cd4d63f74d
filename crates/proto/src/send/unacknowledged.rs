//! Unacknowledged messages: what the application is told when an association ends before all data was acknowledged.

use alloc::collections::BTreeMap;

use anabranch_types::{MessageId, StreamId};

use super::Sender;

/// A message that the peer has not acknowledged in full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unacknowledged {
    /// Id of the message.
    pub(crate) message: MessageId,
    /// Its stream.
    pub(crate) stream: StreamId,
    /// Its unacknowledged bytes.
    pub(crate) bytes: u64,
    /// Whether any part of it was sent, so that the peer may have received it.
    pub(crate) sent: bool,
}

impl Sender {
    /// The messages that are not completely acknowledged, in the order in which they were queued.
    pub(crate) fn unacknowledged(&self) -> impl Iterator<Item = Unacknowledged> + use<> {
        let sent = self.scoreboard.unacknowledged();
        let sent = sent.map(|chunk| (chunk.message, chunk.stream, chunk.payload_bytes(), true));
        let waiting = self.streams.waiting();
        let waiting = waiting.map(|waiting| (waiting.id, waiting.message.stream, waiting.bytes(), false));
        let unfinished = self.streams.open.ids();
        let unfinished = unfinished.map(|(message, stream)| (message, stream, 0, true));
        let mut messages = BTreeMap::new();
        let passed_over = self.line.iter();
        let passed_over =
            passed_over.map(|chunk| (chunk.message, chunk.stream, chunk.payload_bytes(), false));
        for (message, stream, bytes, sent) in sent.chain(passed_over).chain(waiting).chain(unfinished) {
            let nothing = Unacknowledged {
                message,
                stream,
                bytes: 0,
                sent,
            };
            messages.entry(message).or_insert(nothing).bytes += bytes;
        }
        messages.into_values()
    }
}

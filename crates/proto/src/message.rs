//! Messages. What does an application send and receive? Whole messages, each on one stream.

use anabranch_types::{Ppid, StreamId};
use bytes::Bytes;

/// A message to send.
///
/// ```
/// use anabranch_proto::Message;
/// use anabranch_types::StreamId;
/// let message = Message::new(StreamId(3), "hello").unordered();
/// assert_eq!(message.payload.len(), 5);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The stream it goes on.
    pub stream: StreamId,
    /// The application's own mark, carried untouched.
    pub ppid: Ppid,
    /// Delivered as soon as it is complete, past earlier messages of its stream (RFC 9260 §6.6).
    pub unordered: bool,
    /// The peer is asked to acknowledge its last chunk at once (I bit, RFC 9260 §3.3.1).
    pub acknowledge_at_once: bool,
    /// One byte at least (RFC 9260 §3.3.1).
    pub payload: Bytes,
}

impl Message {
    /// An ordered message with a zero payload protocol identifier.
    #[must_use]
    pub fn new(stream: StreamId, payload: impl Into<Bytes>) -> Self {
        Self {
            stream,
            ppid: Ppid(0),
            unordered: false,
            acknowledge_at_once: false,
            payload: payload.into(),
        }
    }

    /// The same message, delivered without regard to order.
    #[must_use]
    pub fn unordered(self) -> Self {
        Self {
            unordered: true,
            ..self
        }
    }

    /// The same message with this payload protocol identifier.
    #[must_use]
    pub fn with_ppid(self, ppid: Ppid) -> Self {
        Self { ppid, ..self }
    }
}

/// A message that arrived whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceivedMessage {
    /// The stream it came on.
    pub stream: StreamId,
    /// The sender's mark on it.
    pub ppid: Ppid,
    /// Whether it was sent without regard to order.
    pub unordered: bool,
    /// What the peer's application sent; never empty.
    pub payload: Bytes,
}

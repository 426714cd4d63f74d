//! User messages, each on one stream.

use core::time::Duration;

use anabranch_types::{MessageId, Ppid, StreamId};
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
    /// The stream on which it is sent.
    pub stream: StreamId,
    /// Payload protocol identifier, set by the application and not interpreted.
    pub ppid: Ppid,
    /// Whether it is delivered as soon as it is complete, before earlier messages of its stream (RFC 9260 §6.6).
    pub unordered: bool,
    /// Whether its last chunk has the I bit, which requests an immediate SACK (RFC 9260 §3.3.1).
    pub acknowledge_at_once: bool,
    /// When the message may be abandoned, if both ends support it.
    pub reliability: Reliability,
    /// The shared key by which its chunks are authenticated, if the peer requires that (RFC 6458 §5.3.8; see
    /// [`AuthenticationKeys`](crate::AuthenticationKeys)). `None`: the key that is selected when a packet is sent.
    pub authentication_key: Option<u16>,
    /// The data, at least one byte (RFC 9260 §3.3.1).
    pub payload: Bytes,
}

/// A message to send, or a part of one: with parts, a message may be longer than the send buffer (`SCTP_EXPLICIT_EOR`, RFC 6458
/// §8.1.26). Each part has at least one byte.
///
/// A stream takes no other message before the end. If interleaving was not agreed (RFC 8260), the chunks of a message have consecutive TSNs,
/// so no other stream is served either between the first chunk and the last. Small parts give small chunks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MessagePart {
    /// All of a message.
    Whole(Message),
    /// The first part; more follows.
    Beginning(Message),
    /// A later part; more follows. The id is that of the first part.
    Middle(MessageId, Bytes),
    /// The last part.
    End(MessageId, Bytes),
}

impl From<Message> for MessagePart {
    #[inline]
    fn from(message: Message) -> Self {
        Self::Whole(message)
    }
}

impl MessagePart {
    /// Its data.
    #[must_use]
    pub const fn payload(&self) -> &Bytes {
        match self {
            Self::Whole(message) | Self::Beginning(message) => &message.payload,
            Self::Middle(_, payload) | Self::End(_, payload) => payload,
        }
    }

    /// The shared key that a message which begins with it names. Later parts have the key of the first.
    #[inline]
    pub(crate) const fn authentication_key(&self) -> Option<u16> {
        match self {
            Self::Whole(message) | Self::Beginning(message) => message.authentication_key,
            Self::Middle(..) | Self::End(..) => None,
        }
    }

    /// Whether a message begins with it.
    #[inline]
    #[must_use]
    pub const fn begins(&self) -> bool {
        matches!(self, Self::Whole(_) | Self::Beginning(_))
    }

    /// Whether a message ends with it.
    #[inline]
    #[must_use]
    pub const fn ends(&self) -> bool {
        matches!(self, Self::Whole(_) | Self::End(..))
    }
}

/// Partial reliability of a message (RFC 3758, RFC 7496): when it is abandoned. Without
/// [`AssociationConfig::partial_reliability`](crate::AssociationConfig::partial_reliability) on both ends, messages are reliable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Reliability {
    /// Never.
    #[default]
    Reliable,
    /// Not sent for the first time, and not retransmitted, when so much time has passed since it was queued (RFC 3758 §4.1).
    Lifetime(Duration),
    /// No chunk of it is retransmitted more often than this (RFC 7496 §3.1); 0 sends each chunk once.
    Retransmissions(u16),
    /// Abandoned when the send buffer has no room for a reliable message, or one whose number is lower (RFC 7496 §3.2).
    Priority(u32),
}

impl Message {
    /// Creates an ordered message with the payload protocol identifier 0.
    #[must_use]
    pub fn new(stream: StreamId, payload: impl Into<Bytes>) -> Self {
        Self {
            stream,
            ppid: Ppid(0),
            unordered: false,
            acknowledge_at_once: false,
            reliability: Reliability::Reliable,
            authentication_key: None,
            payload: payload.into(),
        }
    }

    /// Makes the message unordered.
    #[must_use]
    pub fn unordered(self) -> Self {
        Self {
            unordered: true,
            ..self
        }
    }

    /// Sets when the message may be abandoned.
    #[must_use]
    pub fn with_reliability(self, reliability: Reliability) -> Self {
        Self { reliability, ..self }
    }

    /// Sets the shared key by which the message is authenticated.
    #[must_use]
    pub fn with_authentication_key(self, id: u16) -> Self {
        Self {
            authentication_key: Some(id),
            ..self
        }
    }

    /// Sets the payload protocol identifier.
    #[must_use]
    pub fn with_ppid(self, ppid: Ppid) -> Self {
        Self { ppid, ..self }
    }
}

/// A received message, or a part of one that is delivered in parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceivedMessage {
    /// The stream on which it was sent.
    pub stream: StreamId,
    /// Payload protocol identifier set by the sender.
    pub ppid: Ppid,
    /// Whether it was sent unordered.
    pub unordered: bool,
    /// How much of the message this is.
    pub extent: Extent,
    /// The data; empty only if the message was aborted.
    pub payload: Bytes,
}

//= rfc9260 6.9-16
/// How much of a message was received. A message longer than
/// [`AssociationConfig::partial_delivery_point`](crate::AssociationConfig::partial_delivery_point) is delivered in parts (RFC 9260
/// §6.9): one [`Extent::Beginning`], any number of [`Extent::Middle`], and [`Extent::End`] or [`Extent::Aborted`]. Parts with equal
/// `stream` and `unordered` are of one message. With DATA, nothing else is delivered between them; with I-DATA, one message of each
/// stream may be in delivery at the same time, and parts of several alternate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Extent {
    /// All of it.
    #[default]
    Whole,
    /// The first part; more follows.
    Beginning,
    /// A later part; more follows.
    Middle,
    /// The last part.
    End,
    /// The rest will not arrive, and the payload is empty: the peer has abandoned the message or reset its stream, or the association
    /// has restarted or ended (`SCTP_PARTIAL_DELIVERY_EVENT` with `SCTP_PARTIAL_DELIVERY_ABORTED`, RFC 6458 §6.1.7).
    Aborted,
}

impl Extent {
    /// Whether more of the message follows.
    #[must_use]
    pub const fn has_more(self) -> bool {
        matches!(self, Self::Beginning | Self::Middle)
    }

    /// Whether the message was received completely, with this part.
    #[must_use]
    pub const fn completes(self) -> bool {
        matches!(self, Self::Whole | Self::End)
    }
}

//! Stream handle: sends on one stream of an association.

use anabranch_proto::{Message, Reliability};
use anabranch_types::{MessageId, StreamId};
use bytes::Bytes;

use crate::association::Association;
use crate::error::{SendError, TrySendError};
use crate::writer::MessageWriter;

/// Sends on one stream of an association. Messages of a stream are delivered in order; streams do not block each other.
///
/// Like any other handle it keeps the association open.
///
/// With [`with_reliability`](Self::with_reliability) its messages may be abandoned:
///
/// ```
/// # use std::time::Duration;
/// # use anabranch::{Association, Reliability, StreamId};
/// # async fn example(association: Association) -> Result<(), anabranch::SendError> {
/// let positions = association
///     .stream(StreamId(1))
///     .with_reliability(Reliability::Lifetime(Duration::from_millis(100)));
/// positions.send("12 34").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct SendStream {
    association: Association,
    stream: StreamId,
    reliability: Reliability,
    authentication_key: Option<u16>,
}

impl SendStream {
    pub(crate) const fn new(association: Association, stream: StreamId) -> Self {
        Self {
            association,
            stream,
            reliability: Reliability::Reliable,
            authentication_key: None,
        }
    }

    /// Sets when messages of this handle may be abandoned, if both ends support it (RFC 3758).
    #[must_use]
    pub fn with_reliability(self, reliability: Reliability) -> Self {
        Self { reliability, ..self }
    }

    /// Authenticates messages of this handle by the shared key `id`, if the peer requires authentication (RFC 6458 §5.3.8), and not by the
    /// one that [`Association::use_authentication_key`] has selected.
    #[must_use]
    pub fn with_authentication_key(self, id: u16) -> Self {
        Self {
            authentication_key: Some(id),
            ..self
        }
    }

    fn message(&self, payload: impl Into<Bytes>) -> Message {
        Message {
            authentication_key: self.authentication_key,
            ..Message::new(self.stream, payload).with_reliability(self.reliability)
        }
    }

    /// Id of the stream.
    #[must_use]
    pub const fn id(&self) -> StreamId {
        self.stream
    }

    /// The association it belongs to.
    #[must_use]
    pub const fn association(&self) -> &Association {
        &self.association
    }

    /// Bytes of its messages that have not been sent yet.
    #[must_use]
    pub fn queued(&self) -> u64 {
        self.association.queued_on(self.stream)
    }

    /// Waits until `bytes` or fewer of its messages have not been sent yet. So a program that feeds several streams can
    /// keep a little queued on each, and none starves behind another in the send buffer.
    ///
    /// One task for each stream should wait: of several, the one with the lowest limit may wake all.
    ///
    /// # Errors
    ///
    /// The association is closed, or has no such stream.
    pub async fn low_water(&self, bytes: u64) -> Result<(), SendError> {
        self.association.low_water(self.stream, bytes).await
    }

    /// As [`Association::send`].
    ///
    /// # Errors
    ///
    /// As [`Association::send`].
    pub async fn send(&self, payload: impl Into<Bytes>) -> Result<MessageId, SendError> {
        self.association.send(self.message(payload)).await
    }

    /// As [`Association::try_send`].
    ///
    /// # Errors
    ///
    /// As [`Association::try_send`].
    pub fn try_send(&self, payload: impl Into<Bytes>) -> Result<MessageId, TrySendError> {
        self.association.try_send(self.message(payload))
    }

    /// A writer of one message of any length, on this stream. No other message can be sent on the stream until it has ended.
    pub fn message_writer(&self) -> MessageWriter {
        MessageWriter::new(self.association.clone(), self.message(Bytes::new()))
    }
}

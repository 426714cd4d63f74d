//! Stream handle: sends on one stream of an association.

use anabranch_proto::Message;
use anabranch_types::{MessageId, StreamId};
use bytes::Bytes;

use crate::association::Association;
use crate::error::{SendError, TrySendError};

/// Sends on one stream of an association. Messages of a stream are delivered in order; streams do not block each other.
///
/// Like any other handle it keeps the association open.
#[derive(Clone, Debug)]
pub struct SendStream {
    association: Association,
    stream: StreamId,
}

impl SendStream {
    pub(crate) const fn new(association: Association, stream: StreamId) -> Self {
        Self { association, stream }
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
        self.association.send(Message::new(self.stream, payload)).await
    }

    /// As [`Association::try_send`].
    ///
    /// # Errors
    ///
    /// As [`Association::try_send`].
    pub fn try_send(&self, payload: impl Into<Bytes>) -> Result<MessageId, TrySendError> {
        self.association.try_send(Message::new(self.stream, payload))
    }
}

//! Messages in parts. How is a message sent that is longer than the send buffer, or not complete yet?

use anabranch_proto::MessagePart;
use anabranch_types::MessageId;

use super::Association;
use crate::error::{SendError, TrySendError};

/// Messages in parts (`SCTP_EXPLICIT_EOR`, RFC 6458 §8.1.26). [`MessageWriter`](crate::MessageWriter) is a simpler way to send one.
impl Association {
    /// Sends a part of a message, which may be longer than the send buffer and written while it is sent. Waits while the send buffer is
    /// full. Later parts name the id that the first one returns:
    ///
    /// ```
    /// # use anabranch::{Association, Bytes, Message, MessagePart, SendError, StreamId};
    /// # async fn example(association: Association, frames: Vec<Bytes>) -> Result<(), SendError> {
    /// let head = Message::new(StreamId(1), "head");
    /// let id = association.send_part(MessagePart::Beginning(head)).await?;
    /// for frame in frames {
    ///     association.send_part(MessagePart::Middle(id, frame)).await?;
    /// }
    /// association.send_part(MessagePart::End(id, "tail".into())).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Until the last part the stream takes no other message. Without `interleaving`, nothing that other streams send leaves before it
    /// either. A [shutdown](Self::shutdown) waits for it. If the last handle is dropped before it, the association is aborted.
    ///
    /// The peer gets the message in parts ([`recv_part`](Self::recv_part)) if it is longer than its partial delivery point.
    ///
    /// If the future is dropped before it is ready, the part was not sent.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send). [`SendError::Unfinished`] for a message of a stream that has an unfinished one, and
    /// [`SendError::NoSuchMessage`] for a part of a message that was abandoned, has ended, or was lost with a restart of the peer.
    pub async fn send_part(&self, part: MessagePart) -> Result<MessageId, SendError> {
        self.0.send(part).await
    }

    /// Sends a part of a message if the send buffer has space for it now. As [`send_part`](Self::send_part) otherwise.
    ///
    /// # Errors
    ///
    /// The send buffer is full, or as [`send_part`](Self::send_part).
    pub fn try_send_part(&self, part: MessagePart) -> Result<MessageId, TrySendError> {
        self.0.try_send(&mut Some(part))
    }
}

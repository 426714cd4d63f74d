//! Message writer: sends one message of any length as a byte stream.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use anabranch_proto::{Message, MessagePart};
use anabranch_types::MessageId;
use bytes::{Bytes, BytesMut};
use tokio::io::AsyncWrite;

use crate::association::Association;
use crate::error::SendError;

/// Longest part. A longer one would wait for as much space in the send buffer; shorter ones end in small chunks more often.
const PART: u64 = 64 << 10;

/// Writes one message of any length, longer than the send buffer too: [`SendStream::message_writer`](crate::SendStream::message_writer).
///
/// It is an [`AsyncWrite`]. Shutting it down ends the message, which is not complete before:
///
/// ```
/// # use anabranch::{Association, StreamId};
/// # async fn example(association: Association, mut file: impl tokio::io::AsyncRead + Unpin) -> std::io::Result<()> {
/// use tokio::io::AsyncWriteExt as _;
///
/// let mut message = association.stream(StreamId(1)).message_writer();
/// tokio::io::copy(&mut file, &mut message).await?;
/// message.shutdown().await?;
/// # Ok(())
/// # }
/// ```
///
/// What it writes is sent in parts ([`Association::send_part`]) of up to 64 KiB. A flush sends all but the last byte, because the chunk that
/// ends a message has at least one.
///
/// A writer that is dropped before its shutdown leaves the message unfinished. Then its stream takes no other message, and a shutdown of the
/// association does not complete: [abort](Association::abort) it, or drop all its handles.
///
/// Errors are those of [`Association::send_part`], as [`io::Error::get_ref`] of the error.
#[must_use = "without bytes and a shutdown it sends no message"]
pub struct MessageWriter {
    association: Association,
    /// The message, without data.
    message: Message,
    /// The id of the message, once a part was sent.
    id: Option<MessageId>,
    /// Bytes of the next part.
    buffer: BytesMut,
    /// The part that is being sent.
    sending: Option<Sending>,
    /// The message has ended, or cannot be continued.
    is_over: bool,
}

type Sending = Pin<Box<dyn Future<Output = Result<MessageId, SendError>> + Send + Sync>>;

impl fmt::Debug for MessageWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageWriter")
            .field("stream", &self.message.stream)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl MessageWriter {
    pub(crate) fn new(association: Association, message: Message) -> Self {
        Self {
            association,
            message,
            id: None,
            buffer: BytesMut::new(),
            sending: None,
            is_over: false,
        }
    }

    /// The id of the message, once a part of it is in the send buffer.
    #[must_use]
    pub const fn id(&self) -> Option<MessageId> {
        self.id
    }

    /// Bytes that are collected for a part now: the send buffer has room for two such parts.
    fn full_part(&self) -> usize {
        (self.association.send_queue().limit / 2).clamp(2, PART) as usize
    }

    /// Begins to send all collected bytes but one, which remains for the end of the message.
    fn begin_all_but_one(&mut self) {
        let but_one = self.buffer.len().saturating_sub(1);
        let part = self.buffer.split_to(but_one).freeze();
        self.begin_part(part, false);
    }

    /// Begins to send `payload`, with which the message ends or not.
    fn begin_part(&mut self, payload: Bytes, ends: bool) {
        let part = match (self.id, ends) {
            (Some(id), false) => MessagePart::Middle(id, payload),
            (Some(id), true) => MessagePart::End(id, payload),
            (None, ends) => {
                let message = Message {
                    payload,
                    ..self.message.clone()
                };
                if ends {
                    MessagePart::Whole(message)
                } else {
                    MessagePart::Beginning(message)
                }
            }
        };
        let association = self.association.clone();
        self.sending = Some(Box::pin(async move { association.send_part(part).await }));
    }

    /// Waits until the part that is being sent is in the send buffer.
    fn poll_sent(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(sending) = &mut self.sending {
            let sent = ready!(sending.as_mut().poll(context));
            self.sending = None;
            match sent {
                Ok(id) => self.id = Some(id),
                Err(error) => {
                    self.is_over = true;
                    return Poll::Ready(Err(error.into()));
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for MessageWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.poll_sent(context))?;
            if self.is_over {
                let ended = io::Error::new(io::ErrorKind::BrokenPipe, "the message has ended");
                return Poll::Ready(Err(ended));
            }
            let room = self.full_part().saturating_sub(self.buffer.len());
            let taken = room.min(bytes.len());
            if taken > 0 || bytes.is_empty() {
                self.buffer.extend_from_slice(&bytes[..taken]);
                return Poll::Ready(Ok(taken));
            }
            self.begin_all_but_one();
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_sent(context))?;
            if self.buffer.len() <= 1 || self.is_over {
                return Poll::Ready(Ok(()));
            }
            self.begin_all_but_one();
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_sent(context))?;
            if self.is_over {
                return Poll::Ready(Ok(()));
            }
            // The shutdown is repeated until this part is sent, and then is over; or the part fails.
            let part = self.buffer.split().freeze();
            self.begin_part(part, true);
            self.is_over = true;
        }
    }
}

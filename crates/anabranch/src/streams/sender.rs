//! Handle that sends on a stream: messages or bytes.

use std::future::poll_fn;
use std::io;
use std::num::NonZeroU16;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use anabranch_proto::{Message, Reliability};
use anabranch_types::{MessageId, Ppid, StreamId};
use bytes::Bytes;
use futures_sink::Sink;
use tokio::io::AsyncWrite;

use super::frame::CONTROL;
use super::set::{Key, Lost};
use super::{Refusal, StreamSet};
use crate::association::Association;
use crate::driver::Sending;
use crate::error::{SendError, StreamSendError};

/// Longest message that a write of bytes makes.
const LONGEST: usize = 16 << 10;

/// Sends on a stream of [`Association::open_stream`](crate::Association::open_stream) or
/// [`accept_stream`](crate::Association::accept_stream).
///
/// It sends messages whose boundaries are kept. As an [`AsyncWrite`] it sends bytes: each write is a message, which takes what the stream has
/// credit for, and a shutdown [finishes](Self::finish) the stream. As a [`Sink`] it sends whole messages of any type that becomes [`Bytes`].
/// A flush of either returns when everything is in the send buffer.
///
/// Sending waits while the reader at the peer has not kept up, or the send buffer of the association is full. A dropped sender finishes
/// the stream.
#[derive(Debug)]
pub struct StreamSender {
    association: Association,
    key: Key,
    id: StreamId,
    /// The message of a sink that waits to be sent.
    waiting: Option<Message>,
}

/// How a message is sent: [`StreamSender::send_with`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SendOptions {
    /// Payload protocol identifier, which the peer's application gets.
    pub ppid: Ppid,
    /// Whether it may overtake earlier messages of the stream.
    pub unordered: bool,
    /// When it may be abandoned, if [partial reliability](crate::AssociationConfig::partial_reliability) is agreed.
    pub reliability: Reliability,
}

impl SendOptions {
    /// Lets the message overtake earlier ones.
    #[must_use]
    pub const fn unordered(mut self) -> Self {
        self.unordered = true;
        self
    }

    /// Sets when the message may be abandoned.
    #[must_use]
    pub const fn with_reliability(mut self, reliability: Reliability) -> Self {
        self.reliability = reliability;
        self
    }

    /// Sets the payload protocol identifier.
    #[must_use]
    pub const fn with_ppid(mut self, ppid: Ppid) -> Self {
        self.ppid = ppid;
        self
    }
}

impl StreamSender {
    pub(crate) const fn new(association: Association, key: Key, id: StreamId) -> Self {
        Self {
            association,
            key,
            id,
            waiting: None,
        }
    }

    /// Id of the stream.
    #[must_use]
    pub const fn id(&self) -> StreamId {
        self.id
    }

    /// The association.
    #[must_use]
    pub const fn association(&self) -> &Association {
        &self.association
    }

    /// Sends a message, ordered and reliable. When this returns, it is in the send buffer.
    ///
    /// If the future is dropped before it is ready, the message was not sent.
    ///
    /// # Errors
    ///
    /// See [`StreamSendError`].
    pub async fn send(&mut self, payload: impl Into<Bytes>) -> Result<MessageId, StreamSendError> {
        self.send_with(payload, SendOptions::default()).await
    }

    /// Sends a message in the way that `options` say.
    ///
    /// Messages that are unordered and may be abandoned are not waited for at the end of the stream.
    ///
    /// # Errors
    ///
    /// See [`StreamSendError`].
    pub async fn send_with(
        &mut self,
        payload: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<MessageId, StreamSendError> {
        let mut offered = Some(self.message(payload.into(), options));
        poll_fn(|context| {
            ready!(self.poll_waiting(context))?;
            self.poll_send(&mut offered, context)
        })
        .await
    }

    /// Ends the stream in order; the peer's reader gets everything that was sent before. Does nothing after an earlier end.
    pub fn finish(&mut self) {
        let key = self.key;
        self.act(|set| set.finish(key));
    }

    /// Gives the stream up: the peer's reader gets `code` after what was sent before. Does nothing after an earlier end.
    pub fn reset(&mut self, code: u32) {
        self.waiting = None;
        let key = self.key;
        self.act(|set| set.reset(key, code));
    }

    /// The code with which the peer's reader has [stopped](crate::StreamReceiver::stop); `None` if it has not.
    #[must_use]
    pub fn stopped(&self) -> Option<u32> {
        let stopped = self.association.with_streams(|streams, _| {
            let stream = streams.set.stream(self.key)?;
            stream.outbound.stopped()
        });
        stopped.flatten()
    }

    /// Sets the priority of the stream; see [`Association::set_stream_priority`](crate::Association::set_stream_priority).
    ///
    /// # Errors
    ///
    /// The association is closed.
    pub fn set_priority(&self, priority: u16) -> Result<(), SendError> {
        self.association.set_stream_priority(self.id, priority)
    }

    /// Sets the weight of the stream; see [`Association::set_stream_weight`](crate::Association::set_stream_weight). Streams are
    /// scheduled by weights unless the configuration says otherwise.
    ///
    /// # Errors
    ///
    /// The association is closed.
    pub fn set_weight(&self, weight: NonZeroU16) -> Result<(), SendError> {
        self.association.set_stream_weight(self.id, weight)
    }

    fn act(&self, act: impl FnOnce(&mut StreamSet) -> bool) {
        self.association.with_streams(|streams, association| {
            act(&mut streams.set);
            streams.flush(association);
        });
    }

    fn message(&self, payload: Bytes, options: SendOptions) -> Message {
        Message {
            ppid: options.ppid,
            unordered: options.unordered,
            reliability: options.reliability,
            ..Message::new(self.id, payload)
        }
    }

    /// Sends the message that a sink has taken before.
    fn poll_waiting(&mut self, context: &Context<'_>) -> Poll<Result<(), StreamSendError>> {
        let mut waiting = self.waiting.take();
        if waiting.is_none() {
            return Poll::Ready(Ok(()));
        }
        let sent = self.poll_send(&mut waiting, context);
        self.waiting = waiting;
        sent.map_ok(drop)
    }

    fn poll_send(
        &self,
        offered: &mut Option<Message>,
        context: &Context<'_>,
    ) -> Poll<Result<MessageId, StreamSendError>> {
        if offered.as_ref().is_some_and(|message| message.ppid == CONTROL) {
            return Poll::Ready(Err(SendError::ReservedPpid.into()));
        }
        let sending = self
            .association
            .with_streams(|streams, association| streams.poll_send(self.key, offered, association, context));
        let ended = || self.association.ended();
        Poll::Ready(match sending {
            Some(Poll::Pending) => return Poll::Pending,
            Some(Poll::Ready(Sending::Sent(id))) => Ok(id),
            Some(Poll::Ready(Sending::Refused(Refusal::Stopped(code)))) => {
                Err(StreamSendError::Stopped(code))
            }
            Some(Poll::Ready(Sending::Refused(_))) => Err(StreamSendError::Ended),
            Some(Poll::Ready(Sending::Lost(Lost::Restarted))) => Err(StreamSendError::Restarted),
            Some(Poll::Ready(Sending::Invalid(error))) => Err(SendError::of(error, ended()).into()),
            Some(Poll::Ready(Sending::Lost(Lost::Closed))) | None => {
                let closed = ended().map_or(SendError::Closing, |reason| SendError::Closed(reason.clone()));
                Err(closed.into())
            }
        })
    }
}

impl Drop for StreamSender {
    fn drop(&mut self) {
        let key = self.key;
        self.act(|set| {
            set.drop_sender(key);
            true
        });
    }
}

impl AsyncWrite for StreamSender {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_waiting(context))?;
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let length = bytes.len().min(LONGEST);
        let payload = Bytes::copy_from_slice(&bytes[..length]);
        let mut offered = Some(self.message(payload, SendOptions::default()));
        ready!(self.poll_send(&mut offered, context))?;
        Poll::Ready(Ok(length))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_waiting(context).map_err(io::Error::from)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_waiting(context))?;
        self.finish();
        Poll::Ready(Ok(()))
    }
}

impl<M: Into<Bytes>> Sink<M> for StreamSender {
    type Error = StreamSendError;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.poll_waiting(context)
    }

    fn start_send(mut self: Pin<&mut Self>, item: M) -> Result<(), Self::Error> {
        self.waiting = Some(self.message(item.into(), SendOptions::default()));
        Ok(())
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.poll_waiting(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        ready!(self.poll_waiting(context))?;
        self.finish();
        Poll::Ready(Ok(()))
    }
}

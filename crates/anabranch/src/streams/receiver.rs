//! Handle that receives on a stream: messages or bytes.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use anabranch_proto::ReceivedMessage;
use anabranch_types::StreamId;
use bytes::{Buf as _, Bytes};
use futures_core::Stream;
use tokio::io::{AsyncRead, ReadBuf};

use super::PeerEnd;
use super::set::{Key, Lost};
use crate::association::Association;
use crate::driver::Receiving;
use crate::error::StreamRecvError;

/// Receives on a stream of [`Association::open_stream`](crate::Association::open_stream) or
/// [`accept_stream`](crate::Association::accept_stream).
///
/// It receives whole messages, in the order of sending but for unordered ones: by [`recv`](Self::recv), or as a [`Stream`]. As an
/// [`AsyncRead`] it receives their bytes without boundaries. What is not received delays the sender of this stream and nobody else.
///
/// A dropped receiver [stops](Self::stop) with the code 0.
#[derive(Debug)]
pub struct StreamReceiver {
    association: Association,
    key: Key,
    id: StreamId,
    /// Bytes of a message that was partly read.
    rest: Bytes,
}

impl StreamReceiver {
    pub(crate) const fn new(association: Association, key: Key, id: StreamId) -> Self {
        Self {
            association,
            key,
            id,
            rest: Bytes::new(),
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

    /// The next message; `None` when the peer has finished the stream.
    ///
    /// Nothing is lost if the future is dropped before it is ready.
    ///
    /// # Errors
    ///
    /// See [`StreamRecvError`]. What arrived before is returned first.
    pub async fn recv(&mut self) -> Result<Option<ReceivedMessage>, StreamRecvError> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// Receives nothing more: what arrived and was not received is discarded, and the peer's sender gets `code`.
    pub fn stop(&mut self, code: u32) {
        self.rest = Bytes::new();
        self.association.with_streams(|streams, association| {
            streams.set.stop(self.key, code);
            streams.flush(association);
        });
    }

    fn poll_recv(&self, context: &Context<'_>) -> Poll<Result<Option<ReceivedMessage>, StreamRecvError>> {
        let received = self
            .association
            .with_streams(|streams, association| streams.poll_receive(self.key, association, context));
        Poll::Ready(match received {
            Some(Poll::Pending) => return Poll::Pending,
            Some(Poll::Ready(Receiving::Message(message))) => Ok(Some(message)),
            Some(Poll::Ready(Receiving::End(PeerEnd::Finished))) => Ok(None),
            Some(Poll::Ready(Receiving::End(PeerEnd::Reset(code)))) => Err(StreamRecvError::Reset(code)),
            Some(Poll::Ready(Receiving::Stopped)) => Err(StreamRecvError::Stopped),
            Some(Poll::Ready(Receiving::Lost(Lost::Restarted))) => Err(StreamRecvError::Restarted),
            Some(Poll::Ready(Receiving::Lost(Lost::Closed))) | None => {
                Err(StreamRecvError::Closed(self.association.close_reason()))
            }
        })
    }
}

impl Drop for StreamReceiver {
    fn drop(&mut self) {
        self.association.with_streams(|streams, association| {
            streams.set.drop_receiver(self.key);
            streams.flush(association);
        });
    }
}

impl AsyncRead for StreamReceiver {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.rest.is_empty() {
            match ready!(self.poll_recv(context))? {
                Some(message) => self.rest = message.payload,
                None => return Poll::Ready(Ok(())),
            }
        }
        let length = buffer.remaining().min(self.rest.len());
        buffer.put_slice(&self.rest[..length]);
        self.rest.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl Stream for StreamReceiver {
    type Item = Result<ReceivedMessage, StreamRecvError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_recv(context).map(Result::transpose)
    }
}

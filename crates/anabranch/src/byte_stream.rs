//! Byte stream: an association as a pipe for bytes in both directions, on one of its streams.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use anabranch_proto::{CloseReason, Message, ReceivedMessage};
use anabranch_types::StreamId;
use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::association::Association;
use crate::error::{RecvError, UnfinishedError};

/// Most bytes that one write takes.
const LONGEST: usize = 64 << 10;

/// An association whose both ends send bytes on one stream, without boundaries: [`Association::byte_stream`].
///
/// It is what programs for TCP connections expect: an [`AsyncRead`] and [`AsyncWrite`] that can be [split](Self::into_split).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use anabranch::{Endpoint, StreamId};
/// use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
///
/// let server = Endpoint::builder().insecure().local("127.0.0.1:0").listen().bind().await?;
/// let client = Endpoint::builder().insecure().local("127.0.0.1:0").bind().await?;
/// let addresses = server.local_addrs();
/// let echo = tokio::spawn(async move {
///     let association = server.accept().await?;
///     let (mut reader, mut writer) = association.byte_stream(StreamId(0)).into_split();
///     tokio::io::copy(&mut reader, &mut writer).await.ok()
/// });
///
/// let mut bytes = client.connect(&addresses[..]).await?.byte_stream(StreamId(0));
/// bytes.write_all(b"hello").await?;
/// bytes.flush().await?;
/// let mut answer = [0; 5];
/// bytes.read_exact(&mut answer).await?;
/// assert_eq!(&answer, b"hello");
/// bytes.shutdown().await?;
/// assert_eq!(echo.await?, Some(5));
/// # Ok(())
/// # }
/// ```
///
/// Flow control is that of the association: a reader that does not read blocks the writer at the other end. A flush returns when the bytes
/// are in the send buffer. A shutdown ends both directions, because SCTP has no half-open state: it returns when the peer has acknowledged
/// everything, and what the peer still sends should be read meanwhile.
///
/// Nothing else may receive from the association. A message on another stream is an error of the kind
/// [`InvalidData`](io::ErrorKind::InvalidData).
#[derive(Debug)]
pub struct ByteStream {
    reader: ByteReader,
    writer: ByteWriter,
}

impl ByteStream {
    pub(crate) fn new(association: &Association, stream: StreamId) -> Self {
        Self {
            reader: ByteReader {
                association: association.clone(),
                stream,
                rest: Bytes::new(),
                receiving: None,
            },
            writer: ByteWriter {
                association: association.clone(),
                stream,
                sending: None,
                ending: None,
            },
        }
    }

    /// The reading and the writing half, for two tasks.
    #[must_use]
    pub fn into_split(self) -> (ByteReader, ByteWriter) {
        (self.reader, self.writer)
    }
}

/// Reading half of a [`ByteStream`].
pub struct ByteReader {
    association: Association,
    stream: StreamId,
    /// Bytes that were received and not read.
    rest: Bytes,
    receiving: Option<Receiving>,
}

/// Writing half of a [`ByteStream`].
pub struct ByteWriter {
    association: Association,
    stream: StreamId,
    /// The message that waits for room in the send buffer.
    sending: Option<Ending<io::Error>>,
    ending: Option<Ending<UnfinishedError>>,
}

type Receiving = Pin<Box<dyn Future<Output = Result<Option<ReceivedMessage>, RecvError>> + Send + Sync>>;
type Ending<E> = Pin<Box<dyn Future<Output = Result<(), E>> + Send + Sync>>;

impl fmt::Debug for ByteReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteReader")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ByteWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByteWriter")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl ByteReader {
    /// Waits for bytes; `false` at the end.
    fn poll_rest(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        while self.rest.is_empty() {
            let receiving = self.receiving.get_or_insert_with(|| {
                let association = self.association.clone();
                // A part is as good as a whole: there are no boundaries.
                Box::pin(async move { association.recv_part().await })
            });
            let received = ready!(receiving.as_mut().poll(context));
            self.receiving = None;
            match received {
                Ok(Some(message)) if message.stream == self.stream => self.rest = message.payload,
                Ok(Some(_)) => {
                    let other = io::Error::new(io::ErrorKind::InvalidData, "a message on another stream");
                    return Poll::Ready(Err(other));
                }
                Ok(None) | Err(RecvError::Closed(CloseReason::Finished)) => return Poll::Ready(Ok(false)),
                Err(error) => return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionReset, error))),
            }
        }
        Poll::Ready(Ok(true))
    }
}

impl AsyncRead for ByteReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if ready!(self.poll_rest(context))? {
            let length = buffer.remaining().min(self.rest.len());
            buffer.put_slice(&self.rest[..length]);
            self.rest.advance(length);
        }
        Poll::Ready(Ok(()))
    }
}

impl ByteWriter {
    /// Waits until the last message is in the send buffer.
    fn poll_sent(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(sending) = &mut self.sending else {
            return Poll::Ready(Ok(()));
        };
        let sent = ready!(sending.as_mut().poll(context));
        self.sending = None;
        Poll::Ready(sent)
    }
}

impl AsyncWrite for ByteWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_sent(context))?;
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let room = usize::try_from(self.association.send_queue().limit).unwrap_or(usize::MAX);
        let length = bytes.len().min(LONGEST).min(room.max(1));
        let message = Message::new(self.stream, Bytes::copy_from_slice(&bytes[..length]));
        let association = self.association.clone();
        self.sending = Some(Box::pin(async move {
            association.send(message).await?;
            Ok(())
        }));
        // Taken already: it is sent while more is written.
        match self.poll_sent(context) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(length)),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_sent(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_sent(context))?;
        let writer = &mut *self;
        let ending = writer.ending.get_or_insert_with(|| {
            let association = writer.association.clone();
            Box::pin(async move { association.shutdown().await })
        });
        let ended = ready!(ending.as_mut().poll(context));
        self.ending = None;
        Poll::Ready(ended.map_err(|error| io::Error::new(io::ErrorKind::ConnectionReset, error)))
    }
}

impl AsyncRead for ByteStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.reader).poll_read(context, buffer)
    }
}

impl AsyncWrite for ByteStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.writer).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}

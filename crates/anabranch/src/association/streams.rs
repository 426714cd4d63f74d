//! Streams of an association: open, accept.

use std::sync::Arc;

use anabranch_proto::{self as proto, CloseReason};

use super::Association;
use crate::driver::{StreamController, until};
use crate::error::OpenStreamError;
use crate::streams::{Key, StreamReceiver, StreamSender, StreamSet, StreamStatistics};

/// Streams with a receiver and back-pressure of their own, between endpoints with [`EndpointBuilder::streams`](crate::EndpointBuilder::streams).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use anabranch::{Endpoint, StreamLimits};
///
/// let builder = || Endpoint::builder().insecure().local("127.0.0.1:0").streams(StreamLimits::default());
/// let server = builder().listen().bind().await?;
/// let client = builder().bind().await?;
/// let addresses = server.local_addrs();
/// let echo = tokio::spawn(async move {
///     let association = server.accept().await?;
///     let (mut sender, mut receiver) = association.accept_stream().await.ok()?;
///     while let Some(message) = receiver.recv().await.ok()? {
///         sender.send(message.payload).await.ok()?;
///     }
///     sender.finish();
///     Some(association.closed().await)
/// });
///
/// let association = client.connect(&addresses[..]).await?;
/// let (mut sender, mut receiver) = association.open_stream().await?;
/// sender.send("hello").await?;
/// sender.finish();
/// assert_eq!(receiver.recv().await?.ok_or("no answer")?.payload, "hello");
/// assert_eq!(receiver.recv().await?, None);
/// association.shutdown().await?;
/// echo.await?.ok_or("the server failed")?;
/// # Ok(())
/// # }
/// ```
///
/// All messages of such an association belong to its streams from the first of these calls on: [`recv`](Association::recv) returns none.
/// What a reader does not take delays its own stream only; [`StreamLimits`](crate::StreamLimits) tells how much memory that takes.
///
/// A [shutdown](Association::shutdown) sends what was sent, but grants the peer no more credit: finish and read the streams before.
impl Association {
    /// Opens a stream. The peer learns of it with the first message, or its end. Waits while there are as many as the
    /// [limit](crate::StreamLimits::streams) allows.
    ///
    /// # Errors
    ///
    /// See [`OpenStreamError`].
    pub async fn open_stream(&self) -> Result<(StreamSender, StreamReceiver), OpenStreamError> {
        self.attach_streams().await?;
        let openable = self.with_streams(|streams, _| Arc::clone(&streams.set.openable));
        let openable = openable.ok_or(OpenStreamError::NotAgreed)?;
        let key = until(&openable, || self.next_stream(StreamSet::open)).await?;
        Ok(self.stream_halves(key))
    }

    /// The next stream that the peer has opened.
    ///
    /// Nothing is lost if the future is dropped before it is ready.
    ///
    /// # Errors
    ///
    /// See [`OpenStreamError`].
    pub async fn accept_stream(&self) -> Result<(StreamSender, StreamReceiver), OpenStreamError> {
        self.attach_streams().await?;
        let acceptable = self.with_streams(|streams, _| Arc::clone(&streams.set.acceptable));
        let acceptable = acceptable.ok_or(OpenStreamError::NotAgreed)?;
        let key = until(&acceptable, || self.next_stream(StreamSet::accept)).await?;
        Ok(self.stream_halves(key))
    }

    /// Statistics of the streams; zeros if there are none.
    #[must_use]
    pub fn stream_statistics(&self) -> StreamStatistics {
        let statistics = self.with_streams(|streams, _| streams.set.statistics());
        statistics.unwrap_or_default()
    }

    /// The next stream that `take` finds; `None` if there may be one later.
    fn next_stream(
        &self,
        take: impl FnOnce(&mut StreamSet) -> Option<Key>,
    ) -> Option<Result<Key, OpenStreamError>> {
        let taken = self.with_streams(|streams, _| (take(&mut streams.set), streams.set.is_over));
        match taken {
            Some((Some(key), _)) => Some(Ok(key)),
            Some((None, false)) => None,
            Some((None, true)) | None => Some(Err(OpenStreamError::Closed(self.close_reason()))),
        }
    }

    async fn attach_streams(&self) -> Result<(), OpenStreamError> {
        self.established()
            .await
            .map_err(|_| OpenStreamError::Closed(self.close_reason()))?;
        let shared = &self.0.shared;
        let limits = shared.streams.as_ref().ok_or(OpenStreamError::NotAgreed)?;
        let attached = shared.command(|state| state.attach_streams(self.0.id, limits));
        attached.ok_or(OpenStreamError::NotAgreed)
    }

    fn stream_halves(&self, key: Key) -> (StreamSender, StreamReceiver) {
        let id = self.with_streams(|streams, _| streams.set.stream(key).map(|stream| stream.id));
        let id = id.flatten().unwrap_or_default();
        (
            StreamSender::new(self.clone(), key, id),
            StreamReceiver::new(self.clone(), key, id),
        )
    }

    /// How the association has ended; it has been aborted if nothing else is known.
    pub(crate) fn close_reason(&self) -> CloseReason {
        self.ended().cloned().unwrap_or(CloseReason::Aborted)
    }

    /// Acts on the streams, and wakes those that wait for what comes of it. `None` if there are none.
    pub(crate) fn with_streams<T>(
        &self,
        act: impl FnOnce(&mut StreamController, &mut proto::Association) -> T,
    ) -> Option<T> {
        self.0.shared.with_streams(self.0.id, act)
    }
}

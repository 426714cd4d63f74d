//! Connection handle: sends, receives, and is given up when dropped.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::Shared;
use crate::frame::Reason;
use crate::relay::{ConnectionId, Inbound, Outbound};

/// A connection of a tunnel. Dropping it ends it: in order if both directions have finished and everything was read, else by a reset.
#[derive(Debug)]
pub struct Connection {
    shared: Arc<Shared>,
    id: ConnectionId,
}

impl Connection {
    pub(super) const fn new(shared: Arc<Shared>, id: ConnectionId) -> Self {
        Self { shared, id }
    }

    /// Tells the peer that the target has accepted its connection.
    pub fn accept(&self) {
        self.shared.command(|relay| relay.accept(self.id));
    }

    /// Ends the connection with a reason.
    pub fn refuse(self, reason: Reason) {
        self.shared.command(|relay| relay.close(self.id, reason));
    }

    /// Waits until the target has accepted the connection.
    ///
    /// # Errors
    ///
    /// Why it has not.
    pub async fn opened(&self) -> Result<(), Reason> {
        let opened = self.until(|relay, id| match relay.is_opened(id) {
            Ok(false) => None,
            Ok(true) => Some(Ok(())),
            Err(reason) => Some(Err(reason)),
        });
        opened.await?
    }

    /// Waits for room; returns how many bytes can be sent, at least one.
    ///
    /// # Errors
    ///
    /// Why nothing can be sent any more.
    pub async fn room(&self) -> Result<usize, Reason> {
        let room = self.until(|relay, id| match relay.outbound(id) {
            Outbound::Room(bytes) => Some(Ok(usize::try_from(bytes).unwrap_or(usize::MAX))),
            Outbound::Full => None,
            Outbound::Reset(reason) => Some(Err(reason)),
        });
        room.await?
    }

    /// Sends `data`, for which there is [room](Self::room); more is not sent.
    pub fn send(&self, data: Bytes) {
        self.shared.command(|relay| relay.send(self.id, data));
    }

    /// Sends nothing more. The peer reads on to the end.
    pub fn finish(&self) {
        self.shared.command(|relay| relay.finish(self.id));
    }

    /// Waits for bytes; `None` at the end. [`read`](Self::read) tells that they were passed on.
    ///
    /// # Errors
    ///
    /// Why nothing can be received any more.
    pub async fn recv(&self) -> Result<Option<Bytes>, Reason> {
        let received = self.until(|relay, id| match relay.inbound(id) {
            Inbound::Data(data) => Some(Ok(Some(data))),
            Inbound::Finished => Some(Ok(None)),
            Inbound::Reset(reason) => Some(Err(reason)),
            Inbound::Nothing => None,
        });
        received.await?
    }

    /// So many received bytes were passed on: the peer may send as many more.
    pub fn read(&self, bytes: usize) {
        self.shared
            .command(|relay| relay.read(self.id, bytes as u64, Instant::now()));
    }

    /// Waits until the connection is reset, or the tunnel over.
    pub async fn broken(&self) -> Reason {
        let reset = self.until(|relay, id| match relay.outbound(id) {
            Outbound::Reset(reason) => Some(reason),
            Outbound::Room(_) | Outbound::Full => None,
        });
        reset.await.unwrap_or_else(|reason| reason)
    }

    async fn until<T>(
        &self,
        mut check: impl FnMut(&mut crate::relay::Relay, ConnectionId) -> Option<T>,
    ) -> Result<T, Reason> {
        let id = self.id;
        self.shared.until(id.stream(), |relay| check(relay, id)).await
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.command(|relay| relay.close(self.id, Reason::Reset));
    }
}

//! Writer thread. How are received pieces written to disk without blocking the network? By a separate thread behind a
//! short queue: when the disk is slow, the queue fills, reception stops, and SCTP flow control slows the sender.

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::digest::Digest;
use super::error::StoreError;
use super::piece::Piece;
use super::store::{PartFile, StoredFile};

/// Maximum number of queued pieces.
const WAITING: usize = 32;

/// Queue to the writer thread. Dropping it ends the thread and deletes the file.
#[derive(Debug)]
pub(super) struct Writer {
    orders: mpsc::Sender<Order>,
    /// `None` once the result has been taken.
    thread: Option<JoinHandle<Result<StoredFile, StoreError>>>,
}

#[derive(Debug)]
enum Order {
    Write(Piece),
    Finish { size: u64, digest: Digest },
}

impl Writer {
    pub(super) fn start(part: PartFile) -> Self {
        let (orders, queue) = mpsc::channel(WAITING);
        let thread = tokio::task::spawn_blocking(move || carry_out(part, queue));
        Self {
            orders,
            thread: Some(thread),
        }
    }

    /// Queues a piece.
    ///
    /// # Errors
    ///
    /// Fails if the thread has ended because an earlier piece could not be written.
    pub(super) async fn write(&mut self, piece: Piece) -> Result<(), StoreError> {
        match self.orders.send(Order::Write(piece)).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.failure().await),
        }
    }

    /// Waits for the thread to end before the file is finished, and returns the error. Cancel safe.
    pub(super) async fn failure(&mut self) -> StoreError {
        self.end().await.err().unwrap_or(StoreError::Abandoned)
    }

    /// Waits until the file is completely written, verified and renamed to its final name.
    ///
    /// # Errors
    ///
    /// See [`PartFile::write`] and [`PartFile::finish`].
    pub(super) async fn finish(&mut self, size: u64, digest: Digest) -> Result<StoredFile, StoreError> {
        // An error means that the thread ended early; its result says why.
        let _ = self.orders.send(Order::Finish { size, digest }).await;
        self.end().await
    }

    /// Waits until the thread has ended and the file is deleted, unless it was already being finished: then the file is
    /// stored.
    pub(super) async fn abandon(mut self) -> Option<StoredFile> {
        let thread = self.thread.take();
        drop(self.orders);
        // The error only says that the file was abandoned.
        thread?.await.ok()?.ok()
    }

    async fn end(&mut self) -> Result<StoredFile, StoreError> {
        let Some(thread) = &mut self.thread else {
            return Err(StoreError::Abandoned);
        };
        let result = thread.await.unwrap_or(Err(StoreError::Abandoned));
        self.thread = None;
        result
    }
}

fn carry_out(mut part: PartFile, mut queue: mpsc::Receiver<Order>) -> Result<StoredFile, StoreError> {
    while let Some(order) = queue.blocking_recv() {
        match order {
            Order::Write(piece) => part.write(&piece)?,
            Order::Finish { size, digest } => return part.finish(size, digest),
        }
    }
    Err(StoreError::Abandoned)
}

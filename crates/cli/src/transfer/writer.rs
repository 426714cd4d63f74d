//! Writer thread. How do received pieces reach the disk without holding up the network? On a thread of their own, with a
//! short queue in between: when the disk is slow, the queue fills, nothing more is received, and SCTP slows the sender.

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::digest::Digest;
use super::error::StoreError;
use super::piece::Piece;
use super::store::{PartFile, StoredFile};

/// Pieces that may wait for the disk.
const WAITING: usize = 32;

/// The queue to the thread. Dropped, the thread ends and the file is gone.
#[derive(Debug)]
pub(super) struct Writer {
    orders: mpsc::Sender<Order>,
    /// `None` once its result was taken.
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
    /// The thread ended because an earlier piece could not be written.
    pub(super) async fn write(&mut self, piece: Piece) -> Result<(), StoreError> {
        match self.orders.send(Order::Write(piece)).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.failure().await),
        }
    }

    /// Why the thread ended before the file was finished; waits for that. Nothing is lost if the future is dropped
    /// before it is ready.
    pub(super) async fn failure(&mut self) -> StoreError {
        self.end().await.err().unwrap_or(StoreError::Abandoned)
    }

    /// Waits until everything is written and verified, and the file has its name.
    ///
    /// # Errors
    ///
    /// As [`PartFile::write`] and [`PartFile::finish`].
    pub(super) async fn finish(&mut self, size: u64, digest: Digest) -> Result<StoredFile, StoreError> {
        // An error says that the thread ended early, and its result why.
        let _ = self.orders.send(Order::Finish { size, digest }).await;
        self.end().await
    }

    /// Waits until the thread has ended and the file is gone, unless it was being finished: then it is there.
    pub(super) async fn abandon(mut self) -> Option<StoredFile> {
        let thread = self.thread.take();
        drop(self.orders);
        // Its error is that it was abandoned.
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

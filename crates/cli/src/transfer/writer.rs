//! Writer thread. How are received messages stored without blocking the network? By a separate thread behind a short queue:
//! when the disk is slow, the queue fills, reception stops, and SCTP flow control slows the sender.

use tokio::sync::mpsc::{self, error::TryRecvError};
use tokio::task::JoinHandle;

use super::error::StoreError;
use super::store::StoredTransfer;
use super::storing::{Order, Storing};

/// Maximum number of queued messages.
const WAITING: usize = 32;

/// Queue to the writer thread. Dropping it ends the thread.
#[derive(Debug)]
pub(super) struct Writer {
    orders: mpsc::Sender<Order>,
    /// `None` once the result has been taken.
    thread: Option<JoinHandle<Result<StoredTransfer, StoreError>>>,
}

impl Writer {
    pub(super) fn start(storing: Storing) -> Self {
        let (orders, queue) = mpsc::channel(WAITING);
        let thread = tokio::task::spawn_blocking(move || carry_out(storing, queue));
        Self {
            orders,
            thread: Some(thread),
        }
    }

    /// Queues a message.
    ///
    /// # Errors
    ///
    /// Fails if the thread has ended because an earlier message could not be stored.
    pub(super) async fn order(&mut self, order: Order) -> Result<(), StoreError> {
        match self.orders.send(order).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.end().await.err().unwrap_or(StoreError::Abandoned)),
        }
    }

    /// Waits until the thread has ended: with the whole transfer, or with the error that ended it. Cancel safe.
    pub(super) async fn end(&mut self) -> Result<StoredTransfer, StoreError> {
        let Some(thread) = &mut self.thread else {
            return Err(StoreError::Abandoned);
        };
        let result = thread.await.unwrap_or(Err(StoreError::Abandoned));
        self.thread = None;
        result
    }

    /// Ends the thread and waits for it. If everything was stored already, the transfer is complete.
    pub(super) async fn abandon(mut self) -> Option<StoredTransfer> {
        let thread = self.thread.take();
        drop(self.orders);
        // The error only says that the transfer was abandoned.
        thread?.await.ok()?.ok()
    }
}

fn carry_out(mut storing: Storing, mut queue: mpsc::Receiver<Order>) -> Result<StoredTransfer, StoreError> {
    while !storing.is_complete() {
        let order = if storing.is_behind() {
            match queue.try_recv() {
                Ok(order) => Some(order),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => break,
            }
        } else {
            let Some(order) = queue.blocking_recv() else { break };
            Some(order)
        };
        let stored = order.map_or(Ok(()), |order| storing.carry_out(order));
        if let Err(error) = stored.and_then(|()| storing.catch_up()) {
            match error.can_resume() {
                true => storing.pause(),
                false => storing.give_up(),
            }
            return Err(error);
        }
    }
    if storing.is_complete() {
        return storing.commit();
    }
    storing.pause();
    Err(StoreError::Abandoned)
}

//! Calls. Are real-time datagrams sent often enough that the queues on the paths have to be short? (ADR 0209)

use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anabranch::Association;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How often datagrams are counted.
const INTERVAL: Duration = Duration::from_millis(500);
/// Datagrams in an interval from which they are a call: single ones, as of name servers, are none.
const OF_CALL: u32 = 5;
/// Intervals with fewer after which it is over.
const QUIET: u32 = 4;

/// Counts real-time datagrams.
#[derive(Debug, Default)]
pub(super) struct Calls {
    count: AtomicU32,
    /// The first one of an interval.
    first: Notify,
    /// In an interval, there are as many as a call has.
    enough: Notify,
}

impl Calls {
    /// A real-time datagram is sent.
    pub(super) fn sent(&self) {
        match self.count.fetch_add(1, Ordering::Relaxed) + 1 {
            1 => self.first.notify_one(),
            OF_CALL => self.enough.notify_one(),
            _ => {}
        }
    }

    /// Has the association keep its queues short during calls, until dropped.
    pub(super) async fn watch(&self, association: &Association) -> Infallible {
        loop {
            self.first.notified().await;
            let (mut is_call, mut quiet) = (false, 0);
            while quiet < QUIET {
                let is_enough = timeout(INTERVAL, self.enough.notified()).await.is_ok();
                quiet = if is_enough { 0 } else { quiet + 1 };
                if is_enough && !is_call {
                    is_call = true;
                    // It fails only if the association is over.
                    let _ = association.set_low_latency(true);
                }
                self.count.store(0, Ordering::Relaxed);
            }
            if is_call {
                let _ = association.set_low_latency(false);
            }
        }
    }
}

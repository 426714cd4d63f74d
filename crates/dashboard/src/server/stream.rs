//! Stream of updates to a browser: server-sent events. What if the browser is slow, or gone?

use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::Closing;
use crate::Dashboard;
use crate::dashboard::event;

/// Updates between the dashboard and the connection.
const QUEUE: usize = 4;

/// A pause after which an empty line shows whether the browser is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Begins a stream with everything so far.
pub(super) fn open(dashboard: &Dashboard, closing: Closing) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let dashboard = dashboard.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = run(&dashboard, &sender, closing) => {}
            () = sender.closed() => {}
        }
    });
    receiver
}

async fn run(dashboard: &Dashboard, browser: &mpsc::Sender<Bytes>, mut closing: Closing) {
    let (snapshot, mut updates) = dashboard.subscribe();
    let mut next = Some(snapshot);
    while let Some(bytes) = next {
        if browser.send(bytes).await.is_err() {
            return;
        }
        next = tokio::select! {
            biased;
            update = receive(dashboard, &mut updates) => update,
            () = closing.wait() => None,
            () = sleep(KEEP_ALIVE) => Some(Bytes::from_static(b":\n\n")),
        };
    }
    // Then the browser does not try to connect again.
    let _ = browser.send(event("close", &())).await;
}

/// The next update; everything anew if the browser has missed some.
async fn receive(dashboard: &Dashboard, updates: &mut Receiver<Bytes>) -> Option<Bytes> {
    match updates.recv().await {
        Ok(update) => Some(update),
        Err(RecvError::Lagged(_)) => {
            let snapshot;
            (snapshot, *updates) = dashboard.subscribe();
            Some(snapshot)
        }
        Err(RecvError::Closed) => None,
    }
}

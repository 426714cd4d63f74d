//! Wake-ups: which tasks wait for what at an association, and how are they woken?

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use anabranch_proto::CloseReason;
use anabranch_secure::{HandshakeError, PeerInfo};
use tokio::sync::{Notify, broadcast};

use super::inbox::Inbox;
use crate::events::AssociationEvent;
use crate::trace::Traces;

/// How many events a slow subscriber may fall behind before it misses some.
const EVENT_BACKLOG: usize = 256;

/// Signals of the driver to the handles of one association.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    pub(crate) inbox: Inbox,
    /// A message can be received, or none ever will.
    pub(crate) readable: Notify,
    /// A message can be sent, or none ever will.
    pub(crate) writable: Notify,
    /// The association connected, had everything acknowledged or ended.
    pub(crate) progress: Notify,
    /// Most associations have no subscriber: the channel is made for the first one.
    events: OnceLock<broadcast::Sender<AssociationEvent>>,
    connected: AtomicBool,
    peer_finished: AtomicBool,
    ended: OnceLock<CloseReason>,
    /// The peer's identity, below a seal.
    peer: OnceLock<Arc<PeerInfo>>,
    /// Why the handshake of the seal failed.
    handshake_error: OnceLock<HandshakeError>,
    /// Called with each wake-up of readers and writers.
    hook: OnceLock<Hook>,
}

/// A callback of the application.
struct Hook(Box<dyn Fn(Readiness) + Send + Sync>);

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

/// What may have become possible at an association: see [`Association::on_readiness`](crate::Association::on_readiness).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readiness {
    /// To receive.
    Receive,
    /// To send.
    Send,
    /// Both, perhaps because the association has ended.
    Both,
}

impl Signals {
    pub(crate) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Acquire)
    }

    /// Whether nothing more will arrive because the peer shut down. A restart of the peer ends that.
    pub(crate) fn peer_has_finished(&self) -> bool {
        self.peer_finished.load(Ordering::Acquire)
    }

    pub(crate) fn ended(&self) -> Option<&CloseReason> {
        self.ended.get()
    }

    pub(crate) fn peer(&self) -> Option<&PeerInfo> {
        self.peer.get().map(|peer| &**peer)
    }

    /// Sets the peer's identity, which stays the same.
    pub(crate) fn set_peer(&self, peer: Arc<PeerInfo>) {
        let _ = self.peer.set(peer);
    }

    pub(crate) fn handshake_error(&self) -> Option<&HandshakeError> {
        self.handshake_error.get()
    }

    pub(crate) fn set_handshake_error(&self, error: HandshakeError) {
        let _ = self.handshake_error.set(error);
    }

    /// Sets the callback; `false` if there is one already.
    pub(crate) fn set_hook(&self, hook: impl Fn(Readiness) + Send + Sync + 'static) -> bool {
        self.hook.set(Hook(Box::new(hook))).is_ok()
    }

    fn tell(&self, readiness: Readiness) {
        if let Some(Hook(hook)) = self.hook.get() {
            hook(readiness);
        }
    }

    pub(crate) fn set_connected(&self) {
        self.connected.store(true, Ordering::Release);
    }

    pub(crate) fn set_peer_finished(&self) {
        self.peer_finished.store(true, Ordering::Release);
    }

    /// The peer restarted: it may send again.
    pub(crate) fn peer_began_anew(&self) {
        self.peer_finished.store(false, Ordering::Release);
    }

    /// The association has ended. The first reason is kept and reported.
    pub(crate) fn end(&self, reason: CloseReason) {
        if self.ended.set(reason.clone()).is_ok() {
            self.publish(AssociationEvent::Closed(reason));
        }
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<AssociationEvent> {
        self.events
            .get_or_init(|| broadcast::Sender::new(EVENT_BACKLOG))
            .subscribe()
    }

    pub(crate) fn publish(&self, event: AssociationEvent) {
        if let Some(events) = self.events.get() {
            // An error means that there is no subscriber any more.
            let _ = events.send(event);
        }
    }
}

/// Which tasks to wake.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wake {
    Readers,
    Writers,
    Watchers,
    Everybody,
}

/// Wake-ups collected while the state is locked and carried out afterwards: a woken task should not run into the lock
/// that its waker holds.
#[derive(Debug, Default)]
pub(crate) struct Wakings {
    tasks: Vec<(Arc<Signals>, Wake)>,
    /// Tasks that wait at data channels, or for streams.
    notifies: Vec<Arc<Notify>>,
    /// Tasks that wait at streams.
    wakers: Vec<Waker>,
    /// Events to report.
    pub(super) traces: Traces,
}

impl Wakings {
    pub(crate) fn add(&mut self, signals: &Arc<Signals>, wake: Wake) {
        self.tasks.push((Arc::clone(signals), wake));
    }

    pub(crate) fn add_notifies(&mut self, notifies: Vec<Arc<Notify>>) {
        self.notifies.extend(notifies);
    }

    pub(crate) fn add_wakers(&mut self, wakers: Vec<Waker>) {
        self.wakers.extend(wakers);
    }

    pub(crate) fn carry_out(&mut self) {
        self.traces.report();
        self.wakers.drain(..).for_each(Waker::wake);
        for notify in self.notifies.drain(..) {
            notify.notify_waiters();
        }
        for (signals, wake) in self.tasks.drain(..) {
            match wake {
                Wake::Readers => {
                    signals.readable.notify_waiters();
                    signals.tell(Readiness::Receive);
                }
                Wake::Writers => {
                    signals.writable.notify_waiters();
                    signals.tell(Readiness::Send);
                }
                Wake::Watchers => signals.progress.notify_waiters(),
                Wake::Everybody => {
                    signals.readable.notify_waiters();
                    signals.writable.notify_waiters();
                    signals.progress.notify_waiters();
                    signals.tell(Readiness::Both);
                }
            }
        }
    }
}

/// Tries until `attempt` succeeds, once now and once after each wake-up.
pub(crate) async fn until<T>(notify: &Notify, mut attempt: impl FnMut() -> Option<T>) -> T {
    loop {
        // Counts from its creation: a wake-up between the attempt and the await is not missed.
        let notified = notify.notified();
        if let Some(value) = attempt() {
            return value;
        }
        notified.await;
    }
}

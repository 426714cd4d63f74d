//! Who watches a running transfer? A future beside it that tells progress and changes of paths.

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anabranch::{Association, AssociationEvent, Events, PathChange, PathEvent};
use tokio::time::{MissedTickBehavior, interval};

use super::paths::state_name;
use super::{Event, PathReport, PathWatch, Progress, Reporter};
use crate::transfer::acknowledged;

/// Which end of a transfer is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Send,
    Receive,
}

/// What a transfer and its watcher share.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) transfer: u64,
    pub(crate) role: Role,
    /// Handed over to the association by a sender, received by a receiver.
    pub(crate) bytes: AtomicU64,
    size: Mutex<Option<u64>>,
    began: Instant,
}

impl Counter {
    /// `began` is when the clock of the transfer started.
    pub(crate) fn new(transfer: u64, role: Role, size: Option<u64>, began: Instant) -> Self {
        Self {
            transfer,
            role,
            bytes: AtomicU64::new(0),
            size: Mutex::new(size),
            began,
        }
    }

    /// A receiver learns it from the offer.
    pub(crate) fn set_size(&self, size: Option<u64>) {
        *self.size.lock().unwrap_or_else(PoisonError::into_inner) = size;
    }

    pub(crate) const fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Bytes of the file that are known to have arrived.
    pub(crate) fn arrived(&self, association: &Association) -> u64 {
        let bytes = self.bytes.load(Ordering::Relaxed);
        match self.role {
            Role::Send => acknowledged(bytes, association.statistics().send_buffer_used),
            Role::Receive => bytes,
        }
    }

    fn progress(&self, association: &Association, paths: Vec<PathReport>) -> Progress {
        let size = *self.size.lock().unwrap_or_else(PoisonError::into_inner);
        Progress {
            transfer: self.transfer,
            bytes: self.arrived(association),
            size,
            seconds: self.seconds(),
            paths,
        }
    }
}

/// Tells that the association is there, and then how it is doing, until dropped.
pub(crate) async fn observe(
    association: &Association,
    counter: &Counter,
    reporter: &dyn Reporter,
) -> Infallible {
    let mut events = association.events();
    let mut watch = PathWatch::start(association);
    let transfer = counter.transfer;
    reporter.report(&Event::Connected {
        transfer,
        paths: watch.seen(),
    });
    let mut look = interval(reporter.interval());
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    look.tick().await;
    loop {
        tokio::select! {
            _ = look.tick() => {
                let paths = watch.look(association).to_vec();
                reporter.report(&Event::Progress(&counter.progress(association, paths)));
            }
            change = next_change(&mut events) => report_change(transfer, change, reporter),
        }
    }
}

/// The next change of a path; never, when there will be none.
async fn next_change(events: &mut Events) -> PathEvent {
    loop {
        match events.next().await {
            Some(AssociationEvent::Path(event)) => return event,
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}

fn report_change(transfer: u64, event: PathEvent, reporter: &dyn Reporter) {
    let (change, mtu) = match event.change {
        PathChange::Reachability(reachability) => (state_name(reachability), None),
        PathChange::Primary => ("primary", None),
        PathChange::Rebound => ("rebound", None),
        PathChange::Added => ("added", None),
        PathChange::Removed => ("removed", None),
        PathChange::Mtu(size) => ("mtu", Some(size)),
        _ => return,
    };
    let (local, remote) = (event.addr.local, event.addr.remote);
    reporter.report(&Event::Path {
        transfer,
        path: event.id.0.into(),
        local,
        remote,
        change,
        mtu,
    });
}

//! Observation of a running transfer: reports progress and path changes.

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anabranch::{Association, AssociationEvent, Events, PathChange, PathEvent};
use tokio::time::{MissedTickBehavior, interval};

use super::paths::state_name;
use super::silent_paths::SilentPaths;
use super::{Event, PathMonitor, PathReport, Progress, Reporter};
use crate::transfer::acknowledged;

/// End of the transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Send,
    Receive,
}

/// State shared by a transfer and its observer.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) transfer: u64,
    pub(crate) role: Role,
    /// Bytes given to the association by a sender, or received by a receiver.
    pub(crate) bytes: AtomicU64,
    size: Mutex<Option<u64>>,
    began: Instant,
}

impl Counter {
    /// `began` is the start time of the transfer.
    pub(crate) fn new(transfer: u64, role: Role, size: Option<u64>, began: Instant) -> Self {
        Self {
            transfer,
            role,
            bytes: AtomicU64::new(0),
            size: Mutex::new(size),
            began,
        }
    }

    /// Sets the size, which a receiver learns from the offer.
    pub(crate) fn set_size(&self, size: Option<u64>) {
        *self.size.lock().unwrap_or_else(PoisonError::into_inner) = size;
    }

    pub(crate) const fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Bytes of the file known to have arrived.
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

/// Reports the connection, then progress and path changes, until dropped.
pub(crate) async fn observe(
    association: &Association,
    counter: &Counter,
    reporter: &dyn Reporter,
) -> Infallible {
    let mut events = association.events();
    let mut monitor = PathMonitor::start(association);
    let transfer = counter.transfer;
    reporter.report(&Event::Connected {
        transfer,
        paths: monitor.latest(),
    });
    let mut silent_paths = SilentPaths::default();
    let mut ticks = interval(reporter.interval());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                let paths = monitor.update(association).to_vec();
                if counter.role == Role::Send {
                    silent_paths.report(transfer, &paths, reporter);
                }
                reporter.report(&Event::Progress(&counter.progress(association, paths)));
            }
            change = next_change(&mut events) => report_change(transfer, change, reporter),
        }
    }
}

/// The next path change; never returns if the association has ended.
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

//! Observation of a running transfer: reports progress and path changes.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anabranch::{Association, AssociationEvent, Events, PathChange, PathEvent};
use tokio::time::{MissedTickBehavior, interval};

use super::paths::state_name;
use super::repeats::{Change, Repeats};
use super::sampling::sample;
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
    pub(crate) bytes: Arc<AtomicU64>,
    /// Bytes of them that were there before this session.
    pub(crate) resumed: AtomicU64,
    /// Bytes that had arrived at the end of the session.
    pub(crate) confirmed: AtomicU64,
    size: Option<u64>,
    began: Instant,
}

impl Counter {
    /// `began` is the start time of the transfer.
    pub(crate) fn new(transfer: u64, role: Role, size: Option<u64>, began: Instant) -> Self {
        Self {
            transfer,
            role,
            bytes: Arc::default(),
            resumed: AtomicU64::new(0),
            confirmed: AtomicU64::new(0),
            size,
            began,
        }
    }

    pub(crate) const fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Bytes of the files known to have arrived.
    pub(crate) fn arrived(&self, association: &Association) -> u64 {
        let bytes = self.bytes.load(Ordering::Relaxed);
        match self.role {
            Role::Send => acknowledged(bytes, association.statistics().send_buffer_used),
            Role::Receive => bytes,
        }
    }

    pub(super) fn progress(&self, association: &Association, paths: Vec<PathReport>) -> Progress {
        Progress {
            transfer: self.transfer,
            bytes: self.arrived(association),
            size: self.size,
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
    tokio::select! {
        // First, so that the live view knows the association before its events.
        biased;
        never = sample(association, counter.transfer, Some(counter), reporter) => never,
        never = report(association, counter, reporter) => never,
    }
}

async fn report(association: &Association, counter: &Counter, reporter: &dyn Reporter) -> Infallible {
    let mut events = association.events();
    let mut monitor = PathMonitor::start(association);
    let transfer = counter.transfer;
    reporter.report(&Event::Connected {
        transfer,
        paths: monitor.latest(),
    });
    let mut silent_paths = SilentPaths::default();
    let mut changes = Changes {
        transfer,
        repeats: Repeats::default(),
        reporter,
    };
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
                changes.report_counted(false);
            }
            change = next_change(&mut events) => changes.on_change(change),
        }
    }
}

/// Reports path changes, and nothing else, until dropped.
pub(crate) async fn report_path_changes(
    association: &Association,
    transfer: u64,
    reporter: &dyn Reporter,
) -> Infallible {
    let sampling = sample(association, transfer, None, reporter);
    tokio::pin!(sampling);
    let mut events = association.events();
    let mut changes = Changes {
        transfer,
        repeats: Repeats::default(),
        reporter,
    };
    let mut ticks = interval(reporter.interval());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            never = &mut sampling => return never,
            _ = ticks.tick() => changes.report_counted(false),
            change = next_change(&mut events) => changes.on_change(change),
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

/// Reports path changes; reports the counted repetitions when dropped.
struct Changes<'r> {
    transfer: u64,
    repeats: Repeats,
    reporter: &'r dyn Reporter,
}

impl Changes<'_> {
    fn on_change(&mut self, event: PathEvent) {
        let (change, mtu) = match event.change {
            PathChange::Reachability(reachability) => (state_name(reachability), None),
            PathChange::Primary => ("primary", None),
            PathChange::Rebound => ("rebound", None),
            PathChange::Added => ("added", None),
            PathChange::Removed => ("removed", None),
            PathChange::Mtu(size) => ("mtu", Some(size)),
            _ => return,
        };
        let change = Change {
            path: event.id.0.into(),
            local: event.addr.local,
            remote: event.addr.remote,
            change,
            mtu,
        };
        if self.repeats.is_first(change, Instant::now()) {
            self.report(change, 1);
        }
    }

    fn report_counted(&mut self, all: bool) {
        for (change, count) in self.repeats.take_counted(Instant::now(), all) {
            self.report(change, count);
        }
    }

    fn report(&self, change: Change, count: u64) {
        let Change {
            path,
            local,
            remote,
            change,
            mtu,
        } = change;
        self.reporter.report(&Event::Path {
            transfer: self.transfer,
            path,
            local,
            remote,
            change,
            mtu,
            count,
        });
    }
}

impl Drop for Changes<'_> {
    fn drop(&mut self) {
        self.report_counted(true);
    }
}

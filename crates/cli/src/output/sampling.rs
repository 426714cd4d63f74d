//! Sampling of an association for the live view, as long as it is observed.

use std::convert::Infallible;
use std::future::pending;

use anabranch::Association;
use anabranch_dashboard::INTERVAL;
use tokio::time::{MissedTickBehavior, interval};

use super::{Counter, Live, PathMonitor, Reporter};

/// Shows the state of an association to the live view, if there is one, until dropped; `counter` is that of a transfer of files.
pub(super) async fn sample(
    association: &Association,
    transfer: u64,
    counter: Option<&Counter>,
    reporter: &dyn Reporter,
) -> Infallible {
    let Some(live) = reporter.live() else {
        return pending().await;
    };
    live.begin(transfer);
    let mut sampled = Sampled {
        live,
        association,
        transfer,
        progress: counter.map(|counter| (counter, PathMonitor::start(association))),
    };
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        sampled.take();
    }
}

/// An association that is sampled; the last sample is taken when this is dropped.
struct Sampled<'a> {
    live: &'a Live,
    association: &'a Association,
    transfer: u64,
    progress: Option<(&'a Counter, PathMonitor)>,
}

impl Sampled<'_> {
    fn take(&mut self) {
        let association = self.association;
        let progress = self.progress.as_mut().map(|(counter, monitor)| {
            let paths = monitor.update(association).to_vec();
            counter.progress(association, paths)
        });
        self.live
            .sample(self.transfer, &association.statistics(), progress);
    }
}

impl Drop for Sampled<'_> {
    fn drop(&mut self) {
        self.take();
        self.live.end(self.transfer);
    }
}

//! Warnings about paths that never answered. Which paths have been silent for too long?

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::{Event, PathReport, Reporter};

/// Time without an answer after which a path is reported.
const SILENCE: Duration = Duration::from_secs(3);

/// Paths that have not answered yet, by their addresses.
#[derive(Debug, Default)]
pub(super) struct SilentPaths {
    /// Time at which each path was seen first.
    since: BTreeMap<(SocketAddr, SocketAddr), Instant>,
    reported: BTreeSet<(SocketAddr, SocketAddr)>,
}

impl SilentPaths {
    /// Reports each path that has been silent for too long, once.
    pub(super) fn report(&mut self, transfer: u64, paths: &[PathReport], reporter: &dyn Reporter) {
        for path in paths.iter().filter(|path| path.state == "unconfirmed") {
            let addresses = (path.local, path.remote);
            let since = *self.since.entry(addresses).or_insert_with(Instant::now);
            if since.elapsed() < SILENCE || !self.reported.insert(addresses) {
                continue;
            }
            let (local, remote) = (path.local.ip(), path.remote);
            let message = format!(
                "no answer from {remote} over {local} for {} s, so no data is sent there yet; does this uplink work, and does \
                 every firewall on it let UDP through?",
                SILENCE.as_secs()
            );
            reporter.report(&Event::Warning {
                transfer: Some(transfer),
                path: Some(path.path),
                message: &message,
            });
        }
    }
}

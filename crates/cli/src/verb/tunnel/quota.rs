//! Quotas of peers. How much has each carried in its period, and what if that is too much?
//!
//! What was carried is kept in a file, so that a restart gives nobody another quota. It is the SCTP packets of both directions.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use anabranch::PathId;
use anabranch_tunnel::Tunnel;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use tokio::time::{MissedTickBehavior, interval};

use super::Shared;
use super::config::Quota;
use super::state::State;
use crate::failure::Failure;

/// How often packets are counted. So much later a quota may end an association.
const LOOK: Duration = Duration::from_secs(1);

/// Looks until the file is written again. What a program that is killed has counted since is lost.
const LOOKS_UNTIL_STORED: u32 = 10;

/// What a peer has carried. The same file has those of all peers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
pub(super) struct Usage {
    /// When its period has begun.
    pub(super) begin: DateTime<Utc>,
    pub(super) bytes: u64,
}

/// Counts what the tunnels of one peer carry.
#[derive(Debug)]
pub(super) struct Meter {
    usage: Usage,
    /// Of each tunnel that is there, what its paths had carried at the last look.
    seen: BTreeMap<u64, BTreeMap<PathId, u64>>,
}

impl Meter {
    pub(super) const fn new(usage: Usage) -> Self {
        Self {
            usage,
            seen: BTreeMap::new(),
        }
    }

    /// A tunnel with this number carries for the peer; counts what it has carried since the last look.
    pub(super) fn look(&mut self, number: u64, tunnel: &Tunnel) {
        let paths = tunnel.association().statistics().paths.into_iter();
        self.count(
            number,
            paths.map(|path| (path.id, path.counters.bytes_sent + path.counters.bytes_received)),
        );
    }

    fn count(&mut self, number: u64, paths: impl Iterator<Item = (PathId, u64)>) {
        let seen = self.seen.entry(number).or_default();
        let now: BTreeMap<PathId, u64> = paths.collect();
        for (path, bytes) in &now {
            let before = seen.get(path).filter(|before| *before <= bytes);
            // Another path may have the number of one that was removed.
            let carried = bytes - before.unwrap_or(&0);
            self.usage.bytes = self.usage.bytes.saturating_add(carried);
        }
        *seen = now;
    }

    /// A tunnel is over, and was counted.
    pub(super) fn forget(&mut self, number: u64) {
        self.seen.remove(&number);
    }

    /// What was carried in the period of `now`. A clock that is set back begins no period again.
    pub(super) fn usage(&mut self, quota: Quota, now: DateTime<Utc>) -> Usage {
        let begin = quota.period.begin(now);
        if begin > self.usage.begin {
            self.usage = Usage { begin, bytes: 0 };
        }
        self.usage
    }

    /// Why the peer may carry nothing at the moment, if so.
    pub(super) fn exhausted(&mut self, quota: Quota, now: DateTime<Utc>) -> Option<String> {
        let usage = self.usage(quota, now);
        (usage.bytes >= quota.bytes).then(|| {
            let next = quota.period.end(usage.begin).format("%F %R");
            format!("the quota of {quota} is used up until {next} UTC")
        })
    }
}

/// The time of day.
pub(super) fn now() -> DateTime<Utc> {
    SystemTime::now().into()
}

/// Counts, and ends the associations of peers whose quota is used up.
pub(super) async fn run(shared: Shared) -> Result<Infallible, Failure> {
    let (mut looks, mut until_stored) = (interval(LOOK), LOOKS_UNTIL_STORED);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        for peer in shared.state.peers() {
            peer.enforce_quota(now());
        }
        until_stored -= 1;
        if until_stored == 0 {
            until_stored = LOOKS_UNTIL_STORED;
            store(&shared);
        }
    }
}

/// The file beside the configuration, or in the folder that a service manager gives for what outlives restarts.
fn file_of(config: &Path) -> PathBuf {
    let mut name = config.file_name().unwrap_or_default().to_owned();
    name.push(".usage");
    match std::env::var_os("STATE_DIRECTORY") {
        Some(folder) => Path::new(&folder).join(name),
        None => config.with_file_name(name),
    }
}

/// What the peers have carried so far, by their public keys.
pub(super) fn load(config: &Path) -> Result<BTreeMap<String, Usage>, String> {
    let file = file_of(config);
    let wrong = |error: &dyn std::fmt::Display| {
        format!(
            "{}: {error}; all peers have their whole quota again. Remove the file if it is not this program's",
            file.display()
        )
    };
    match fs::read(&file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| wrong(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(wrong(&error)),
    }
}

/// Keeps what the peers have carried. Without quotas there is no file.
pub(super) fn store(shared: &Shared) {
    let state = &shared.state;
    let usage = usage_of(state);
    if usage.is_empty() {
        return;
    }
    let file = file_of(&state.config().file);
    let stored = write(&file, &usage);
    let was_stored = state.set_usage_stored(stored.is_ok());
    // One warning each time that it begins to fail.
    if let Err(error) = stored
        && was_stored
    {
        shared.warn(&format!(
            "{}: {error}; a restart gives peers another quota",
            file.display()
        ));
    }
}

fn usage_of(state: &State) -> BTreeMap<String, Usage> {
    let peers = state.peers();
    let used = peers
        .iter()
        .filter_map(|peer| Some((peer.key().to_string(), peer.usage(now())?.1)));
    used.collect()
}

/// What is there before stays until all is written.
fn write(file: &Path, usage: &BTreeMap<String, Usage>) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut new = tempfile::NamedTempFile::new_in(folder.unwrap_or_else(|| Path::new(".")))?;
    serde_json::to_writer(&mut new, usage)?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::tunnel::config::Period;

    const QUOTA: Quota = Quota {
        bytes: 1_000,
        period: Period::Day,
    };

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn meter() -> Meter {
        Meter::new(Usage {
            begin: at("2026-05-01T00:00:00Z"),
            bytes: 0,
        })
    }

    fn path(id: u8, bytes: u64) -> (PathId, u64) {
        (PathId(id), bytes)
    }

    #[test]
    fn paths_count_what_they_have_carried_since_the_last_look() {
        let mut meter = meter();
        meter.count(1, [path(0, 100), path(1, 50)].into_iter());
        meter.count(1, [path(0, 150)].into_iter());
        // A path of another association, and one with the number of a path that was removed.
        meter.count(2, [path(0, 10)].into_iter());
        meter.count(1, [path(0, 150), path(1, 7)].into_iter());
        meter.count(1, [path(0, 3), path(1, 7)].into_iter());
        assert_eq!(meter.usage.bytes, 150 + 50 + 10 + 7 + 3);
        meter.forget(1);
        meter.count(2, [path(0, 10)].into_iter());
        assert_eq!(meter.usage.bytes, 220);
    }

    #[test]
    fn quota_that_is_used_up_begins_anew_with_its_period() {
        let (mut meter, morning) = (meter(), at("2026-05-01T08:00:00Z"));
        meter.count(1, [path(0, 999)].into_iter());
        assert_eq!(meter.exhausted(QUOTA, morning), None);
        meter.count(1, [path(0, 1_000)].into_iter());
        let text = "the quota of 1.0 kB a day is used up until 2026-05-02 00:00 UTC";
        assert_eq!(meter.exhausted(QUOTA, morning).as_deref(), Some(text));
        assert_eq!(meter.exhausted(QUOTA, at("2026-05-02T00:00:00Z")), None);
        // What the tunnel carried before does not count again; the clock may be set back.
        meter.count(1, [path(0, 1_500)].into_iter());
        assert_eq!(meter.usage(QUOTA, morning).bytes, 500);
    }

    #[test]
    fn what_was_carried_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("server.conf");
        assert_eq!(load(&config), Ok(BTreeMap::new()));
        let begin = at("2026-05-01T00:00:00Z");
        let usage = BTreeMap::from([("a key".to_owned(), Usage { begin, bytes: 5 })]);
        let file = folder.path().join("server.conf.usage");
        write(&file, &usage).unwrap();
        assert_eq!(load(&config), Ok(usage));
        fs::write(&file, "{").unwrap();
        assert!(load(&config).unwrap_err().contains("whole quota again"));
    }
}

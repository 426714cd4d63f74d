//! Quotas of peers. How much has each carried in its period, and what if that is too much?
//!
//! What was carried is kept in a file, so that a restart gives nobody another quota. It is the SCTP packets of both directions.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anabranch_tunnel::Tunnel;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use super::Shared;
use super::config::Quota;
use super::state::State;
use crate::failure::Failure;
use crate::kept_file;

/// How often packets are counted. So much later a quota may end an association.
const INTERVAL: Duration = Duration::from_secs(1);

/// Intervals until the file is written again. What a program that is killed has counted since is lost.
const INTERVALS_UNTIL_STORED: u32 = 10;

/// What a peer has carried.
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
    /// That of the period before, for a clock that is set back into it.
    before: Option<Usage>,
    /// Of each tunnel that is there, what it had carried when it was counted the last time.
    counted: BTreeMap<u64, u64>,
}

impl Meter {
    pub(super) const fn new(usage: Usage) -> Self {
        Self {
            usage,
            before: None,
            counted: BTreeMap::new(),
        }
    }

    /// Counts what the tunnel with this number has carried since the last time.
    pub(super) fn count(&mut self, number: u64, tunnel: &Tunnel) {
        self.count_to(number, tunnel.association().statistics().bytes_carried);
    }

    fn count_to(&mut self, number: u64, carried: u64) {
        let before = self.counted.insert(number, carried).unwrap_or(0);
        let since = carried.saturating_sub(before);
        self.usage.bytes = self.usage.bytes.saturating_add(since);
    }

    /// The tunnel with this number is over, and was counted.
    pub(super) fn forget(&mut self, number: u64) {
        self.counted.remove(&number);
    }

    /// What was carried in the period of `now`. A clock that was ahead for some time gives nobody another quota, and blocks nobody until its
    /// time comes again.
    pub(super) fn usage(&mut self, quota: Quota, now: DateTime<Utc>) -> Usage {
        let begin = quota.period.begin(now);
        if begin > self.usage.begin {
            self.before = Some(self.usage);
            self.usage = Usage { begin, bytes: 0 };
        } else if self.usage.begin >= quota.period.end(now) {
            let earlier = self.before.take().filter(|before| before.begin == begin);
            let earlier = earlier.map_or(0, |before| before.bytes);
            self.usage = Usage {
                begin,
                bytes: self.usage.bytes.saturating_add(earlier),
            };
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
    let (mut intervals, mut until_stored) = (interval(INTERVAL), INTERVALS_UNTIL_STORED);
    intervals.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        intervals.tick().await;
        for peer in shared.state.peers() {
            peer.enforce_quota(now());
        }
        until_stored -= 1;
        if until_stored == 0 {
            until_stored = INTERVALS_UNTIL_STORED;
            let shared = shared.clone();
            // It waits for the disk.
            let _ = spawn_blocking(move || store(&shared)).await;
        }
    }
}

/// The file beside the configuration, or in the first folder that a service manager gives for what outlives restarts.
fn file_of(config: &Path) -> PathBuf {
    let mut name = config.file_name().unwrap_or_default().to_owned();
    name.push(".usage");
    let folders = std::env::var_os("STATE_DIRECTORY");
    match folders.and_then(|folders| std::env::split_paths(&folders).next()) {
        Some(folder) => folder.join(name),
        None => config.with_file_name(name),
    }
}

/// What the peers have carried so far, by their public keys. A file that cannot be read is kept under another name.
pub(super) fn load(config: &Path) -> Result<BTreeMap<String, Usage>, String> {
    let usage = kept_file::read(&file_of(config), |content| serde_json::from_slice(content));
    let usage = usage.map_err(|error| format!("{error}; all peers have their whole quota again"))?;
    Ok(usage.unwrap_or_default())
}

/// Keeps what the peers have carried. Without quotas there is no file.
pub(super) fn store(shared: &Shared) {
    let state = &shared.state;
    let usage = usage_of(state);
    if usage.is_empty() {
        return;
    }
    let file = file_of(&state.config().file);
    let usage = serde_json::to_vec(&usage).expect("invariant: all keys are strings");
    let stored = kept_file::replace(&file, &usage);
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

    #[test]
    fn tunnels_count_what_they_have_carried_since_the_last_time() {
        let mut meter = meter();
        for (tunnel, carried) in [(1, 100), (2, 10), (1, 150), (2, 10)] {
            meter.count_to(tunnel, carried);
        }
        assert_eq!(meter.usage.bytes, 150 + 10);
        meter.forget(1);
        meter.count_to(2, 10);
        assert_eq!(meter.usage.bytes, 160);
    }

    #[test]
    fn quota_that_is_used_up_begins_anew_with_its_period() {
        let (mut meter, morning) = (meter(), at("2026-05-01T08:00:00Z"));
        meter.count_to(1, 999);
        assert_eq!(meter.exhausted(QUOTA, morning), None);
        meter.count_to(1, 1_000);
        let text = "the quota of 1.0 kB a day is used up until 2026-05-02 00:00 UTC";
        assert_eq!(meter.exhausted(QUOTA, morning).as_deref(), Some(text));
        assert_eq!(meter.exhausted(QUOTA, at("2026-05-02T00:00:00Z")), None);
        // What the tunnel carried before does not count again.
        meter.count_to(1, 1_500);
        assert_eq!(meter.usage(QUOTA, at("2026-05-02T09:00:00Z")).bytes, 500);
    }

    #[test]
    fn clock_that_was_ahead_gives_no_other_quota_and_blocks_nobody() {
        let (mut meter, morning) = (meter(), at("2026-05-01T08:00:00Z"));
        meter.count_to(1, 700);
        assert_eq!(meter.usage(QUOTA, morning).bytes, 700);
        assert_eq!(meter.usage(QUOTA, at("2026-05-09T08:00:00Z")).bytes, 0);
        meter.count_to(1, 900);
        assert_eq!(meter.exhausted(QUOTA, morning), None);
        assert_eq!(meter.usage(QUOTA, morning).bytes, 900);
        meter.count_to(1, 1_000);
        let reason = meter.exhausted(QUOTA, morning).unwrap();
        assert!(reason.contains("2026-05-02"), "{reason}");
    }

    #[test]
    fn usage_of_a_file_from_a_clock_ahead_counts_now() {
        let begin = at("2026-05-09T00:00:00Z");
        let mut meter = Meter::new(Usage { begin, bytes: 400 });
        let usage = meter.usage(QUOTA, at("2026-05-01T08:00:00Z"));
        assert_eq!((usage.begin, usage.bytes), (at("2026-05-01T00:00:00Z"), 400));
    }

    #[test]
    fn what_was_carried_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("server.conf");
        assert_eq!(load(&config), Ok(BTreeMap::new()));
        let begin = at("2026-05-01T00:00:00Z");
        let usage = BTreeMap::from([("a key".to_owned(), Usage { begin, bytes: 5 })]);
        let file = folder.path().join("server.conf.usage");
        kept_file::replace(&file, &serde_json::to_vec(&usage).unwrap()).unwrap();
        assert_eq!(load(&config), Ok(usage));
        std::fs::write(&file, "{").unwrap();
        let warning = load(&config).unwrap_err();
        assert!(
            warning.contains("kept as") && warning.contains("server.conf.usage.bad"),
            "{warning}"
        );
        assert_eq!(
            std::fs::read(folder.path().join("server.conf.usage.bad")).unwrap(),
            b"{"
        );
    }
}

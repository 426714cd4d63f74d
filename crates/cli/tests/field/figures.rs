//! Figures of failing paths: how long does the receiver hear nothing when one of two paths dies, and how soon does a path carry data
//! again after an outage?
//!
//! `make test` checks that the files arrive whole, and prints the times; `make field-figures` (`ANABRANCH_FIGURES=strict`, on an idle
//! machine) checks the times, too.

use std::env;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::harness::needs_root;
use super::uplinks::{SERVER, Settings, Uplinks};

const TWO_UPLINKS: Settings = Settings {
    rates: &[10, 40],
    nat: true,
    policy_routing: false,
};

/// Longest time without data for the application if one of two paths dies; three round trips are less here.
const SILENCE: Duration = Duration::from_millis(300);

/// Longest time from the end of an outage of 20 s until the path carries data.
const RETURN: Duration = Duration::from_millis(1_500);

/// A path that carries no data for so long is not used again.
const FOR_EVER: Duration = Duration::from_secs(60);

/// Seconds.
const OUTAGE: u32 = 20;

/// Bytes that a path must have sent to count as carrying data: probes are less.
const DATA: u64 = 100_000;

/// Checks a measured time, if this machine is idle.
fn check(measured: Duration, limit: Duration) {
    if env::var("ANABRANCH_FIGURES").as_deref() == Ok("strict") {
        assert!(measured <= limit, "{measured:?} instead of at most {limit:?}");
    }
}

/// The longest time between two writes to the only file that arrives in `folder` until `stop` is dropped. The receiver writes each piece as
/// soon as it has arrived.
fn longest_pause(folder: &Path, stop: &mpsc::Receiver<()>) -> Duration {
    let written = || -> Option<SystemTime> {
        let staging = std::fs::read_dir(folder).ok()?.next()?.ok()?.path();
        let parts = std::fs::read_dir(staging.join("parts")).ok()?;
        let times = parts.filter_map(|part| part.ok()?.metadata().ok()?.modified().ok());
        times.max()
    };
    let (mut last, mut longest) = (written(), Duration::ZERO);
    while stop.recv_timeout(Duration::from_millis(2)) == Err(mpsc::RecvTimeoutError::Timeout) {
        let now = written();
        if let (Some(last), Some(now)) = (last, now) {
            longest = longest.max(now.duration_since(last).unwrap_or_default());
        }
        last = now.or(last);
    }
    longest
}

#[test]
fn receiver_hears_data_soon_after_one_of_two_paths_died() {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(TWO_UPLINKS)) else {
        return;
    };
    for number in [0, 1] {
        let order = uplinks.order([60_000_000, 30_000_000][number], &["--to", SERVER]);
        let mut transfer = order.start();
        (0..3).for_each(|_| drop(transfer.sender.event("progress")));
        let (go_on, stop) = mpsc::channel();
        let pause = thread::scope(|scope| {
            let inbox = transfer.inbox().to_owned();
            let watch = scope.spawn(move || longest_pause(&inbox, &stop));
            uplinks.isps[number].drop_forwarded("ip daddr != 127.0.0.1");
            (0..3).for_each(|_| drop(transfer.sender.event("progress")));
            drop(go_on);
            watch.join().unwrap()
        });
        uplinks.isps[number].forward_all();
        println!("path {number} died: the receiver heard nothing for {pause:?}");
        check(pause, SILENCE);
        transfer.finish();
    }
}

#[test]
fn path_carries_data_soon_after_an_outage() {
    let Some(uplinks) = needs_root("network namespaces", || Uplinks::make(TWO_UPLINKS)) else {
        return;
    };
    let order = uplinks.order(70_000_000, &["--to", SERVER]);
    let mut transfer = order.start();
    (0..2).for_each(|_| drop(transfer.sender.event("progress")));
    let fast = &uplinks.isps[1];
    fast.drop_forwarded("ip daddr != 127.0.0.1");
    (0..OUTAGE).for_each(|_| drop(transfer.sender.event("progress")));
    let before = fast.bytes_sent("wan");
    fast.forward_all();
    let ended = Instant::now();
    while fast.bytes_sent("wan") < before + DATA {
        assert!(ended.elapsed() < FOR_EVER, "the path carries no data");
    }
    let returned = ended.elapsed();
    println!("after an outage of {OUTAGE} s: data after {returned:?}");
    check(returned, RETURN);
    transfer.finish();
}

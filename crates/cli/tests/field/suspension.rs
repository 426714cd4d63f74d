//! Suspend and resume: one end does nothing for longer than a retransmission timeout, and finds other addresses when it resumes.

use serde_json::Value;

use super::harness::needs_root;
use super::transfer::Transfer;
use super::uplinks::{SERVER, Settings, Uplinks};

const TWO_UPLINKS: Settings = Settings {
    rates: &[5, 15],
    nat: true,
    policy_routing: false,
};

/// Reports of progress of the end that is not suspended: seconds.
const SUSPENDED: usize = 5;

fn begin() -> Option<(Uplinks, Transfer)> {
    let uplinks = needs_root("network namespaces", || Uplinks::make(TWO_UPLINKS))?;
    let order = uplinks.order(25_000_000, &["--to", SERVER]);
    let mut transfer = order.start();
    transfer.sender.event("progress");
    transfer.receiver.event("progress");
    Some((uplinks, transfer))
}

/// Bytes of the file of the next report of progress.
fn progress(end: &mut super::harness::Running) -> u64 {
    let report: Value = end.event("progress");
    report["bytes"].as_u64().unwrap()
}

#[test]
fn suspended_sender_goes_on_when_it_resumes() {
    let Some((_uplinks, mut transfer)) = begin() else {
        return;
    };
    transfer.sender.signal("-STOP");
    let before = (0..SUSPENDED).map(|_| progress(&mut transfer.receiver)).last();
    transfer.sender.signal("-CONT");
    let summary = transfer.finish();
    assert!(before < summary["size"].as_u64(), "{summary}");
}

#[test]
fn suspended_receiver_goes_on_when_it_resumes() {
    let Some((_uplinks, mut transfer)) = begin() else {
        return;
    };
    transfer.receiver.signal("-STOP");
    let before = (0..SUSPENDED).map(|_| progress(&mut transfer.sender)).last();
    transfer.receiver.signal("-CONT");
    let summary = transfer.finish();
    assert!(before < summary["size"].as_u64(), "{summary}");
}

/// As a laptop that is carried elsewhere, closed.
#[test]
fn sender_that_resumes_with_other_addresses_goes_on() {
    let Some((uplinks, mut transfer)) = begin() else {
        return;
    };
    transfer.sender.signal("-STOP");
    for (number, address) in ["192.168.1.77", "10.0.0.77"].into_iter().enumerate() {
        uplinks.take_down(number);
        uplinks.isps[number].restart_nat("wan", "20000-30000");
        uplinks.configure(number, address);
    }
    let before = (0..SUSPENDED).map(|_| progress(&mut transfer.receiver)).last();
    transfer.sender.signal("-CONT");
    let summary = transfer.finish();
    assert!(before < summary["size"].as_u64(), "{summary}");
}

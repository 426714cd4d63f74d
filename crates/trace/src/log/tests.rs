//! Tests of logged events.

use std::io;

use anabranch_policy::options::RtoParameters;
use anabranch_policy::{PathFacts, Reachability, RttEstimator};
use anabranch_types::{AssociationId, Instant, PathAddr, PathId};

use super::{Clock, Direction, EventLog, LogInfo, PathView};

const INFO: LogInfo<'static> = LogInfo {
    title: "test",
    name: "near",
    connects: true,
    clock: Clock::Virtual,
};

fn addr(port: u16) -> PathAddr {
    PathAddr {
        local: ([10, 0, 0, 1], port).into(),
        remote: ([10, 0, 0, 2], 9_899).into(),
    }
}

fn facts() -> PathFacts {
    PathFacts {
        reachability: Reachability::Active,
        cwnd: 4_380,
        ..PathFacts::new(PathId(0), 1_480, 1_468, RttEstimator::new(RtoParameters::RFC9260))
    }
}

fn view(facts: &PathFacts) -> PathView<'_> {
    PathView {
        facts,
        addr: addr(9_899),
        timeouts: 0,
        fast_retransmits: 0,
        rescheduled: 0,
    }
}

/// The lines after the header, without times.
fn lines(tell: impl FnOnce(&mut EventLog<&mut Vec<u8>>)) -> Vec<String> {
    let mut bytes = Vec::new();
    let mut log = EventLog::new(&mut bytes, &INFO);
    tell(&mut log);
    log.finish().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let event = |line: &str| line.split_once(",\"name\":\"sctp:").unwrap().1.to_owned();
    text.lines().skip(1).map(event).collect()
}

#[test]
fn unchanged_metrics_are_not_logged_again() {
    let now = facts();
    let told = lines(|log| {
        log.paths(Instant::ZERO, AssociationId(0), &[view(&now)]);
        log.paths(Instant::ZERO, AssociationId(0), &[view(&now)]);
    });
    let names: Vec<&str> = told.iter().map(|line| line.split_once('"').unwrap().0).collect();
    assert_eq!(
        names,
        ["path_added", "path_state_updated", "recovery_metrics_updated"]
    );
}

#[test]
fn timeout_logs_timer_losses_and_metrics() {
    let before = facts();
    let mut after = PathFacts {
        cwnd: 1_468,
        ssthresh: 5_872,
        lost_chunks: 3,
        ..facts()
    };
    after.rtt.back_off();
    let told = lines(|log| {
        log.paths(Instant::ZERO, AssociationId(7), &[view(&before)]);
        let view = PathView {
            timeouts: 1,
            ..view(&after)
        };
        log.paths(Instant::ZERO, AssociationId(7), &[view]);
    });
    assert_eq!(
        told[3..],
        [
            r#"timer_updated","group_id":"7","data":{"path":0,"timer_type":"t3_rtx","event_type":"expired","rto":2000.0}}"#,
            r#"chunks_lost","group_id":"7","data":{"path":0,"count":3,"trigger":"timeout"}}"#,
            r#"recovery_metrics_updated","group_id":"7","data":{"path":0,"congestion_window":1468,"ssthresh":5872,"rto":2000.0}}"#,
        ]
    );
}

#[test]
fn removed_path_is_logged_once() {
    let now = facts();
    let told = lines(|log| {
        log.paths(Instant::ZERO, AssociationId(0), &[view(&now)]);
        log.paths(Instant::ZERO, AssociationId(0), &[]);
        log.paths(Instant::ZERO, AssociationId(0), &[]);
    });
    assert_eq!(told[3..], [r#"path_removed","group_id":"0","data":{"path":0}}"#]);
}

#[test]
fn malformed_packet_is_logged_as_malformed() {
    let told = lines(|log| log.packet(Instant::ZERO, Direction::Received, addr(1), &[1, 2, 3]));
    assert!(
        told[0].contains(r#""length":3,"chunks":[{"chunk_type":"malformed""#),
        "{}",
        told[0]
    );
}

#[test]
fn sink_error_is_returned_by_finish() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut log = EventLog::new(Full, &INFO);
    log.packet(Instant::ZERO, Direction::Sent, addr(1), &[]);
    assert_eq!(log.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
}

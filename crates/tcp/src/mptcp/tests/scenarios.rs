//! Tests of MPTCP connections with several subflows.

use anabranch_policy::PolicyRecipe;

use super::*;
use crate::tcb::{CloseReason, State};
use crate::wire::{Dss, Kind, Mapping, PrimaryOption};

/// Sets a policy at both ends.
fn chosen(paths: usize, choices: &[(&str, &str)]) -> Fixture {
    let mut policies = PolicyRecipe::tcp();
    for (point, choice) in choices {
        policies.set(point, choice).unwrap();
    }
    let [near, far] = [0, 1].map(|host| TcpConfig {
        policies,
        ..config(paths, host)
    });
    Fixture::with(near, far, paths)
}

fn tells_end(segment: &Segment<'_>) -> bool {
    matches!(
        segment.options.mptcp.primary,
        Some(PrimaryOption::Dss(Dss {
            mapping: Some(Mapping { fin: true, .. }),
            ..
        }))
    )
}

#[test]
fn two_subflows_are_faster_than_one() {
    let mut two = Fixture::new(2).sends(3_000_000, 0);
    let together = two.finish(ms(60_000));
    let mut one = Fixture::new(1).sends(3_000_000, 0);
    let alone = one.finish(ms(60_000));
    assert!(alone.as_millis() > 3_000);
    assert!(
        together.as_secs_f64() < 0.65 * alone.as_secs_f64(),
        "{together:?} {alone:?}"
    );
    assert!(two.bytes_on(1) > 1_000_000);
}

#[test]
fn closed_connection_closes_all_subflows() {
    let mut fixture = Fixture::new(3).sends(500_000, 300_000);
    fixture.finish(ms(60_000));
    fixture.run_for(ms(200_000));
    for host in 0..2 {
        assert_eq!(fixture.connection(host).state(), State::Closed, "{host}");
        assert_eq!(
            fixture.events[host].last(),
            Some(&Event::Closed(CloseReason::Finished))
        );
        for path in fixture.connection(host).paths() {
            assert_eq!(path.state, State::Closed);
        }
    }
    assert_eq!(fixture.hosts[0].poll_timeout(), None);
}

#[test]
fn data_of_a_dead_subflow_is_reinjected() {
    for dies in 0..2 {
        let mut fixture = Fixture::new(2).sends(2_000_000, 100_000);
        fixture.run_for(ms(500));
        fixture.cut(dies);
        let took = fixture.finish(ms(20_000));
        assert!(took < ms(5_000), "{took:?}");
        let reinjected = fixture.connection(0).statistics().data.unwrap().reinjected_bytes;
        assert!(reinjected > 0);
        fixture.run_for(ms(200_000));
        assert_eq!(fixture.connection(0).state(), State::Closed);
    }
}

#[test]
fn restored_subflow_carries_data_again() {
    let mut fixture = Fixture::new(2).sends(6_000_000, 0);
    fixture.run_for(ms(500));
    fixture.cut(1);
    fixture.run_for(ms(1_000));
    fixture.ways[1].iter_mut().for_each(|way| way.cut = false);
    let before = fixture.bytes_on(1);
    fixture.finish(ms(20_000));
    assert!(fixture.bytes_on(1) > before + 500_000);
}

#[test]
fn data_received_twice_is_read_once() {
    let mut fixture = Fixture::new(2).sends(6_000_000, 0);
    fixture.run_for(ms(400));
    // The data in flight is only late, but is reinjected nonetheless.
    fixture.ways[1][0].delay = ms(3_000);
    fixture.finish(ms(20_000));
    fixture.run_for(ms(4_000));
    assert!(fixture.connection(1).statistics().data.unwrap().duplicate_bytes > 0);
}

#[test]
fn advertised_addresses_are_joined_and_removed_ones_closed() {
    let mut near = config(2, 0);
    near.mptcp.as_mut().unwrap().remote.clear();
    let mut fixture = Fixture::with(near, config(2, 1), 2).sends(1_000_000, 0);
    fixture.run_for(ms(300));
    assert!(fixture.events[0].contains(&Event::PathOpened(anabranch_types::PathId(1))));
    let ends: Vec<_> = fixture
        .connection(0)
        .paths()
        .map(|path| path.tuple.remote.ip())
        .collect();
    assert_eq!(ends, [ip(0, 1), ip(1, 1)]);
    let id = fixture.id;
    fixture.hosts[0].with(id, |connection| connection.remove_local_address(ip(1, 0)));
    fixture.run_for(ms(300));
    let states: Vec<_> = fixture.connection(1).paths().map(|path| path.state).collect();
    assert_eq!(states, [State::Established, State::Closed]);
    fixture.finish(ms(20_000));
}

#[test]
fn lost_data_fin_is_retransmitted() {
    let mut fixture = Fixture::new(2).sends(50_000, 0);
    for way in fixture.ways.iter_mut().map(|ways| &mut ways[0]) {
        let mut lost = 0;
        way.passes = Box::new(move |segment| {
            lost += u32::from(tells_end(segment));
            !tells_end(segment) || lost > 2
        });
    }
    assert!(fixture.run_until(ms(20_000), |fixture| {
        fixture.events[1].contains(&Event::PeerFinished)
    }));
    fixture.finish(ms(1_000));
}

#[test]
fn half_closed_mptcp_connection_still_carries_data() {
    let mut fixture = Fixture::new(2).sends(1_000, 0);
    fixture.closes = false;
    fixture.run_for(ms(200));
    let id = fixture.id;
    fixture.hosts[0].with(id, Connection::close);
    fixture.run_for(ms(30_000));
    assert!(fixture.events[1].contains(&Event::PeerFinished));
    fixture.to_send[1] = content(400_000);
    fixture.closes = true;
    fixture.finish(ms(10_000));
    assert!(fixture.ways[1][1].bytes > 100_000, "over both paths");
}

#[test]
fn abort_closes_all_subflows_at_once() {
    let mut fixture = Fixture::new(3).sends(5_000_000, 0);
    fixture.run_for(ms(600));
    let id = fixture.id;
    fixture.hosts[0].with(id, Connection::abort);
    fixture.run_for(ms(500));
    assert_eq!(
        fixture.events[0].last(),
        Some(&Event::Closed(CloseReason::Aborted))
    );
    assert_eq!(fixture.events[1].last(), Some(&Event::Closed(CloseReason::Reset)));
    for host in 0..2 {
        assert!(
            fixture
                .connection(host)
                .paths()
                .all(|path| path.state == State::Closed)
        );
    }
}

#[test]
fn paused_reader_stops_all_subflows_until_it_resumes() {
    let mut fixture = Fixture::new(2).sends(4_000_000, 0);
    fixture.reads = false;
    fixture.run_for(ms(90_000));
    let connection = fixture.connection(1);
    let held = connection.unread() + connection.statistics().out_of_order_bytes;
    // Each window is rounded up to its scaling unit.
    assert!(held <= (1 << 20) * 103 / 100, "{held}");
    assert!(connection.unread() > 900_000);
    fixture.reads = true;
    fixture.finish(ms(40_000));
}

#[test]
fn redundant_scheduler_hides_losses_of_a_subflow() {
    let mut fixture = chosen(2, &[("path-scheduler", "redundant")]).sends(1_000_000, 0);
    let mut count = 0;
    fixture.ways[0][0].passes = Box::new(move |segment| {
        count += 1;
        segment.payload.is_empty() || count % 5 > 0
    });
    fixture.finish(ms(5_000));
    let duplicated: u64 = fixture
        .connection(0)
        .paths()
        .map(|path| path.duplicated_bytes)
        .sum();
    assert!(duplicated > 50_000, "{duplicated}");
}

#[test]
fn wrong_data_checksum_closes_the_subflow() {
    let with = |host| {
        let mut config = config(2, host);
        config.mptcp.as_mut().unwrap().checksum = host == 0;
        config
    };
    let mut fixture = Fixture::with(with(0), with(1), 2).sends(1_000_000, 1_000_000);
    fixture.run_for(ms(300));
    fixture.ways[1][0].rewrites = true;
    fixture.finish(ms(20_000));
    assert!(fixture.events[1].contains(&Event::PathClosed(
        anabranch_types::PathId(1),
        CloseReason::Violation
    )));
}

#[test]
fn every_scheduler_and_congestion_control_completes() {
    let schedulers = [
        "primary",
        "round-robin",
        "min-rtt",
        "largest-space",
        "ecf",
        "blest",
        "within-window",
        "stream-mapped",
        "capacity",
        "in-order-arrival",
        "redundant",
    ];
    for scheduler in schedulers {
        chosen(3, &[("path-scheduler", scheduler)])
            .sends(1_000_000, 200_000)
            .finish(ms(30_000));
    }
    for cc in [
        "reno", "cubic", "lia", "olia", "balia", "cmt", "cmt-rpv1", "cmt-rpv2",
    ] {
        chosen(3, &[("cc", cc)])
            .sends(1_000_000, 200_000)
            .finish(ms(30_000));
    }
    let second = [
        ("path-scheduler", "in-order-arrival"),
        ("path-scheduler.design", "1"),
    ];
    chosen(2, &second).sends(1_000_000, 0).finish(ms(30_000));
}

#[test]
fn rescheduling_reinjects_data_that_blocks_the_buffers() {
    let choices = [
        ("chunk-rescheduling", "both"),
        ("chunk-rescheduling.threshold", "0.1"),
        ("path-scheduler", "round-robin"),
    ];
    let mut fixture = chosen(2, &choices);
    fixture.ways = [(ms(5), 2_000_000), (ms(400), 100_000)]
        .map(|(delay, rate)| [0, 1].map(|_| Way::new(delay, rate)))
        .into();
    let mut fixture = fixture.sends(12_000_000, 0);
    fixture.finish(ms(60_000));
    assert!(fixture.connection(0).statistics().data.unwrap().reinjections > 0);
}

#[test]
fn lost_third_handshake_segment_is_retransmitted() {
    let mut fixture = Fixture::new(2).sends(5_000_000, 0);
    for path in 0..2 {
        let mut lost = 0;
        fixture.ways[path][0].passes = Box::new(move |segment| {
            let is_proof = segment.kind == Kind::Plain
                && matches!(
                    segment.options.mptcp.primary,
                    Some(PrimaryOption::MpCapable(_) | PrimaryOption::MpJoin(_))
                );
            lost += u32::from(is_proof);
            !is_proof || lost > 2
        });
    }
    fixture.finish(ms(20_000));
    assert!(fixture.bytes_on(1) > 0);
}

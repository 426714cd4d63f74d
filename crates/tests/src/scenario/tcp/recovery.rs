//! TCP loss recovery: fast retransmit, SACK, RTO, pacing and burst limits.

use anabranch_netsim::link::QueueConfig;
use anabranch_netsim::{FilterAction, LinkConfig};
use anabranch_policy::PolicyRecipe;
use anabranch_sim::Side;
use anabranch_sim::tcp::{TcpApp, TcpConfig, TcpCounters, TcpScenario, TcpSimulation};
use anabranch_types::{Instant, Seed};

use super::{dsl, everything_arrived, lossy};
use crate::fixture::{mbit, ms, secs};

const BYTES: u64 = 1_000_000;

/// A transfer in which the data segments with these numbers, counted from 0, are lost.
fn transfer(config: &TcpConfig, lost: &'static [usize]) -> TcpSimulation {
    let mut simulation = TcpScenario::over(Seed(1), dsl().queue(QueueConfig::Packets(2_000)))
        .config(config.clone())
        .near_app(TcpApp::sender(BYTES))
        .build();
    let link = simulation.paths()[0].forward[0];
    let mut count = 0;
    simulation.network_mut().set_filter(
        link,
        Box::new(move |_, datagram| {
            if datagram.payload.len() < 500 {
                return FilterAction::Pass;
            }
            count += 1;
            if lost.contains(&(count - 1)) {
                FilterAction::Drop
            } else {
                FilterAction::Pass
            }
        }),
    );
    simulation.connect();
    simulation.run_for(secs(20));
    assert!(everything_arrived(&simulation, Side::Far, BYTES));
    simulation
}

fn counters(simulation: &TcpSimulation) -> TcpCounters {
    simulation
        .connection(Side::Near, 0)
        .unwrap()
        .statistics()
        .counters
}

fn without_sack() -> TcpConfig {
    TcpConfig {
        sack: false,
        ..TcpConfig::default()
    }
}

#[test]
fn one_loss_causes_one_retransmission_and_recovery() {
    for config in [TcpConfig::default(), without_sack()] {
        let counters = counters(&transfer(&config, &[100]));
        assert_eq!(
            (
                counters.retransmissions,
                counters.fast_recoveries,
                counters.timeouts
            ),
            (1, 1, 0)
        );
    }
}

#[test]
fn many_losses_in_a_window_are_one_recovery() {
    let lost = &[100, 103, 105, 106, 110, 111, 112];
    for config in [TcpConfig::default(), without_sack()] {
        let counters = counters(&transfer(&config, lost));
        assert_eq!(
            (
                counters.retransmissions,
                counters.fast_recoveries,
                counters.timeouts
            ),
            (7, 1, 0)
        );
    }
}

#[test]
fn lost_retransmission_is_resent_before_rto() {
    // Segment 100 is detected as lost with a window in flight; its retransmission is lost too.
    let simulation = transfer(
        &TcpConfig::default(),
        &[60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 90, 91, 92, 93, 94, 95],
    );
    let counters = counters(&simulation);
    assert!(counters.retransmissions >= 17, "{counters:?}");
}

/// By bytes, a threshold of two full segments would need thirteen more such segments.
#[test]
fn third_duplicate_ack_detects_loss_of_small_segment() {
    let config = TcpConfig {
        nagle: false,
        ..TcpConfig::default()
    };
    let mut simulation = TcpScenario::over(Seed(1), dsl())
        .config(config)
        .near_app(TcpApp::paced(200, ms(10)))
        .build();
    let link = simulation.paths()[0].forward[0];
    let mut data = 0;
    simulation.network_mut().set_filter(
        link,
        Box::new(move |_, datagram| {
            data += usize::from(datagram.payload.len() > 200);
            match data {
                50 if datagram.payload.len() > 200 => FilterAction::Drop,
                _ => FilterAction::Pass,
            }
        }),
    );
    simulation.connect();
    // Messages of the first 40 ms share a segment, so the fiftieth leaves after 530 ms; three more and a round trip take 70.
    simulation.run_for(ms(530 + 70 + 20));
    let counters = counters(&simulation);
    assert_eq!((counters.found_lost, counters.timeouts), (1, 0), "{counters:?}");
}

#[test]
fn lost_tail_waits_for_the_rto() {
    let last = (BYTES / 1_448) as usize;
    let lost: &'static [usize] = Vec::leak(vec![last]);
    let counters = counters(&transfer(&TcpConfig::default(), lost));
    assert_eq!((counters.retransmissions, counters.timeouts), (1, 1));
}

#[test]
fn every_congestion_control_completes_a_transfer() {
    for cc in ["reno", "cubic", "cmt", "lia", "olia", "balia"] {
        carries_everything_with("cc", cc);
    }
}

/// Time at which everything has arrived, with 1 % loss.
fn carries_everything_with(point: &str, choice: &str) -> Instant {
    let mut policies = PolicyRecipe::tcp();
    policies.set(point, choice).unwrap();
    let config = TcpConfig {
        policies,
        ..TcpConfig::default()
    };
    let mut simulation = TcpScenario::over(Seed(1), lossy(0.01))
        .config(config)
        .near_app(TcpApp::sender(BYTES))
        .build();
    simulation.connect();
    let has_arrived = |simulation: &TcpSimulation| everything_arrived(simulation, Side::Far, BYTES);
    assert!(simulation.run_until(secs(60), has_arrived), "{choice}");
    simulation.now()
}

/// Window limiting shrinks cwnd in recovery, so later segments are sent at other times.
#[test]
fn window_limiting_of_bursts_works_over_tcp() {
    let ends_at = ["window-limiting", "unlimited"].map(|burst| carries_everything_with("burst", burst));
    assert_ne!(ends_at[0], ends_at[1]);
}

/// Pacing delays data that would not fill the window anyway.
#[test]
fn application_limited_cwnd_does_not_grow_with_tcp_pacing() {
    let mut policies = PolicyRecipe::tcp();
    policies.set("burst", "paced").unwrap();
    let config = TcpConfig {
        policies,
        send_buffer: 4 << 20,
        receive_buffer: 4 << 20,
        ..TcpConfig::default()
    };
    let mut simulation = TcpScenario::over(Seed(1), LinkConfig::new(mbit(100), ms(100)))
        .config(config)
        .near_app(TcpApp::paced(89_600, ms(100)))
        .build();
    simulation.connect();
    let window = |simulation: &TcpSimulation| {
        let connection = simulation.connection(Side::Near, 0).expect("it lives");
        connection.statistics().facts.cwnd
    };
    // The backlog of slow start has drained by then: 179 kB are in flight, with an RTT of 200 ms.
    simulation.run_for(secs(5));
    let before = window(&simulation);
    simulation.run_for(secs(20));
    let after = window(&simulation);
    assert!(
        before > 180_000 && after <= before,
        "{before} bytes, then {after}"
    );
}

#[test]
fn transfer_completes_under_heavy_loss() {
    for config in [TcpConfig::default(), without_sack()] {
        let mut simulation = TcpScenario::over(Seed(3), lossy(0.2))
            .config(config)
            .near_app(TcpApp::sender(200_000))
            .far_app(TcpApp::sender(200_000))
            .build();
        simulation.connect();
        assert!(simulation.run_until(secs(1_000), |simulation| {
            Side::BOTH
                .iter()
                .all(|side| everything_arrived(simulation, *side, 200_000))
        }));
    }
}

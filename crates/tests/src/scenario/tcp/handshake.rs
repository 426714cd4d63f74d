//! TCP connection setup, also unanswered or with lost segments.

use anabranch_netsim::{FilterAction, LinkConfig};
use anabranch_sim::tcp::{CloseReason, Event, State, TcpApp, TcpConfig, TcpScenario, TcpSimulation};
use anabranch_sim::{Side, Step};
use anabranch_types::Seed;

use super::{SYN, dsl, times, watch, watch_back};
use crate::fixture::{mbit, secs};

#[test]
fn unanswered_syn_backs_off_and_gives_up() {
    let mut simulation = TcpScenario::over(Seed(1), dsl())
        .near_app(TcpApp::sender(1))
        .build();
    simulation.happens(Step::Cut(0));
    let seen = watch(&mut simulation);
    simulation.connect();
    simulation.run_for(secs(200));
    assert_eq!(times(&seen, SYN), [0.0, 3.0, 9.0, 21.0, 45.0]);
    let events = simulation.app(Side::Near, 0).unwrap().events();
    let [(at, Event::Closed(CloseReason::TimedOut))] = events else {
        panic!("{events:?}");
    };
    assert_eq!(at.to_string(), "93.000000");
}

#[test]
fn unanswered_syn_ack_backs_off_and_is_dropped() {
    let mut simulation = TcpScenario::over(Seed(1), dsl())
        .near_app(TcpApp::sender(1))
        .build();
    let seen = watch_back(&mut simulation);
    simulation.connect();
    simulation.run_for(crate::fixture::ms(25));
    simulation.happens(Step::Cut(0));
    simulation.run_for(secs(200));
    assert_eq!(times(&seen, SYN).len(), 5);
    assert_eq!(
        simulation.host(Side::Far).apps().len(),
        0,
        "nobody was told of it"
    );
}

#[test]
fn data_follows_syn_after_one_rtt() {
    let mut simulation = TcpScenario::over(Seed(1), dsl())
        .near_app(TcpApp::sender(1_000))
        .build();
    simulation.connect();
    simulation.run_until(secs(1), |simulation| {
        simulation
            .app(Side::Far, 0)
            .is_some_and(|app| app.bytes_read() == 1_000)
    });
    let read = simulation.app(Side::Far, 0).unwrap().first_read_at().unwrap();
    let millis = read.as_nanos() / 1_000_000;
    assert!(
        (60..63).contains(&millis),
        "three times 20 ms and a bit: {millis} ms"
    );
}

#[test]
fn syn_to_closed_port_gets_reset() {
    let mut simulation = TcpScenario::over(Seed(1), dsl()).build();
    let (near, far) = (simulation.paths()[0].near_addr, simulation.paths()[0].far_addr);
    simulation.act(Side::Near, |host, now| {
        host.connect(
            now,
            (near, 0).into(),
            (far, 81).into(),
            TcpConfig::default(),
            TcpApp::bulk(),
        )
    });
    simulation.run_for(secs(1));
    let events = simulation.app(Side::Near, 0).unwrap().events();
    assert!(
        matches!(events, [(_, Event::Closed(CloseReason::Refused))]),
        "{events:?}"
    );
}

#[test]
fn simultaneous_open_creates_one_connection() {
    let mut simulation = TcpScenario::over(Seed(1), dsl()).build();
    let (near, far) = (simulation.paths()[0].near_addr, simulation.paths()[0].far_addr);
    let app = || TcpApp::sender(50_000);
    simulation.act(Side::Near, |host, now| {
        host.connect(
            now,
            (near, 7).into(),
            (far, 7).into(),
            TcpConfig::default(),
            app(),
        )
    });
    simulation.act(Side::Far, |host, now| {
        host.connect(
            now,
            (far, 7).into(),
            (near, 7).into(),
            TcpConfig::default(),
            app(),
        )
    });
    simulation.run_for(secs(20));
    for side in Side::BOTH {
        assert!(super::everything_arrived(&simulation, side, 50_000), "{side:?}");
        assert_eq!(simulation.connection(side, 0).unwrap().state(), State::TimeWait);
    }
}

#[test]
fn options_are_used_only_if_both_ends_offer_them() {
    for without in 0..8_u8 {
        let less = TcpConfig {
            sack: without & 1 == 0,
            timestamps: without & 2 == 0,
            window_scaling: without & 4 == 0,
            ..TcpConfig::default()
        };
        for side in Side::BOTH {
            let mut simulation = TcpScenario::over(Seed(1), super::lossy(0.02))
                .config_of(side, less.clone())
                .near_app(TcpApp::sender(300_000))
                .build();
            simulation.connect();
            assert!(
                simulation.run_until(secs(60), |simulation| super::everything_arrived(
                    simulation,
                    Side::Far,
                    300_000
                )),
                "{side:?} without {without:b}"
            );
        }
    }
}

/// RFC 7323 §4: the timestamp shows which SYN was answered. Without it, segments behind a long queue would be
/// retransmitted several times.
#[test]
fn timestamp_gives_rtt_of_retransmitted_syn() {
    let far_away = LinkConfig::new(mbit(1), secs(4));
    for timestamps in [true, false] {
        let config = TcpConfig {
            timestamps,
            ..TcpConfig::default()
        };
        let mut simulation = TcpScenario::over(Seed(1), far_away.clone())
            .config(config)
            .far_app(TcpApp::sender(10_000))
            .build();
        simulation.connect();
        simulation.run_for(secs(120));
        assert!(super::everything_arrived(&simulation, Side::Near, 10_000));
        let timeouts = simulation
            .connection(Side::Far, 0)
            .unwrap()
            .statistics()
            .counters
            .timeouts;
        assert_eq!(timeouts == 0, timestamps, "{timeouts} timeouts");
    }
}

/// After a lost SYN or SYN/ACK the initial window is one segment (RFC 5681 §3.1).
#[test]
fn initial_window_is_one_segment_after_lost_syn() {
    let window = |lost: usize| {
        let mut simulation = TcpScenario::over(Seed(1), dsl()).near_app(TcpApp::bulk()).build();
        let link = simulation.paths()[0].forward[0];
        let mut count = 0;
        simulation.network_mut().set_filter(
            link,
            Box::new(move |_, _| {
                count += 1;
                if count <= lost {
                    FilterAction::Drop
                } else {
                    FilterAction::Pass
                }
            }),
        );
        simulation.connect();
        let is_open = |simulation: &TcpSimulation| {
            let connection = simulation.connection(Side::Near, 0);
            connection.is_some_and(|connection| connection.statistics().state == State::Established)
        };
        assert!(simulation.run_until(secs(10), is_open));
        let facts = simulation
            .connection(Side::Near, 0)
            .expect("it is open")
            .statistics()
            .facts;
        facts.cwnd / u64::from(facts.max_data_chunk)
    };
    assert_eq!((window(0), window(1)), (10, 1));
}

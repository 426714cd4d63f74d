//! TCP flow control: windows, zero-window probes, delayed ACKs, Nagle's algorithm.

use anabranch_netsim::LinkConfig;
use anabranch_sim::Side;
use anabranch_sim::app::Reading;
use anabranch_sim::tcp::{State, TcpApp, TcpConfig, TcpScenario};
use anabranch_types::{Rate, Seed};

use super::{dsl, everything_arrived, watch, watch_back};
use crate::fixture::{mbit, ms, secs};

#[test]
fn zero_window_is_probed_until_reader_resumes() {
    let config = TcpConfig {
        receive_buffer: 50_000,
        ..TcpConfig::default()
    };
    let mut simulation = TcpScenario::over(Seed(1), dsl())
        .config(config)
        .near_app(TcpApp::sender(400_000))
        .far_app(TcpApp::reader().reading(Reading::Paused))
        .build();
    simulation.connect();
    simulation.run_for(secs(30));
    assert_eq!(
        simulation.connection(Side::Far, 0).unwrap().unread(),
        50_000,
        "no byte more"
    );
    let seen = watch(&mut simulation);
    simulation.run_for(secs(600));
    let probes = seen.lock().unwrap().len();
    assert!(
        (9..40).contains(&probes),
        "once a minute at least, and not much more often: {probes}"
    );
    assert_eq!(
        simulation.connection(Side::Near, 0).unwrap().state(),
        State::Established
    );
    simulation.talk(Side::Far, 0, |app, connection, now| {
        app.read_otherwise(now, Reading::Eager, connection);
    });
    simulation.run_for(secs(5));
    assert!(everything_arrived(&simulation, Side::Far, 400_000));
}

#[test]
fn slow_reader_gets_full_segments() {
    let config = TcpConfig {
        receive_buffer: 30_000,
        ..TcpConfig::default()
    };
    let mut simulation = TcpScenario::over(Seed(1), dsl())
        .config(config)
        .near_app(TcpApp::sender(250_000))
        .far_app(TcpApp::reader().reading(Reading::AtRate(Rate::mbit(1))))
        .build();
    let seen = watch(&mut simulation);
    simulation.connect();
    assert!(simulation.run_until(secs(4), |simulation| everything_arrived(
        simulation,
        Side::Far,
        250_000
    )));
    assert!(
        simulation.now() - anabranch_types::Instant::ZERO > ms(1_800),
        "250 kB at 1 Mbit/s take 2 s"
    );
    let seen = seen.lock().unwrap();
    let small = seen
        .iter()
        .filter(|(_, _, payload)| (1..1_000).contains(payload))
        .count();
    assert!(small < 6, "{small} small segments");
}

#[test]
fn window_scale_fills_a_long_fat_path() {
    let satellite = LinkConfig::new(mbit(20), ms(250));
    let buffers = |scaling| TcpConfig {
        send_buffer: 4 << 20,
        receive_buffer: 4 << 20,
        window_scaling: scaling,
        ..TcpConfig::default()
    };
    let delivered = |scaling| {
        let mut simulation = TcpScenario::over(
            Seed(1),
            satellite
                .clone()
                .queue(anabranch_netsim::link::QueueConfig::Packets(1_000)),
        )
        .config(buffers(scaling))
        .near_app(TcpApp::bulk())
        .build();
        simulation.connect();
        simulation.run_for(secs(30));
        simulation.app(Side::Far, 0).unwrap().bytes_read()
    };
    let (with, without) = (delivered(true), delivered(false));
    assert!(with > 45_000_000, "{with}");
    assert!(without < 65_536 * 60, "one window in each round trip: {without}");
}

#[test]
fn quick_acks_come_first_then_every_second_segment() {
    let mut simulation = TcpScenario::over(Seed(1), dsl())
        .near_app(TcpApp::sender(100 * 1_448))
        .build();
    let acks = watch_back(&mut simulation);
    simulation.connect();
    simulation.run_for(secs(5));
    // SYN-ACK, sixteen at once, half of the rest, FIN and its like.
    let (acks, expected) = (acks.lock().unwrap().len(), 1 + 16 + 84 / 2 + 1);
    assert!(acks.abs_diff(expected) <= 2, "{acks}, not {expected}");
}

#[test]
fn nagle_delays_small_writes_unless_disabled() {
    let segments = |nagle| {
        let config = TcpConfig {
            nagle,
            ..TcpConfig::default()
        };
        let mut simulation = TcpScenario::over(Seed(1), dsl())
            .config(config)
            .near_app(TcpApp::bulk().holding_back(u64::MAX))
            .build();
        let seen = watch(&mut simulation);
        simulation.connect();
        simulation.run_for(secs(1));
        for _ in 0..100 {
            simulation.talk(Side::Near, 0, |app, connection, now| {
                app.hands_over(now, 10, connection);
            });
            simulation.run_for(ms(2));
        }
        simulation.run_for(secs(1));
        assert_eq!(simulation.app(Side::Far, 0).unwrap().bytes_read(), 1_000);
        let seen = seen.lock().unwrap();
        seen.iter().filter(|(_, _, payload)| *payload > 0).count()
    };
    assert_eq!(segments(false), 100);
    assert!((4..12).contains(&segments(true)), "one for each round trip");
}

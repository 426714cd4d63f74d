//! End of a TCP connection: close, reset, timeout.

use anabranch_sim::tcp::{CloseReason, Event, State, TcpApp, TcpScenario};
use anabranch_sim::{Side, Step};
use anabranch_types::Seed;

use super::{FIN, RST, dsl, everything_arrived, times, watch, watch_back};
use crate::fixture::{ms, secs};

#[test]
fn active_closer_stays_in_time_wait_for_a_minute() {
    let mut simulation = TcpScenario::over(Seed(1), dsl())
        .near_app(TcpApp::sender(10_000))
        .build();
    simulation.connect();
    simulation.run_for(secs(2));
    assert!(everything_arrived(&simulation, Side::Far, 10_000));
    assert_eq!(
        simulation.connection(Side::Near, 0).unwrap().state(),
        State::TimeWait
    );
    assert_eq!(
        simulation.connection(Side::Far, 0).unwrap().state(),
        State::Closed
    );
    simulation.run_for(secs(60));
    assert_eq!(
        simulation.connection(Side::Near, 0).unwrap().state(),
        State::Closed
    );
    for side in Side::BOTH {
        let last = simulation.app(side, 0).unwrap().events().last();
        assert!(
            matches!(last, Some((_, Event::Closed(CloseReason::Finished)))),
            "{side:?}: {last:?}"
        );
    }
}

#[test]
fn half_closed_connection_still_carries_data() {
    let mut simulation = TcpScenario::over(Seed(1), dsl())
        .near_app(TcpApp::sender(10))
        .far_app(TcpApp::sender(500_000))
        .build();
    simulation.connect();
    simulation.run_for(ms(200));
    assert_eq!(
        simulation.connection(Side::Near, 0).unwrap().state(),
        State::FinWait2
    );
    simulation.run_for(secs(5));
    assert!(everything_arrived(&simulation, Side::Near, 500_000));
}

#[test]
fn lost_fin_is_retransmitted() {
    let mut simulation = TcpScenario::over(Seed(1), dsl())
        .near_app(TcpApp::sender(100))
        .build();
    let seen = watch(&mut simulation);
    simulation.connect();
    simulation.run_for(ms(50));
    simulation.happens(Step::Cut(0));
    simulation.run_for(secs(2));
    simulation.happens(Step::Heal(0));
    simulation.run_for(secs(10));
    assert!(times(&seen, FIN).len() > 1);
    assert!(everything_arrived(&simulation, Side::Far, 100));
}

#[test]
fn abort_sends_reset() {
    let mut simulation = TcpScenario::over(Seed(1), dsl()).near_app(TcpApp::bulk()).build();
    let seen = watch(&mut simulation);
    simulation.connect();
    simulation.run_for(secs(1));
    simulation.talk(Side::Near, 0, |_, connection, _| connection.abort());
    simulation.run_for(secs(1));
    assert!(
        times(&seen, RST)[0] < 1.001,
        "at once, and again for each segment that was under way"
    );
    let last = simulation.app(Side::Far, 0).unwrap().events().last();
    assert!(
        matches!(last, Some((_, Event::Closed(CloseReason::Reset)))),
        "{last:?}"
    );
}

#[test]
fn unknown_connection_gets_reset() {
    let mut simulation = TcpScenario::over(Seed(1), dsl()).near_app(TcpApp::bulk()).build();
    let seen = watch_back(&mut simulation);
    simulation.connect();
    simulation.run_for(secs(1));
    let far = simulation.host(Side::Far).apps().next().unwrap().0;
    simulation.act(Side::Far, |host, _| host.forget(far));
    simulation.run_for(secs(1));
    assert!(!times(&seen, RST).is_empty());
    assert_eq!(
        simulation.connection(Side::Near, 0).unwrap().state(),
        State::Closed
    );
}

#[test]
fn silent_peer_times_out() {
    let mut simulation = TcpScenario::over(Seed(1), dsl()).near_app(TcpApp::bulk()).build();
    simulation.connect();
    simulation.run_for(secs(1));
    simulation.happens(Step::Cut(0));
    simulation.run_for(secs(3_600));
    let last = simulation.app(Side::Near, 0).unwrap().events().last();
    assert!(
        matches!(last, Some((_, Event::Closed(CloseReason::TimedOut)))),
        "{last:?}"
    );
}

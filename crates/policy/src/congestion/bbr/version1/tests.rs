//! Tests of BBR, version 1, at a bottleneck.

use core::time::Duration;

use super::{BbrV1Parameters, CYCLE, Phase};
use crate::congestion::bbr::testing::{Pipe, RATE};
use crate::testing::{CHUNK, ms};

const PRODUCT: u64 = RATE * 40 / 1_000;

fn until(pipe: &mut Pipe<BbrV1Parameters>, wanted: impl Fn(Phase) -> bool, limit: Duration) {
    let end = pipe.now + limit;
    while !wanted(pipe.state().phase) {
        assert!(pipe.now < end, "{:?}", pipe.state());
        pipe.step();
    }
}

fn in_cycle(phase: Phase) -> bool {
    matches!(phase, Phase::ProbeBw(_))
}

#[test]
fn startup_finds_the_rate_and_drain_empties_the_queue() {
    let mut pipe = Pipe::new(BbrV1Parameters::default());
    until(&mut pipe, in_cycle, ms(1_500));
    let rate = pipe.state().rate();
    assert!(rate > RATE * 98 / 100 && rate < RATE * 102 / 100, "{rate}");
    assert!(pipe.in_flight() <= PRODUCT + 8 * CHUNK, "{}", pipe.in_flight());
}

#[test]
fn the_cycle_takes_eight_round_trips_with_these_gains() {
    let mut pipe = Pipe::new(BbrV1Parameters::default());
    until(&mut pipe, in_cycle, ms(1_500));
    until(&mut pipe, |phase| phase == Phase::ProbeBw(0), ms(1_000));
    let begin = pipe.now;
    for step in 1..=8 {
        let next = Phase::ProbeBw(step % CYCLE.len());
        until(&mut pipe, |phase| phase == next, ms(200));
        let state = pipe.state();
        let expected = state.rate() * CYCLE[step % 8] * 99 / 100_000;
        assert!(state.pacing_rate.abs_diff(expected) <= 1, "{state:?}");
    }
    let lasted = pipe.now - begin;
    assert!(lasted >= ms(240) && lasted <= ms(400), "{lasted:?}");
}

#[test]
fn probe_rtt_keeps_four_chunks_in_flight_for_200_ms() {
    let mut pipe = Pipe::new(BbrV1Parameters::default());
    until(&mut pipe, in_cycle, ms(1_500));
    pipe.extra_delay = ms(5);
    until(&mut pipe, |phase| matches!(phase, Phase::ProbeRtt(_)), ms(11_000));
    let begin = pipe.now;
    let mut least = u64::MAX;
    while matches!(pipe.state().phase, Phase::ProbeRtt(_)) {
        pipe.step();
        least = least.min(pipe.in_flight());
    }
    let lasted = pipe.now - begin;
    assert!(lasted >= ms(200) && lasted <= ms(400), "{lasted:?}");
    assert!(least <= 5 * CHUNK, "{least}");
}

#[test]
fn a_recovery_begins_with_what_is_left_in_flight() {
    let mut pipe = Pipe::new(BbrV1Parameters::default());
    until(&mut pipe, in_cycle, ms(1_500));
    pipe.enter_recovery();
    let state = pipe.state();
    assert!(
        state.conserves && state.cwnd <= pipe.in_flight() + CHUNK,
        "{state:?}"
    );
}

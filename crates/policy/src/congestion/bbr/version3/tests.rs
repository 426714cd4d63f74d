//! Tests of BBR, version 3, at a bottleneck.

use core::time::Duration;

use anabranch_types::{Instant, SendNumber};

use super::{Bbr, BbrParameters, Phase, UNBOUNDED};
use crate::congestion::bbr::testing::{Pipe, RATE};
use crate::testing::{CHUNK, healthy, ms};
use crate::{CongestionControl, LossCause, LossEvent, LostPackets};

/// The product of rate and round-trip time in bytes.
const PRODUCT: u64 = RATE * 40 / 1_000;

fn phase(pipe: &Pipe<BbrParameters>) -> Phase {
    pipe.state().phase
}

/// Runs until the phase is `wanted`, for at most `limit`.
fn until(pipe: &mut Pipe<BbrParameters>, wanted: Phase, limit: Duration) {
    let end = pipe.now + limit;
    while phase(pipe) != wanted {
        assert!(pipe.now < end, "no {wanted:?}, but {:?}", phase(pipe));
        pipe.step();
    }
}

#[test]
fn startup_finds_the_rate_and_drain_empties_the_queue() {
    let mut pipe = Pipe::new(BbrParameters::DEFAULT);
    until(&mut pipe, Phase::Drain, ms(1_000));
    let rate = pipe.state().max_rate();
    assert!(rate > RATE * 98 / 100 && rate < RATE * 102 / 100, "{rate}");
    until(&mut pipe, Phase::Cruise, ms(500));
    assert!(pipe.in_flight() <= PRODUCT + CHUNK, "{}", pipe.in_flight());
}

#[test]
fn pacing_and_cwnd_follow_the_gains_of_each_phase() {
    let mut pipe = Pipe::new(BbrParameters::DEFAULT);
    for (wanted, pacing) in [
        (Phase::Cruise, 100),
        (Phase::Refill, 100),
        (Phase::Up, 125),
        (Phase::Down, 90),
    ] {
        until(&mut pipe, wanted, ms(8_000));
        let state = pipe.state();
        let expected = state.rate * pacing * 99 / 10_000;
        assert!(state.pacing_rate.abs_diff(expected) <= 1, "{wanted:?}: {state:?}");
        let most = state.product(state.rate, wanted.cwnd_gain()) + state.aggregation.extra() + 2 * CHUNK;
        assert!(state.cwnd <= most, "{wanted:?}: {} above {most}", state.cwnd);
    }
}

/// The most in flight in two seconds after a Cruise whose rate is a tenth too high.
fn most_in_flight(short_queues: bool) -> u64 {
    let mut pipe = Pipe::new(BbrParameters::DEFAULT);
    until(&mut pipe, Phase::Cruise, ms(1_500));
    let state = pipe.state_mut();
    state.short_queues = short_queues;
    state.max_rates[0] = RATE * 11 / 10;
    let end = pipe.now + ms(2_000);
    let mut most = 0;
    while pipe.now < end && phase(&pipe) == Phase::Cruise {
        pipe.step();
        most = most.max(pipe.in_flight());
    }
    most
}

#[test]
fn short_queues_stay_short_if_the_rate_is_too_high() {
    let allowed = PRODUCT * 11 / 10 * 5 / 4 + 3 * CHUNK;
    let short = most_in_flight(true);
    assert!(short <= allowed, "{short} {allowed}");
    let long = most_in_flight(false);
    assert!(long > allowed, "otherwise the first half shows nothing: {long}");
}

#[test]
fn probes_for_bandwidth_are_two_to_three_seconds_or_63_rounds_apart() {
    let mut pipe = Pipe::new(BbrParameters::DEFAULT);
    until(&mut pipe, Phase::Up, ms(8_000));
    for _ in 0..5 {
        until(&mut pipe, Phase::Down, ms(1_000));
        let begin = pipe.now;
        until(&mut pipe, Phase::Refill, ms(4_000));
        let waited = pipe.now - begin;
        assert!(waited >= ms(2_000) && waited <= ms(3_050), "{waited:?}");
        until(&mut pipe, Phase::Up, ms(1_000));
    }
}

#[test]
fn mean_queue_is_a_small_part_of_the_product() {
    let mut pipe = Pipe::new(BbrParameters::DEFAULT);
    until(&mut pipe, Phase::Cruise, ms(4_000));
    let (mut queued, mut count, begin) = (0, 0, pipe.now);
    while pipe.now < begin + Duration::from_secs(20) {
        pipe.step();
        queued += pipe.in_flight().saturating_sub(PRODUCT);
        count += 1;
    }
    assert!(queued / count < PRODUCT / 4, "{} of {PRODUCT}", queued / count);
}

/// A path whose round-trip time has grown for good: nothing is as low as the minimum.
#[test]
fn probe_rtt_halves_the_flight_for_200_ms_after_five_seconds() {
    let mut pipe = Pipe::new(BbrParameters::DEFAULT);
    until(&mut pipe, Phase::Cruise, ms(4_000));
    pipe.extra_delay = ms(5);
    let since = pipe.now;
    until(&mut pipe, Phase::ProbeRtt, ms(6_000));
    assert!(pipe.now - since >= ms(3_000), "{:?}", pipe.now - since);
    let begin = pipe.now;
    let mut least = u64::MAX;
    while phase(&pipe) == Phase::ProbeRtt {
        pipe.step();
        least = least.min(pipe.in_flight());
    }
    let lasted = pipe.now - begin;
    assert!(lasted >= ms(200) && lasted <= ms(340), "{lasted:?}");
    assert!(least <= PRODUCT * 6 / 10, "{least} of {PRODUCT}");
    assert_eq!(phase(&pipe), Phase::Cruise);
}

#[test]
fn a_probe_that_loses_more_than_two_per_cent_bounds_the_flight() {
    let mut pipe = Pipe::new(BbrParameters::DEFAULT);
    pipe.queue = PRODUCT / 10;
    until(&mut pipe, Phase::Up, ms(8_000));
    until(&mut pipe, Phase::Down, ms(1_000));
    let bound = pipe.state().bounds.longterm;
    assert!(
        bound != UNBOUNDED && bound <= PRODUCT * 13 / 10,
        "{bound} of {PRODUCT}"
    );
    until(&mut pipe, Phase::Cruise, ms(1_000));
    pipe.step();
    assert!(pipe.state().cwnd <= bound * 86 / 100, "15 % are left to others");
}

#[test]
fn timeout_leaves_one_chunk_and_the_model() {
    let mut pipe = Pipe::new(BbrParameters::DEFAULT);
    until(&mut pipe, Phase::Cruise, ms(4_000));
    let rate = pipe.state().max_rate();
    pipe.time_out();
    assert_eq!(pipe.state().cwnd, CHUNK);
    let begin = pipe.now;
    while pipe.state().cwnd < PRODUCT {
        pipe.step();
        assert!(pipe.now < begin + ms(1_000), "{:?}", pipe.state());
    }
    assert!(pipe.state().max_rate() >= rate * 9 / 10);
}

#[test]
fn one_path_at_a_time_probes_the_rtt() {
    let mut bbr = Bbr::new(BbrParameters::DEFAULT);
    let paths = [healthy(0), healthy(1)];
    for path in &paths {
        bbr.add_path(path, Instant::ZERO);
    }
    for path in &paths {
        let state = bbr.model_mut(path.id);
        state.min_rtt.on_sample([Some(ms(10)), None], true, Instant::ZERO);
    }
    let now = Instant::ZERO + ms(6_000);
    for (number, path) in paths.iter().enumerate() {
        let sent = crate::SentPacket {
            bytes: CHUNK,
            in_flight_before: CHUNK,
            last: SendNumber(1),
        };
        bbr.on_sent(&sent, path, now);
        let mut ack = crate::testing::in_order(path.id.0, 2 * CHUNK, CHUNK);
        ack.latest_send_number = Some(SendNumber(1));
        ack.rtt_sample = Some(crate::SentOnce {
            sent_at: now,
            tsn: crate::testing::tsn(1),
        });
        bbr.on_ack(&crate::testing::sack(&[ack]), &paths, now + ms(30));
        let probes = paths
            .iter()
            .filter(|path| bbr.model(path.id).phase == Phase::ProbeRtt)
            .count();
        assert_eq!(probes, 1, "after path {number}");
    }
}

#[test]
fn random_losses_below_the_threshold_leave_the_rate() {
    let mut pipe = Pipe::new(BbrParameters::DEFAULT);
    pipe.lose_each = Some(200);
    until(&mut pipe, Phase::Cruise, ms(4_000));
    let begin = (pipe.now, pipe.delivered());
    while pipe.now < begin.0 + Duration::from_secs(20) {
        pipe.step();
    }
    let goodput = (pipe.delivered() - begin.1) / 20;
    assert!(goodput > RATE * 90 / 100, "{goodput} of {RATE}");
}

const LEARNING: BbrParameters = BbrParameters {
    loss_floor: true,
    ..BbrParameters::DEFAULT
};

/// What a pipe with each `lose_each`th packet lost delivers in 20 s from its first Cruise on, in bytes per second.
fn goodput(parameters: BbrParameters, lose_each: u64) -> u64 {
    let mut pipe = Pipe::new(parameters);
    pipe.lose_each = Some(lose_each);
    until(&mut pipe, Phase::Cruise, ms(8_000));
    let begin = (pipe.now, pipe.delivered());
    while pipe.now < begin.0 + Duration::from_secs(20) {
        pipe.step();
    }
    (pipe.delivered() - begin.1) / 20
}

#[test]
fn random_losses_above_the_threshold_leave_the_rate_with_a_loss_floor() {
    let (learned, draft) = (goodput(LEARNING, 20), goodput(BbrParameters::DEFAULT, 20));
    assert!(learned > RATE * 85 / 100, "{learned} of {RATE}");
    assert!(draft < learned * 3 / 4, "{draft} of {learned}");
}

#[test]
fn losses_of_a_full_queue_make_no_loss_floor() {
    let mut pipe = Pipe::new(LEARNING);
    pipe.queue = PRODUCT / 4;
    until(&mut pipe, Phase::Cruise, ms(8_000));
    let end = pipe.now + Duration::from_secs(20);
    while pipe.now < end {
        pipe.step();
    }
    let allowed = pipe.state().allowed(PRODUCT, 0);
    assert!(allowed < PRODUCT / 100, "{allowed} of {PRODUCT}");
    assert_ne!(pipe.state().bounds.longterm, UNBOUNDED);
}

#[test]
fn no_loss_floor_allows_more_than_a_fifth() {
    let mut pipe = Pipe::new(LEARNING);
    pipe.lose_each = Some(2);
    let end = pipe.now + Duration::from_secs(20);
    while pipe.now < end {
        pipe.step();
        assert!(pipe.state().allowed(PRODUCT, 2) <= PRODUCT / 5);
    }
}

#[test]
fn losses_of_an_unknown_packet_only_count() {
    let mut bbr = Bbr::new(BbrParameters::DEFAULT);
    let path = healthy(0);
    bbr.add_path(&path, Instant::ZERO);
    let before = bbr.cwnd(path.id);
    let lost = LostPackets {
        bytes: CHUNK,
        last: SendNumber(7),
    };
    bbr.on_lost(&lost, &path, Instant::ZERO);
    let event = LossEvent {
        path: path.id,
        cause: LossCause::FastRetransmit,
        bytes: CHUNK,
    };
    bbr.on_loss(&event, core::slice::from_ref(&path), Instant::ZERO);
    assert_eq!(bbr.cwnd(path.id), before);
}

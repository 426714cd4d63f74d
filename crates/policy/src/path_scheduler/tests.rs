//! Tests of the path schedulers.

use alloc::vec;
use alloc::vec::Vec;

use anabranch_types::{Instant, PathId};

use super::{
    Blest, BlestParameters, Capacity, CapacityParameters, Ecf, EcfParameters, InOrderArrival,
    InOrderArrivalParameters, LargestSpace, MinRtt, Primary, RoundRobin, WithinWindow,
    WithinWindowParameters,
};
use crate::parameters::NoParameters;
use crate::testing::{CHUNK, at, healthy, in_order, ms, sack, tsn};
use crate::{Backlog, LossCause, LossEvent, PathFacts, PathScheduler, Pick, Reachability, SentOnce};

fn three_paths() -> Vec<PathFacts> {
    vec![healthy(0), healthy(1), healthy(2)]
}

fn pick(scheduler: &mut dyn PathScheduler, paths: &[PathFacts]) -> Option<u8> {
    pick_for(scheduler, paths, &Backlog::default())
}

fn pick_for(scheduler: &mut dyn PathScheduler, paths: &[PathFacts], backlog: &Backlog) -> Option<u8> {
    match scheduler.pick(paths, backlog, Instant::ZERO) {
        Pick::On(path) => Some(path.0),
        Pick::Ahead { .. } => unreachable!("only in-order-arrival goes ahead"),
        Pick::Wait { .. } => None,
    }
}

/// A path of 20 ms with a full cwnd, and one of 200 ms that can take data.
fn fast_full_and_slow_open() -> [PathFacts; 2] {
    let mut paths = [healthy(0), healthy(1)];
    paths[0].in_flight = paths[0].cwnd;
    paths[0].sendable = 0;
    paths[1].set_srtt(Some(ms(200)));
    paths
}

fn backlog(chunks: u64) -> Backlog {
    Backlog {
        unsent_bytes: chunks * CHUNK,
        peer_window: 1_000 * CHUNK,
        send_window: 1_000 * CHUNK,
        bound: None,
    }
}

/// The paths of the packets of one output call in which each path takes two.
fn round(scheduler: &mut dyn PathScheduler) -> Vec<u8> {
    let mut paths = three_paths();
    paths.iter_mut().for_each(|path| path.sendable = 2 * CHUNK);
    scheduler.on_round();
    let mut picked = Vec::new();
    while let Some(path) = pick(scheduler, &paths) {
        paths[usize::from(path)].sendable -= CHUNK;
        picked.push(path);
    }
    picked
}

//= rfc9260 6.4-1
#[test]
fn primary_waits_while_its_path_is_full() {
    let mut scheduler = Primary::new(NoParameters);
    let mut paths = three_paths();
    assert_eq!(pick(&mut scheduler, &paths), Some(0));
    paths[0].sendable = 0;
    assert_eq!(pick(&mut scheduler, &paths), None);
    paths[0].reachability = Reachability::Inactive;
    assert_eq!(pick(&mut scheduler, &paths), Some(1));
}

#[test]
fn round_robin_starts_each_round_at_the_next_path() {
    let mut scheduler = RoundRobin::new(NoParameters);
    assert_eq!(round(&mut scheduler), [0, 0, 1, 1, 2, 2]);
    assert_eq!(round(&mut scheduler), [1, 1, 2, 2, 0, 0]);
    assert_eq!(round(&mut scheduler), [2, 2, 0, 0, 1, 1]);
    assert_eq!(round(&mut scheduler), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn min_rtt_prefers_unmeasured_then_fastest_path() {
    let mut scheduler = MinRtt::new(NoParameters);
    let mut paths = three_paths();
    paths[0].set_srtt(Some(ms(80)));
    paths[2].set_srtt(Some(ms(10)));
    assert_eq!(pick(&mut scheduler, &paths), Some(2));
    paths[2].sendable = 0;
    assert_eq!(pick(&mut scheduler, &paths), Some(1));
    paths[0].set_srtt(None);
    assert_eq!(pick(&mut scheduler, &paths), Some(0));
}

#[test]
fn if_all_paths_failed_the_one_with_fewest_errors_is_used() {
    for scheduler in [
        &mut MinRtt::new(NoParameters) as &mut dyn PathScheduler,
        &mut RoundRobin::new(NoParameters),
        &mut Primary::new(NoParameters),
    ] {
        let mut paths = three_paths();
        for (path, errors) in paths.iter_mut().zip([3, 1, 2]) {
            path.reachability = Reachability::PotentiallyFailed;
            path.errors = errors;
        }
        assert_eq!(pick(scheduler, &paths), Some(1), "{}", scheduler.name());
    }
}

#[test]
fn an_unconfirmed_path_is_never_used() {
    let mut path = healthy(0);
    path.reachability = Reachability::Unconfirmed;
    assert_eq!(pick(&mut MinRtt::new(NoParameters), &[path]), None);
}

#[test]
fn largest_space_shares_data_in_proportion_to_cwnd() {
    let mut scheduler = LargestSpace::new(NoParameters);
    let mut paths = [healthy(0), healthy(1)];
    paths[1].cwnd = 20 * CHUNK;
    paths[0].set_srtt(Some(ms(1)));
    let mut taken = [0, 0];
    for _ in 0..30 {
        let path = usize::from(pick(&mut scheduler, &paths).unwrap());
        taken[path] += 1;
        paths[path].in_flight += CHUNK;
        paths[path].sendable = paths[path].cwnd - paths[path].in_flight;
    }
    assert_eq!(taken, [10, 20]);
    assert_eq!(pick(&mut scheduler, &paths), None);
}

#[test]
fn ecf_waits_only_while_the_fast_path_finishes_sooner() {
    let mut scheduler = Ecf::new(EcfParameters::default());
    let paths = fast_full_and_slow_open();
    // 20 ms per round trip and 2 ms per chunk: 80 chunks take 180 ms, 100 take 220 ms.
    assert_eq!(pick_for(&mut scheduler, &paths, &backlog(80)), None);
    // It waits already, so with hysteresis it waits up to 250 ms.
    assert_eq!(pick_for(&mut scheduler, &paths, &backlog(100)), None);
    assert_eq!(pick_for(&mut scheduler, &paths, &backlog(120)), Some(1));
    assert_eq!(pick_for(&mut scheduler, &paths, &backlog(100)), Some(1));
    // Even a single chunk takes 200 ms over the slow path, and 40 ms over the fast one.
    assert_eq!(pick_for(&mut scheduler, &paths, &backlog(1)), None);
}

#[test]
fn blest_waits_if_a_slow_packet_would_block_the_send_window() {
    let mut scheduler = Blest::new(BlestParameters {
        lambda_per_mille: 1_000,
    });
    let paths = fast_full_and_slow_open();
    // Ten round trips of 10 chunks, growing by one each: (10 + 9 / 2) · 10 = 145.
    let window = |chunks: u64| Backlog {
        send_window: chunks * CHUNK,
        ..backlog(1_000)
    };
    assert_eq!(pick_for(&mut scheduler, &paths, &window(145)), None);
    assert_eq!(pick_for(&mut scheduler, &paths, &window(146)), Some(1));
}

#[test]
fn blest_raises_lambda_when_the_window_was_blocked() {
    let mut scheduler = Blest::new(BlestParameters::default());
    let paths = fast_full_and_slow_open();
    let enough = Backlog {
        send_window: 177 * CHUNK,
        ..backlog(1_000)
    };
    let mut now = Instant::ZERO + ms(200);
    assert_eq!(scheduler.pick(&paths, &enough, now), Pick::On(paths[1].id));
    scheduler.on_blocked();
    now += ms(200);
    assert_eq!(scheduler.pick(&paths, &enough, now), Pick::Wait { until: None });
}

/// Two full paths of 20 ms that carry 10 chunks in a round trip each, and an open one of 200 ms.
fn two_full_and_a_slow_one() -> [PathFacts; 3] {
    let mut paths = [healthy(0), healthy(1), healthy(2)];
    for path in &mut paths[..2] {
        path.in_flight = path.cwnd;
        path.sendable = 0;
    }
    paths[2].set_srtt(Some(ms(200)));
    paths[2].set_min_rtt(Some(ms(200)));
    paths
}

fn within_window() -> WithinWindow {
    WithinWindow::new(WithinWindowParameters {
        lambda_per_mille: 1_000,
    })
}

fn window(chunks: u64) -> Backlog {
    Backlog {
        send_window: chunks * CHUNK,
        ..backlog(1_000)
    }
}

#[test]
fn within_window_counts_what_all_faster_paths_send_meanwhile() {
    let paths = two_full_and_a_slow_one();
    // In 200 ms each of the fast paths sends 100 chunks. A smaller window is acknowledged sooner without the slow path.
    assert_eq!(pick_for(&mut within_window(), &paths, &window(199)), None);
    assert_eq!(pick_for(&mut within_window(), &paths, &window(200)), Some(2));
}

#[test]
fn within_window_limits_the_queue_of_a_thin_path() {
    // Path 0 carries 10 chunks in 20 ms. Path 1 carries one in 20 ms, so ten of them take 200 ms.
    let mut paths = [healthy(0), healthy(1)];
    paths[0].sendable = 0;
    paths[0].in_flight = paths[0].cwnd;
    paths[1].cwnd = CHUNK;
    let limit = |in_flight: u64, paths: &mut [PathFacts; 2]| {
        paths[1].in_flight = in_flight * CHUNK;
        pick_for(&mut within_window(), paths, &window(50))
    };
    assert_eq!(limit(0, &mut paths), Some(1));
    // Both send half a window of 50 chunks in 45 ms.
    assert_eq!(limit(1, &mut paths), Some(1), "40 ms");
    assert_eq!(limit(2, &mut paths), None, "60 ms");
}

/// The packets of the handshake took 17 ms on path 1, a full chunk takes 28 ms. Path 0 alone sends a window of 12 chunks in 24 ms.
#[test]
fn within_window_takes_the_round_trip_time_of_chunks() {
    let mut paths = [healthy(0), healthy(1)];
    paths[0].sendable = 0;
    paths[0].in_flight = paths[0].cwnd;
    paths[1].set_srtt(Some(ms(17)));
    paths[1].set_min_rtt(Some(ms(17)));
    assert_eq!(pick_for(&mut within_window(), &paths, &window(12)), Some(1));
    let mut scheduler = within_window();
    let mut ack = in_order(1, CHUNK, CHUNK);
    ack.rtt_sample = Some(SentOnce {
        sent_at: at(0),
        tsn: tsn(1),
    });
    scheduler.on_ack(&sack(&[ack]), &paths, at(28));
    paths[1].set_srtt(Some(ms(28)));
    assert_eq!(pick_for(&mut scheduler, &paths, &window(12)), None);
}

#[test]
fn within_window_rests_a_path_that_loses_until_that_is_forgotten() {
    let mut paths = two_full_and_a_slow_one();
    let mut scheduler = within_window();
    let ack = || in_order(2, CHUNK, CHUNK);
    // A window of 201 chunks takes 201 ms without the slow path. With it, 200 ms, but 220 ms where a chunk is lost.
    assert_eq!(scheduler.pick(&paths, &window(201), at(0)), Pick::On(PathId(2)));
    for _ in 0..20 {
        paths[2].lost_chunks += 1;
        scheduler.on_ack(&sack(&[ack()]), &paths, at(100));
    }
    let rests = Pick::Wait { until: None };
    assert_eq!(scheduler.pick(&paths, &window(201), at(200)), rests);
    assert_eq!(
        scheduler.pick(&paths, &window(220), at(300)),
        Pick::On(PathId(2)),
        "it fits"
    );
    // Nothing is acknowledged while it rests.
    assert_eq!(
        scheduler.pick(&paths, &window(201), at(60_000)),
        Pick::On(PathId(2))
    );
}

/// A path of 22 ms loses often. With one of 24 ms that alone could send the window in time, it only delays.
#[test]
fn within_window_leaves_out_a_lossy_path_that_is_a_little_faster() {
    let mut paths = [healthy(0), healthy(1)];
    paths[0].set_srtt(Some(ms(22)));
    paths[0].set_min_rtt(Some(ms(22)));
    paths[1].set_srtt(Some(ms(24)));
    paths[1].set_min_rtt(Some(ms(24)));
    paths[1].cwnd = 50 * CHUNK;
    let mut scheduler = within_window();
    let ack = || in_order(0, CHUNK, CHUNK);
    assert_eq!(scheduler.pick(&paths, &window(48), at(0)), Pick::On(PathId(0)));
    for _ in 0..50 {
        paths[0].lost_chunks += 1;
        scheduler.on_ack(&sack(&[ack()]), &paths, at(100));
    }
    assert_eq!(scheduler.pick(&paths, &window(48), at(200)), Pick::On(PathId(1)));
}

fn lost(path: &PathFacts) -> LossEvent {
    LossEvent {
        path: path.id,
        cause: LossCause::FastRetransmit,
        bytes: CHUNK,
    }
}

fn capacity_after_a_loss(paths: &mut [PathFacts]) -> Capacity {
    let mut scheduler = Capacity::new(CapacityParameters::default());
    for path in paths {
        scheduler.add_path(path.id);
        path.ssthresh = 8 * CHUNK;
        path.cwnd = 100 * CHUNK;
        path.sendable = 100 * CHUNK;
        scheduler.on_loss(&lost(path), &[], Instant::ZERO);
    }
    scheduler
}

#[test]
fn capacity_stops_at_the_estimate_set_by_a_loss() {
    // The capacity of both is (8 + 16) / 2 = 12 chunks; sending one more probes.
    let mut paths = [healthy(0), healthy(1)];
    let mut scheduler = capacity_after_a_loss(&mut paths);
    paths[0].set_srtt(Some(ms(10)));
    paths[0].in_flight = 5 * CHUNK;
    assert_eq!(
        pick(&mut scheduler, &paths),
        Some(0),
        "the fastest up to one half"
    );
    paths[0].in_flight = 7 * CHUNK;
    paths[1].in_flight = 5 * CHUNK;
    assert_eq!(pick(&mut scheduler, &paths), Some(1), "the other one beyond");
    paths[1].in_flight = 8 * CHUNK;
    assert_eq!(
        pick(&mut scheduler, &paths),
        Some(0),
        "the emptier one if both are"
    );
    for chunks in 8..15 {
        paths[0].in_flight = chunks * CHUNK;
        paths[1].in_flight = chunks * CHUNK;
        assert_eq!(pick(&mut scheduler, &paths), Some(0), "{chunks}");
    }
    paths[0].in_flight = 15 * CHUNK;
    paths[1].in_flight = 15 * CHUNK;
    assert_eq!(
        pick(&mut scheduler, &paths),
        None,
        "neither gets the sixteenth, which was lost"
    );
}

#[test]
fn capacity_grows_when_more_is_in_flight_than_before_the_loss() {
    let mut paths = [healthy(0)];
    let mut scheduler = capacity_after_a_loss(&mut paths);
    paths[0].in_flight = 15 * CHUNK;
    assert_eq!(pick(&mut scheduler, &paths), None);
    // As a larger δ would allow. (16 + 100) / 2 from now on.
    paths[0].in_flight = 16 * CHUNK;
    assert_eq!(pick(&mut scheduler, &paths), Some(0));
    paths[0].in_flight = 57 * CHUNK;
    assert_eq!(pick(&mut scheduler, &paths), Some(0));
}

fn in_order_arrival(design: u8) -> InOrderArrival {
    let mut scheduler = InOrderArrival::new(InOrderArrivalParameters {
        design,
        ..InOrderArrivalParameters::DEFAULT
    });
    scheduler.add_path(PathId(0));
    scheduler.add_path(PathId(1));
    scheduler
}

#[test]
fn in_order_arrival_skips_what_a_full_path_delivers_sooner() {
    // 10 ms and 100 ms: four more round trips of the fast path arrive before 100 ms, 10 chunks each.
    let paths = fast_full_and_slow_open();
    let mut scheduler = in_order_arrival(2);
    let ahead = Pick::Ahead {
        path: PathId(1),
        skip: 40 * CHUNK,
    };
    assert_eq!(scheduler.pick(&paths, &backlog(100), Instant::ZERO), ahead);
    assert_eq!(pick_for(&mut scheduler, &paths, &backlog(40)), None, "all of it");
    let begun = |ahead: u64| Backlog {
        bound: Some(ahead * CHUNK),
        ..backlog(100)
    };
    assert_eq!(pick_for(&mut scheduler, &paths, &begun(39)), None);
    assert_eq!(pick_for(&mut scheduler, &paths, &begun(40)), Some(1));
}

#[test]
fn in_order_arrival_learns_a_delivery_delay_above_the_rtt() {
    let mut paths = [healthy(0), healthy(1)];
    paths[1].set_srtt(Some(ms(30)));
    let mut scheduler = in_order_arrival(2);
    assert_eq!(
        pick_for(&mut scheduler, &paths, &backlog(1)),
        Some(0),
        "10 ms and 15 ms"
    );
    // First sent 50 ms ago, and the SACK took 10 ms of that.
    let mut ack = in_order(0, CHUNK, CHUNK);
    ack.in_order_since = Some(at(0));
    scheduler.on_ack(&sack(&[ack]), &paths, at(50));
    assert_eq!(
        pick_for(&mut scheduler, &paths, &backlog(1)),
        Some(1),
        "40 ms and 15 ms"
    );
}

#[test]
fn in_order_arrival_design_1_binds_each_chunk_to_one_path() {
    let mut paths = [healthy(0), healthy(1)];
    paths[1].set_srtt(Some(ms(50)));
    paths[0].cwnd = CHUNK;
    let mut scheduler = in_order_arrival(1);
    let packet = CHUNK - 16;
    let three = Backlog {
        unsent_bytes: 3 * packet,
        ..Backlog::default()
    };
    assert_eq!(
        pick_for(&mut scheduler, &paths, &three),
        Some(0),
        "10 ms and 25 ms"
    );
    scheduler.on_sent(PathId(0), packet, Instant::ZERO);
    paths[0].in_flight = CHUNK;
    paths[0].sendable = 0;
    let two = Backlog {
        unsent_bytes: 2 * packet,
        ..Backlog::default()
    };
    assert_eq!(pick_for(&mut scheduler, &paths, &two), Some(1), "30 ms and 25 ms");
    paths[1].set_srtt(Some(ms(900)));
    assert_eq!(pick_for(&mut scheduler, &paths, &two), Some(1), "bound is bound");
}

//! Failover (RFC 9260 §8, RFC 7829). What happens when a path fails, and when it recovers?

use core::time::Duration;

use anabranch_netsim::{LinkChange, LinkConfig, Probability};
use anabranch_policy::{PolicyRecipe, Reachability};
use anabranch_proto::{CloseReason, PathChange};
use anabranch_sim::app::{Draft, Streams};
use anabranch_sim::{Direction, Side};
use anabranch_types::{Instant, PathId};
use anabranch_wire::chunk::kind;
use anabranch_wire::dissect;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

/// Maximum time until an inactive path is probed: HB.interval and 1.5 times RTO.Max.
const AN_ANSWER_COMES: Duration = secs(30 + 90);

fn four_paths() -> PairBuilder {
    Pair::paths([(); 4].map(|()| LinkConfig::new(mbit(10), ms(20))))
}

#[test]
fn all_paths_are_confirmed_soon_after_handshake() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.run_for(ms(100));
    for path in [0, 1] {
        assert_eq!(pair.alice().reachability(path), Reachability::Active);
        assert_eq!(pair.bob().reachability(path), Reachability::Active);
    }
}

//= rfc7829 3.2-3
#[test]
fn cut_path_costs_one_timeout() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).seed(7).connected();
    pair.alice().send_forever();
    pair.run_for(secs(5));

    pair.cut_path(1);
    pair.run_for(secs(5));
    assert_ne!(pair.alice().reachability(1), Reachability::Active);
    assert!(pair.bob().goodput_in_last(secs(3)) > mbit(9));

    pair.heal_path(1);
    pair.run_until(
        |pair| pair.alice().reachability(1) == Reachability::Active,
        secs(60),
    );
    pair.run_for(secs(5));
    assert!(pair.bob().goodput_in_last(secs(3)) > mbit(18));
    pair.alice().stop_sending();
    pair.deliver_all(secs(10));
}

//= rfc7829 3.2-2, 3.2-7, 3.2-8, 3.2-12, 3.2-14, 3.2-19, 3.2-20, 3.2-21, 3.2-24, 4.1-2, 4.1-3
#[test]
fn dead_path_becomes_potentially_failed_then_inactive() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_forever();
    pair.run_for(secs(2));
    pair.cut_path(0);
    pair.run_until(
        |pair| pair.alice().reachability(0) == Reachability::PotentiallyFailed,
        secs(2),
    );
    pair.run_until(
        |pair| pair.alice().reachability(0) == Reachability::Inactive,
        secs(120),
    );
    assert!(
        pair.alice()
            .has_path_change(0, PathChange::Reachability(Reachability::PotentiallyFailed))
    );
    assert!(
        pair.alice()
            .has_path_change(0, PathChange::Reachability(Reachability::Inactive))
    );
}

//= rfc9260 6.4.1-1
//= rfc7829 3.2-4, 3.2-5
#[test]
fn data_moves_to_another_path_when_primary_fails() {
    for policies in [PolicyRecipe::recommended(), PolicyRecipe::rfc9260()] {
        let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(2));
        pair.cut_path(0);
        pair.run_for(secs(120));
        assert!(
            pair.bob().goodput_in_last(secs(5)) > mbit(9),
            "data goes on over path 1"
        );
        pair.heal_path(0);
        pair.run_until(
            |pair| pair.alice().reachability(0) == Reachability::Active,
            AN_ANSWER_COMES,
        );
    }
}

//= rfc7829 3.2-10, 4-1, 4.1-1
/// Without this, data last sent would wait for a backed-off T3 of up to a minute.
#[test]
fn data_resumes_when_any_path_recovers_from_total_outage() {
    for healed in [0, 1] {
        for failover in ["potentially-failed", "fast-failover"] {
            let mut policies = PolicyRecipe::recommended();
            policies.set("failover", failover).unwrap();
            policies.set("failover.peer-errors", "best").unwrap();
            let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
            pair.alice().send_forever();
            pair.run_for(secs(2));
            pair.cut_path(0);
            pair.cut_path(1);
            pair.run_for(secs(30));

            pair.heal_path(healed);
            pair.run_until(
                |pair| pair.alice().reachability(healed as u8) == Reachability::Active,
                // HB.interval and 1.5 times RTO.Max.
                secs(120),
            );
            pair.run_for(secs(2));
            let goodput = pair.bob().goodput_in_last(secs(1));
            assert!(goodput > mbit(9), "{goodput} over path {healed}");
        }
    }
}

//= rfc7829 3.2-17
/// Data sent in the outage is lost and would wait for a backed-off T3. Any acknowledged chunk, be it heartbeat, MTU
/// probe or DATA, shows that the path works again.
#[test]
fn data_resumes_soon_after_the_only_path_recovers() {
    for failover in ["potentially-failed", "fast-failover"] {
        for outage in (500..30_000).step_by(100) {
            let mut policies = PolicyRecipe::recommended();
            policies.set("failover", failover).unwrap();
            let mut pair = Pair::one_path(mbit(10), ms(20)).policies(policies).connected();
            pair.alice().send_forever();
            pair.run_for(secs(2));
            pair.cut_path(0);
            pair.run_for(ms(outage));

            pair.heal_path(0);
            pair.run_until(
                |pair| pair.alice().reachability(0) == Reachability::Active,
                secs(120),
            );
            let before = pair.bob().inbox().messages();
            // Three RTTs: acknowledgement, retransmission, acknowledgement.
            pair.run_for(ms(120));
            let after = pair.bob().inbox().messages();
            assert!(after > before, "{failover}, {outage} ms");
        }
    }
}

//= rfc7829 3.2-18
/// RFC 7829 §5: by default, data returns to the primary path when it becomes active.
#[test]
fn data_returns_to_primary_path_after_recovery() {
    for failover in ["rfc9260", "potentially-failed", "fast-failover"] {
        let mut policies = PolicyRecipe::rfc9260();
        policies.set("failover", failover).unwrap();
        let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
        pair.run_for(secs(1));
        pair.alice()
            .act(|_, association, _| association.set_primary(PathId(1)));
        pair.alice().send_forever();
        pair.run_for(secs(2));

        pair.cut_path(1);
        pair.run_for(secs(120));
        assert!(pair.bob().goodput_in_last(secs(5)) > mbit(9), "path 0 stands in");

        pair.heal_path(1);
        pair.run_until(
            |pair| pair.alice().reachability(1) == Reachability::Active,
            AN_ANSWER_COMES,
        );
        pair.run_for(secs(1));
        let stood_in = pair.alice().path(0).counters.payload_sent;
        pair.run_for(secs(5));
        assert_eq!(pair.alice().path(0).counters.payload_sent, stood_in, "{failover}");
        assert!(pair.bob().goodput_in_last(secs(3)) > mbit(9));
        assert!(pair.alice().path(1).primary);
    }
}

#[test]
fn application_can_set_the_primary_path() {
    let mut pair = Pair::two_paths(mbit(10), ms(20))
        .policies(PolicyRecipe::rfc9260())
        .connected();
    pair.run_for(secs(1));
    pair.alice()
        .act(|_, association, _| association.set_primary(PathId(1)));
    pair.alice().send_messages(100, 1_400, Streams::one(0));
    pair.deliver_all(secs(5));
    assert_eq!(pair.alice().path(0).counters.payload_sent, 0);
    assert_eq!(pair.alice().path(1).counters.payload_sent, 140_000);
}

//= rfc9260 3.3.5-1, 8.3-1
#[test]
fn heartbeats_detect_dead_path_of_idle_association() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.run_for(secs(1));
    pair.cut_path(1);
    pair.run_until(
        |pair| pair.alice().reachability(1) == Reachability::Inactive,
        secs(400),
    );
    assert_eq!(pair.alice().reachability(0), Reachability::Active);
    pair.heal_path(1);
    pair.run_until(
        |pair| pair.alice().reachability(1) == Reachability::Active,
        secs(100),
    );
    assert!(pair.is_connected());
}

/// RFC 9260 §8.2 without RFC 7829: six consecutive errors make a path inactive. The last one may be a heartbeat's,
/// while T3 still runs for a minute.
#[test]
fn data_in_flight_moves_when_heartbeats_fail_the_path() {
    let mut pair = Pair::two_paths(mbit(10), ms(20))
        .policies(PolicyRecipe::rfc9260())
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(2));
    pair.cut_path(0);
    pair.run_until(
        |pair| pair.alice().reachability(0) == Reachability::Inactive,
        secs(120),
    );
    assert_eq!(pair.alice().path(0).in_flight, 0);
    pair.run_for(secs(3));
    assert!(pair.bob().goodput_in_last(secs(1)) > mbit(9));
}

/// Heartbeats monitor idle paths (RFC 9260 §8.3); acknowledged data shows that a busy path works.
#[test]
fn path_with_data_gets_no_heartbeats_until_idle() {
    let mut policies = PolicyRecipe::recommended();
    policies.set("pmtu", "fixed").unwrap();
    let mut pair = Pair::two_paths(mbit(1), ms(20)).policies(policies).connected();
    pair.run_for(secs(1));

    let sent = pair.record_chunks_of_bob(0);
    pair.bob().send_messages(16_000, 1_400, Streams::one(0));
    pair.run_for(secs(80));
    assert!(sent.kinds().contains(&kind::DATA));
    assert!(!sent.kinds().contains(&kind::HEARTBEAT));

    pair.deliver_all(secs(60));
    pair.run_for(secs(40));
    assert!(sent.kinds().contains(&kind::HEARTBEAT));
}

#[test]
fn association_ends_when_all_paths_fail() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_forever();
    pair.run_for(secs(1));
    pair.cut_path(0);
    pair.cut_path(1);
    pair.run_until(|pair| pair.alice().is_closed(), secs(1_000));
    assert_eq!(pair.alice().close_reason(), Some(CloseReason::PeerUnreachable));
    pair.run_until(|pair| pair.bob().is_closed(), secs(1_000));
    assert_eq!(pair.bob().close_reason(), Some(CloseReason::PeerUnreachable));
}

/// With the rule of RFC 9260 §8.1 the same outage counts once for each path that carries data.
#[test]
fn one_minute_outage_is_survived_with_any_number_of_paths() {
    for (peer_errors, survives) in [("best", true), ("all", false)] {
        let mut policies = PolicyRecipe::recommended();
        policies.set("failover.peer-errors", peer_errors).unwrap();
        let mut pair = four_paths().policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(2));
        (0..4).for_each(|path| pair.cut_path(path));
        pair.run_for(secs(60));
        (0..4).for_each(|path| pair.heal_path(path));
        pair.run_for(secs(60));
        assert_eq!(pair.is_connected(), survives, "{peer_errors}");
    }
}

/// RFC 9260 §8.1: missed heartbeats on other paths do not count against a reachable peer.
#[test]
fn idle_association_survives_failure_of_three_of_four_paths() {
    for policies in [PolicyRecipe::recommended(), PolicyRecipe::rfc9260()] {
        for bob_sends in [false, true] {
            let mut pair = four_paths().policies(policies).connected();
            pair.run_for(secs(1));
            for path in 1..4 {
                pair.cut_path(path);
            }
            if bob_sends {
                pair.bob().send_paced(mbit(1));
            }
            pair.run_for(secs(300));
            assert!(pair.is_connected());
        }
    }
}

#[test]
fn idle_association_ends_when_all_paths_fail() {
    for policies in [PolicyRecipe::recommended(), PolicyRecipe::rfc9260()] {
        let mut pair = four_paths().policies(policies).connected();
        pair.run_for(secs(1));
        for path in 0..4 {
            pair.cut_path(path);
        }
        pair.run_until(|pair| pair.alice().is_closed(), secs(1_000));
        assert_eq!(pair.alice().close_reason(), Some(CloseReason::PeerUnreachable));
        pair.run_until(|pair| pair.bob().is_closed(), secs(1_000));
        assert_eq!(pair.bob().close_reason(), Some(CloseReason::PeerUnreachable));
    }
}

#[test]
fn short_outage_of_all_paths_is_survived() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_messages(2_000, 1_400, Streams::one(0));
    pair.run_for(ms(300));
    pair.cut_path(0);
    pair.cut_path(1);
    pair.run_for(secs(3));
    pair.heal_path(0);
    pair.heal_path(1);
    pair.deliver_all(secs(20));
}

#[test]
fn transfer_completes_with_a_unidirectional_path() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_messages(3_000, 1_400, Streams::in_turn(4));
    pair.run_for(ms(500));
    let reverse = pair.simulation.paths()[1].reverse[0];
    pair.simulation
        .network_mut()
        .change_link(reverse, LinkChange::Cut);
    pair.deliver_all(secs(60));
}

/// RFC 9260 §6.4: SACKs must not be sent on a path that drops them.
#[test]
fn unidirectional_path_does_not_slow_the_other_path() {
    for policies in [PolicyRecipe::recommended(), PolicyRecipe::cmt()] {
        let mut pair = Pair::two_paths(mbit(10), ms(20)).policies(policies).connected();
        pair.alice().send_forever();
        pair.run_for(secs(10));
        let reverse = pair.simulation.paths()[1].reverse[0];
        pair.simulation
            .network_mut()
            .change_link(reverse, LinkChange::Cut);
        let mut slowest = mbit(100);
        for _ in 0..6 {
            pair.run_for(secs(5));
            let goodput = pair.bob().goodput_in_last(secs(5));
            println!("{goodput}");
            slowest = slowest.min(goodput);
        }
        assert!(slowest > mbit(8), "{slowest}");
        pair.alice().stop_sending();
        pair.deliver_all(secs(60));
    }
}

/// Duplicates may mean that SACKs are lost, so the paths are checked. Until a check fails, SACKs do not move to a slow path, where they would
/// let the sender wait.
#[test]
fn duplicates_move_no_sacks_to_a_slow_path() {
    let fast = LinkConfig::new(mbit(10), ms(5)).duplicate(Probability::of(0.02));
    let mut policies = PolicyRecipe::recommended();
    policies.set("path-scheduler", "primary").unwrap();
    let mut pair = Pair::paths([fast, LinkConfig::new(mbit(10), ms(200))])
        .policies(policies)
        .connected();
    pair.alice().send_forever();
    pair.run_for(secs(10));
    assert!(pair.bob().statistics().duplicates_received > 20);
    let slow = pair.simulation.paths()[1].far_addr;
    let log = pair.simulation.host(Side::Far).log();
    let sent = log.packets().filter(|packet| packet.direction == Direction::Sent);
    let slow = sent.filter(|packet| packet.path.local.ip() == slow);
    let sacks = slow.filter(|packet| dissect::line(&packet.bytes).contains("SACK"));
    assert_eq!(sacks.count(), 0);
}

#[test]
fn message_in_flight_on_failed_path_is_retransmitted_elsewhere() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.run_for(secs(1));
    for path in [0, 1] {
        pair.cut_path(path);
        pair.alice().send(Draft::new(0, 20_000));
        pair.deliver_all(secs(5));
        pair.heal_path(path);
        pair.run_until(
            |pair| pair.alice().reachability(path as u8) == Reachability::Active,
            secs(100),
        );
    }
}

/// When Alice sent packets with a chunk of this type on `path`, since `since`.
fn times_of(pair: &Pair, path: usize, chunk: &str, since: Instant) -> Vec<Instant> {
    let packets = pair.simulation.host(Side::Near).log().packets();
    let sent = packets.filter(|packet| packet.direction == Direction::Sent && packet.at >= since);
    let local = pair.simulation.paths()[path].near_addr;
    let on_path = sent.filter(|packet| packet.path.local.ip() == local);
    let meant = on_path.filter(|packet| dissect::line(&packet.bytes).contains(chunk));
    meant.map(|packet| packet.at).collect()
}

/// After five minutes, heartbeats have backed off to RTO.Max and joins to HB.interval.
#[test]
fn unconfirmed_path_probing_backs_off() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).build();
    pair.cut_path(1);
    pair.alice().connect();
    pair.run_for(secs(300));
    assert_eq!(pair.alice().reachability(1), Reachability::Unconfirmed);
    let before = pair.alice().path(1).counters.packets_sent;
    let since = pair.simulation.now();
    pair.run_for(secs(300));
    let probes = pair.alice().path(1).counters.packets_sent - before;
    let heartbeats = times_of(&pair, 1, "HEARTBEAT ", since);
    let joins = times_of(&pair, 1, "ASCONF ", since);
    assert_eq!(probes as usize, heartbeats.len() + joins.len());
    // A heartbeat is overdue after RTO.Max (60 s); the next follows after HB.interval (30 s) and 0.5 to 1.5 RTO.Max.
    assert!((1..=3).contains(&heartbeats.len()), "{heartbeats:?}");
    let gaps = |times: &[Instant]| -> Vec<Duration> { times.windows(2).map(|two| two[1] - two[0]).collect() };
    let allowed = secs(60 + 30 + 30)..=secs(60 + 30 + 90);
    assert!(
        gaps(&heartbeats).iter().all(|gap| allowed.contains(gap)),
        "{heartbeats:?}"
    );
    // The peer's address is known from the handshake, so joins continue, every 30 s.
    assert_eq!(joins.len(), 10, "{joins:?}");
    assert!(gaps(&joins).iter().all(|gap| *gap == secs(30)), "{joins:?}");
    pair.heal_path(1);
    pair.run_until(
        |pair| pair.alice().reachability(1) == Reachability::Active,
        secs(100),
    );
}

//= rfc9260 5.4-2
#[test]
fn unconfirmed_address_gets_only_heartbeats() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).build();
    pair.drop_all_to_bob(1, kind::HEARTBEAT_ACK);
    let sent = pair.record_chunks_of_bob(1);
    pair.alice().connect();
    pair.alice().send_messages(2_000, 1_400, Streams::one(0));
    pair.deliver_all(secs(10));
    assert_eq!(pair.bob().reachability(1), Reachability::Unconfirmed);
    assert!(
        pair.bob().path(1).counters.payload_received > 0,
        "Alice uses the path"
    );
    assert_eq!(sent.kinds(), [kind::HEARTBEAT, kind::HEARTBEAT_ACK]);
}

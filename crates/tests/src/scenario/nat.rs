//! NATs: rebinding with UDP encapsulation (RFC 6951 §5.4), and joins from unknown addresses (RFC 5061 §4.2.1).

use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_netsim::link::QueueConfig;
use anabranch_policy::Reachability;
use anabranch_proto::{Association, CloseReason, PathChange, PathStatistics};
use anabranch_sim::app::{Bulk, Conversation, Streams, Workload};
use anabranch_sim::{Side, Step};
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

//= rfc6951 5.3-2, 5.4-1
#[test]
fn transfer_continues_after_nat_rebinding() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_forever();
    pair.run_for(secs(3));
    pair.rebind_path(1, 23_456);
    pair.run_for(secs(3));
    assert!(pair.bob().has_path_change(1, PathChange::Rebound));
    assert_eq!(pair.bob().path(1).addr.remote.port(), 23_456);
    let goodput = pair.bob().goodput_in_last(secs(2));
    assert!(goodput > mbit(17), "{goodput}");
    assert_eq!(pair.alice().reachability(1), Reachability::Active);
    pair.alice().stop_sending();
    pair.deliver_all(secs(5));
}

//= rfc6951 5.1-1
#[test]
fn transfer_survives_rebinding_of_all_paths() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_messages(5_000, 1_400, Streams::in_turn(4));
    pair.run_for(secs(1));
    pair.rebind_path(0, 20_001);
    pair.rebind_path(1, 20_002);
    pair.deliver_all(secs(20));
    pair.rebind_path(0, 20_003);
    pair.bob().send_messages(100, 1_400, Streams::in_turn(4));
    pair.deliver_all(secs(60));
}

/// Heartbeats of an inactive path are rare, and the last one went to the old address.
#[test]
fn inactive_path_is_probed_after_rebinding_is_seen() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.bob().send_forever();
    pair.run_for(secs(2));
    pair.cut_path(1);
    pair.run_until(
        |pair| pair.bob().reachability(1) == Reachability::Inactive,
        secs(120),
    );
    pair.rebind_path(1, 23_456);
    pair.heal_path(1);
    pair.run_until(
        |pair| pair.bob().has_path_change(1, PathChange::Rebound),
        secs(120),
    );
    pair.run_for(ms(60));
    assert_eq!(pair.bob().reachability(1), Reachability::Active);
}

#[test]
fn data_to_rebound_peer_waits_until_it_sends() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    pair.run_for(secs(1));
    pair.rebind_path(0, 20_001);
    pair.bob().send_messages(10, 1_400, Streams::one(0));
    pair.run_for(secs(5));
    assert_eq!(pair.alice().inbox().messages(), 0, "nobody knows where Alice is");
    pair.alice().send_messages(1, 1, Streams::one(0));
    pair.deliver_all(secs(20));
}

/// Bob's paths to `remote`.
fn paths_to(pair: &mut Pair, remote: &str) -> Vec<PathStatistics> {
    let mut paths = pair.bob().statistics().paths;
    paths.retain(|path| path.addr.remote.to_string() == remote);
    paths
}

/// Whether Bob can use a path to `remote`.
fn bob_uses(pair: &mut Pair, remote: &str) -> bool {
    let paths = paths_to(pair, remote);
    paths.iter().any(|path| path.reachability == Reachability::Active)
}

/// The number of port changes that Bob detected.
fn rebindings(pair: &mut Pair) -> u64 {
    let paths = pair.bob().statistics().paths;
    paths.iter().map(|path| path.counters.rebindings).sum()
}

#[track_caller]
fn assert_both_paths_carry(pair: &mut Pair) {
    pair.run_for(secs(3));
    let goodput = pair.bob().goodput_in_last(secs(2));
    assert!(goodput > mbit(17), "{goodput}");
    pair.alice().stop_sending();
    pair.deliver_all(secs(5));
}

/// Two uplinks behind different NATs: the peer does not know the second address.
#[test]
fn second_uplink_behind_another_nat_joins() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).build();
    pair.translate_path(0, "203.0.113.7:40001");
    pair.translate_path(1, "198.51.100.9:40002");
    pair.alice().connect();
    pair.alice().send_forever();
    pair.run_for(ms(200));
    pair.run_until(|pair| bob_uses(pair, "198.51.100.9:40002"), secs(3));
    assert_both_paths_carry(&mut pair);
}

/// The time that a file of `bytes` takes from Alice, who connects first, over uplinks of these rates, each behind a NAT of its own.
fn time_of_file(rates: &[u64], bytes: usize, delay: Duration) -> Duration {
    const CHUNK: usize = 64 << 10;
    let links = rates.iter().map(|rate| {
        let queue = QueueConfig::Bytes(mbit(*rate).bytes_in(ms(30)));
        LinkConfig::new(mbit(*rate), delay).queue(queue)
    });
    let mut pair = Pair::paths(links).build();
    for path in 0..rates.len() {
        pair.translate_path(path, &format!("198.51.100.{path}:40001"));
    }
    let start = pair.simulation.now();
    pair.alice().connect();
    pair.alice()
        .send_messages((bytes / CHUNK) as u64, CHUNK, Streams::one(0));
    let count = (bytes / CHUNK) as u64;
    let has_all = |pair: &mut Pair| {
        let reader = pair.simulation.conversation(Side::Far);
        reader.is_some_and(|reader| reader.inbox().messages() == count)
    };
    pair.run_until(has_all, secs(200));
    pair.simulation.now() - start
}

/// The second uplink joins after three round-trip times and 100 ms, and needs two more round trips until it carries data. With a
/// round-trip time of 40 ms and the slow uplink first, that is 5 % of the five seconds that 30 MB take.
#[test]
fn two_uplinks_behind_two_nats_reach_95_percent_of_their_sum() {
    const CASES: [(u64, usize, f64); 4] = [
        (1, 30_000_000, 0.97),
        (1, 125_000_000, 0.99),
        (20, 30_000_000, 0.94),
        (20, 125_000_000, 0.98),
    ];
    for (delay, bytes, expected) in CASES {
        let rate = |rates: &[u64]| bytes as f64 / time_of_file(rates, bytes, ms(delay)).as_secs_f64();
        let alone = rate(&[10]) + rate(&[40]);
        for order in [[10, 40], [40, 10]] {
            let share = rate(&order) / alone;
            println!("{order:?}, {delay} ms, {bytes} bytes: {share:.3}");
            assert!(
                share >= expected,
                "{order:?}, {delay} ms, {bytes} bytes: {share:.3}"
            );
        }
    }
}

/// Two uplinks of Alice behind one NAT. She connects.
fn uplinks_behind_one_address() -> Pair {
    let mut pair = Pair::one_path(mbit(10), ms(20))
        .scenario(|scenario| scenario.path_to_the_same_address(LinkConfig::new(mbit(10), ms(20))))
        .build();
    pair.translate_path(0, "203.0.113.7:40001");
    pair.translate_path(1, "203.0.113.7:40002");
    pair.alice().connect();
    pair
}

#[test]
fn two_uplinks_behind_one_public_address_are_two_paths() {
    let mut pair = uplinks_behind_one_address();
    pair.alice().send_forever();
    pair.run_for(ms(200));
    pair.run_until(|pair| bob_uses(pair, "203.0.113.7:40002"), secs(3));
    assert_both_paths_carry(&mut pair);
    assert!(bob_uses(&mut pair, "203.0.113.7:40001"));
    assert_eq!(rebindings(&mut pair), 0);
}

/// Heartbeats of both paths arrive from one address, with alternating ports.
#[test]
fn idle_uplinks_behind_one_public_address_are_two_paths() {
    let mut pair = uplinks_behind_one_address();
    pair.run_for(secs(120));
    for remote in ["203.0.113.7:40001", "203.0.113.7:40002"] {
        assert!(bob_uses(&mut pair, remote), "{remote}");
    }
    assert_eq!(rebindings(&mut pair), 0);
}

/// The NAT was restarted or got another address.
#[test]
fn path_with_new_public_address_is_used_again() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_forever();
    pair.run_for(secs(3));
    pair.translate_path(1, "198.51.100.9:40002");
    pair.run_until(|pair| bob_uses(pair, "198.51.100.9:40002"), secs(3));
    assert_both_paths_carry(&mut pair);
}

#[test]
fn only_path_with_new_public_address_goes_on() {
    let mut pair = Pair::one_path(mbit(20), ms(20)).connected();
    pair.alice().send_forever();
    pair.run_for(secs(3));
    pair.translate_path(0, "198.51.100.9:40002");
    pair.run_until(|pair| bob_uses(pair, "198.51.100.9:40002"), secs(5));
    assert_both_paths_carry(&mut pair);
}

/// Without data, the next heartbeat detects the change.
#[test]
fn idle_path_with_new_public_address_is_used_again() {
    let mut pair = Pair::one_path(mbit(20), ms(20)).connected();
    pair.run_for(secs(3));
    pair.translate_path(0, "198.51.100.9:40002");
    pair.run_until(|pair| bob_uses(pair, "198.51.100.9:40002"), secs(40));
}

#[test]
fn both_paths_with_new_public_addresses_go_on() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.alice().send_forever();
    pair.run_for(secs(3));
    pair.translate_path(0, "203.0.113.7:40001");
    pair.translate_path(1, "198.51.100.9:40002");
    let both = |pair: &mut Pair| bob_uses(pair, "203.0.113.7:40001") && bob_uses(pair, "198.51.100.9:40002");
    pair.run_until(both, secs(6));
    assert_both_paths_carry(&mut pair);
}

/// Alice's only uplink gets another address, and packets from the old one are lost.
#[test]
fn only_uplink_with_a_new_address_behind_a_nat_goes_on() {
    let mut pair = Pair::one_path(mbit(20), ms(20))
        .scenario(|scenario| {
            let spare = LinkConfig::new(mbit(20), ms(20));
            scenario.path_to_the_same_address(spare).with_last_path_spare()
        })
        .build();
    pair.translate_path(0, "203.0.113.7:40001");
    pair.translate_path(1, "203.0.113.7:40002");
    pair.alice().connect();
    pair.alice().send_forever();
    pair.run_for(secs(3));
    pair.cut_path(0);
    pair.apply(Step::Join(Side::Near, 1));
    pair.run_until(|pair| bob_uses(pair, "203.0.113.7:40002"), secs(5));
    assert_both_paths_carry(&mut pair);
}

/// What the NAT before Alice does.
#[derive(Clone, Copy, Debug)]
enum NatChange {
    Port,
    Address,
}

/// Runs until both ends have closed the association in order.
#[track_caller]
fn assert_shutdown_completes(pair: &mut Pair, change: NatChange) {
    match change {
        NatChange::Port => pair.rebind_path(0, 40_001),
        NatChange::Address => pair.translate_path(0, "198.51.100.9:40002"),
    }
    pair.run_until(
        |pair| pair.alice().is_closed() && pair.bob().is_closed(),
        secs(70),
    );
    assert_eq!(pair.alice().close_reason(), Some(CloseReason::Finished));
    assert_eq!(pair.bob().close_reason(), Some(CloseReason::Finished));
    pair.assert_all_delivered();
}

fn run_until_state(pair: &mut Pair, side: Side, state: &str) {
    let is_there = |pair: &mut Pair| {
        let association = pair.simulation.association(side).expect("an association");
        association.statistics().state == state
    };
    pair.run_until(is_there, secs(10));
}

fn connected_path() -> Pair {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    pair.run_for(secs(3));
    pair
}

/// `closing` shuts the association down, the next `lost` is lost, and in `state` of `side` the NAT changes.
#[track_caller]
fn assert_shutdown_survives_a_nat_change(closing: Side, lost: Option<u8>, side: Side, state: &str) {
    for change in [NatChange::Port, NatChange::Address] {
        let mut pair = connected_path();
        if let Some(lost) = lost {
            pair.drop_next(1, lost);
        }
        match closing {
            Side::Near => pair.alice().shutdown(),
            Side::Far => pair.bob().shutdown(),
        }
        run_until_state(&mut pair, side, state);
        assert_shutdown_completes(&mut pair, change);
    }
}

#[test]
fn nat_change_before_shutdown_reaches_the_peer() {
    assert_shutdown_survives_a_nat_change(Side::Near, Some(kind::SHUTDOWN), Side::Near, "SHUTDOWN-SENT");
}

#[test]
fn nat_change_before_shutdown_of_the_peer_arrives() {
    assert_shutdown_survives_a_nat_change(Side::Far, Some(kind::SHUTDOWN), Side::Far, "SHUTDOWN-SENT");
}

#[test]
fn nat_change_while_the_peer_is_in_shutdown_ack_sent() {
    assert_shutdown_survives_a_nat_change(
        Side::Near,
        Some(kind::SHUTDOWN_ACK),
        Side::Far,
        "SHUTDOWN-ACK-SENT",
    );
}

#[test]
fn nat_change_before_shutdown_complete() {
    assert_shutdown_survives_a_nat_change(Side::Near, None, Side::Far, "SHUTDOWN-ACK-SENT");
}

#[test]
fn nat_change_in_shutdown_ack_sent() {
    assert_shutdown_survives_a_nat_change(
        Side::Far,
        Some(kind::SHUTDOWN_ACK),
        Side::Near,
        "SHUTDOWN-ACK-SENT",
    );
}

/// The end that has not sent SHUTDOWN yet still has data, to or from the address that changes.
#[test]
fn nat_change_in_shutdown_received_with_data_to_send() {
    for change in [NatChange::Port, NatChange::Address] {
        for (sender, closer) in [(Side::Near, Side::Far), (Side::Far, Side::Near)] {
            let mut pair = connected_path();
            let send = |conversation: &mut Conversation, association: &mut Association, now| {
                let bulk = Bulk::new(1_400, Streams::one(0)).messages(1_000);
                conversation.also(now, Workload::Bulk(bulk), association);
            };
            pair.simulation.talk(sender, send);
            pair.run_for(ms(100));
            pair.simulation
                .talk(closer, |_, association, _| association.shutdown());
            run_until_state(&mut pair, sender, "SHUTDOWN-RECEIVED");
            assert_shutdown_completes(&mut pair, change);
        }
    }
}

/// Each new binding of the NAT uses up a serial number of ASCONF, but no path. Two minutes later, the former bindings are forgotten.
#[test]
fn many_bindings_of_a_nat_leave_one_path_for_each_uplink() {
    let mut pair = Pair::two_paths(mbit(1), ms(20)).connected();
    for number in 0..40 {
        let outside = format!("198.51.100.{}:{}", 10 + number % 20, 40_000 + number);
        pair.translate_path(1, &outside);
        pair.run_until(|pair| bob_uses(pair, &outside), secs(120));
    }
    let paths = pair.bob().statistics().paths.len();
    assert!(paths <= 16, "{paths}");
    pair.run_for(secs(120));
    assert_eq!(pair.path_counts(), [2, 2]);
}

/// This many uplinks of Alice to one address of Bob.
fn uplinks_to_one_address(count: usize) -> PairBuilder {
    let link = || LinkConfig::new(mbit(1), ms(20));
    Pair::paths([link()]).scenario(move |scenario| {
        (1..count).fold(scenario, |scenario, _| scenario.path_to_the_same_address(link()))
    })
}

/// Three uplinks, each behind a NAT that changes its public address every 60 s, with and without data.
#[test]
fn former_public_addresses_of_uplinks_are_forgotten() {
    for sends in [false, true] {
        let mut pair = uplinks_to_one_address(3).connected();
        if sends {
            pair.alice().send_forever();
        }
        let mut last = Vec::new();
        for round in 0..5 {
            last = (0..3)
                .map(|path| format!("198.51.{path}.{round}:40001"))
                .collect();
            for (path, outside) in last.iter().enumerate() {
                pair.translate_path(path, outside);
                pair.run_for(secs(20));
            }
        }
        pair.run_for(secs(120));
        assert_eq!(pair.path_counts(), [3, 3], "sends: {sends}");
        for outside in &last {
            assert!(bob_uses(&mut pair, outside), "{outside}, sends: {sends}");
        }
    }
}

/// The private address of the second uplink, which Alice lists, is never reached.
#[test]
fn private_address_behind_a_nat_is_forgotten() {
    let mut pair = uplinks_to_one_address(2).build();
    pair.translate_path(1, "198.51.100.9:40002");
    pair.alice().connect();
    pair.run_for(secs(5));
    assert_eq!(pair.path_counts(), [2, 3]);
    pair.run_for(secs(400));
    assert_eq!(pair.path_counts(), [2, 2]);
    assert!(bob_uses(&mut pair, "198.51.100.9:40002"));
}

/// The peer has not joined since, so nothing suggests that it left the path.
#[test]
fn path_in_a_long_outage_is_kept() {
    let mut pair = uplinks_to_one_address(2).connected();
    pair.alice().send_forever();
    pair.translate_path(0, "203.0.113.7:40001");
    pair.translate_path(1, "198.51.100.9:40002");
    pair.run_for(secs(120));
    pair.cut_path(1);
    pair.run_for(secs(300));
    assert_eq!(pair.path_counts(), [2, 2]);
    pair.heal_path(1);
    pair.run_until(
        |pair| pair.alice().reachability(1) == Reachability::Active,
        ms(1_500),
    );
}

/// During an outage of one uplink the other one gets a new public address, so Bob cannot tell which one moved.
#[test]
fn uplink_whose_path_was_forgotten_joins_again() {
    let mut pair = uplinks_to_one_address(2).connected();
    pair.alice().send_forever();
    pair.run_for(secs(3));
    let second = pair.bob().path(1).addr.remote.to_string();
    pair.cut_path(1);
    pair.run_for(secs(2));
    pair.translate_path(0, "203.0.113.7:40001");
    pair.run_for(secs(120));
    assert_eq!(pair.bob().statistics().paths.len(), 1);
    pair.heal_path(1);
    pair.run_until(|pair| bob_uses(pair, &second), secs(31));
    assert_eq!(pair.path_counts(), [2, 2]);
}

/// Joins on failed paths back off and count no errors: the association ends when the limit of heartbeat errors is reached.
#[test]
fn joins_on_a_dead_path_back_off() {
    let mut pair = Pair::two_paths(mbit(10), ms(20)).connected();
    pair.run_for(secs(5));
    pair.cut_path(1);
    pair.run_for(secs(600));
    let sent = |pair: &mut Pair| pair.alice().statistics().paths[1].counters.packets_sent;
    let before = sent(&mut pair);
    pair.run_for(secs(300));
    let asked = sent(&mut pair) - before;
    assert!(asked <= 2 * 300 / 30, "{asked} packets in 300 s");
    assert!(pair.is_connected());
}

/// The NAT takes another public address while the COOKIE ACK is on its way. The COOKIE ECHO is repeated from the new address, which is none of
/// the peer's.
#[test]
fn handshake_completes_if_the_public_address_changes_before_cookie_ack() {
    let mut pair = Pair::one_path(mbit(10), ms(20)).build();
    pair.alice().connect();
    pair.run_for(ms(50));
    let public = "198.51.100.7:20001".parse().expect("an address");
    pair.apply(Step::Translate(0, public));
    pair.run_for(secs(3));
    assert!(pair.is_connected());
    pair.alice().send_messages(10, 1_000, Streams::one(0));
    pair.bob().send_messages(10, 1_000, Streams::one(0));
    pair.deliver_all(secs(10));
}

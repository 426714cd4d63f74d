//! Flow control (RFC 9260 §6.1 A, §6.2). What if Bob reads more slowly than Alice sends?

use anabranch_policy::{PolicyRecipe, Reachability};
use anabranch_proto::{AssociationConfig, BufferSize};
use anabranch_sim::app::{Draft, Reading, Streams};
use anabranch_types::Rate;
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

const BUFFER: u64 = 50_000;

fn small_buffers() -> PairBuilder {
    Pair::two_paths(mbit(20), ms(10)).with(|config: &mut AssociationConfig| {
        config.receive_buffer = BufferSize::Fixed(BUFFER);
        config.max_message = 20_000;
    })
}

fn timeouts(pair: &mut Pair) -> u64 {
    let paths = pair.alice().statistics().paths;
    paths.iter().map(|path| path.counters.timeouts).sum()
}

#[test]
fn idle_reader_closes_the_receive_window() {
    let mut pair = small_buffers().connected();
    pair.bob().set_reading(Reading::Paused);
    pair.alice().send_forever();
    pair.run_for(secs(5));
    let held = pair.bob().statistics().receive_buffer_used;
    assert!(
        (BUFFER - 3_000..=BUFFER + 20_000).contains(&held),
        "{held} bytes held"
    );
    assert!(pair.alice().statistics().peer_window < 1_500);
    assert!(pair.is_connected());
}

//= rfc9260 6.1-7, 6.1-8
#[test]
fn zero_window_is_probed_indefinitely() {
    let mut pair = small_buffers().connected();
    pair.bob().set_reading(Reading::Paused);
    pair.alice().send_messages(100, 1_400, Streams::one(0));
    pair.run_for(secs(5));
    let before = pair.alice().tally().packets_sent;
    pair.run_for(secs(1_200));
    let probes = pair.alice().tally().packets_sent - before;
    assert!((20..400).contains(&probes), "{probes} packets in twenty minutes");
    assert!(pair.is_connected(), "a full reader is not a dead one");
    pair.bob().set_reading(Reading::Eager);
    pair.deliver_all(secs(2));
}

//= rfc9260 6.2-12
#[test]
fn reopened_window_resumes_the_transfer() {
    let mut pair = small_buffers().connected();
    pair.bob().set_reading(Reading::Paused);
    pair.alice().send_messages(200, 1_400, Streams::in_turn(3));
    pair.run_for(secs(3));
    pair.bob().set_reading(Reading::Eager);
    pair.deliver_all(secs(2));
}

/// The dropped window probe is the last message: no later TSN reveals the loss, and T3 has backed off to a minute.
#[test]
fn dropped_probe_is_retransmitted_when_window_opens() {
    let mut pair = small_buffers().connected();
    pair.bob().set_reading(Reading::Paused);
    pair.alice()
        .send_messages(BUFFER / 1_400 + 2, 1_400, Streams::one(0));
    pair.run_for(secs(600));
    assert!(!pair.alice().has_flushed());
    pair.bob().set_reading(Reading::Eager);
    pair.deliver_all(ms(500));
}

/// Fills Bob's buffer with messages smaller than their overhead, so that he drops the last ones although they fit his
/// advertised window.
fn full_of_small_messages(settings: &[(&str, &str)]) -> Pair {
    let mut policies = PolicyRecipe::recommended();
    for (point, value) in settings {
        policies.set(point, value).unwrap();
    }
    let builder = small_buffers().with(|config| config.policies = policies);
    let mut pair = builder.connected();
    pair.bob().set_reading(Reading::Paused);
    pair.alice().send_messages(1_500, 20, Streams::one(0));
    pair
}

#[test]
fn dropped_small_messages_are_retransmitted_on_window_update() {
    for failover in ["potentially-failed", "fast-failover", "rfc9260"] {
        let mut pair = full_of_small_messages(&[("failover", failover)]);
        pair.run_for(secs(60));
        assert!(!pair.alice().has_flushed(), "not everything found room");
        for path in [0, 1] {
            assert!(pair.alice().path(path).cwnd > 3_000, "nothing was lost");
            assert_eq!(pair.alice().reachability(path), Reachability::Active);
        }
        let before = timeouts(&mut pair);
        pair.bob().set_reading(Reading::Eager);
        pair.deliver_all(ms(500));
        assert_eq!(timeouts(&mut pair), before);
    }
}

//= rfc9260 6.1-6
#[test]
fn full_receive_buffer_does_not_count_as_path_failure() {
    let heartbeats_off = ("failover.heartbeat", "86400s");
    let mut pair = full_of_small_messages(&[heartbeats_off]);
    pair.run_for(secs(60));
    let before = pair.alice().tally().packets_sent;
    pair.run_for(secs(1_200));
    let packets = pair.alice().tally().packets_sent - before;
    assert!(packets < 400, "{packets} packets in twenty minutes");
    assert!(pair.is_connected());
    pair.bob().set_reading(Reading::Eager);
    pair.deliver_all(ms(500));
}

/// Bob's data makes Alice send SACKs on both paths, which must not delay the window probe.
#[test]
fn busy_reverse_path_does_not_delay_window_probes() {
    let mut pair = small_buffers().connected();
    pair.bob().set_reading(Reading::Paused);
    pair.bob().send_forever();
    pair.alice()
        .send_messages(2 * BUFFER / 1_400, 1_400, Streams::one(0));
    let sent = |pair: &mut Pair| pair.alice().payload_sent_by_path().iter().sum::<u64>();
    let is_shut = |pair: &mut Pair| {
        let statistics = pair.alice().statistics();
        let in_flight: u64 = statistics.paths.iter().map(|path| path.in_flight).sum();
        statistics.peer_window < 1_400 && in_flight == 0
    };
    pair.run_until(is_shut, secs(2));
    let before = sent(&mut pair);
    let rto = pair.alice().path(0).rto;
    pair.run_until(|pair| sent(pair) > before, rto * 11 / 10);
}

#[test]
fn lost_window_update_is_recovered() {
    let mut pair = small_buffers().connected();
    pair.bob().set_reading(Reading::Paused);
    pair.alice().send_messages(200, 1_400, Streams::one(0));
    pair.run_for(secs(3));
    pair.drop_next(2, kind::SACK);
    pair.bob().set_reading(Reading::Eager);
    pair.deliver_all(secs(20));
}

/// Probes are far apart after a while. The SACK for a dropped probe is lost, then the window opens.
#[test]
fn window_update_is_used_after_loss_of_zero_window_sack() {
    let small = |config: &mut AssociationConfig| config.receive_buffer = BufferSize::Fixed(BUFFER);
    let mut pair = Pair::one_path(mbit(20), ms(10)).with(small).connected();
    pair.bob().set_reading(Reading::Paused);
    pair.alice().send_forever();
    pair.run_for(secs(75));
    pair.drop_next(1, kind::SACK);
    let probed = pair.alice().path(0).counters.timeouts;
    pair.run_until(|pair| pair.alice().path(0).counters.timeouts > probed, secs(60));
    pair.run_for(secs(1));
    pair.bob().set_reading(Reading::Eager);
    pair.run_for(ms(10));
    let held = pair.bob().inbox().messages();
    pair.run_for(ms(100));
    assert!(pair.bob().inbox().messages() > held);
}

#[test]
fn slow_reader_limits_the_rate() {
    let mut pair = small_buffers().connected();
    pair.bob().set_reading(Reading::AtRate(Rate::mbit(2)));
    pair.alice().send_forever();
    pair.run_for(secs(10));
    let goodput = pair.bob().goodput_in_last(secs(8));
    assert!(
        (mbit(2).as_bits_per_second() * 95 / 100..=mbit(2).as_bits_per_second() * 102 / 100)
            .contains(&goodput.as_bits_per_second()),
        "{goodput}"
    );
}

#[test]
fn message_as_large_as_receive_buffer_is_delivered() {
    let mut pair = Pair::two_paths(mbit(20), ms(10))
        .with(|config| {
            config.receive_buffer = BufferSize::Fixed(BUFFER);
            config.max_message = BUFFER as usize;
        })
        .connected();
    for _ in 0..5 {
        pair.alice().send(Draft::new(0, BUFFER as usize));
    }
    pair.deliver_all(secs(10));
}

#[test]
fn full_send_buffer_signals_writable() {
    let mut pair = Pair::one_path(mbit(10), ms(10))
        .with(|config| config.send_buffer = BufferSize::Fixed(1 << 20))
        .connected();
    pair.alice().send_messages(5_000, 1_400, Streams::one(0));
    assert!(pair.alice().statistics().send_buffer_used <= 1 << 20);
    assert!(pair.alice().sent() < 5_000, "not all fits at once");
    pair.deliver_all(secs(20));
    assert_eq!(pair.alice().sent(), 5_000);
}

#[test]
fn init_advertises_the_receive_buffer_size() {
    let mut pair = Pair::two_paths(mbit(20), ms(10))
        .with(|config| {
            config.receive_buffer = BufferSize::Fixed(BUFFER);
            config.max_message = 1 << 20;
        })
        .connected();
    assert_eq!(pair.alice().statistics().peer_window, BUFFER, "by the INIT ACK");
    assert_eq!(pair.bob().statistics().peer_window, BUFFER, "by the INIT");
}

//! What if Bob reads more slowly than Alice sends (RFC 9260 §6.1 A, §6.2)?

use anabranch_policy::{PolicyRecipe, Reachability};
use anabranch_proto::AssociationConfig;
use anabranch_sim::app::{Draft, Reading, Streams};
use anabranch_types::Rate;
use anabranch_wire::chunk::kind;

use crate::story::{Setting, World, mbit, ms, secs};

const BUFFER: u64 = 50_000;

fn small_buffers() -> Setting {
    World::two_paths(mbit(20), ms(10)).with(|config: &mut AssociationConfig| {
        config.receive_buffer = BUFFER;
        config.max_message = 20_000;
    })
}

fn timeouts(world: &mut World) -> u64 {
    let paths = world.alice().statistics().paths;
    paths.iter().map(|path| path.counters.timeouts).sum()
}

#[test]
fn a_reader_who_does_not_read_closes_the_window() {
    let mut world = small_buffers().connected();
    world.bob().reads(Reading::Paused);
    world.alice().sends_forever();
    world.runs_for(secs(5));
    let held = world.bob().statistics().receive_buffer_used;
    assert!(
        (BUFFER - 3_000..=BUFFER + 20_000).contains(&held),
        "{held} bytes held"
    );
    assert!(world.alice().statistics().peer_window < 1_500);
    assert!(world.is_connected());
}

#[test]
fn a_closed_window_is_probed_now_and_then_for_as_long_as_it_takes() {
    let mut world = small_buffers().connected();
    world.bob().reads(Reading::Paused);
    world.alice().sends_messages(100, 1_400, Streams::one(0));
    world.runs_for(secs(5));
    let before = world.alice().tally().packets_sent;
    world.runs_for(secs(1_200));
    let probes = world.alice().tally().packets_sent - before;
    assert!((20..400).contains(&probes), "{probes} packets in twenty minutes");
    assert!(world.is_connected(), "a full reader is not a dead one");
    world.bob().reads(Reading::Eager);
    world.delivers_everything(secs(2));
}

#[test]
fn a_window_that_opens_lets_everything_through() {
    let mut world = small_buffers().connected();
    world.bob().reads(Reading::Paused);
    world.alice().sends_messages(200, 1_400, Streams::in_turn(3));
    world.runs_for(secs(3));
    world.bob().reads(Reading::Eager);
    world.delivers_everything(secs(2));
}

/// The probe that the peer had no room for is the last message there is: nothing behind it tells that it is missing,
/// and its timer has backed off to a minute.
#[test]
fn a_last_message_that_was_a_probe_leaves_again_when_the_window_opens() {
    let mut world = small_buffers().connected();
    world.bob().reads(Reading::Paused);
    world
        .alice()
        .sends_messages(BUFFER / 1_400 + 2, 1_400, Streams::one(0));
    world.runs_for(secs(600));
    assert!(!world.alice().has_flushed());
    world.bob().reads(Reading::Eager);
    world.delivers_everything(ms(500));
}

/// How Bob's buffer fills up with messages whose overhead is larger than they are, so that he has to drop some that his
/// window had room for: the last of them, with nothing behind it. Each time he says that he is full.
fn full_of_small_messages(settings: &[(&str, &str)]) -> World {
    let mut policies = PolicyRecipe::recommended();
    for (point, value) in settings {
        policies.set(point, value).unwrap();
    }
    let setting = small_buffers().with(|config| config.policies = policies);
    let mut world = setting.connected();
    world.bob().reads(Reading::Paused);
    world.alice().sends_messages(1_500, 20, Streams::one(0));
    world
}

#[test]
fn small_messages_that_found_no_room_leave_again_when_the_window_opens() {
    for failover in ["potentially-failed", "fast-abandonment", "rfc9260"] {
        let mut world = full_of_small_messages(&[("failover", failover)]);
        world.runs_for(secs(60));
        assert!(!world.alice().has_flushed(), "not everything found room");
        for path in [0, 1] {
            assert!(world.alice().path(path).cwnd > 3_000, "nothing was lost");
            assert_eq!(world.alice().reachability(path), Reachability::Active);
        }
        let before = timeouts(&mut world);
        world.bob().reads(Reading::Eager);
        world.delivers_everything(ms(500));
        assert_eq!(timeouts(&mut world), before);
    }
}

#[test]
fn a_reader_who_is_full_of_small_messages_is_not_a_dead_one() {
    let heartbeats_off = ("failover.heartbeat", "86400s");
    let mut world = full_of_small_messages(&[heartbeats_off]);
    world.runs_for(secs(60));
    let before = world.alice().tally().packets_sent;
    world.runs_for(secs(1_200));
    let packets = world.alice().tally().packets_sent - before;
    assert!(packets < 400, "{packets} packets in twenty minutes");
    assert!(world.is_connected());
    world.bob().reads(Reading::Eager);
    world.delivers_everything(ms(500));
}

/// Bob's data keeps Alice acknowledging over both paths, and what is urgent must not use up the probe.
#[test]
fn a_busy_way_back_delays_no_window_probe() {
    let mut world = small_buffers().connected();
    world.bob().reads(Reading::Paused);
    world.bob().sends_forever();
    world
        .alice()
        .sends_messages(2 * BUFFER / 1_400, 1_400, Streams::one(0));
    let sent = |world: &mut World| world.alice().payload_sent_by_path().iter().sum::<u64>();
    let is_shut = |world: &mut World| {
        let statistics = world.alice().statistics();
        let in_flight: u64 = statistics.paths.iter().map(|path| path.in_flight).sum();
        statistics.peer_window < 1_400 && in_flight == 0
    };
    world.runs_until(is_shut, secs(2));
    let before = sent(&mut world);
    let rto = world.alice().path(0).rto;
    world.runs_until(|world| sent(world) > before, rto * 11 / 10);
}

#[test]
fn the_news_of_an_open_window_may_be_lost() {
    let mut world = small_buffers().connected();
    world.bob().reads(Reading::Paused);
    world.alice().sends_messages(200, 1_400, Streams::one(0));
    world.runs_for(secs(3));
    world.loses_next(2, kind::SACK);
    world.bob().reads(Reading::Eager);
    world.delivers_everything(secs(20));
}

/// After a while probes are far apart. One is refused, and nobody hears of it; then the window opens.
#[test]
fn an_open_window_is_used_at_once_though_the_last_refusal_was_lost() {
    let small = |config: &mut AssociationConfig| config.receive_buffer = BUFFER;
    let mut world = World::one_path(mbit(20), ms(10)).with(small).connected();
    world.bob().reads(Reading::Paused);
    world.alice().sends_forever();
    world.runs_for(secs(75));
    world.loses_next(1, kind::SACK);
    let probed = world.alice().path(0).counters.timeouts;
    world.runs_until(|world| world.alice().path(0).counters.timeouts > probed, secs(60));
    world.runs_for(secs(1));
    world.bob().reads(Reading::Eager);
    world.runs_for(ms(10));
    let held = world.bob().inbox().messages();
    world.runs_for(ms(100));
    assert!(world.bob().inbox().messages() > held);
}

#[test]
fn a_slow_reader_sets_the_pace() {
    let mut world = small_buffers().connected();
    world.bob().reads(Reading::AtRate(Rate::mbit(2)));
    world.alice().sends_forever();
    world.runs_for(secs(10));
    let goodput = world.bob().goodput_of_last(secs(8));
    assert!(
        (mbit(2).as_bits_per_second() * 95 / 100..=mbit(2).as_bits_per_second() * 102 / 100)
            .contains(&goodput.as_bits_per_second()),
        "{goodput}"
    );
}

#[test]
fn a_message_as_large_as_the_receive_buffer_gets_through() {
    let mut world = World::two_paths(mbit(20), ms(10))
        .with(|config| {
            config.receive_buffer = BUFFER;
            config.max_message = BUFFER as usize;
        })
        .connected();
    for _ in 0..5 {
        world.alice().sends(Draft::new(0, BUFFER as usize));
    }
    world.delivers_everything(secs(10));
}

#[test]
fn a_full_send_buffer_says_when_there_is_room() {
    let mut world = World::one_path(mbit(10), ms(10))
        .with(|config| config.send_buffer = 1 << 20)
        .connected();
    world.alice().sends_messages(5_000, 1_400, Streams::one(0));
    assert!(world.alice().statistics().send_buffer_used <= 1 << 20);
    assert!(world.alice().sent() < 5_000, "not all fits at once");
    world.delivers_everything(secs(20));
    assert_eq!(world.alice().sent(), 5_000);
}

#[test]
fn the_handshake_promises_no_more_than_the_buffer_holds() {
    let mut world = World::two_paths(mbit(20), ms(10))
        .with(|config| {
            config.receive_buffer = BUFFER;
            config.max_message = 1 << 20;
        })
        .connected();
    assert_eq!(world.alice().statistics().peer_window, BUFFER, "by the INIT ACK");
    assert_eq!(world.bob().statistics().peer_window, BUFFER, "by the INIT");
}

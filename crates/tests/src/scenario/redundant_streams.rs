//! Redundant streams: a call beside a bulk transfer, on all paths. What does it lose when a path fails, and what does it cost?

use core::num::{NonZeroU16, NonZeroU64};
use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_netsim::link::QueueConfig;
use anabranch_netsim::topology::near_addr;
use anabranch_policy::{BufferSize, PolicyRecipe};
use anabranch_proto::{PathPreference, Reliability};
use anabranch_sim::Side;
use anabranch_sim::app::{Draft, Refill, Workload};
use anabranch_types::StreamId;

use crate::fixture::{Pair, PairBuilder, mbit, ms, secs};

/// The stream of the call; those before it are bulk.
const CALL: u16 = 4;
/// As a call of 50 packets a second has it.
const INTERVAL: Duration = ms(20);
const BYTES: usize = 172;
const LIFETIME: Reliability = Reliability::Lifetime(ms(500));

/// Rates in Mbit/s and one-way delays in milliseconds of two paths.
type Links = [(u64, u64); 2];

const ALIKE: Links = [(10, 10), (10, 15)];

/// Two hosts whose streams share by weight, as in a tunnel.
fn paths(links: Links) -> PairBuilder {
    let mut policies = PolicyRecipe::default();
    policies.set("stream-scheduler", "wfq").unwrap();
    policies.set("interleaving", "on").unwrap();
    // At 5 Mbit/s such a queue lasts 120 ms, so that bulk on the path that is left does not make the call late.
    let links =
        links.map(|(rate, delay)| LinkConfig::new(mbit(rate), ms(delay)).queue(QueueConfig::Packets(50)));
    Pair::paths(links).policies(policies).with(|config| {
        config.send_buffer = BufferSize::Fixed(16 << 20);
        config.receive_buffer = BufferSize::Fixed(16 << 20);
    })
}

fn connected(builder: PairBuilder) -> Pair {
    let mut pair = builder.connected();
    pair.run_for(secs(1));
    pair.alice().act(|_, association, _| {
        let weight = NonZeroU16::new(64).unwrap();
        association.set_stream_weight(StreamId(CALL), weight).unwrap();
    });
    set_redundancy(&mut pair, true);
    pair
}

fn set_redundancy(pair: &mut Pair, redundant: bool) {
    pair.alice().act(|_, association, _| {
        association
            .delivery()
            .set_stream_redundancy(StreamId(CALL), redundant)
            .unwrap();
        assert_eq!(association.stream_redundancy(StreamId(CALL)), Ok(redundant));
    });
}

/// Sends as much beside the call as the paths carry, for five seconds and from then on.
fn load(pair: &mut Pair) {
    let bulk = Refill::new(1_400, CALL, 128 << 10);
    pair.alice().start_workload(Workload::Refill(bulk));
    pair.run_for(secs(5));
}

/// Calls for `time`. Returns the delay of each message; `None` for those that were lost.
fn call(pair: &mut Pair, time: Duration) -> Vec<Option<Duration>> {
    let mut sent = Vec::new();
    for _ in 0..time.as_nanos() / INTERVAL.as_nanos() {
        let draft = Draft::new(CALL, BYTES).unordered();
        sent.push(pair.alice().act(|conversation, association, now| {
            let number = conversation.send_limited((draft, LIFETIME), association, now);
            (number.unwrap(), now)
        }));
        pair.run_for(INTERVAL);
    }
    pair.run_for(secs(1));
    let reader = pair.simulation.conversation(Side::Far).unwrap();
    assert_eq!(
        reader.delivery_error(),
        None,
        "each message arrives once, and intact"
    );
    let arrived: Vec<_> = reader.inbox().on_stream(StreamId(CALL)).collect();
    let delays = sent.iter().map(|(number, since)| {
        let mut of_this = arrived.iter().filter(|(known, ..)| known == number);
        let delay = of_this.next().map(|(_, _, at)| *at - *since);
        assert_eq!(of_this.next(), None, "it is delivered twice");
        delay
    });
    delays.collect()
}

/// Messages of the second after a cut that are lost, or come more than 150 ms later than usual.
fn missed_after_a_cut(links: Links, cut: usize, redundant: bool) -> usize {
    let mut pair = connected(paths(links));
    set_redundancy(&mut pair, redundant);
    load(&mut pair);
    let mut usual: Vec<_> = call(&mut pair, secs(2)).into_iter().flatten().collect();
    usual.sort_unstable();
    let latest = usual[usual.len() / 2] + ms(150);
    pair.cut_path(cut);
    let delays = call(&mut pair, secs(1));
    let late = delays
        .iter()
        .filter(|delay| delay.is_none_or(|delay| delay > latest));
    late.count()
}

fn duplicated(pair: &mut Pair) -> Vec<u64> {
    let paths = pair.alice().statistics().paths;
    paths
        .iter()
        .map(|path| path.counters.payload_duplicated)
        .collect()
}

#[test]
fn call_beside_bulk_loses_nothing_when_a_path_is_cut() {
    for links in [
        ALIKE,
        [(20, 20), (5, 30)],
        [(50, 10), (10, 40)],
        [(50, 25), (50, 25)],
    ] {
        for cut in [0, 1] {
            let missed = missed_after_a_cut(links, cut, true);
            assert_eq!(missed, 0, "{links:?}, path {cut} is cut");
        }
    }
}

#[test]
fn call_on_one_path_at_a_time_loses_messages_when_it_is_cut() {
    let missed = missed_after_a_cut([(20, 20), (5, 30)], 0, false);
    assert!(missed > 10, "{missed}");
}

#[test]
fn call_without_other_data_survives_a_cut() {
    for cut in [0, 1] {
        let mut pair = connected(paths(ALIKE));
        call(&mut pair, secs(2));
        pair.cut_path(cut);
        let delays = call(&mut pair, secs(10));
        let worst = delays.into_iter().map(|delay| delay.expect("it arrives")).max();
        assert!(worst < Some(ms(17)), "the other path's delay, not {worst:?}");
    }
}

#[test]
fn call_goes_on_when_a_path_comes_back_after_an_outage_of_all() {
    for beside_bulk in [false, true] {
        let mut pair = connected(paths(ALIKE));
        if beside_bulk {
            load(&mut pair);
        }
        for path in [0, 1] {
            pair.cut_path(path);
        }
        call(&mut pair, secs(5));
        pair.heal_path(1);
        pair.run_for(secs(5));
        let delays = call(&mut pair, secs(2));
        assert!(delays.iter().all(Option::is_some), "{beside_bulk}: {delays:?}");
    }
}

#[test]
fn call_over_paths_with_losses_arrives_as_if_there_were_none() {
    let mut pair = connected(paths(ALIKE));
    load(&mut pair);
    for path in [0, 1] {
        pair.set_loss(path, 0.02);
    }
    let delays = call(&mut pair, secs(20));
    // Both duplicates of one in 2,500.
    let late = delays
        .iter()
        .filter(|delay| delay.is_none_or(|delay| delay > ms(200)));
    assert!(late.count() <= 3, "{delays:?}");
}

#[test]
fn only_the_redundant_stream_is_duplicated() {
    let mut pair = connected(paths(ALIKE));
    load(&mut pair);
    assert_eq!(duplicated(&mut pair), [0, 0], "bulk is sent once");
    let messages = call(&mut pair, secs(10)).len();
    let bytes: u64 = duplicated(&mut pair).iter().sum();
    let whole = (messages * BYTES) as u64;
    assert!(
        (whole * 9 / 10..=whole).contains(&bytes),
        "{bytes} bytes of a call of {whole}"
    );
    set_redundancy(&mut pair, false);
    call(&mut pair, secs(1));
    let after: u64 = duplicated(&mut pair).iter().sum();
    assert_eq!(after, bytes, "no longer");
}

#[test]
fn resting_path_carries_no_duplicates_and_takes_over() {
    let backup = PathPreference {
        cost: PathPreference::BACKUP,
        limit: None,
    };
    let builder = paths(ALIKE).with(|config| {
        config.path_preferences = vec![(near_addr(1), backup)];
        config.obeys_path_preferences = true;
    });
    let mut pair = connected(builder);
    load(&mut pair);
    call(&mut pair, secs(2));
    assert_eq!(duplicated(&mut pair), [0, 0]);
    pair.cut_path(0);
    pair.run_for(secs(5));
    let delays = call(&mut pair, secs(2));
    assert!(delays.iter().all(Option::is_some), "{delays:?}");
    assert_eq!(duplicated(&mut pair), [0, 0], "there is one path in use");
}

#[test]
fn duplicates_obey_the_limit_of_a_path() {
    // The call has 69 kbit/s, the path may carry 24.
    let limit = PathPreference {
        cost: 0,
        limit: NonZeroU64::new(3_000),
    };
    let builder = paths(ALIKE).with(|config| {
        config.path_preferences = vec![(near_addr(1), limit)];
        config.obeys_path_preferences = true;
    });
    let mut pair = connected(builder);
    let sent = |pair: &mut Pair| pair.alice().path(1).counters.bytes_sent;
    let before = sent(&mut pair);
    let delays = call(&mut pair, secs(20));
    let bytes = sent(&mut pair) - before;
    assert!(bytes < 21 * 3_000 + 10_000, "{bytes}");
    assert!(duplicated(&mut pair)[1] > 10_000, "it carries what it may");
    let worst = delays.into_iter().map(|delay| delay.expect("it arrives")).max();
    assert!(
        worst < Some(ms(17)),
        "the limit does not delay the call: {worst:?}"
    );
}

#[test]
fn stream_that_does_not_exist_is_refused() {
    let mut pair = connected(paths(ALIKE));
    pair.alice().act(|_, association, _| {
        let nowhere = StreamId(u16::MAX);
        assert!(
            association
                .delivery()
                .set_stream_redundancy(nowhere, true)
                .is_err()
        );
        assert!(association.stream_redundancy(nowhere).is_err());
    });
}

//! SACK path policies. On which path does Bob send SACKs for data from a fast and a slow path?

use anabranch_netsim::LinkConfig;
use anabranch_policy::PolicyRecipe;
use anabranch_proto::Event;
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, mbit, ms, secs};

/// Packets of Alice and of Bob on the fast and on the slow path.
fn traffic(sack_path: &str) -> ([u64; 2], [u64; 2]) {
    let mut policies = PolicyRecipe::cmt();
    policies.set("sack-path", sack_path).unwrap();
    policies.set("cc", "fixed").unwrap();
    // The primary path is the slow one.
    let paths = [
        LinkConfig::new(mbit(5), ms(40)),
        LinkConfig::new(mbit(20), ms(10)),
    ];
    let mut pair = Pair::paths(paths).policies(policies).connected();
    pair.run_for(secs(1));
    let sent = |pair: &mut Pair| [1, 0].map(|path| pair.alice().path(path).counters.packets_sent);
    let answered = |pair: &mut Pair| [1, 0].map(|path| pair.bob().path(path).counters.packets_sent);
    let before = (sent(&mut pair), answered(&mut pair));
    pair.alice().send_forever();
    pair.run_for(secs(10));
    let since = |now: [u64; 2], then: [u64; 2]| [now[0] - then[0], now[1] - then[1]];
    let traffic = (
        since(sent(&mut pair), before.0),
        since(answered(&mut pair), before.1),
    );
    println!("{sack_path}: sent {:?}, answered {:?}", traffic.0, traffic.1);
    traffic
}

//= rfc9260 6.4-3, 6.7-2
#[test]
fn data_source_acknowledges_on_the_path_of_the_data() {
    let ([fast, slow], [fast_sacks, slow_sacks]) = traffic("data-source");
    let expected = slow_sacks + fast_sacks;
    assert!((fast_sacks * (fast + slow)).abs_diff(fast * expected) * 10 < fast * expected);
}

#[test]
fn primary_acknowledges_on_the_primary_path() {
    let (_, [fast_sacks, slow_sacks]) = traffic("primary");
    assert!(
        fast_sacks * 50 < slow_sacks,
        "{fast_sacks} strays of {slow_sacks}"
    );
}

#[test]
fn round_robin_acknowledges_equally_on_both_paths() {
    let ([fast, slow], [_, slow_sacks]) = traffic("round-robin");
    assert!(fast > 3 * slow, "{fast} and {slow} packets");
    // At most one SACK per packet can be sent on the slow path.
    assert!(slow_sacks * 10 >= slow * 9, "{slow_sacks} for {slow} packets");
}

#[test]
fn smallest_srtt_acknowledges_on_the_fast_path() {
    let (_, [fast_sacks, slow_sacks]) = traffic("smallest-srtt");
    assert!(slow_sacks * 4 < fast_sacks, "{slow_sacks} beside {fast_sacks}");
}

//= rfc8260 2.1-3
/// RFC 9260 §3.3.1: the I bit requests an immediate SACK; the sender may be measuring the path.
#[test]
fn i_bit_is_acknowledged_on_its_own_path() {
    let mut policies = PolicyRecipe::cmt();
    policies.set("sack-path", "primary").unwrap();
    policies.set("path-scheduler", "min-rtt").unwrap();
    let paths = [
        LinkConfig::new(mbit(20), ms(40)),
        LinkConfig::new(mbit(20), ms(10)),
    ];
    let mut pair = Pair::paths(paths).policies(policies).connected();
    pair.run_for(secs(1));
    let answers = |pair: &mut Pair, at_once: bool| {
        let notes = pair.record_chunks_of_bob(1);
        pair.alice().act(|_, association, _| {
            let mut message = anabranch_proto::Message::new(anabranch_types::StreamId(0), vec![7; 1_000]);
            message.acknowledge_at_once = at_once;
            association.send(message).expect("room");
        });
        pair.run_for(secs(1));
        assert!(pair.alice().has_flushed());
        notes.kinds().contains(&kind::SACK)
    };
    assert!(!answers(&mut pair, false));
    assert!(answers(&mut pair, true));
    assert!(!pair.alice().has_event(|event| matches!(event, Event::Closed(_))));
}

//! Incomplete SACKs: reneging, truncated gap lists, SACK windows.

use anabranch_netsim::LinkConfig;
use anabranch_policy::PolicyRecipe;
use anabranch_proto::{AssociationConfig, Message};
use anabranch_sim::app::Streams;
use anabranch_types::{StreamId, Tsn};
use anabranch_wire::{GapBlock, OutboundSack};

use crate::fixture::{Forger, Pair, Reply, mbit, ms, secs};

/// Two dissimilar paths with 2 % loss and these SACK settings. SACKs do not overtake each other: an old one would look
/// like reneging.
fn gaps_everywhere(settings: &[(&str, &str)]) -> Pair {
    let mut policies = PolicyRecipe::cmt();
    policies.set("sack-path", "primary").unwrap();
    for (point, value) in settings {
        policies.set(point, value).unwrap();
    }
    let paths = [LinkConfig::new(mbit(20), ms(5)), LinkConfig::new(mbit(5), ms(60))];
    let mut pair = Pair::paths(paths).policies(policies).connected();
    pair.set_loss(0, 0.02);
    pair.set_loss(1, 0.02);
    pair
}

#[test]
fn reneged_data_is_retransmitted() {
    let mut forger = Forger::associated();
    let payload = || vec![7; 1_000];
    let sent: usize = (0..3)
        .map(|_| forger.victim_send(Message::new(StreamId(0), payload())).len())
        .sum();
    assert_eq!(sent, 3);
    let before_first = Tsn(forger.victim_tsn().0.wrapping_sub(1));
    let report = |blocks| OutboundSack {
        cumulative: before_first,
        a_rwnd: 100_000,
        packet_count: None,
        blocks,
        duplicates: &[],
    };
    forger.send(forger.tag(), &[&report(&[GapBlock { start: 2, end: 3 }])]);
    forger.send(forger.tag(), &[&report(&[])]);
    assert_eq!(forger.statistics().chunks_reneged, 2);
    // From now on data is kept and acknowledged.
    let mut came = forger.run_for(secs(5));
    for again in 0..3 {
        let expected = Tsn(forger.victim_tsn().0.wrapping_add(again));
        let mut tsns = came.iter().flat_map(Reply::tsns);
        assert!(tsns.any(|tsn| tsn == expected), "{again}");
        let sack = OutboundSack {
            cumulative: expected,
            ..report(&[])
        };
        came.append(&mut forger.send(forger.tag(), &[&sack]));
    }
    assert_eq!(forger.statistics().send_buffer_used, 0);
}

#[test]
fn truncated_gap_list_is_not_reneging() {
    let mut pair = gaps_everywhere(&[("gap-limit", "fixed"), ("gap-limit.blocks", "2")]);
    let sacks = pair.record_sacks_of_bob();
    pair.alice().send_messages(1_500, 1_400, Streams::in_turn(4));
    pair.deliver_all(secs(60));
    assert_eq!(sacks.most_blocks(), 2);
    assert_eq!(pair.alice().statistics().chunks_reneged, 0);
}

#[test]
fn unlimited_sack_reports_many_gap_blocks() {
    let mut pair = gaps_everywhere(&[]);
    let sacks = pair.record_sacks_of_bob();
    pair.alice().send_messages(1_500, 1_400, Streams::in_turn(4));
    pair.deliver_all(secs(60));
    assert!(sacks.most_blocks() > 5, "{}", sacks.most_blocks());
    assert!(sacks.furthest() > 40, "{}", sacks.furthest());
    assert_eq!(pair.alice().statistics().chunks_reneged, 0);
}

#[test]
fn receiver_reports_no_gaps_beyond_its_sack_window() {
    let mut pair = gaps_everywhere(&[("sack-window", "fixed"), ("sack-window.tsns", "50")]);
    let sacks = pair.record_sacks_of_bob();
    pair.alice().send_messages(1_500, 1_400, Streams::in_turn(4));
    pair.deliver_all(secs(120));
    assert_eq!(sacks.furthest(), 50);
    assert_eq!(pair.alice().statistics().chunks_reneged, 0);
}

#[test]
fn windowed_sack_processing_covers_all_gaps() {
    let mut pair = gaps_everywhere(&[
        ("sack-window", "sliding"),
        ("sack-window.tsns", "10"),
        ("sack-window.windows", "3"),
    ]);
    let sacks = pair.record_sacks_of_bob();
    pair.alice().send_messages(1_500, 1_400, Streams::in_turn(4));
    pair.deliver_all(secs(120));
    assert!(
        sacks.furthest() > 40,
        "all of it is reported: {}",
        sacks.furthest()
    );
    assert_eq!(pair.alice().statistics().chunks_reneged, 0);
}

#[test]
fn windowed_sack_processing_rotates_over_later_windows() {
    let mut policies = PolicyRecipe::rfc9260();
    for (point, value) in [
        ("sack-window", "sliding"),
        ("sack-window.tsns", "2"),
        ("sack-window.windows", "2"),
        ("cc.initial-packets", "10"),
        ("burst", "unlimited"),
    ] {
        policies.set(point, value).unwrap();
    }
    let config = AssociationConfig {
        policies,
        ..AssociationConfig::default()
    };
    let mut forger = Forger::against(config, Vec::new());
    forger.associate();
    for _ in 0..8 {
        forger.victim_send(Message::new(StreamId(0), vec![7; 1_000]));
    }
    let sack = OutboundSack {
        cumulative: Tsn(forger.victim_tsn().0.wrapping_sub(1)),
        a_rwnd: 100_000,
        packet_count: None,
        blocks: &[GapBlock { start: 2, end: 8 }],
        duplicates: &[],
    };
    let mut outstanding = Vec::new();
    for _ in 0..3 {
        outstanding.push(forger.statistics().paths[0].in_flight / 1_016);
        forger.send(forger.tag(), &[&sack]);
    }
    assert_eq!(
        outstanding,
        [8, 5, 3],
        "2 of the first window, 3 and 4 of the second, then 5 and 6 of the third"
    );
    assert_eq!(
        forger.statistics().paths[0].in_flight / 1_016,
        3,
        "7 and 8 are in none"
    );
}

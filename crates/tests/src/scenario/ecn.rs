//! Explicit congestion notification (RFC 4960 Appendix A) over queues that mark packets: RED, CoDel, FQ-CoDel, PIE.

use anabranch_netsim::LinkConfig;
use anabranch_netsim::link::{CodelConfig, FqCodelConfig, PieConfig, QueueConfig, RedConfig};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::{AssociationConfig, Message};
use anabranch_sim::Side;
use anabranch_sim::app::Streams;
use anabranch_types::{PathId, StreamId, Tsn};
use anabranch_wire::chunk::kind;
use anabranch_wire::{Chunk, Ecne, ParameterWriter};

use crate::fixture::{Forger, Pair, PairBuilder, Reply, mbit, ms, secs};

fn with_ecn(builder: PairBuilder, switch: &str) -> PairBuilder {
    let mut policies = PolicyRecipe::default();
    policies.set("ecn", switch).expect("a choice of the catalog");
    builder.policies(policies)
}

/// A bottleneck with this queue.
fn link(queue: QueueConfig) -> LinkConfig {
    LinkConfig::new(mbit(10), ms(20)).queue(queue)
}

fn marking_codel() -> QueueConfig {
    QueueConfig::Codel(CodelConfig {
        mark: true,
        ..CodelConfig::standard(500)
    })
}

/// The marked packets that Bob received, Alice's reductions, and her retransmitted bytes, of all paths.
fn tally(pair: &mut Pair) -> (u64, u64, u64) {
    let received = pair.bob().statistics().paths;
    let sent = pair.alice().statistics().paths;
    (
        received.iter().map(|path| path.counters.marks_received).sum(),
        sent.iter().map(|path| path.counters.ecn_reductions).sum(),
        sent.iter().map(|path| path.counters.payload_retransmitted).sum(),
    )
}

/// With marks no packet is lost once slow start is over; without them the same queue drops packets.
#[test]
fn marking_queues_slow_the_sender_without_losses() {
    let red = QueueConfig::Red(RedConfig {
        mark: true,
        gentle: true,
        weight: 0.02,
        max_probability: 0.1,
        ..RedConfig::classic(300)
    });
    let fq_codel = QueueConfig::FqCodel(FqCodelConfig::standard());
    let pie = QueueConfig::Pie(PieConfig {
        mark: true,
        ..PieConfig::standard(500)
    });
    for queue in [marking_codel(), red, fq_codel, pie] {
        let mut pair = with_ecn(Pair::paths([link(queue)]), "on").connected();
        pair.alice().send_forever();
        pair.run_for(secs(5));
        let (_, _, lost_at_first) = tally(&mut pair);
        pair.run_for(secs(10));
        let (marks, reductions, lost) = tally(&mut pair);
        assert!(marks > 10 && reductions > 5, "{queue:?}: {marks}, {reductions}");
        assert!(reductions <= marks, "{queue:?}: {marks}, {reductions}");
        assert!(
            lost - lost_at_first < 20_000,
            "{queue:?}: {lost_at_first}, {lost}"
        );
        let rate = pair.bob().goodput_in_last(secs(10));
        assert!(rate > mbit(7), "{queue:?}: {rate}");
    }
}

#[test]
fn packets_are_not_ecn_capable_unless_both_ends_agree() {
    for (near, far, agreed) in [("on", "on", true), ("on", "off", false), ("off", "on", false)] {
        let recipe = |switch| {
            let mut policies = PolicyRecipe::default();
            policies.set("ecn", switch).expect("a choice of the catalog");
            policies
        };
        let builder = Pair::paths([link(marking_codel())]).scenario(move |scenario| {
            let config = |switch| AssociationConfig {
                policies: recipe(switch),
                ..AssociationConfig::default()
            };
            scenario
                .config_of(Side::Near, config(near))
                .config_of(Side::Far, config(far))
        });
        let mut pair = builder.connected();
        assert_eq!(
            pair.alice().act(|_, association, _| association.is_ecn_capable()),
            agreed
        );
        assert_eq!(
            pair.bob().act(|_, association, _| association.is_ecn_capable()),
            agreed
        );
        pair.alice().send_forever();
        pair.run_for(secs(5));
        assert_eq!(tally(&mut pair).0 > 0, agreed, "{near} {far}");
    }
}

/// Only the path whose packets are marked is slowed down.
#[test]
fn marks_reduce_the_window_of_their_path_only() {
    let wide = LinkConfig::new(mbit(10), ms(20)).queue(QueueConfig::Packets(2_000));
    let mut pair = with_ecn(Pair::paths([link(marking_codel()), wide]), "on").connected();
    pair.alice().send_forever();
    pair.run_for(secs(10));
    let paths = pair.alice().statistics().paths;
    let reductions = |path: usize| paths[path].counters.ecn_reductions;
    assert!(reductions(0) > 3 && reductions(1) == 0, "{paths:#?}");
    assert_eq!(paths[1].id, PathId(1));
}

/// A mark is repeated until its CWR arrives, and reduces the window once.
#[test]
fn lost_ecne_and_cwr_are_repeated() {
    let mut pair = with_ecn(Pair::paths([link(marking_codel())]), "on").connected();
    pair.alice().send_forever();
    pair.drop_next(3, kind::ECNE);
    pair.run_for(secs(3));
    let (_, reductions, _) = tally(&mut pair);
    assert!(reductions > 0);
    pair.drop_next(2, kind::CWR);
    pair.run_for(secs(5));
    let (marks, more, _) = tally(&mut pair);
    assert!(more > reductions && more <= marks, "{marks}, {more}");
}

#[test]
fn marked_transfer_is_complete_over_two_lossy_paths() {
    let links = [link(marking_codel()), link(marking_codel())];
    let mut pair = with_ecn(Pair::paths(links), "on").connected();
    pair.set_loss(0, 0.01);
    pair.alice().send_messages(2_000, 1_500, Streams::in_turn(4));
    pair.bob().send_messages(100, 700, Streams::in_turn(1));
    pair.deliver_all(secs(120));
}

/// A forged peer that reports marks of the same chunk, of a chunk that was never sent, and of a later one.
#[test]
fn repeated_echo_reduces_the_window_once() {
    let mut config = AssociationConfig::default();
    config.policies.set("ecn", "on").expect("a choice of the catalog");
    let mut parameters = ParameterWriter::new();
    parameters.push_ecn_capable();
    let mut forger = Forger::against(config, parameters.finish());
    forger.associate();
    let first = forger.victim_tsn();
    for _ in 0..4 {
        forger
            .victim_try_send(Message::new(StreamId(0), vec![7; 1_400]))
            .expect("room");
    }
    let reductions = |forger: &Forger| forger.statistics().paths[0].counters.ecn_reductions;
    let echo = |offset| Ecne {
        lowest: Tsn(first.0.wrapping_add(offset)),
        packets: 1,
    };
    let tag = forger.tag();
    for expected in [Some(first), None, None] {
        let replies = forger.send(tag, &[&echo(0)]);
        let answered = replies
            .iter()
            .flat_map(Reply::chunks)
            .find_map(|chunk| match chunk {
                Chunk::Cwr(cwr) => Some(cwr.lowest),
                _ => None,
            });
        assert!(answered == expected || expected.is_none(), "{replies:?}");
        assert_eq!(reductions(&forger), 1);
    }
    assert!(forger.send(tag, &[&echo(1_000)]).is_empty(), "it was never sent");
    forger.send(tag, &[&echo(3)]);
    assert_eq!(reductions(&forger), 1, "it was outstanding at the reduction");
}

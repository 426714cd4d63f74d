//! Non-renegable selective acknowledgements (NR-SACK). What changes if Bob promises not to renege?

use anabranch_netsim::LinkConfig;
use anabranch_policy::PolicyRecipe;
use anabranch_proto::{AssociationConfig, BufferSize, Message};
use anabranch_sim::Side;
use anabranch_sim::app::Streams;
use anabranch_types::{StreamId, Tsn};
use anabranch_wire::chunk::kind;
use anabranch_wire::{GapBlock, OutboundNrSack, OutboundSack, ParameterWriter};

use crate::fixture::{Forger, Pair, PairBuilder, mbit, ms, secs};

fn policies(nr_sack: &str) -> PolicyRecipe {
    let mut policies = PolicyRecipe::cmt();
    policies.set("nr-sack", nr_sack).unwrap();
    policies
}

/// A fast and a slow path with a small send buffer, of which each path may use half.
fn a_slow_path_and_a_small_buffer(nr_sack: &str) -> PairBuilder {
    let paths = [
        LinkConfig::new(mbit(20), ms(10)),
        LinkConfig::new(mbit(2), ms(150)),
    ];
    Pair::paths(paths).policies(policies(nr_sack)).with(|config| {
        config.policies.set("buffer-split", "sender").unwrap();
        config.send_buffer = BufferSize::Fixed(150_000);
        config.max_message = 10_000;
    })
}

#[test]
fn nr_sack_frees_send_buffer_across_gaps() {
    let goodput = |nr_sack: &str| {
        let mut pair = a_slow_path_and_a_small_buffer(nr_sack).connected();
        pair.alice().send_forever();
        pair.run_for(secs(20));
        let goodput = pair.bob().goodput_in_last(secs(15));
        assert_eq!(pair.bob().inbox().delivery_error(), None);
        goodput.as_bits_per_second() as f64 / 1e6
    };
    let (with, without) = (goodput("on"), goodput("off"));
    println!("{with:.1} Mbit/s with, {without:.1} without");
    assert!(
        with > 1.3 * without,
        "{with:.1} Mbit/s with, {without:.1} without"
    );
}

#[test]
fn nr_sack_transfer_is_complete_under_loss() {
    for nr_sack in ["on", "delivered"] {
        let mut pair = a_slow_path_and_a_small_buffer(nr_sack).connected();
        pair.set_loss(0, 0.03);
        pair.set_loss(1, 0.03);
        pair.alice().send_messages(1_500, 3_000, Streams::in_turn(5));
        pair.deliver_all(secs(60));
        pair.cut_path(0);
        pair.alice().send_messages(100, 3_000, Streams::in_turn(5));
        pair.deliver_all(secs(60));
        assert_eq!(pair.alice().statistics().send_buffer_used, 0);
    }
}

#[test]
fn nr_sack_is_used_only_if_both_enable_it() {
    for (alice, bob, expected) in [
        ("on", "on", kind::NR_SACK),
        ("delivered", "delivered", kind::NR_SACK),
        ("on", "off", kind::SACK),
        ("off", "on", kind::SACK),
    ] {
        let config = AssociationConfig {
            policies: policies(bob),
            ..AssociationConfig::default()
        };
        let mut pair = Pair::one_path(mbit(10), ms(10))
            .policies(policies(alice))
            .scenario(|scenario| scenario.config_of(Side::Far, config))
            .connected();
        let notes = pair.record_chunks_of_bob(0);
        pair.set_loss(0, 0.05);
        pair.alice().send_messages(200, 1_400, Streams::in_turn(3));
        pair.deliver_all(secs(30));
        let sacks = notes.kinds().into_iter();
        let sacks: Vec<u8> = sacks
            .filter(|kind| [kind::SACK, kind::NR_SACK].contains(kind))
            .collect();
        assert_eq!(sacks, [expected], "Alice {alice}, Bob {bob}");
    }
}

/// A forger that has negotiated NR-SACK, and a victim that has ten chunks to send.
fn a_forger_who_promises() -> Forger {
    let mut parameters = ParameterWriter::new();
    parameters.push_supported_extensions(&[kind::NR_SACK]);
    let config = AssociationConfig {
        policies: policies("on"),
        ..AssociationConfig::default()
    };
    let mut forger = Forger::against(config, parameters.finish());
    forger.associate();
    let sent: usize = (0..10)
        .map(|_| {
            let message = Message::new(StreamId(0), vec![7; 1_000]);
            forger.victim_send(message).len()
        })
        .sum();
    // The initial window allows only some of them at once.
    assert!(sent >= 3, "{sent} packets");
    forger
}

/// An NR-SACK whose cumulative TSN is the one before the victim's first.
fn promise<'a>(forger: &Forger, non_renegable: &'a [GapBlock]) -> OutboundNrSack<'a> {
    OutboundNrSack {
        cumulative: Tsn(forger.victim_tsn().0.wrapping_sub(1)),
        a_rwnd: 100_000,
        packet_count: None,
        blocks: &[],
        non_renegable,
        duplicates: &[],
    }
}

const fn block(start: u16, end: u16) -> GapBlock {
    GapBlock { start, end }
}

#[test]
fn nr_acked_chunks_are_freed_and_cannot_be_reneged() {
    let mut forger = a_forger_who_promises();
    let before = forger.statistics().send_buffer_used;
    forger.send(forger.tag(), &[&promise(&forger, &[block(2, 3)])]);
    let kept = forger.statistics().send_buffer_used;
    assert_eq!(before - kept, 2_000);
    forger.send(forger.tag(), &[&promise(&forger, &[])]);
    let sack = OutboundSack {
        cumulative: Tsn(forger.victim_tsn().0.wrapping_sub(1)),
        a_rwnd: 100_000,
        packet_count: None,
        blocks: &[],
        duplicates: &[],
    };
    forger.send(forger.tag(), &[&sack]);
    assert_eq!(forger.statistics().chunks_reneged, 0);
    let first = forger.victim_tsn().0;
    let repeated = forger.run_for(secs(5));
    let repeated: Vec<u32> = repeated
        .iter()
        .flat_map(|reply| reply.tsns())
        .map(|tsn| tsn.0.wrapping_sub(first))
        .collect();
    assert!(repeated.contains(&0), "{repeated:?}");
    assert!(
        !repeated.contains(&1) && !repeated.contains(&2),
        "there is nothing left to repeat: {repeated:?}"
    );
}

#[test]
fn nr_sack_of_unsent_tsn_ends_the_association() {
    let mut forger = a_forger_who_promises();
    forger.send(forger.tag(), &[&promise(&forger, &[block(2, 30_000)])]);
    assert!(forger.close_reason().is_some());
}

#[test]
fn thousands_of_unordered_nr_blocks_are_harmless() {
    let mut forger = a_forger_who_promises();
    let mess: Vec<GapBlock> = (0..7_000_u16)
        .map(|number| block(3 - number % 3, number % 4))
        .collect();
    let nr_sack = OutboundNrSack {
        blocks: &mess,
        ..promise(&forger, &mess)
    };
    forger.send(forger.tag(), &[&nr_sack]);
    assert_eq!(forger.close_reason(), None);
    let used = forger.statistics().send_buffer_used;
    assert!(used >= 7_000, "at most the blocks' three are gone: {used}");
    let all = OutboundNrSack {
        cumulative: Tsn(forger.victim_tsn().0.wrapping_add(2)),
        ..promise(&forger, &[])
    };
    forger.send(forger.tag(), &[&all]);
    assert_eq!(forger.close_reason(), None);
    assert_eq!(forger.statistics().send_buffer_used, 7_000);
}

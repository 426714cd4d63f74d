//! Do usrsctp and we share several paths? Hosts of their own with two cables between them, and CMT on both sides.

use std::io;

use anabranch_interop::{Plan, Stack};
use anabranch_proto::AssociationConfig;
use anabranch_wire::chunk::kind;

use crate::conversation::{Conversation, End};

const PLAN: Plan = Plan::ordered(1_500, &[1_200, 10_000], 20);

/// In turn: the windows of a fast and short path alone would take everything.
fn two_cables() -> Conversation {
    let conversation = Conversation::with(Stack::Usrsctp, PLAN).over_cables(2);
    conversation.we(|config| {
        let set = config.policies.set("path-scheduler", "round-robin");
        set.expect("a name of the catalog");
    })
}

/// Every path carried a good part of it.
fn both_are_used(conversation: Conversation) -> io::Result<()> {
    let Some((report, bytes_on_paths)) = conversation.takes_place()? else {
        return Ok(());
    };
    assert_eq!(report.paths, 2, "{report:?}");
    assert_eq!(bytes_on_paths.len(), 2);
    let total: u64 = bytes_on_paths.iter().sum();
    assert!(
        bytes_on_paths.iter().all(|bytes| bytes * 10 > total),
        "{bytes_on_paths:?}"
    );
    Ok(())
}

#[test]
fn we_send_over_two_paths_to_a_receiver_without_cmt() -> io::Result<()> {
    both_are_used(two_cables())
}

#[test]
fn both_send_over_two_paths() -> io::Result<()> {
    both_are_used(two_cables().it_connects().option(&["--set", "cmt_on_off=1"]))
}

/// Protocol 132, without UDP.
#[test]
fn both_send_over_two_paths_directly_over_ip() -> io::Result<()> {
    let options = ["--set", "cmt_on_off=1"];
    both_are_used(two_cables().directly_over_ip().option(&options))
}

fn with_nr_sack(config: &mut AssociationConfig) {
    config
        .policies
        .set("nr-sack", "on")
        .expect("an option that exists");
}

/// What the papers of CMT-SCTP add, on both sides.
#[test]
fn both_delay_acknowledgements_use_nr_sacks_and_split_buffers() -> io::Result<()> {
    let knobs = [
        "cmt_on_off=1",
        "cmt_use_dac=1",
        "nrsack_enable=1",
        "buffer_splitting=3",
    ];
    let options: Vec<&str> = knobs.iter().flat_map(|knob| ["--set", *knob]).collect();
    let conversation = two_cables()
        .we(with_nr_sack)
        .option(&options)
        .it_sends(kind::NR_SACK);
    both_are_used(conversation.ends(End::ItFinishes))
}

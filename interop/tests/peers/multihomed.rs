//! Multihomed interoperability with usrsctp: two hosts with two links between them, and CMT on both sides.

use std::io;

use anabranch_interop::{Stack, Workload};
use anabranch_proto::AssociationConfig;
use anabranch_wire::chunk::kind;

use crate::conversation::{Conversation, End};

const WORKLOAD: Workload = Workload::ordered(1_500, &[1_200, 10_000], 20);

/// Round robin: otherwise the window of one fast path could carry everything.
fn two_links() -> Conversation {
    let conversation = Conversation::with(Stack::Usrsctp, WORKLOAD).over_links(2);
    conversation.we(|config| {
        let set = config.policies.set("path-scheduler", "round-robin");
        set.expect("a name of the catalog");
    })
}

/// Asserts that every path carried a substantial part.
fn check_both_paths_are_used(conversation: Conversation) -> io::Result<()> {
    let Some((report, bytes_on_paths)) = conversation.run()? else {
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
fn cmt_sends_to_a_receiver_without_cmt() -> io::Result<()> {
    check_both_paths_are_used(two_links())
}

#[test]
fn cmt_works_in_both_directions() -> io::Result<()> {
    check_both_paths_are_used(two_links().peer_connects().option(&["--set", "cmt_on_off=1"]))
}

/// IP protocol 132, without UDP.
#[test]
fn cmt_works_directly_over_ip() -> io::Result<()> {
    let options = ["--set", "cmt_on_off=1"];
    check_both_paths_are_used(two_links().directly_over_ip().option(&options))
}

fn with_nr_sack(config: &mut AssociationConfig) {
    config
        .policies
        .set("nr-sack", "on")
        .expect("an option that exists");
}

/// The extensions of the CMT-SCTP papers, on both sides.
#[test]
fn cmt_works_with_dac_nr_sack_and_buffer_split() -> io::Result<()> {
    let knobs = [
        "cmt_on_off=1",
        "cmt_use_dac=1",
        "nrsack_enable=1",
        "buffer_splitting=3",
    ];
    let options: Vec<&str> = knobs.iter().flat_map(|knob| ["--set", *knob]).collect();
    let conversation = two_links()
        .we(with_nr_sack)
        .option(&options)
        .peer_sends_chunk(kind::NR_SACK);
    check_both_paths_are_used(conversation.ends(End::PeerShutsDown))
}

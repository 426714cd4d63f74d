//! Tests of grouping and of acknowledgements.

use core::net::IpAddr;
use core::ops::Range;

use anabranch_types::VerificationTag;

use super::{Conversation, Direction, conversations};
use crate::segment::{Acknowledgement, Protocol, Segment};

/// Alice has tag 1 and addresses 10.0.0.n, Bob tag 2 and 10.1.0.n.
fn address(host: u8, number: u8) -> IpAddr {
    IpAddr::from([10, host, 0, number])
}

#[derive(Default)]
struct Script {
    segments: Vec<Segment>,
}

impl Script {
    fn says(
        &mut self,
        from: u8,
        path: u8,
        carries: &[Range<u32>],
        acknowledges: Option<(u32, &[Range<u32>])>,
    ) {
        let number = self.segments.len() + 1;
        let tag = VerificationTag(if from == 0 { 2 } else { 1 });
        self.segments.push(Segment {
            number,
            at: number as u64 * 1_000,
            from: address(from, path),
            to: address(1 - from, path),
            ports: if from == 0 { (5_000, 9_899) } else { (9_899, 5_000) },
            length: 100,
            protocol: Protocol::Sctp { tag, peer_tag: None },
            label: String::new(),
            carries: carries.to_vec(),
            acknowledges: acknowledges.map(|(before, blocks)| Acknowledgement {
                before,
                blocks: blocks.to_vec(),
            }),
        });
    }

    fn sends(&mut self, path: u8, tsn: u32) {
        self.says(0, path, core::slice::from_ref(&(tsn..tsn.wrapping_add(1))), None);
    }

    fn acknowledges(&mut self, path: u8, before: u32, blocks: &[Range<u32>]) {
        self.says(1, path, &[], Some((before, blocks)));
    }

    fn one(self) -> Conversation {
        let mut all = conversations(self.segments);
        assert_eq!(all.len(), 1);
        all.remove(0)
    }
}

fn covers(conversation: &Conversation, row: usize) -> &[usize] {
    &conversation.rows[row].acknowledges.as_ref().unwrap().covers
}

#[test]
fn association_over_two_paths_is_one_conversation() {
    let mut script = Script::default();
    script.sends(1, 10);
    script.sends(2, 11);
    script.acknowledges(1, 12, &[]);
    let conversation = script.one();
    assert_eq!(
        conversation.paths,
        [(address(0, 1), address(1, 1)), (address(0, 2), address(1, 2))]
    );
    let ways: Vec<Direction> = conversation.rows.iter().map(|row| row.direction).collect();
    assert_eq!(ways, [Direction::Forward, Direction::Forward, Direction::Reverse]);
}

#[test]
fn acknowledgement_covers_only_newly_acked_segments() {
    let mut script = Script::default();
    (10..15).for_each(|tsn| script.sends(1, tsn));
    script.acknowledges(1, 11, core::slice::from_ref(&(13..14)));
    script.acknowledges(1, 11, core::slice::from_ref(&(13..15)));
    script.sends(1, 11);
    script.acknowledges(1, 15, &[]);
    let conversation = script.one();
    assert_eq!(covers(&conversation, 5), [0, 3]);
    assert_eq!(covers(&conversation, 6), [4]);
    assert!(conversation.rows[7].retransmission);
    assert_eq!(covers(&conversation, 8), [1, 2, 7], "both transmissions of 11");
}

#[test]
fn sequence_numbers_wrap() {
    let mut script = Script::default();
    (0..4).for_each(|offset| script.sends(1, (u32::MAX - 1).wrapping_add(offset)));
    script.acknowledges(1, 0, core::slice::from_ref(&(1..2)));
    let conversation = script.one();
    assert_eq!(covers(&conversation, 4), [0, 1, 3]);
}

#[test]
fn handshake_joins_directions_of_one_association() {
    let mut script = Script::default();
    script.says(0, 1, &[], None);
    script.segments[0].protocol = Protocol::Sctp {
        tag: VerificationTag::ZERO,
        peer_tag: Some(VerificationTag(1)),
    };
    script.says(1, 1, &[], None);
    script.segments[1].protocol = Protocol::Sctp {
        tag: VerificationTag(1),
        peer_tag: Some(VerificationTag(2)),
    };
    // Data on a path without other packets.
    script.sends(3, 7);
    script.sends(4, 8);
    script.segments[3].protocol = Protocol::Sctp {
        tag: VerificationTag(99),
        peer_tag: None,
    };
    let lengths: Vec<usize> = conversations(script.segments)
        .iter()
        .map(|conversation| conversation.rows.len())
        .collect();
    assert_eq!(lengths, [3, 1]);
}

/// Both ends use the same port, and on the second path the initiator sends first.
#[test]
fn tags_tell_the_directions_of_new_addresses_with_equal_ports() {
    let mut script = Script::default();
    script.sends(1, 10);
    script.acknowledges(1, 11, &[]);
    script.sends(2, 11);
    script.acknowledges(2, 12, &[]);
    for segment in &mut script.segments {
        segment.ports = (9_899, 9_899);
    }
    let conversation = script.one();
    let ways: Vec<Direction> = conversation.rows.iter().map(|row| row.direction).collect();
    let there_and_back = [Direction::Forward, Direction::Reverse];
    assert_eq!(ways, there_and_back.repeat(2));
    assert_eq!(
        conversation.paths,
        [(address(0, 1), address(1, 1)), (address(0, 2), address(1, 2))]
    );
}

#[test]
fn tags_tell_the_directions_on_one_host_with_equal_ports() {
    let mut script = Script::default();
    script.sends(1, 10);
    script.acknowledges(1, 11, &[]);
    script.sends(1, 11);
    for segment in &mut script.segments {
        segment.ports = (9_899, 9_899);
        (segment.from, segment.to) = (address(0, 1), address(0, 1));
    }
    let ways = script.one().rows.into_iter().map(|row| row.direction);
    assert!(ways.eq([Direction::Forward, Direction::Reverse, Direction::Forward]));
}

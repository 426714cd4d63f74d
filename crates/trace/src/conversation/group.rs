//! Grouping of segments into conversations by union-find. Which directions belong together?

use core::net::IpAddr;
use std::collections::BTreeMap;

use anabranch_types::VerificationTag;

use super::Conversation;
use crate::segment::{Protocol, Segment};

/// Key of one direction of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    /// Ports and verification tag.
    Sctp((u16, u16), VerificationTag),
    /// Ports and addresses.
    Tcp((u16, u16), (IpAddr, IpAddr)),
}

/// Groups `segments` into conversations, in the order of their first segment.
#[must_use]
pub fn conversations(segments: Vec<Segment>) -> Vec<Conversation> {
    let mut groups = Groups::default();
    let members: Vec<usize> = segments.iter().map(|segment| groups.member(segment)).collect();
    let mut sorted: BTreeMap<usize, Vec<Segment>> = BTreeMap::new();
    for (segment, member) in segments.into_iter().zip(members) {
        sorted.entry(groups.root(member)).or_default().push(segment);
    }
    let mut conversations: Vec<(u64, Conversation)> = Vec::new();
    for mut segments in sorted.into_values() {
        segments.sort_by_key(|segment| (segment.at, segment.number));
        let began = segments.first().map_or(0, |first| first.at);
        conversations.extend(Conversation::of(segments).map(|conversation| (began, conversation)));
    }
    conversations.sort_by_key(|(began, _)| *began);
    conversations
        .into_iter()
        .map(|(_, conversation)| conversation)
        .collect()
}

/// Ports and addresses, those of the sender first.
type Flow = ((u16, u16), (IpAddr, IpAddr));

/// Union-find over directions.
#[derive(Default)]
struct Groups {
    numbers: BTreeMap<Key, usize>,
    parents: Vec<usize>,
    /// Direction that last used these ports and addresses, to find the reverse direction.
    seen: BTreeMap<Flow, usize>,
}

impl Groups {
    fn member(&mut self, segment: &Segment) -> usize {
        let (there, back) = ((segment.from, segment.to), (segment.to, segment.from));
        let answering_ports = (segment.ports.1, segment.ports.0);
        let member = match segment.protocol {
            Protocol::Tcp => self.number(Key::Tcp(segment.ports, there)),
            Protocol::Sctp { tag, peer_tag } => {
                let answer = peer_tag.map(|tag| self.number(Key::Sctp(answering_ports, tag)));
                if tag == VerificationTag::ZERO {
                    // An INIT does not carry its direction's tag; it belongs to the direction that answers it.
                    return answer.unwrap_or_else(|| self.number(Key::Sctp(segment.ports, tag)));
                }
                let member = self.number(Key::Sctp(segment.ports, tag));
                if let Some(answer) = answer {
                    self.join(member, answer);
                }
                member
            }
        };
        if let Some(answered) = self.seen.get(&(answering_ports, back)).copied() {
            self.join(member, answered);
        }
        self.seen.insert((segment.ports, there), member);
        member
    }

    fn number(&mut self, key: Key) -> usize {
        let next = self.parents.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.parents.push(next);
        }
        number
    }

    /// Finds the root with path compression; without it, crafted captures would take quadratic time.
    fn root(&mut self, mut member: usize) -> usize {
        while self.parents[member] != member {
            self.parents[member] = self.parents[self.parents[member]];
            member = self.parents[member];
        }
        member
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.parents[one.max(other)] = one.min(other);
    }
}

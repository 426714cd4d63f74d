//! What does an SCTP packet say?

use core::ops::Range;
use std::borrow::Cow;

use anabranch_types::Tsn;
use anabranch_wire::chunk::kind;
use anabranch_wire::{Chunk, GapBlock, Packet, RawChunk};

use super::{Acknowledgement, Found, Protocol};

/// The packet that begins with `bytes`, of `length` in all; where it is not `known` to be SCTP, its checksum must say so. Of one
/// that was cut, what was captured is told.
pub(super) fn parse(bytes: &[u8], length: usize, known: bool) -> Option<Found> {
    let mut whole = Cow::Borrowed(bytes);
    if length > bytes.len() {
        whole.to_mut().resize(length, 0);
    }
    let packet = if known {
        Packet::parse_unverified(&whole).ok()?
    } else {
        Packet::parse(&whole).ok()?
    };
    let header = packet.header();
    let mut found = Found {
        ports: (header.source_port, header.destination_port),
        protocol: Protocol::Sctp {
            tag: header.tag,
            answers: None,
        },
        label: String::new(),
        carries: Vec::new(),
        acknowledges: None,
    };
    for raw in packet.chunks() {
        let was_captured = |raw: &RawChunk<'_>| raw.at + told_by(raw) <= bytes.len();
        if length > bytes.len() && !raw.as_ref().is_ok_and(was_captured) {
            break;
        }
        let chunk = raw.and_then(RawChunk::decode);
        if !found.label.is_empty() {
            found.label += " | ";
        }
        match chunk {
            Ok(chunk) => note(&mut found, &chunk),
            Err(error) => found.label += &format!("!{error}"),
        }
    }
    Some(found)
}

/// How much of a chunk says all that is told of it here: messages themselves are not.
const fn told_by(raw: &RawChunk<'_>) -> usize {
    match raw.kind {
        kind::DATA => 16,
        kind::I_DATA => 20,
        _ => raw.bytes.len(),
    }
}

fn note(found: &mut Found, chunk: &Chunk<'_>) {
    match chunk {
        Chunk::Data(data) => {
            found.carries.push(one(data.tsn));
            found.label += &format!("DATA {} ({} B)", data.tsn, data.payload.len());
        }
        Chunk::IData(data) => {
            found.carries.push(one(data.tsn));
            found.label += &format!("I-DATA {} ({} B)", data.tsn, data.payload.len());
        }
        Chunk::Sack(sack) => {
            let acknowledgement = acknowledgement(sack.cumulative, sack.gap_blocks());
            found.label += &format!("SACK {}{}", sack.cumulative, shown(&acknowledgement));
            found.acknowledges = Some(acknowledgement);
        }
        Chunk::NrSack(sack) => {
            let blocks = sack.gap_blocks().chain(sack.non_renegable_blocks());
            let acknowledgement = acknowledgement(sack.cumulative, blocks);
            found.label += &format!("NR-SACK {}{}", sack.cumulative, shown(&acknowledgement));
            found.acknowledges = Some(acknowledgement);
        }
        Chunk::Init(init) | Chunk::InitAck(init) => {
            if let Protocol::Sctp { answers, .. } = &mut found.protocol {
                *answers = Some(init.initiate_tag);
            }
            found.label += &name(chunk);
        }
        other => found.label += &name(other),
    }
}

/// The first word or two of how the chunk describes itself.
fn name(chunk: &Chunk<'_>) -> String {
    let line = chunk.to_string();
    let words = line.split(' ');
    let name: Vec<&str> = words.take_while(|word| !word.contains('=')).collect();
    name.join(" ")
}

const fn one(tsn: Tsn) -> Range<u32> {
    tsn.0..tsn.0.wrapping_add(1)
}

fn acknowledgement(cumulative: Tsn, blocks: impl Iterator<Item = GapBlock>) -> Acknowledgement {
    let at = |offset: u16| cumulative.0.wrapping_add(u32::from(offset));
    Acknowledgement {
        before: cumulative.0.wrapping_add(1),
        blocks: blocks
            .map(|block| at(block.start)..at(block.end).wrapping_add(1))
            .collect(),
    }
}

/// The blocks with their last numbers included, as both RFCs' readers are used to.
pub(super) fn shown(acknowledgement: &Acknowledgement) -> String {
    let blocks = acknowledgement.blocks.iter();
    let shown: Vec<String> = blocks
        .map(|block| format!("{}–{}", block.start, block.end.wrapping_sub(1)))
        .collect();
    if shown.is_empty() {
        String::new()
    } else {
        format!(" [{}]", shown.join(", "))
    }
}

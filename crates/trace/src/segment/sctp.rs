//! What does an SCTP packet say?

use core::ops::Range;

use anabranch_types::Tsn;
use anabranch_wire::{Chunk, GapBlock, Packet, RawChunk};

use super::{Acknowledgement, Found, Protocol};

/// The packet in `bytes`; where it is not `known` to be SCTP, its checksum must say so.
pub(super) fn parse(bytes: &[u8], known: bool) -> Option<Found> {
    let packet = if known {
        Packet::parse_unverified(bytes).ok()?
    } else {
        Packet::parse(bytes).ok()?
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

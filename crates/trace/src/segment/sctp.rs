//! Parser of SCTP packets in captures.

use core::ops::Range;
use std::borrow::Cow;

use anabranch_types::{Tsn, VerificationTag};
use anabranch_wire::chunk::kind;
use anabranch_wire::{Chunk, GapBlock, Packet, RawChunk};

use super::{Acknowledgement, Parsed, Protocol};

/// Where the checksum is in the common header (RFC 9260 §3.1).
const CHECKSUM: Range<usize> = 8..12;

/// What must be true of the checksum of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Checksum {
    /// Nothing: it is certain that this is SCTP, and a network card may compute the checksum after the capture.
    Unneeded,
    /// Correct or zero (RFC 9653). Of a packet that was captured in part it is unknown.
    OrZero,
    /// Correct: the packet may be of any protocol.
    Correct,
}

/// Ports and verification tag: what tells the conversation of a packet. The checksum follows (RFC 9260 §3.1).
const IDENTITY: usize = 8;

/// Parses a packet of `length` bytes that starts with `bytes`. Of a truncated packet the captured chunks are parsed; without its
/// ports and tag it is left out.
pub(super) fn parse(bytes: &[u8], length: usize, checksum: Checksum) -> Option<Parsed> {
    if bytes.len() < IDENTITY {
        return None;
    }
    let mut whole = Cow::Borrowed(bytes);
    if length > bytes.len() {
        whole.to_mut().resize(length, 0);
    }
    let is_unverified = match checksum {
        Checksum::Unneeded => true,
        Checksum::OrZero => length > bytes.len() || bytes.get(CHECKSUM) == Some(&[0; 4]),
        Checksum::Correct => false,
    };
    let packet = if is_unverified {
        Packet::parse_unverified(&whole).ok()?
    } else {
        Packet::parse(&whole).ok()?
    };
    let header = packet.header();
    let mut parsed = Parsed {
        ports: (header.source_port, header.destination_port),
        protocol: Protocol::Sctp {
            tag: header.tag,
            peer_tag: None,
        },
        label: String::new(),
        carries: Vec::new(),
        acknowledges: None,
    };
    for raw in packet.chunks() {
        let has = |raw: &RawChunk<'_>, size: usize| raw.at + size <= bytes.len();
        if length > bytes.len() && !raw.as_ref().is_ok_and(|raw| has(raw, header_bytes(raw))) {
            let start = raw.ok().filter(|raw| has(raw, START_OF_INIT));
            note_start(&mut parsed, start.as_ref());
            break;
        }
        let chunk = raw.and_then(RawChunk::decode);
        if !parsed.label.is_empty() {
            parsed.label += " | ";
        }
        match chunk {
            Ok(chunk) => note(&mut parsed, &chunk),
            Err(error) => parsed.label += &format!("!{error}"),
        }
    }
    Some(parsed)
}

/// How many bytes of a chunk are needed: user data is not.
const fn header_bytes(raw: &RawChunk<'_>) -> usize {
    match raw.kind {
        kind::DATA => 16,
        kind::I_DATA => 20,
        _ => raw.bytes.len(),
    }
}

/// Bytes of an INIT or INIT ACK up to its initiate tag, with it (RFC 9260 §3.3.2).
const START_OF_INIT: usize = 8;

/// What the start of a chunk that was captured in part tells.
fn note_start(parsed: &mut Parsed, start: Option<&RawChunk<'_>>) {
    let init = start.filter(|raw| matches!(raw.kind, kind::INIT | kind::INIT_ACK));
    let tag = init.and_then(|raw| raw.bytes.get(4..START_OF_INIT)?.try_into().ok());
    if let (Some(tag), Protocol::Sctp { peer_tag, .. }) = (tag, &mut parsed.protocol) {
        *peer_tag = Some(VerificationTag(u32::from_be_bytes(tag)));
    }
    let name = match init.map(|raw| raw.kind) {
        Some(kind::INIT) => "INIT …",
        Some(_) => "INIT-ACK …",
        None => "…",
    };
    if !parsed.label.is_empty() {
        parsed.label += " | ";
    }
    parsed.label += name;
}

fn note(parsed: &mut Parsed, chunk: &Chunk<'_>) {
    match chunk {
        Chunk::Data(data) => {
            parsed.carries.push(one(data.tsn));
            parsed.label += &format!("DATA {} ({} B)", data.tsn, data.payload.len());
        }
        Chunk::IData(data) => {
            parsed.carries.push(one(data.tsn));
            parsed.label += &format!("I-DATA {} ({} B)", data.tsn, data.payload.len());
        }
        Chunk::Sack(sack) => {
            let acknowledgement = acknowledgement(sack.cumulative, sack.gap_blocks());
            parsed.label += &format!("SACK {}{}", sack.cumulative, shown(&acknowledgement));
            parsed.acknowledges = Some(acknowledgement);
        }
        Chunk::NrSack(sack) => {
            let blocks = sack.gap_blocks().chain(sack.non_renegable_blocks());
            let acknowledgement = acknowledgement(sack.cumulative, blocks);
            parsed.label += &format!("NR-SACK {}{}", sack.cumulative, shown(&acknowledgement));
            parsed.acknowledges = Some(acknowledgement);
        }
        Chunk::Init(init) | Chunk::InitAck(init) => {
            if let Protocol::Sctp { peer_tag, .. } = &mut parsed.protocol {
                *peer_tag = Some(init.initiate_tag);
            }
            parsed.label += &name(chunk);
        }
        other => parsed.label += &name(other),
    }
}

/// Name of a chunk: the first words of its description.
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

/// The blocks as inclusive ranges.
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

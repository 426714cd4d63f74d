//! Chunks in the event log: their fields without user data.

use anabranch_types::Tsn;
use anabranch_wire::{Chunk, Data, FragmentPlace, GapBlock, IData, Init, NrSack, Packet, RawChunk, Sack};
use serde::Serialize;

/// A chunk in the log. TSNs are absolute; ranges include both ends.
#[derive(Debug, Serialize)]
#[serde(tag = "chunk_type", rename_all = "snake_case")]
pub(super) enum ChunkView {
    Data(DataView),
    IData(DataView),
    Sack(SackView),
    NrSack(SackView),
    Init(InitView),
    InitAck(InitView),
    /// Any other well-formed chunk, as text.
    Other {
        text: String,
    },
    /// A chunk that cannot be decoded, and why.
    Malformed {
        text: String,
    },
}

#[derive(Debug, Default, Serialize)]
pub(super) struct DataView {
    tsn: u32,
    stream: u16,
    /// DATA: stream sequence number.
    #[serde(skip_serializing_if = "Option::is_none")]
    ssn: Option<u16>,
    /// I-DATA: message identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    mid: Option<u32>,
    /// I-DATA: fragment sequence number.
    #[serde(skip_serializing_if = "Option::is_none")]
    fsn: Option<u32>,
    /// Length of the user data in bytes.
    length: usize,
    beginning: bool,
    ending: bool,
    unordered: bool,
    immediate: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct SackView {
    cumulative: u32,
    a_rwnd: u32,
    gaps: Vec<[u32; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    non_renegable: Vec<[u32; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    duplicates: Vec<u32>,
}

#[derive(Debug, Serialize)]
pub(super) struct InitView {
    a_rwnd: u32,
    outbound_streams: u16,
    inbound_streams: u16,
    initial_tsn: u32,
}

/// Converts all chunks of an SCTP packet.
pub(super) fn all(packet: &[u8]) -> Vec<ChunkView> {
    let malformed = |text: String| ChunkView::Malformed { text };
    let packet = match Packet::parse_unverified(packet) {
        Ok(packet) => packet,
        Err(error) => return vec![malformed(error.to_string())],
    };
    let view = |chunk| match chunk {
        Ok(chunk) => ChunkView::from(&chunk),
        Err(error) => malformed(format!("{error}")),
    };
    let chunks = packet.chunks().map(|raw| raw.and_then(RawChunk::decode));
    chunks.map(view).collect()
}

impl From<&Chunk<'_>> for ChunkView {
    fn from(chunk: &Chunk<'_>) -> Self {
        match chunk {
            Chunk::Data(data) => Self::Data(data.into()),
            Chunk::IData(data) => Self::IData(data.into()),
            Chunk::Sack(sack) => Self::Sack(sack.into()),
            Chunk::NrSack(sack) => Self::NrSack(sack.into()),
            Chunk::Init(init) => Self::Init(init.into()),
            Chunk::InitAck(init) => Self::InitAck(init.into()),
            other => Self::Other {
                text: other.to_string(),
            },
        }
    }
}

impl From<&Data<'_>> for DataView {
    fn from(data: &Data<'_>) -> Self {
        Self {
            tsn: data.tsn.0,
            stream: data.stream.0,
            ssn: (!data.flags.unordered).then_some(data.ssn.0),
            length: data.payload.len(),
            beginning: data.flags.beginning,
            ending: data.flags.ending,
            unordered: data.flags.unordered,
            immediate: data.flags.immediate,
            ..Self::default()
        }
    }
}

impl From<&IData<'_>> for DataView {
    fn from(data: &IData<'_>) -> Self {
        let (beginning, fsn) = match data.place {
            FragmentPlace::First(_) => (true, 0),
            FragmentPlace::Later(number) => (false, number.0),
        };
        Self {
            tsn: data.tsn.0,
            stream: data.stream.0,
            ssn: None,
            mid: Some(data.mid.0),
            fsn: Some(fsn),
            length: data.payload.len(),
            beginning,
            ending: data.ending,
            unordered: data.unordered,
            immediate: data.immediate,
        }
    }
}

impl From<&Sack<'_>> for SackView {
    fn from(sack: &Sack<'_>) -> Self {
        Self {
            cumulative: sack.cumulative.0,
            a_rwnd: sack.a_rwnd,
            gaps: ranges(sack.cumulative, sack.gap_blocks()),
            non_renegable: Vec::new(),
            duplicates: sack.duplicates().map(|tsn| tsn.0).collect(),
        }
    }
}

impl From<&NrSack<'_>> for SackView {
    fn from(sack: &NrSack<'_>) -> Self {
        Self {
            cumulative: sack.cumulative.0,
            a_rwnd: sack.a_rwnd,
            gaps: ranges(sack.cumulative, sack.gap_blocks()),
            non_renegable: ranges(sack.cumulative, sack.non_renegable_blocks()),
            duplicates: sack.duplicates().map(|tsn| tsn.0).collect(),
        }
    }
}

impl From<&Init<'_>> for InitView {
    fn from(init: &Init<'_>) -> Self {
        Self {
            a_rwnd: init.a_rwnd,
            outbound_streams: init.outbound_streams,
            inbound_streams: init.inbound_streams,
            initial_tsn: init.initial_tsn.0,
        }
    }
}

fn ranges(cumulative: Tsn, blocks: impl Iterator<Item = GapBlock>) -> Vec<[u32; 2]> {
    let at = |offset: u16| cumulative.0.wrapping_add(u32::from(offset));
    blocks.map(|block| [at(block.start), at(block.end)]).collect()
}

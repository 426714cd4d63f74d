//! Which chunks does a packet carry, and which are to be lost?

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use anabranch_netsim::{Filter, FilterAction};
use anabranch_types::Tsn;
use anabranch_wire::{Chunk, Packet, RawChunk};

/// Loses packets with a certain chunk, on as many links as share it.
pub(crate) struct Losses {
    left: Arc<AtomicU32>,
    kind: u8,
}

impl Losses {
    pub(crate) fn of(count: u32, kind: u8) -> Self {
        Self {
            left: Arc::new(AtomicU32::new(count)),
            kind,
        }
    }

    pub(crate) fn filter(&mut self) -> Filter {
        let (left, kind) = (Arc::clone(&self.left), self.kind);
        Box::new(move |_, datagram| {
            let wanted = chunk_kinds(&datagram.payload).contains(&kind);
            let taken = wanted
                && left
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                    .is_ok();
            if taken {
                FilterAction::Drop
            } else {
                FilterAction::Pass
            }
        })
    }
}

/// Loses single DATA chunks, with the packets that they are in, as often as it was told.
#[derive(Clone)]
pub(crate) struct ChunkLosses(Arc<Mutex<LossScript>>);

struct LossScript {
    /// The first TSN that was seen; the script counts from there.
    first: Option<Tsn>,
    /// Which chunk, and how many of its transmissions are still to be lost.
    left: BTreeMap<u32, u32>,
}

impl ChunkLosses {
    pub(crate) fn of(script: &[(u32, u32)]) -> Self {
        Self(Arc::new(Mutex::new(LossScript {
            first: None,
            left: script.iter().copied().collect(),
        })))
    }

    pub(crate) fn filter(&self) -> Filter {
        let script = Arc::clone(&self.0);
        Box::new(move |_, datagram| {
            let mut script = script.lock().unwrap();
            let lost = tsns(&datagram.payload)
                .into_iter()
                .filter(|tsn| script.takes(*tsn))
                .count();
            if lost > 0 {
                FilterAction::Drop
            } else {
                FilterAction::Pass
            }
        })
    }
}

impl LossScript {
    fn takes(&mut self, tsn: Tsn) -> bool {
        let first = *self.first.get_or_insert(tsn);
        let left = self.left.get_mut(&tsn.0.wrapping_sub(first.0));
        left.and_then(|left| left.checked_sub(1).map(|fewer| *left = fewer))
            .is_some()
    }
}

/// The TSNs of the DATA chunks of a packet.
fn tsns(packet: &[u8]) -> Vec<Tsn> {
    let packet = Packet::parse_unverified(packet);
    let chunks = packet.iter().flat_map(Packet::chunks).flatten();
    let tsn = |chunk: RawChunk<'_>| match chunk.decode() {
        Ok(Chunk::Data(data)) => Some(data.tsn),
        _ => None,
    };
    chunks.filter_map(tsn).collect()
}

/// Remembers which chunks passed.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<BTreeSet<u8>>>);

impl Notes {
    pub(crate) fn filter(&self) -> Filter {
        let notes = self.clone();
        Box::new(move |_, datagram| {
            let kinds = chunk_kinds(&datagram.payload);
            notes.0.lock().unwrap().extend(kinds);
            FilterAction::Pass
        })
    }

    /// Their types, each once.
    pub(crate) fn kinds(&self) -> Vec<u8> {
        self.0.lock().unwrap().iter().copied().collect()
    }
}

/// Remembers how long the gap reports were that passed.
#[derive(Clone, Default)]
pub(crate) struct SackNotes(Arc<Mutex<Longest>>);

#[derive(Default)]
struct Longest {
    blocks: usize,
    offset: u16,
}

impl SackNotes {
    pub(crate) fn filter(&self) -> Filter {
        let notes = self.clone();
        Box::new(move |_, datagram| {
            let packet = Packet::parse_unverified(&datagram.payload);
            let chunks = packet.iter().flat_map(Packet::chunks).flatten();
            for chunk in chunks {
                if let Ok(Chunk::Sack(sack)) = chunk.decode() {
                    let mut longest = notes.0.lock().unwrap();
                    longest.blocks = longest.blocks.max(sack.gap_blocks().len());
                    let last = sack.gap_blocks().last().map_or(0, |block| block.end);
                    longest.offset = longest.offset.max(last);
                }
            }
            FilterAction::Pass
        })
    }

    /// The most gap blocks in one SACK.
    pub(crate) fn most_blocks(&self) -> usize {
        self.0.lock().unwrap().blocks
    }

    /// The furthest TSN reported, as an offset from the cumulative one.
    pub(crate) fn furthest(&self) -> u16 {
        self.0.lock().unwrap().offset
    }
}

/// The types of the chunks of a packet, in order.
fn chunk_kinds(packet: &[u8]) -> Vec<u8> {
    let packet = Packet::parse_unverified(packet);
    packet.map_or_else(
        |_| Vec::new(),
        |packet| packet.chunks().flatten().map(|chunk| chunk.kind).collect(),
    )
}

//! Which chunks does a packet carry, and which are to be lost?

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use anabranch_netsim::{Fate, Filter};
use anabranch_wire::{Chunk, Packet};

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
            if taken { Fate::Drop } else { Fate::Pass }
        })
    }
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
            Fate::Pass
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
            Fate::Pass
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

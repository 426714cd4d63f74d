//! Randomized tests of the receiver against a naive model that knows all messages sent.

use alloc::collections::BTreeSet;

use anabranch_types::{Rng, Seed};

use super::*;
use crate::message::Extent;

const STREAMS: u64 = 4;

/// A message as it was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Sent {
    stream: u16,
    ssn: u16,
    unordered: bool,
    first_tsn: u32,
    pieces: Vec<Vec<u8>>,
}

impl Sent {
    fn chunks(&self) -> impl Iterator<Item = Data<'_>> {
        let last = self.pieces.len() - 1;
        self.pieces.iter().enumerate().map(move |(index, payload)| Data {
            tsn: Tsn(self.first_tsn.wrapping_add(index as u32)),
            stream: StreamId(self.stream),
            ssn: Ssn(self.ssn),
            ppid: Ppid(u32::from(self.stream)),
            flags: DataFlags {
                beginning: index == 0,
                ending: index == last,
                unordered: self.unordered,
                immediate: false,
            },
            payload,
        })
    }

    fn as_received(&self) -> ReceivedMessage {
        ReceivedMessage {
            extent: Extent::Whole,
            stream: StreamId(self.stream),
            ppid: Ppid(u32::from(self.stream)),
            unordered: self.unordered,
            payload: self.pieces.concat().into(),
        }
    }
}

fn random_messages(rng: &mut Rng, initial: u32) -> Vec<Sent> {
    let mut next_ssn = [0_u16; STREAMS as usize];
    let mut tsn = initial;
    let mut messages = Vec::new();
    for _ in 0..5 + rng.below(40) {
        let stream = rng.below(STREAMS) as u16;
        let unordered = rng.chance(1, 3);
        let count = if rng.chance(1, 2) { 1 } else { 1 + rng.below(9) };
        let pieces: Vec<Vec<u8>> = (0..count)
            .map(|_| (0..1 + rng.below(30)).map(|_| rng.next_u32() as u8).collect())
            .collect();
        let ssn = next_ssn[usize::from(stream)];
        next_ssn[usize::from(stream)] += u16::from(!unordered);
        messages.push(Sent {
            stream,
            ssn,
            unordered,
            first_tsn: tsn,
            pieces,
        });
        tsn = tsn.wrapping_add(count as u32);
    }
    messages
}

/// Remembers which TSNs have arrived and derives everything else from the list of messages.
struct Naive<'a> {
    messages: &'a [Sent],
    initial: u32,
    arrived: BTreeSet<u32>,
    delivered: BTreeSet<u32>,
}

impl Naive<'_> {
    /// The messages that become deliverable by this TSN.
    fn arrive(&mut self, tsn: Tsn) -> Vec<ReceivedMessage> {
        self.arrived.insert(tsn.0.wrapping_sub(self.initial));
        let mut blocked = BTreeSet::new();
        let mut deliverable = Vec::new();
        for message in self.messages {
            let offset = message.first_tsn.wrapping_sub(self.initial);
            let whole = (offset..offset + message.pieces.len() as u32).all(|at| self.arrived.contains(&at));
            let passes = message.unordered || !blocked.contains(&message.stream);
            if whole && passes {
                if self.delivered.insert(offset) {
                    deliverable.push(message.as_received());
                }
            } else if !message.unordered {
                blocked.insert(message.stream);
            }
        }
        deliverable
    }

    /// How many TSNs have arrived before the first missing one.
    fn count(&self) -> u32 {
        let mut all = 0..;
        let first = all.find(|at| !self.arrived.contains(at));
        first.expect("not all of 2^32 arrived")
    }

    /// Offsets from the cumulative TSN of the TSNs above it that the application can read.
    fn readable(&self) -> Vec<u64> {
        let count = self.count();
        let known = |message: &&Sent| !message.unordered || message.pieces.len() == 1;
        let offset = |message: &Sent| message.first_tsn.wrapping_sub(self.initial);
        let messages = self.messages.iter().filter(known);
        let delivered = messages.filter(|message| self.delivered.contains(&offset(message)));
        let all =
            delivered.flat_map(|message| offset(message)..offset(message) + message.pieces.len() as u32);
        all.filter(|at| *at >= count)
            .map(|at| u64::from(at + 1 - count))
            .collect()
    }

    /// The cumulative TSN and the blocks, as SACKs print them.
    fn sack(&self) -> String {
        let count = self.count();
        let mut text = alloc::format!("cum={}", self.initial.wrapping_add(count).wrapping_sub(1));
        let mut blocks: Vec<(u32, u32)> = Vec::new();
        for at in self.arrived.range(count..).map(|at| at + 1 - count) {
            match blocks.last_mut() {
                Some((_, end)) if *end + 1 == at => *end = at,
                _ => blocks.push((at, at)),
            }
        }
        let blocks: Vec<String> = blocks
            .iter()
            .map(|(start, end)| alloc::format!("{start}-{end}"))
            .collect();
        if !blocks.is_empty() {
            text.push_str(" gaps=");
            text.push_str(&blocks.join(","));
        }
        text
    }
}

fn shuffled<'a>(rng: &mut Rng, messages: &'a [Sent]) -> Vec<Data<'a>> {
    let mut chunks: Vec<Data<'_>> = messages.iter().flat_map(Sent::chunks).collect();
    let distance = 1 + rng.below(chunks.len() as u64) as usize;
    for at in (1..chunks.len()).rev() {
        let with = at - rng.below(distance.min(at + 1) as u64) as usize;
        chunks.swap(at, with);
    }
    for _ in 0..rng.below(chunks.len() as u64) {
        let (from, to) = (rng.below(chunks.len() as u64), rng.below(chunks.len() as u64));
        chunks.insert(to as usize, chunks[from as usize]);
    }
    chunks
}

fn sorted(mut messages: Vec<ReceivedMessage>) -> Vec<ReceivedMessage> {
    // Streams may interleave in either order; within a stream the order counts, and the sort is stable.
    messages.sort_by_key(|message| (message.unordered, message.stream));
    messages
}

/// Offsets from the cumulative TSN of the non-renegable TSNs in an NR-SACK.
fn non_renegable(receiver: &Receiver) -> Vec<u64> {
    let cumulative = receiver.tracker.cumulative();
    let arrivals = receiver.arrivals.as_ref().unwrap();
    let ranges = arrivals.readable().iter();
    ranges.flatten().map(|tsn| tsn - cumulative.0).collect()
}

//= rfc9260 3.3.4-2, 3.3.4-3
#[test]
fn random_arrivals_match_a_naive_receiver() {
    for seed in 0..400 {
        let mut rng = Seed(seed).rng();
        let initial = if rng.chance(1, 2) {
            u32::MAX - rng.below(50) as u32
        } else {
            rng.next_u32()
        };
        let messages = random_messages(&mut rng, initial);
        let chunks = shuffled(&mut rng, &messages);
        let mut naive = Naive {
            messages: &messages,
            initial,
            arrived: BTreeSet::new(),
            delivered: BTreeSet::new(),
        };
        let mut host = Host::with(ReceiverConfig {
            initial_tsn: Tsn(initial),
            buffer: 1 << 20,
            max_message: 1 << 10,
            whole: 1 << 10,
            inbound_streams: STREAMS as u16,
            interleaving: false,
        });
        let readable = NrSackChoice::named("delivered").unwrap();
        host.receiver = host.receiver.with_nr_sack(readable);
        for (step, chunk) in chunks.iter().enumerate() {
            let known = !naive.arrived.contains(&chunk.tsn.0.wrapping_sub(initial));
            let expected = if known {
                DataOutcome::Accepted
            } else {
                DataOutcome::Duplicate
            };
            assert_eq!(host.packet(&[*chunk]), [expected], "seed {seed}, step {step}");
            let deliverable = sorted(naive.arrive(chunk.tsn));
            assert_eq!(
                sorted(host.receive_all()),
                deliverable,
                "seed {seed}, step {step}"
            );
            let sack = host.sack_within(9_000, false).unwrap();
            let told = sack.replacen("SACK ", "", 1);
            let told: Vec<&str> = told
                .split(' ')
                .filter(|word| !word.starts_with("rwnd") && !word.starts_with("dup"))
                .collect();
            assert_eq!(told.join(" "), naive.sack(), "seed {seed}, step {step}");
            assert_eq!(
                non_renegable(&host.receiver),
                naive.readable(),
                "seed {seed}, step {step}"
            );
        }
        assert_eq!(naive.delivered.len(), messages.len(), "seed {seed}");
        assert_eq!(host.receiver.held_bytes(), 0, "seed {seed}");
        assert_eq!(host.receiver.a_rwnd(), 1 << 20, "seed {seed}");
    }
}

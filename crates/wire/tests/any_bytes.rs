//! Random and damaged packets: the decoder never panics, and what it accepts it can write again.

mod any_bytes {
    pub(crate) mod exercise;
}

use anabranch_types::{Rng, Seed};
use any_bytes::exercise::exercise;

/// Packets of every kind: the seeds of the fuzzer, not what it may have found here since.
fn seeds() -> Vec<Vec<u8>> {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/decode");
    let entries = std::fs::read_dir(corpus).expect("the corpus");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| {
        path.to_string_lossy()
            .rsplit('/')
            .next()
            .is_some_and(|name| name.contains('_'))
    });
    paths.sort();
    paths
        .into_iter()
        .map(|path| std::fs::read(path).expect("a seed"))
        .collect()
}

/// Changes a few bytes, mostly to values that lengths and counts are sensitive to, and sometimes the length.
fn mutate(packet: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(packet.len() as u64) as usize;
        packet[at] = match rng.below(4) {
            0 => rng.below(256) as u8,
            1 => rng.below(24) as u8,
            2 => packet[at].wrapping_add(1),
            _ => 0xff,
        };
    }
    if rng.chance(1, 4) {
        packet.truncate(1 + rng.below(packet.len() as u64) as usize);
    }
}

#[test]
fn good_packets_are_read_and_written_again() {
    for seed in seeds() {
        exercise(&seed);
    }
}

#[test]
fn damaged_packets_do_not_panic() {
    let seeds = seeds();
    let mut rng = Seed(1).split("mutated packets").rng();
    for _ in 0..60_000 {
        let mut packet = seeds[rng.below(seeds.len() as u64) as usize].clone();
        mutate(&mut packet, &mut rng);
        exercise(&packet);
    }
}

#[test]
fn random_chunk_values_do_not_panic() {
    let mut rng = Seed(1).split("random chunks").rng();
    for _ in 0..60_000 {
        let length = 4 + rng.below(60) as u8;
        // The high numbers are those of extensions.
        let kind = match rng.below(24) as u8 {
            20 => 0x40,
            21 => 0x80,
            22 => 0x84,
            23 => 0xc1,
            low => low,
        };
        let mut packet = vec![
            0,
            1,
            0,
            2,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            kind,
            rng.below(256) as u8,
            0,
            length,
        ];
        packet.resize(12 + usize::from(length), 0);
        rng.fill(&mut packet[16..]);
        // Small numbers make plausible lengths and counts.
        packet[16..]
            .iter_mut()
            .filter(|_| rng.chance(1, 2))
            .for_each(|byte| *byte %= 8);
        exercise(&packet);
    }
}

#[test]
fn random_bytes_do_not_panic() {
    let mut rng = Seed(1).split("noise").rng();
    for _ in 0..20_000 {
        let mut noise = vec![0; rng.below(80) as usize];
        rng.fill(&mut noise);
        exercise(&noise);
    }
}

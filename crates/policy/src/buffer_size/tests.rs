//! Tests of buffer sizing.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::time::Duration;

use super::{
    BufferSize, NoBufferSize, ReceiveFacts, ReceiveSizing, SendFacts, SizeRange, in_longest_round,
    send_buffer,
};
use crate::PathFacts;
use crate::testing::{at, healthy, ms};

const RANGE: SizeRange = SizeRange {
    initial: 10_000,
    max: 1_000_000,
};

#[test]
fn sizes_are_read_as_they_are_written() {
    for (text, size) in [
        ("auto", Ok(BufferSize::AUTO)),
        (" AUTO ", Ok(BufferSize::AUTO)),
        ("65536", Ok(BufferSize::Fixed(65_536))),
        ("64KiB", Ok(BufferSize::Fixed(65_536))),
        ("8 mib", Ok(BufferSize::Fixed(8 << 20))),
        ("0", Err(NoBufferSize)),
        ("8MB", Err(NoBufferSize)),
        ("", Err(NoBufferSize)),
        ("99999999999GiB", Err(NoBufferSize)),
    ] {
        assert_eq!(text.parse(), size, "{text}");
    }
    for size in [BufferSize::AUTO, BufferSize::Fixed(4_711)] {
        assert_eq!(size.to_string().parse(), Ok(size));
    }
}

#[test]
fn a_range_with_ends_exchanged_is_its_largest_size() {
    let range = SizeRange { initial: 9, max: 5 };
    assert_eq!(BufferSize::SelfSized(range).initial(), 5);
    assert_eq!((range.clamp(1), range.clamp(7)), (5, 5));
}

#[test]
fn send_buffer_has_what_is_held_and_two_windows() {
    let mut facts = SendFacts {
        held: 50_000,
        windows: 15_000,
        size: 10_000,
        ..SendFacts::default()
    };
    assert_eq!(send_buffer(&RANGE, &facts), 80_000);
    facts.longest = 40_000;
    assert_eq!(send_buffer(&RANGE, &facts), 130_000, "two messages");
    facts.scarce = true;
    assert_eq!(send_buffer(&RANGE, &facts), 10_000, "it does not grow");
    facts = SendFacts::default();
    assert_eq!(send_buffer(&RANGE, &facts), 10_000, "the smallest");
    facts.held = u64::MAX;
    assert_eq!(send_buffer(&RANGE, &facts), 1_000_000, "the largest");
}

#[test]
fn fast_path_counts_with_what_it_sends_in_the_round_trip_of_the_slow_one() {
    let [mut fast, mut slow, mut failed] = [0, 1, 2].map(healthy);
    fast.set_srtt(Some(ms(10)));
    slow.set_srtt(Some(ms(200)));
    (fast.cwnd, slow.cwnd, failed.cwnd) = (50_000, 30_000, 70_000);
    failed.reachability = crate::Reachability::Inactive;
    failed.set_srtt(Some(ms(5_000)));
    assert_eq!(
        in_longest_round(&[fast.clone(), slow, failed]),
        20 * 50_000 + 30_000
    );
    fast.set_srtt(None);
    assert_eq!(in_longest_round(&[fast]), 50_000, "nothing is known");
    assert_eq!(in_longest_round(&[]), 0);
}

/// A peer that sends `per_packet` bytes each millisecond, and an application that reads everything at once.
struct Reader {
    sizing: ReceiveSizing,
    facts: ReceiveFacts,
    paths: Vec<PathFacts>,
    now: u64,
}

impl Reader {
    fn over(srtts: &[u64]) -> Self {
        let path = |(id, millis): (u8, &u64)| {
            let mut path = healthy(id);
            path.set_srtt(Some(ms(*millis)));
            path
        };
        Self {
            sizing: ReceiveSizing::default(),
            facts: ReceiveFacts {
                size: RANGE.initial,
                ..ReceiveFacts::default()
            },
            paths: (0..).zip(srtts).map(path).collect(),
            now: 0,
        }
    }

    /// A packet arrives after which `unread` bytes are left beside its own.
    fn packet(&mut self, bytes: u64, unread: u64) {
        self.now += 1;
        self.facts.readable += bytes;
        self.facts.unread = unread + bytes;
        let size = self
            .sizing
            .on_packet(&RANGE, &self.facts, &self.paths, at(self.now));
        self.facts.size = size;
    }

    fn millis(&mut self, millis: u64, bytes: u64, unread: u64) {
        for _ in 0..millis {
            self.packet(bytes, unread);
        }
    }
}

#[test]
fn receive_buffer_has_twice_what_comes_in_the_longest_round_trip() {
    let mut reader = Reader::over(&[20, 200]);
    reader.millis(1_000, 1_000, 0);
    let settled = reader.facts.size;
    assert!((400_000..=800_000).contains(&settled), "{settled}");
    reader.millis(1_000, 1_000, 0);
    assert_eq!(reader.facts.size, settled, "at this rate it stays");
    reader.millis(1_000, 2_000, 0);
    assert!(reader.facts.size >= 800_000, "{}", reader.facts.size);
    reader.millis(1_000, 10_000, 0);
    assert_eq!(reader.facts.size, RANGE.max);
    reader.millis(1_000, 10, 0);
    assert_eq!(reader.facts.size, RANGE.max, "it never shrinks");
}

#[test]
fn with_several_paths_there_is_room_while_one_fails() {
    let [mut one, mut two] = [&[20_u64][..], &[20, 20]].map(Reader::over);
    one.millis(1_000, 1_000, 0);
    two.millis(1_000, 1_000, 0);
    assert!((40_000..=80_000).contains(&one.facts.size), "{}", one.facts.size);
    assert!(
        (300_000..=600_000).contains(&two.facts.size),
        "{}",
        two.facts.size
    );
}

#[test]
fn receive_buffer_of_a_slow_application_does_not_grow() {
    let mut reader = Reader::over(&[100]);
    reader.millis(1_000, 1_000, 5_000);
    assert_eq!(reader.facts.size, RANGE.initial);
}

#[test]
fn receive_buffer_does_not_grow_while_memory_is_scarce() {
    let mut reader = Reader::over(&[100]);
    reader.facts.scarce = true;
    reader.millis(1_000, 1_000, 0);
    assert_eq!(reader.facts.size, RANGE.initial);
}

#[test]
fn pause_of_the_peer_is_no_long_round() {
    let mut reader = Reader::over(&[20]);
    for _ in 0..50 {
        reader.now += 5_000;
        reader.packet(1_000, 0);
    }
    assert_eq!(reader.facts.size, RANGE.initial);
}

#[test]
fn without_a_round_trip_time_nothing_is_measured() {
    let mut reader = Reader::over(&[20]);
    reader.paths[0].set_srtt(None);
    reader.millis(1_000, 1_000, 0);
    assert_eq!(reader.facts.size, RANGE.initial);
    reader.paths[0].set_srtt(Some(Duration::from_micros(50)));
    reader.millis(1_000, 1_000, 0);
    assert!(reader.facts.size >= 20_000, "rounds of 10 ms");
}

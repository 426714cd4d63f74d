//! Message delays over TCP. TCP delivers bytes without message boundaries, so both ends agree on the length of messages, and
//! each message begins with the time at which it was written.

use anabranch_types::Instant;
use bytes::Bytes;

use super::app::content;
use crate::Histogram;

/// Length of a timestamp in bytes.
pub(super) const STAMP: u64 = 8;

/// Writing side: messages of one length.
#[derive(Clone, Debug)]
pub(super) struct Stamps {
    message: u64,
    /// When the message that is partly written was started.
    handed_over: Instant,
}

impl Stamps {
    pub(super) const fn new(message: u64) -> Self {
        Self {
            message,
            handed_over: Instant::ZERO,
        }
    }

    /// The bytes from offset `place` on, at most `most`.
    pub(super) fn content(&mut self, place: u64, most: u64, now: Instant) -> Bytes {
        let within = place % self.message;
        if within == 0 {
            self.handed_over = now;
        }
        let most = most.min(self.message - within);
        if within >= STAMP {
            return content(place, most);
        }
        let stamp = self.handed_over.as_nanos().to_be_bytes();
        let end = (within + most).min(STAMP);
        Bytes::copy_from_slice(&stamp[within as usize..end as usize])
    }
}

/// Reading side of such messages.
#[derive(Clone, Debug)]
pub struct TcpMeter {
    message: u64,
    stamp: [u8; STAMP as usize],
    messages: u64,
    delays: Histogram,
}

impl TcpMeter {
    pub(super) fn new(message: u64) -> Self {
        Self {
            message,
            stamp: [0; STAMP as usize],
            messages: 0,
            delays: Histogram::default(),
        }
    }

    /// Messages read completely.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        self.messages
    }

    /// Delay from writing a message to reading its last byte, in µs.
    #[must_use]
    pub const fn delays(&self) -> &Histogram {
        &self.delays
    }

    /// Takes timestamp bytes from the input at offset `place`, and returns how many there were.
    pub(super) fn take(&mut self, place: u64, bytes: &[u8]) -> usize {
        let within = place % self.message;
        let count = STAMP.saturating_sub(within).min(bytes.len() as u64) as usize;
        let at = within.min(STAMP) as usize;
        self.stamp[at..at + count].copy_from_slice(&bytes[..count]);
        count
    }

    /// Bytes from offset `place` to the end of its message.
    pub(super) const fn left(&self, place: u64) -> u64 {
        self.message - place % self.message
    }

    /// Records that everything before offset `place` was read.
    pub(super) fn on_read(&mut self, place: u64, now: Instant) {
        if place.is_multiple_of(self.message) {
            let handed_over = u64::from_be_bytes(self.stamp);
            self.messages += 1;
            self.delays
                .note(now.as_nanos().saturating_sub(handed_over) / 1_000);
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn delay_of_a_message_read_in_pieces_is_measured() {
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let (mut stamps, mut meter) = (Stamps::new(100), TcpMeter::new(100));
        let mut place = 0;
        for (millis, most) in [(5, 3), (6, 50), (7, 1_000), (8, 1_000), (9, 1_000)] {
            let bytes = stamps.content(place, most, at(millis));
            let taken = meter.take(place, &bytes);
            assert_eq!(
                &bytes[taken..],
                &content(place + taken as u64, (bytes.len() - taken) as u64)
            );
            place += bytes.len() as u64;
            meter.on_read(place, at(millis + 20));
        }
        assert_eq!((place, meter.messages()), (200, 2));
        let mean = meter.delays().mean().unwrap();
        assert!((20_000.0..24_000.0).contains(&mean), "{mean} µs");
    }
}

//! Applications on a TCP connection: they send bytes derived from the stream offset and check the bytes received.

use core::time::Duration;

use anabranch_tcp::{Connection, Event};
use anabranch_types::Instant;
use bytes::Bytes;

use super::meter::{STAMP, Stamps, TcpMeter};
use crate::app::{Reading, pattern};

/// Period of the content: after this many bytes the source repeats, each time from a different start.
const BLOCK: u64 = 1 << 16;

/// One side's application on one connection.
#[derive(Clone, Debug, Default)]
pub struct TcpApp {
    /// Total bytes to send.
    sends: u64,
    written: u64,
    /// Closes its direction when all bytes are written, or when the peer has closed its own.
    closes: bool,
    /// Closes its direction only when the peer has closed its own.
    closes_last: bool,
    /// Sends nothing before it has read this many bytes.
    waits_for: u64,
    reading: Reading,
    reads_next: Option<Instant>,
    read: u64,
    /// Offset of the first received byte that differs from the one sent.
    wrong_at: Option<u64>,
    first_read_at: Option<Instant>,
    last_read_at: Option<Instant>,
    peer_finished_at: Option<Instant>,
    events: Vec<(Instant, Event)>,
    pace: Option<Pace>,
    /// Sends messages, each starting with the time at which it was written.
    stamps: Option<Stamps>,
    meter: Option<TcpMeter>,
}

/// Paced writing: a fixed number of bytes per interval.
#[derive(Clone, Debug)]
struct Pace {
    bytes: u64,
    every: Duration,
    next: Instant,
}

impl TcpApp {
    /// Sends `bytes`, closes its direction, and reads everything that arrives.
    #[must_use]
    pub fn sender(bytes: u64) -> Self {
        Self {
            sends: bytes,
            closes: true,
            ..Self::default()
        }
    }

    /// Sends a request of `bytes` bytes, then reads until the peer closes its direction.
    #[must_use]
    pub fn asking(bytes: u64) -> Self {
        Self {
            closes_last: true,
            ..Self::sender(bytes)
        }
    }

    /// Sends nothing before it has read a request of `bytes` bytes.
    #[must_use]
    pub fn when_asked(self, bytes: u64) -> Self {
        Self {
            waits_for: bytes,
            ..self
        }
    }

    /// Sends without limit.
    #[must_use]
    pub fn bulk() -> Self {
        Self {
            sends: u64::MAX,
            ..Self::default()
        }
    }

    /// Sends `bytes` every `every`, the first ones immediately.
    ///
    /// # Panics
    ///
    /// If `every` is zero.
    #[must_use]
    pub fn paced(bytes: u64, every: Duration) -> Self {
        assert!(
            !every.is_zero(),
            "a pace of zero never gets past its first moment"
        );
        let pace = Pace {
            bytes,
            every,
            next: Instant::ZERO,
        };
        Self {
            pace: Some(pace),
            ..Self::default()
        }
    }

    /// Application `turn.0` of `turn.1` applications with the same pace, the first of which started at `began`: their writes are
    /// spaced evenly.
    pub(super) fn in_turn(mut self, turn: (u64, u64), began: Instant, now: Instant) -> Self {
        let (number, count) = turn;
        if let Some(pace) = self.pace.as_mut().filter(|_| number > 0) {
            pace.next = began + pace.every.mul_f64(number as f64 / count as f64);
            while pace.next < now {
                pace.next += pace.every;
            }
        }
        self
    }

    /// Sends nothing, reads, and closes its direction when the peer has closed its own.
    #[must_use]
    pub fn reader() -> Self {
        Self::sender(0)
    }

    /// Sets the reading mode.
    #[must_use]
    pub fn reading(self, reading: Reading) -> Self {
        Self { reading, ..self }
    }

    /// Sends messages of `message` bytes, each with the time at which it was written. Messages too short for a timestamp carry
    /// none.
    #[must_use]
    pub fn stamped(self, message: u64) -> Self {
        let stamps = (message > STAMP).then(|| Stamps::new(message));
        Self { stamps, ..self }
    }

    /// Reads messages of `message` bytes sent by a [`Self::stamped`] application and measures the delay of each.
    #[must_use]
    pub fn metered(self, message: u64) -> Self {
        let meter = (message > STAMP).then(|| TcpMeter::new(message));
        Self { meter, ..self }
    }

    /// Delay measurements of the messages read.
    #[must_use]
    pub const fn meter(&self) -> Option<&TcpMeter> {
        self.meter.as_ref()
    }

    /// Holds back the last `bytes` bytes until [`TcpApp::hands_over`].
    #[must_use]
    pub fn holding_back(self, bytes: u64) -> Self {
        Self {
            sends: self.sends - bytes.min(self.sends),
            closes: false,
            ..self
        }
    }

    /// Releases this many more bytes for writing.
    pub fn hands_over(&mut self, now: Instant, bytes: u64, connection: &mut Connection) {
        self.sends += bytes;
        self.act(now, connection);
    }

    /// Bytes written.
    #[must_use]
    pub const fn bytes_written(&self) -> u64 {
        self.written
    }

    /// Bytes read.
    #[must_use]
    pub const fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Offset of the first byte read that differs from the one the peer sent.
    #[must_use]
    pub const fn wrong_at(&self) -> Option<u64> {
        self.wrong_at
    }

    /// When the first byte was read.
    #[must_use]
    pub const fn first_read_at(&self) -> Option<Instant> {
        self.first_read_at
    }

    /// When the latest byte was read.
    #[must_use]
    pub const fn last_read_at(&self) -> Option<Instant> {
        self.last_read_at
    }

    /// When the peer had closed its direction and everything was read.
    #[must_use]
    pub const fn finished_at(&self) -> Option<Instant> {
        self.peer_finished_at
    }

    /// Connection events, except readable and writable.
    #[must_use]
    pub fn events(&self) -> &[(Instant, Event)] {
        &self.events
    }

    /// Changes the reading mode.
    pub fn read_otherwise(&mut self, now: Instant, reading: Reading, connection: &mut Connection) {
        self.reading = reading;
        self.reads_next = None;
        self.act(now, connection);
    }

    pub(super) fn on_event(&mut self, now: Instant, event: Event, connection: Option<&mut Connection>) {
        if let Some(connection) = connection {
            self.act(now, connection);
        }
        if !matches!(event, Event::Readable | Event::Writable) {
            self.events.push((now, event));
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let pace = self.pace.as_ref().map(|pace| pace.next);
        self.reads_next.into_iter().chain(pace).min()
    }

    /// Reads and writes as much as possible.
    pub(super) fn act(&mut self, now: Instant, connection: &mut Connection) {
        self.take(now, connection);
        if let Some(pace) = self.pace.as_mut().filter(|pace| pace.next <= now) {
            self.sends += pace.bytes;
            pace.next = now + pace.every;
        }
        while self.written < self.sends && self.read >= self.waits_for {
            let most = (self.sends - self.written).min(connection.room());
            let content = match &mut self.stamps {
                Some(stamps) => stamps.content(self.written, most, now),
                None => content(self.written, most),
            };
            if content.is_empty() {
                break;
            }
            let length = content.len() as u64;
            let left = connection.write(content);
            self.written += length - left.len() as u64;
        }
        let is_last = self.sends == 0 || self.closes_last;
        let done = self.written == self.sends && (!is_last || connection.peer_finished());
        if self.closes && done {
            connection.close();
        }
    }

    fn take(&mut self, now: Instant, connection: &mut Connection) {
        if self.reads_next.is_some_and(|next| next > now) {
            return;
        }
        self.reads_next = None;
        while self.reading != Reading::Paused
            && let Some(bytes) = connection.read(BLOCK as usize)
        {
            self.check(now, &bytes);
            self.first_read_at.get_or_insert(now);
            self.last_read_at = Some(now);
            if let Reading::AtRate(rate) = self.reading {
                self.reads_next = Some(now + rate.time_for(bytes.len() as u64));
                break;
            }
        }
        if connection.peer_finished() && connection.unread() == 0 {
            self.peer_finished_at.get_or_insert(now);
        }
    }

    fn check(&mut self, now: Instant, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if let Some(meter) = &mut self.meter {
                let stamp = meter.take(self.read, bytes);
                self.read += stamp as u64;
                bytes = &bytes[stamp..];
            }
            let left = self
                .meter
                .as_ref()
                .map_or(u64::MAX, |meter| meter.left(self.read));
            let expected = content(self.read, left.min(bytes.len() as u64));
            let (here, rest) = bytes.split_at(expected.len());
            if here != expected {
                self.wrong_at.get_or_insert(self.read);
            }
            self.read += here.len() as u64;
            bytes = rest;
            if let Some(meter) = &mut self.meter {
                meter.on_read(self.read, now);
            }
        }
    }
}

/// Bytes of any stream from offset `place` on, at most `most`.
pub(super) fn content(place: u64, most: u64) -> Bytes {
    let (block, within) = (place / BLOCK, place % BLOCK);
    let length = most.min(BLOCK - within) as usize;
    let whole = pattern(block as u32, BLOCK as usize);
    whole.slice(within as usize..within as usize + length)
}

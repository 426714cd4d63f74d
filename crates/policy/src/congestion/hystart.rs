//! HyStart++ (RFC 9406). When does slow start end before it causes losses?
//!
//! Source: RFC 9406.
//!
//! Idea: compare the smallest RTT of this round with that of the last round. A rise by an eighth (within 4–16 ms)
//! means that a queue builds up: grow four times slower (conservative slow start), and leave slow start after five such
//! rounds, or return to it if the RTT falls again.
//!
//! ```text
//! round:  ends when a chunk sent after its beginning is acknowledged
//! slow:   ≥ 8 samples, current ≥ last + clamp(last / 8, 4 ms, 16 ms)  ⇒ conservative, baseline = current
//! conservative: ≥ 8 samples, current < baseline ⇒ slow;  five rounds over ⇒ leave
//! ```
//!
//! Deviations: rounds are delimited by send time, not by TSN; a sample is the age of the youngest chunk sent only once
//! that a SACK acknowledges. A delayed SACK only inflates it, and the minimum of eight samples removes that.

use core::time::Duration;

use anabranch_types::Instant;

const SMALLEST_RISE: Duration = Duration::from_millis(4);
const LARGEST_RISE: Duration = Duration::from_millis(16);
const RISE_DIVISOR: u32 = 8;
const SAMPLES_NEEDED: u8 = 8;
const CAREFUL_ROUNDS: u8 = 5;

/// How the cwnd grows in slow start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pace {
    /// At full rate.
    Full,
    /// At a quarter of it (conservative slow start).
    Quarter,
    /// Not at all: congestion avoidance begins.
    Leave,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Slow,
    Careful { baseline: Duration, rounds_left: u8 },
}

#[derive(Clone, Debug)]
pub(super) struct HyStart {
    round_began: Instant,
    samples: u8,
    current: Duration,
    last: Duration,
    phase: Phase,
}

impl HyStart {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            round_began: now,
            samples: 0,
            current: Duration::MAX,
            last: Duration::MAX,
            phase: Phase::Slow,
        }
    }

    /// A chunk sent at `sent_at` was acknowledged.
    pub(super) fn on_ack(&mut self, sent_at: Instant, now: Instant) -> Pace {
        if sent_at >= self.round_began && self.begin_round(now) {
            return Pace::Leave;
        }
        self.samples = self.samples.saturating_add(1);
        self.current = self.current.min(now - sent_at);
        if self.samples >= SAMPLES_NEEDED {
            self.judge();
        }
        match self.phase {
            Phase::Slow => Pace::Full,
            Phase::Careful { .. } => Pace::Quarter,
        }
    }

    /// `true` if the last conservative round is over.
    fn begin_round(&mut self, now: Instant) -> bool {
        self.round_began = now;
        self.last = self.current;
        self.current = Duration::MAX;
        self.samples = 0;
        match &mut self.phase {
            Phase::Slow => false,
            Phase::Careful { rounds_left, .. } => {
                *rounds_left = rounds_left.saturating_sub(1);
                *rounds_left == 0
            }
        }
    }

    fn judge(&mut self) {
        match self.phase {
            Phase::Slow if self.last < Duration::MAX => {
                let rise = (self.last / RISE_DIVISOR).clamp(SMALLEST_RISE, LARGEST_RISE);
                if self.current >= self.last + rise {
                    self.phase = Phase::Careful {
                        baseline: self.current,
                        rounds_left: CAREFUL_ROUNDS,
                    };
                }
            }
            Phase::Careful { baseline, .. } if self.current < baseline => self.phase = Phase::Slow,
            Phase::Slow | Phase::Careful { .. } => {}
        }
    }
}

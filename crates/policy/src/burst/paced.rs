//! Pacing (RFC 9002 §7.7). Packets are spread over the round-trip time.
//!
//! Source: the pacing that RFC 9002 §7.7 describes for QUIC; RFC 9406 recommends it for slow start.
//!
//! Idea: a token bucket for each path fills a little faster than one cwnd per round trip, so that the cwnd remains the
//! limit and the bucket only shapes. Twice as fast in slow start, where the cwnd doubles.
//!
//! "A little" is a tenth, not RFC 9002's quarter: after a stall the whole cwnd is sent at this rate and keeps that
//! density from round trip to round trip, so a shallow queue overflows as soon as *rate* exceeds the link, at four fifths
//! of what the path could carry (ADR 0064).
//!
//! ```text
//! rate     = that of the congestion control, if it has one; else
//!            2 · cwnd / srtt below ssthresh, else 1.1 · cwnd / srtt
//! run      = what that rate makes in srtt / 128, if the congestion control sets it and there are several paths; else 0
//! burst    = max(10 packets, 2 · run)
//! capacity = burst, if there are tokens and srtt > 2 ms; else max(burst, what the rate makes in 2 ms)
//! on call:   tokens = min(tokens + rate · time passed, capacity)
//!            tokens ≥ 1 packet, and ≥ run if the last call allowed nothing: tokens may be sent
//!            else nothing until there are 2 packets' worth, a quarter of the capacity, or a run
//! neither rate nor srtt:   no limit
//! ```
//!
//! Why these values: ten packets are the burst that RFC 6928 found harmless on any path. Two milliseconds outlast the
//! resolution of ordinary timers (1 ms), so a fast path is not throttled by its driver, and they add at most two
//! milliseconds of queue. There is no limit in packets: it would limit the rate. With an RTT below two milliseconds the
//! bucket holds more than a cwnd and pacing has no effect, as intended.
//!
//! While there are tokens, no timer is late: the window is the limit, or the application. What is saved then would be a burst when a
//! SACK opens the window at once, as one does that overtakes those of another path. So it is ten packets, not two milliseconds (ADR 0201).
//!
//! Why runs: chunks on a path with a long round trip leave gaps among those of faster paths. A packet of 1,500 bytes has
//! room for some 350 gap ack blocks, and with single packets in turn there are thousands of gaps; then SACKs do not reach
//! the chunks that arrived last. 128 runs per round trip leave room for the queue of the path (ADR 0129).

use anabranch_types::{Instant, PathId};
use core::time::Duration;

use crate::math::mul_div;
use crate::parameters::NoParameters;
use crate::path_table::PathTable;
use crate::{BurstPolicy, PathFacts, Policy, SendAllowance};

const SMALLEST_BURST_PACKETS: u64 = 10;
const BURST_TIME: Duration = Duration::from_millis(2);
/// Runs of consecutive packets in a round trip.
const RUNS_PER_ROUND_TRIP: u32 = 128;
/// Tokens have ten fractional bits, so that frequent calls lose nothing by rounding.
const TOKEN_BITS: u32 = 10;

/// Paces packets over the round-trip time.
#[derive(Debug, Default)]
pub struct Paced {
    paths: PathTable<Bucket>,
}

/// The tokens of a path at a moment, in bytes · 2^[`TOKEN_BITS`].
#[derive(Clone, Copy, Debug, Default)]
enum Bucket {
    /// At its capacity, before the first call.
    #[default]
    Full,
    /// Each packet for which there are tokens may be sent.
    Open { tokens: u64, at: Instant },
    /// Tokens were used up and are saved for a run.
    Saving { tokens: u64, at: Instant },
}

/// Tokens added in `period` nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Speed {
    tokens: u64,
    period: u64,
}

impl Speed {
    /// The speed at which `path` is paced; `None` before the first RTT sample.
    fn of(path: &PathFacts) -> Option<Self> {
        if let Some(rate) = path.pacing_rate {
            return Some(Self {
                tokens: rate.get().min(1 << 50) << TOKEN_BITS,
                period: 1_000_000_000,
            });
        }
        let srtt = path.srtt()?;
        let tenths = if path.cwnd < path.ssthresh { 20 } else { 11 };
        Some(Self {
            tokens: (path.cwnd.min(1 << 50) * tenths / 10) << TOKEN_BITS,
            period: u64::try_from(srtt.as_nanos()).unwrap_or(u64::MAX).max(1),
        })
    }

    fn tokens_in(self, time: Duration) -> u64 {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        mul_div(self.tokens, nanos, self.period)
    }

    fn time_for(self, tokens: u64) -> Duration {
        Duration::from_nanos(mul_div(tokens, self.period, self.tokens).saturating_add(1))
    }
}

impl Paced {
    /// Creates the policy.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self::default()
    }
}

impl Policy for Paced {
    fn name(&self) -> &'static str {
        "paced"
    }
}

impl BurstPolicy for Paced {
    fn is_paced(&self) -> bool {
        true
    }

    fn add_path(&mut self, path: PathId) {
        self.paths.insert(path, Bucket::default());
    }

    fn remove_path(&mut self, path: PathId) {
        self.paths.remove(path);
    }

    fn allowance(&mut self, path: &PathFacts, now: Instant) -> SendAllowance {
        let has_others = self.paths.iter().nth(1).is_some();
        let Some(bucket) = self.paths.of_mut(path.id) else {
            return SendAllowance::NONE;
        };
        let Some(speed) = Speed::of(path) else {
            return SendAllowance::UNLIMITED;
        };
        let packet = u64::from(path.max_packet.max(1)) << TOKEN_BITS;
        let run = match path.srtt() {
            Some(srtt) if has_others && path.pacing_rate.is_some() => {
                speed.tokens_in(srtt / RUNS_PER_ROUND_TRIP)
            }
            _ => 0,
        };
        let burst = (SMALLEST_BURST_PACKETS * packet).max(2 * run);
        let capacity = speed.tokens_in(BURST_TIME).max(burst);
        let is_short = path.srtt().is_none_or(|srtt| srtt <= BURST_TIME);
        let open_capacity = if is_short { capacity } else { burst };
        let filled = |tokens: u64, at, capacity: u64| {
            let all = tokens.saturating_add(speed.tokens_in(now - at));
            all.min(capacity.max(tokens))
        };
        let (tokens, required) = match *bucket {
            Bucket::Full => (open_capacity, packet),
            Bucket::Open { tokens, at } => (filled(tokens, at, open_capacity), packet),
            Bucket::Saving { tokens, at } => (filled(tokens, at, capacity), packet.max(run)),
        };
        if tokens >= required {
            *bucket = Bucket::Open { tokens, at: now };
            return SendAllowance {
                bytes: tokens >> TOKEN_BITS,
                again_at: None,
            };
        }
        *bucket = Bucket::Saving { tokens, at: now };
        let enough = (2 * packet).max(capacity / 4).max(run);
        SendAllowance {
            bytes: 0,
            again_at: Some(now + speed.time_for(enough - tokens)),
        }
    }

    fn on_sent(&mut self, path: PathId, bytes: u64, _now: Instant) {
        if let Some(Bucket::Open { tokens, .. } | Bucket::Saving { tokens, .. }) = self.paths.of_mut(path) {
            *tokens = tokens.saturating_sub(bytes << TOKEN_BITS);
        }
    }
}

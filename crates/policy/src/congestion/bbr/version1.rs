//! BBR congestion control, version 1, on each path separately.
//!
//! Source: Linux, `net/ipv4/tcp_bbr.c`; Cardwell et al. 2016.
//!
//! Idea: the rate is the highest delivery rate of the last ten rounds, whatever is lost. The sender paces at that rate and
//! keeps two products of rate and minimum round-trip time in flight; in every eighth round trip it sends a quarter more to look
//! for more, in the next a quarter less to empty the queue.
//!
//! ```text
//! Startup   2.885 · rate, until the rate stops growing for three rounds
//! Drain     rate / 2.885, until one product is in flight
//! ProbeBW   1.25, 0.75, 1, 1, 1, 1, 1, 1 · rate, for a minimum round-trip time each
//! ProbeRTT  four chunks in flight for 200 ms, if no round-trip time was low for ten seconds
//! cwnd      = 2 · rate · min_rtt + extra acked + 3 send quanta; in the first round of a recovery what is acknowledged
//! ```
//!
//! Deviations: no detection of traffic policers, which begins at 20 % loss; the excess of acknowledgements is the maximum of
//! exactly ten rounds, not of five to ten; one path at a time is in ProbeRTT; after a timeout the cwnd grows back by what is
//! acknowledged.

use core::time::Duration;

use anabranch_types::{Instant, Seed};

use super::delivery_rate::{Flight, RateSample, bytes_in, rate_of};
use super::filters::{Aggregation, FullPipe, Rounds, WindowedMax};
use super::min_rtt::{MinRtt, SMOOTHED_RTT};
use super::modelled::{Modelled, Observation, Outcome, PathContext, PathModel};
use crate::PathFacts;
use crate::congestion::cmt::INITIAL_PACKETS;
use crate::congestion::window::{MAX_CWND, Window, quantum};
use crate::math::mul_div;
use crate::parameters::{Parameter, Parameters, Slot};

/// BBR, version 1, on each path separately.
pub type BbrV1 = Modelled<BbrV1Parameters>;

/// Parameters of [`BbrV1`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BbrV1Parameters {
    /// Initial cwnd in full chunks; 0 for the formula of RFC 9260 §7.2.1.
    pub initial_packets: u16,
    /// Whether the minimum is that of the smoothed round-trip time, not of single samples: for paths with jitter.
    pub smoothed_rtt: bool,
}

impl Parameters for BbrV1Parameters {
    const LIST: &'static [Parameter] = &[INITIAL_PACKETS, SMOOTHED_RTT];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "initial-packets" => Slot::number(&mut self.initial_packets, 0..=1_000),
            "smoothed-rtt" => Slot::text(&mut self.smoothed_rtt),
            _ => return None,
        })
    }
}

/// Gains in thousandths.
const UNIT: u64 = 1_000;
/// 2 / ln 2: doubles the rate in each round.
const HIGH_GAIN: u64 = 2_885;
const CYCLE: [u64; 8] = [1_250, 750, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Rounds for which a rate or an excess of acknowledgements is remembered.
const FILTER_ROUNDS: u64 = 10;
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(10);
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// The excess of acknowledgements counts up to what the rate makes in this time.
const LONGEST_EXTRA: Duration = Duration::from_millis(100);
/// Pacing is this much below the rate, in per cent.
const PACING_MARGIN: u64 = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Startup,
    Drain,
    /// With the index in [`CYCLE`].
    ProbeBw(usize),
    /// With the end, once the flight is small, and whether a round has passed since.
    ProbeRtt(Option<(Instant, bool)>),
}

impl Phase {
    const fn pacing_gain(self) -> u64 {
        match self {
            Self::Startup => HIGH_GAIN,
            Self::Drain => UNIT * UNIT / HIGH_GAIN,
            Self::ProbeBw(step) => CYCLE[step],
            Self::ProbeRtt(_) => UNIT,
        }
    }

    const fn cwnd_gain(self) -> u64 {
        match self {
            Self::Startup | Self::Drain => HIGH_GAIN,
            Self::ProbeBw(_) => 2 * UNIT,
            Self::ProbeRtt(_) => UNIT,
        }
    }
}

/// The state of one path.
#[derive(Debug)]
pub struct BbrV1State {
    phase: Phase,
    phase_began: Instant,
    cwnd: u64,
    initial_cwnd: u64,
    prior_cwnd: u64,
    pacing_rate: u64,
    in_recovery: bool,
    /// The first round of a recovery: no more is sent than what is acknowledged.
    conserves: bool,
    chunk: u64,
    rounds: Rounds,
    round_starts: bool,
    pipe: FullPipe,
    rates: WindowedMax,
    min_rtt: MinRtt,
    aggregation: Aggregation,
    restarts: bool,
}

impl BbrV1State {
    fn rate(&self) -> u64 {
        self.rates.get()
    }

    fn product(&self, gain: u64) -> u64 {
        match self.min_rtt.get() {
            Some(rtt) => mul_div(bytes_in(self.rate(), rtt), gain, UNIT).min(MAX_CWND),
            None => self.initial_cwnd,
        }
    }

    fn send_quantum(&self) -> u64 {
        let millisecond = bytes_in(self.pacing_rate, Duration::from_millis(1));
        millisecond.min(64 << 10).max(2 * self.chunk)
    }

    fn with_budget(&self, inflight: u64) -> u64 {
        let probe = if self.phase == Phase::ProbeBw(0) {
            2 * self.chunk
        } else {
            0
        };
        inflight + 3 * self.send_quantum() + probe
    }

    const fn least_cwnd(&self) -> u64 {
        4 * self.chunk
    }

    fn update_rate(&mut self, sample: &RateSample, flight: &Flight, now: Instant) {
        let floor = self.min_rtt.floor();
        self.round_starts = self.rounds.on_ack(flight, sample.total_delivered, floor, now);
        self.conserves &= !self.round_starts;
        if flight.rate > 0 && (flight.rate >= self.rate() || !flight.application_limited) {
            self.rates.add(flight.rate, self.rounds.count, FILTER_ROUNDS);
        }
    }

    /// The next part of the cycle, after a minimum round-trip time; looking for more until a quarter more is in flight or
    /// something is lost, and emptying the queue no longer than until it is empty.
    fn advance_cycle(&mut self, sample: &RateSample, now: Instant) {
        let Phase::ProbeBw(step) = self.phase else {
            return;
        };
        let is_long = now - self.phase_began > self.min_rtt.get().unwrap_or_default();
        let gain = CYCLE[step];
        let before = sample.in_flight_before;
        let is_over = if gain > UNIT {
            let target = self.with_budget(self.product(gain));
            is_long && (sample.newly_lost > 0 || before + self.send_quantum() >= target)
        } else if gain < UNIT {
            is_long || before <= self.with_budget(self.product(UNIT))
        } else {
            is_long
        };
        if is_over {
            self.phase = Phase::ProbeBw((step + 1) % CYCLE.len());
            self.phase_began = now;
        }
    }

    /// Begins the cycle anywhere but where the queue is emptied, drawn from the time and the bytes delivered.
    fn start_cycle(&mut self, context: &PathContext<'_>) {
        let drawn = Seed(context.now.as_nanos()).nth(context.delivered).0 % 7;
        let first = if drawn == 0 { 0 } else { drawn as usize + 1 };
        self.phase = Phase::ProbeBw(first);
        self.phase_began = context.now;
    }

    fn leave_startup(&mut self, sample: &RateSample, flight: &Flight, context: &PathContext<'_>) {
        if self.round_starts && !flight.application_limited && !self.pipe.reached {
            self.pipe.observe(self.rate());
        }
        if self.phase == Phase::Startup && self.pipe.reached {
            self.phase = Phase::Drain;
        }
        if self.phase == Phase::Drain && sample.in_flight <= self.with_budget(self.product(UNIT)) {
            self.start_cycle(context);
        }
    }

    const fn save_cwnd(&mut self) {
        if self.in_recovery || matches!(self.phase, Phase::ProbeRtt(_)) {
            if self.cwnd > self.prior_cwnd {
                self.prior_cwnd = self.cwnd;
            }
        } else {
            self.prior_cwnd = self.cwnd;
        }
    }

    fn check_probe_rtt(&mut self, acked: &Observation<'_>) -> Outcome {
        let context = &acked.context;
        if self.restarts && self.min_rtt.is_due() {
            self.min_rtt.probed(context.now);
        }
        self.restarts = false;
        let is_probing = matches!(self.phase, Phase::ProbeRtt(_));
        if !is_probing && self.min_rtt.is_due() && !acked.others_probe_rtt {
            self.save_cwnd();
            self.phase = Phase::ProbeRtt(None);
        }
        let Phase::ProbeRtt(progress) = self.phase else {
            return Outcome::Continue;
        };
        match progress {
            None if acked.sample.in_flight <= self.least_cwnd() => {
                self.phase = Phase::ProbeRtt(Some((context.now + PROBE_RTT_DURATION, false)));
                self.rounds.restart(context.delivered);
            }
            None => {}
            Some((end, done)) => {
                self.phase = Phase::ProbeRtt(Some((end, done || self.round_starts)));
                self.end_probe_rtt_if_done(context);
            }
        }
        Outcome::Limited
    }

    fn end_probe_rtt_if_done(&mut self, context: &PathContext<'_>) {
        let Phase::ProbeRtt(Some((end, true))) = self.phase else {
            return;
        };
        if context.now <= end {
            return;
        }
        self.min_rtt.probed(context.now);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.pipe.reached {
            self.start_cycle(context);
        } else {
            self.phase = Phase::Startup;
        }
    }

    fn initial_pacing_rate(&mut self, path: &PathFacts) {
        if let Some(srtt) = path.srtt()
            && self.pacing_rate == 0
        {
            self.pacing_rate = mul_div(rate_of(self.initial_cwnd, srtt), HIGH_GAIN, UNIT);
        }
    }

    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = mul_div(self.rate(), gain * (100 - PACING_MARGIN), 100 * UNIT);
        if self.pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn set_cwnd(&mut self, sample: &RateSample, path: &PathFacts) {
        if self.in_recovery && !path.in_recovery {
            self.in_recovery = false;
            self.conserves = false;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        if self.conserves {
            self.cwnd = self.cwnd.max(sample.in_flight + sample.newly_acked);
        } else {
            let extra = if self.pipe.reached {
                self.aggregation.extra().min(bytes_in(self.rate(), LONGEST_EXTRA))
            } else {
                0
            };
            let target = self.with_budget(self.product(self.phase.cwnd_gain()) + extra);
            if self.pipe.reached {
                self.cwnd = (self.cwnd + sample.newly_acked).min(target);
            } else if self.cwnd < target || sample.total_delivered < self.initial_cwnd {
                self.cwnd += sample.newly_acked;
            }
            self.cwnd = self.cwnd.max(self.least_cwnd());
        }
        if matches!(self.phase, Phase::ProbeRtt(_)) {
            self.cwnd = self.cwnd.min(self.least_cwnd());
        }
        self.cwnd = self.cwnd.min(MAX_CWND);
    }
}

impl PathModel for BbrV1Parameters {
    const NAME: &'static str = "bbr-v1";
    type State = BbrV1State;

    fn start(&self, path: &PathFacts, now: Instant) -> BbrV1State {
        let initial = Window::first(path, self.initial_packets).bytes;
        let mut state = BbrV1State {
            phase: Phase::Startup,
            phase_began: now,
            cwnd: initial,
            initial_cwnd: initial,
            prior_cwnd: 0,
            pacing_rate: 0,
            in_recovery: false,
            conserves: false,
            chunk: quantum(path),
            rounds: Rounds::new(now),
            round_starts: false,
            pipe: FullPipe::default(),
            rates: WindowedMax::default(),
            min_rtt: MinRtt::new(PROBE_RTT_INTERVAL, self.smoothed_rtt),
            aggregation: Aggregation::new(now),
            restarts: false,
        };
        state.initial_pacing_rate(path);
        state
    }

    fn on_ack(&self, state: &mut BbrV1State, acked: &Observation<'_>) -> Outcome {
        let (sample, context) = (acked.sample, &acked.context);
        state.chunk = quantum(context.path);
        state.initial_pacing_rate(context.path);
        let mut outcome = Outcome::Continue;
        if let Some(flight) = &sample.flight {
            state.update_rate(sample, flight, context.now);
            let rate = state.rate();
            let round = (state.rounds.count, FILTER_ROUNDS);
            state
                .aggregation
                .on_ack(sample.newly_acked, rate, state.cwnd, round, context.now);
            state.advance_cycle(sample, context.now);
            state.leave_startup(sample, flight, context);
            state
                .min_rtt
                .on_sample([sample.rtt, sample.longest_rtt], state.round_starts, context.now);
            outcome = state.check_probe_rtt(acked);
        }
        state.set_pacing_rate(state.phase.pacing_gain());
        state.set_cwnd(sample, context.path);
        outcome
    }

    fn on_lost(
        &self,
        state: &mut BbrV1State,
        bytes: u64,
        _flight: Option<&Flight>,
        _place: &PathContext<'_>,
    ) {
        state.save_cwnd();
        state.cwnd = state.cwnd.saturating_sub(bytes).max(state.chunk.min(state.cwnd));
    }

    fn on_recovery(&self, state: &mut BbrV1State, in_flight: u64, delivered: u64) {
        state.in_recovery = true;
        state.conserves = true;
        state.rounds.restart(delivered);
        state.cwnd = state.cwnd.min(in_flight.max(state.chunk));
    }

    fn on_timeout(&self, state: &mut BbrV1State, path: &PathFacts) {
        state.save_cwnd();
        state.in_recovery = false;
        state.conserves = false;
        state.pipe.reset(0);
        state.cwnd = state.cwnd.min(quantum(path));
    }

    fn on_restart(&self, state: &mut BbrV1State, context: &PathContext<'_>) {
        state.restarts = true;
        state.aggregation.restart(context.now);
        match state.phase {
            Phase::ProbeBw(_) => state.set_pacing_rate(UNIT),
            Phase::ProbeRtt(_) => state.end_probe_rtt_if_done(context),
            Phase::Startup | Phase::Drain => {}
        }
    }

    fn on_burst_limit(state: &mut BbrV1State, limit: u64) {
        state.cwnd = state.cwnd.min(limit);
    }

    fn cwnd(state: &BbrV1State) -> u64 {
        state.cwnd.max(state.chunk)
    }

    fn pacing_rate(state: &BbrV1State) -> u64 {
        state.pacing_rate
    }

    fn floor(state: &BbrV1State) -> Duration {
        state.min_rtt.floor()
    }

    fn probes_rtt(state: &BbrV1State) -> bool {
        matches!(state.phase, Phase::ProbeRtt(_))
    }
}

#[cfg(test)]
mod tests;

//! BBR congestion control, version 3, on each path separately.
//!
//! Source: draft-ietf-ccwg-bbr (text of 3 August 2026, after -06); section titles are cited beside the code.
//!
//! Idea: a model of the path says how fast it delivers (`max_rate`) and how long it takes without a queue (`min_rtt`). The
//! sender paces at that rate, keeps about two of their products in flight, and now and then probes whether there is more. A
//! loss means congestion only if more than two per cent of a flight are lost: while probing, it bounds what is in flight from
//! then on, otherwise it bounds rate and flight until the next probe.
//!
//! ```text
//! Startup   2.77 · rate, until the rate stops growing for three rounds, or more than 2 % are lost
//! Drain     0.5 · rate, until at most one product is in flight
//! Down      0.9 · rate, until the queue is empty
//! Cruise    1.0 · rate, for two to three seconds or 63 rounds
//! Refill    1.0 · rate, for one round; the short-term bounds end
//! Up        1.25 · rate, until the rate stops growing or more than 2 % are lost
//! ProbeRTT  half of the product in flight for 200 ms, if no round-trip time was low for five seconds
//! cwnd      = 2 · rate · min_rtt + extra acked, at most the bounds, at least four chunks
//! ```
//!
//! Deviations: the short-term bound of the rate does not fall by the pacing margin; a round-trip time equal to the minimum renews it; one path at a time is in ProbeRTT; after a timeout the cwnd
//! grows back by what is acknowledged; losses found spurious are not undone, because the core does not report them; losses
//! found together count as one burst, as losses of one offload burst do in the draft. No ECN, as in the draft.

mod bounds;
mod cycle;
mod handover;
mod loss_floor;
mod probe_rtt;

use core::time::Duration;

use anabranch_types::Instant;

use self::bounds::{Bounds, Recent, UNBOUNDED};
use self::cycle::Cycle;
use self::loss_floor::LossFloor;
use self::probe_rtt::ProbeRtt;
use super::delivery_rate::{Flight, RateSample, bytes_in, rate_of};
use super::filters::{Aggregation, FullPipe, Rounds};
use super::min_rtt::{MinRtt, SMOOTHED_RTT};
use super::modelled::{Modelled, Observation, Outcome, PathContext, PathModel};
use crate::PathFacts;
use crate::congestion::cmt::INITIAL_PACKETS;
use crate::congestion::window::{MAX_CWND, Window, quantum};
use crate::math::mul_div;
use crate::parameters::{Parameter, Parameters, Slot};

/// BBR, version 3, on each path separately.
pub type Bbr = Modelled<BbrParameters>;

/// Parameters of [`Bbr`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BbrParameters {
    /// Initial cwnd in full chunks; 0 for the formula of RFC 9260 §7.2.1.
    pub initial_packets: u16,
    /// Loss in a flight above which it was too large, in per cent (BBR.LossThresh).
    pub loss_threshold: u16,
    /// Loss in a flight above which the short-term bounds fall, in per cent; 0 for any loss, as in the draft.
    pub shortterm_threshold: u16,
    /// Whether the minimum is that of the mean round-trip time of each round, not of single samples: for paths with jitter.
    pub smoothed_rtt: bool,
    /// Whether the loss that stays while the path has no queue is learned, and allowed beyond both thresholds.
    pub loss_floor: bool,
}

impl BbrParameters {
    /// The values of the draft.
    pub const DEFAULT: Self = Self {
        initial_packets: 0,
        loss_threshold: 2,
        shortterm_threshold: 0,
        smoothed_rtt: false,
        loss_floor: false,
    };
}

impl Default for BbrParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for BbrParameters {
    const LIST: &'static [Parameter] = &[
        INITIAL_PACKETS,
        Parameter {
            name: "loss-floor",
            default: "off",
            meaning: "learn the loss that stays while the path has no queue, and allow it beyond both thresholds: on or off",
        },
        Parameter {
            name: "loss-threshold",
            default: "2",
            meaning: "loss in per cent of a flight above which the flight was too large, 0 to 100",
        },
        Parameter {
            name: "shortterm-threshold",
            default: "0",
            meaning: "loss in per cent of a flight above which rate and flight are bounded until the next probe, 0 to 100",
        },
        SMOOTHED_RTT,
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "initial-packets" => Slot::number(&mut self.initial_packets, 0..=1_000),
            "loss-floor" => Slot::text(&mut self.loss_floor),
            "loss-threshold" => Slot::number(&mut self.loss_threshold, 0..=100),
            "smoothed-rtt" => Slot::text(&mut self.smoothed_rtt),
            "shortterm-threshold" => Slot::number(&mut self.shortterm_threshold, 0..=100),
            _ => return None,
        })
    }
}

/// States of the machine (*State Machine*); those from `Down` to `Up` are ProbeBW.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Phase {
    /// In per cent (*Summary of Control Behavior in the State Machine*).
    const fn pacing_gain(self) -> u64 {
        match self {
            Self::Startup => 277,
            Self::Drain => 50,
            Self::Down => 90,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 100,
            Self::Up => 125,
        }
    }

    /// In per cent.
    const fn cwnd_gain(self) -> u64 {
        match self {
            Self::Startup | Self::Drain | Self::Down | Self::Cruise | Self::Refill => 200,
            Self::Up => 225,
            Self::ProbeRtt => 50,
        }
    }

    const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether it looks for more bandwidth (IsProbingBW).
    const fn looks_for_more(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// How long after the last low round-trip time ProbeRTT begins (BBR.ProbeRTTInterval).
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// Pacing is this much below the rate, in per cent (BBR.PacingMarginPercent).
const PACING_MARGIN: u64 = 1;
/// Rounds for which the excess of acknowledgements is remembered (BBR.ExtraAckedFilterLen).
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// Rounds after which Drain ends in any case.
const DRAIN_ROUNDS: u64 = 3;

/// The state of one path.
#[derive(Debug)]
pub struct BbrState {
    loss_threshold: u64,
    shortterm_threshold: u64,
    phase: Phase,
    cwnd: u64,
    initial_cwnd: u64,
    /// The cwnd before a recovery or ProbeRTT.
    prior_cwnd: u64,
    /// In bytes per second; 0 before the first sample.
    pacing_rate: u64,
    in_recovery: bool,
    /// One full chunk.
    chunk: u64,
    rounds: Rounds,
    round_starts: bool,
    pipe: FullPipe,
    /// Maximum of the rates of this cycle and the one before (BBR.max_bw_filter).
    max_rates: [u64; 2],
    /// The rate of the model, bounded (BBR.bw).
    rate: u64,
    min_rtt: MinRtt,
    aggregation: Aggregation,
    recent: Recent,
    bounds: Bounds,
    /// `None` if it is not learned.
    loss_floor: Option<LossFloor>,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    drain_began: u64,
    /// Sending began again after the application had nothing to send.
    restarts: bool,
    /// Whether the cwnd was full in this round and in the one before.
    was_full: [bool; 2],
    /// Queues are to be short: a quarter of the BDP at most.
    short_queues: bool,
}

impl BbrState {
    fn max_rate(&self) -> u64 {
        self.max_rates[0].max(self.max_rates[1])
    }

    /// `gain` per cent of the product of `rate` and the minimum round-trip time (BDPMultiple).
    fn product(&self, rate: u64, gain: u64) -> u64 {
        match self.min_rtt.get() {
            Some(rtt) => mul_div(bytes_in(rate, rtt), gain, 100).min(MAX_CWND),
            None => self.initial_cwnd,
        }
    }

    /// Four chunks (BBR.MinPipeCwnd).
    const fn least_cwnd(&self) -> u64 {
        4 * self.chunk
    }

    /// What may be sent at once (*Send Quantum*).
    fn send_quantum(&self) -> u64 {
        let millisecond = bytes_in(self.pacing_rate, Duration::from_millis(1));
        millisecond.min(64 << 10).max(2 * self.chunk)
    }

    /// *Computing BBR.max_inflight*, QuantizationBudget.
    fn with_budget(&self, inflight: u64) -> u64 {
        let inflight = inflight.max(self.send_quantum()).max(self.least_cwnd());
        let probe = if self.phase == Phase::Up {
            2 * self.chunk
        } else {
            0
        };
        inflight + probe
    }

    fn inflight_at(&self, rate: u64) -> u64 {
        self.with_budget(self.product(rate, 100))
    }

    /// *Updating the BBR.max_bw Max Filter*.
    fn update_rate(&mut self, sample: &RateSample, flight: &Flight, now: Instant) {
        let floor = self.min_rtt.floor();
        self.round_starts = self.rounds.on_ack(flight, sample.total_delivered, floor, now);
        if self.round_starts {
            self.cycle.rounds += 1;
            self.was_full = [false, self.was_full[0]];
        }
        if flight.rate > 0 && (flight.rate >= self.max_rate() || !flight.application_limited) {
            self.max_rates[0] = self.max_rates[0].max(flight.rate);
        }
    }

    /// *Exiting Acceleration Based on Bandwidth Plateau*; an invalid sample says nothing about growth. Where the application, or a
    /// buffer, limits a round that loses more than the threshold, it is not what keeps the rate from growing: a short queue may
    /// lose much of each burst.
    fn look_for_full_pipe(&mut self, flight: &Flight) {
        let loses = flight.lost > mul_div(flight.in_flight, self.loss_threshold, 100);
        let is_limited = flight.application_limited && !loses;
        if self.round_starts && !is_limited && flight.rate > 0 {
            self.pipe.observe(flight.rate);
        }
    }

    fn leave_startup(&mut self, path: &PathFacts, flight: &Flight) {
        self.leave_startup_on_loss(path, flight);
        if self.phase == Phase::Startup && self.pipe.reached {
            self.phase = Phase::Drain;
            self.drain_began = self.rounds.count;
        }
    }

    /// *Drain*.
    fn leave_drain(&mut self, context: &PathContext<'_>, in_flight: u64) {
        let too_long = self.rounds.count > self.drain_began + DRAIN_ROUNDS;
        if self.phase == Phase::Drain && (too_long || in_flight <= self.inflight_at(self.rate)) {
            self.start_down(context);
        }
    }

    /// *Pacing Rate*.
    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = mul_div(self.rate, gain * (100 - PACING_MARGIN), 10_000);
        if self.pipe.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn initial_pacing_rate(&mut self, path: &PathFacts) {
        if let Some(srtt) = path.srtt()
            && self.pacing_rate == 0
        {
            self.pacing_rate = mul_div(
                rate_of(self.initial_cwnd, srtt),
                Phase::Startup.pacing_gain(),
                100,
            );
        }
    }

    /// In per cent. Where queues are to be short, no more than a probe for bandwidth has in flight: a queue grows between probes, too.
    const fn cwnd_gain(&self) -> u64 {
        let (gain, of_probe) = (self.phase.cwnd_gain(), Phase::Up.pacing_gain());
        if self.short_queues && gain > of_probe {
            of_probe
        } else {
            gain
        }
    }

    /// *cwnd Adjustment Mechanism*.
    fn set_cwnd(&mut self, sample: &RateSample) {
        let extra = if self.short_queues {
            0
        } else {
            self.aggregation.extra()
        };
        let most = self.product(self.rate, self.cwnd_gain()) + extra;
        let most = self.with_budget(most).min(MAX_CWND);
        if self.pipe.reached {
            self.cwnd = (self.cwnd + sample.newly_acked).min(most);
        } else if self.cwnd < most || sample.total_delivered < self.initial_cwnd {
            self.cwnd = (self.cwnd + sample.newly_acked).min(MAX_CWND);
        }
        self.cwnd = self.cwnd.max(self.least_cwnd());
        if self.phase == Phase::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(self.bounded_inflight());
    }

    const fn save_cwnd(&mut self) {
        if self.in_recovery || matches!(self.phase, Phase::ProbeRtt) {
            if self.cwnd > self.prior_cwnd {
                self.prior_cwnd = self.cwnd;
            }
        } else {
            self.prior_cwnd = self.cwnd;
        }
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// *Modulating cwnd in Loss Recovery*: the cwnd before the recovery returns at its end.
    fn follow_recovery(&mut self, path: &PathFacts) {
        if self.in_recovery && !path.in_recovery {
            self.in_recovery = false;
            self.restore_cwnd();
        }
    }

    /// UpdateModelAndState (*Per-ACK Steps*).
    fn update(&mut self, acked: &Observation<'_>, flight: &Flight) -> Outcome {
        let (sample, context) = (acked.sample, &acked.context);
        self.note_delivery(sample, flight);
        self.learn_losses(sample.newly_acked, 0, flight);
        self.update_rate(sample, flight, context.now);
        self.adapt_to_losses(flight);
        let window = if self.pipe.reached { EXTRA_ACKED_ROUNDS } else { 1 };
        let round = (self.rounds.count, window);
        self.aggregation
            .on_ack(sample.newly_acked, self.rate, self.cwnd, round, context.now);
        self.look_for_full_pipe(flight);
        self.leave_startup(context.path, flight);
        self.leave_drain(context, sample.in_flight);
        self.advance_cycle(acked, flight);
        let samples = [sample.rtt, sample.longest_rtt];
        self.min_rtt.on_sample(samples, self.round_starts, context.now);
        let outcome = self.check_probe_rtt(acked);
        self.end_delivery_round(flight);
        self.rate = self.max_rate().min(self.bounds.rate);
        outcome
    }
}

impl PathModel for BbrParameters {
    const NAME: &'static str = "bbr";
    type State = BbrState;

    fn start(&self, path: &PathFacts, now: Instant) -> BbrState {
        let initial = Window::first(path, self.initial_packets).bytes;
        let mut state = BbrState {
            loss_threshold: u64::from(self.loss_threshold),
            shortterm_threshold: u64::from(self.shortterm_threshold),
            phase: Phase::Startup,
            cwnd: initial,
            initial_cwnd: initial,
            prior_cwnd: 0,
            pacing_rate: 0,
            in_recovery: false,
            chunk: quantum(path),
            rounds: Rounds::new(now),
            round_starts: false,
            pipe: FullPipe::default(),
            max_rates: [0; 2],
            rate: 0,
            min_rtt: MinRtt::new(PROBE_RTT_INTERVAL, self.smoothed_rtt),
            aggregation: Aggregation::new(now),
            recent: Recent::default(),
            bounds: Bounds::default(),
            loss_floor: self.loss_floor.then(LossFloor::default),
            cycle: Cycle::new(now),
            probe_rtt: ProbeRtt::default(),
            drain_began: 0,
            restarts: false,
            was_full: [false; 2],
            short_queues: false,
        };
        state.initial_pacing_rate(path);
        state
    }

    fn on_ack(&self, state: &mut BbrState, acked: &Observation<'_>) -> Outcome {
        state.chunk = quantum(acked.context.path);
        state.initial_pacing_rate(acked.context.path);
        state.follow_recovery(acked.context.path);
        state.was_full[0] |= acked.sample.in_flight_before + state.chunk > state.cwnd;
        let outcome = match &acked.sample.flight {
            Some(flight) => state.update(acked, flight),
            None => Outcome::Continue,
        };
        state.set_pacing_rate(state.phase.pacing_gain());
        state.set_cwnd(acked.sample);
        outcome
    }

    fn on_lost(&self, state: &mut BbrState, bytes: u64, flight: Option<&Flight>, context: &PathContext<'_>) {
        state.on_lost(bytes, flight, context);
    }

    fn on_recovery(&self, state: &mut BbrState, _in_flight: u64, _delivered: u64) {
        state.save_cwnd();
        state.in_recovery = true;
    }

    fn on_timeout(&self, state: &mut BbrState, path: &PathFacts) {
        state.save_cwnd();
        state.in_recovery = false;
        state.recent.lost_in_round = true;
        state.cwnd = state.cwnd.min(quantum(path));
    }

    /// *Restarting From Idle*.
    fn on_restart(&self, state: &mut BbrState, context: &PathContext<'_>) {
        state.restarts = true;
        state.aggregation.restart(context.now);
        if state.phase.is_probe_bw() {
            state.set_pacing_rate(100);
        } else if state.phase == Phase::ProbeRtt {
            state.end_probe_rtt_if_done(context);
        }
    }

    fn on_burst_limit(state: &mut BbrState, limit: u64) {
        state.cwnd = state.cwnd.min(limit);
    }

    fn cwnd(state: &BbrState) -> u64 {
        state.cwnd.max(state.chunk)
    }

    fn pacing_rate(state: &BbrState) -> u64 {
        state.pacing_rate
    }

    fn floor(state: &BbrState) -> Duration {
        state.min_rtt.floor()
    }

    fn probes_rtt(state: &BbrState) -> bool {
        state.phase == Phase::ProbeRtt
    }
}

#[cfg(test)]
mod tests;

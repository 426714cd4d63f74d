//! Cycle of ProbeBW: when does the sender look for more, and when does it make room for others?
//!
//! Source: draft-ietf-ccwg-bbr, *ProbeBW Algorithm Details*, *Precautionary Bandwidth Probing*, *Time Scale for Bandwidth
//! Probing*.

use core::time::Duration;

use anabranch_types::{Instant, Seed};

use super::super::delivery_rate::{Flight, RateSample};
use super::super::modelled::{Observation, PathContext};
use super::{BbrState, Phase, UNBOUNDED};

/// Longest time between probes in rounds, so that Reno and CUBIC get their share.
const LONGEST_WAIT_ROUNDS: u64 = 63;
const LEAST_WAIT: Duration = Duration::from_secs(2);
/// Up to this much more, at random, so that flows do not probe together.
const RANDOM_WAIT_NANOS: u64 = 1_000_000_000;

/// What acknowledgements say about the last probe (BBR.ack_phase).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Feedback {
    /// Nothing.
    None,
    Refilling,
    Starting,
    Arriving,
    Stopping,
}

/// The cycle of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    began: Instant,
    wait: Duration,
    /// Rounds since the last probe (BBR.rounds_since_probe_up).
    pub(super) rounds: u64,
    feedback: Feedback,
    /// Acknowledgements are of data sent while probing (BBR.is_bw_probe_sample).
    is_sample: bool,
    /// The last probe lost too much.
    too_high: bool,
    /// The last probe was ended when it came close to that.
    precautionary: bool,
    /// Rounds in which the long-term bound has grown in this probe.
    growing_rounds: u32,
    acked: u64,
    /// Bytes acknowledged for each chunk that the bound grows (BBR.probe_up_acked_per_inc).
    acked_per_chunk: u64,
}

impl Cycle {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            began: now,
            wait: Duration::ZERO,
            rounds: 0,
            feedback: Feedback::None,
            is_sample: false,
            too_high: false,
            precautionary: false,
            growing_rounds: 0,
            acked: 0,
            acked_per_chunk: UNBOUNDED,
        }
    }

    /// Whether losses are due to a probe that has not failed yet.
    pub(super) const fn takes_samples(&self) -> bool {
        self.is_sample
    }

    /// The probe lost too much: it counts once.
    pub(super) const fn probe_failed(&mut self) {
        self.too_high = true;
        self.is_sample = false;
    }

    /// Acknowledgements of the probe are to come.
    pub(super) const fn stop_feedback(&mut self) {
        self.feedback = Feedback::Stopping;
    }

    /// PickProbeWait. The random part is drawn from the time and the bytes delivered, so that flows differ.
    fn pick_wait(&mut self, context: &PathContext<'_>) {
        let drawn = Seed(context.now.as_nanos()).nth(context.delivered).0;
        self.rounds = drawn & 1;
        self.wait = LEAST_WAIT + Duration::from_nanos((drawn >> 1) % RANDOM_WAIT_NANOS);
    }
}

impl BbrState {
    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, context: &PathContext<'_>) {
        self.forget_losses();
        self.cycle.acked_per_chunk = UNBOUNDED;
        self.cycle.pick_wait(context);
        self.cycle.began = context.now;
        self.cycle.feedback = Feedback::Stopping;
        self.rounds.restart(context.delivered);
        self.phase = Phase::Down;
    }

    pub(super) const fn start_cruise(&mut self) {
        self.phase = Phase::Cruise;
    }

    fn start_refill(&mut self, context: &PathContext<'_>) {
        self.bounds.forget_short_term();
        self.cycle.growing_rounds = 0;
        self.cycle.acked = 0;
        self.cycle.precautionary = false;
        self.cycle.feedback = Feedback::Refilling;
        self.rounds.restart(context.delivered);
        self.phase = Phase::Refill;
    }

    fn start_up(&mut self, context: &PathContext<'_>, flight: &Flight) {
        self.cycle.is_sample = true;
        self.cycle.feedback = Feedback::Starting;
        self.rounds.restart(context.delivered);
        self.pipe.reset(flight.rate);
        self.phase = Phase::Up;
        self.steepen_growth();
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn advance_cycle(&mut self, acked: &Observation<'_>, flight: &Flight) {
        if !self.pipe.reached || self.adapt_long_term(acked, flight) {
            return;
        }
        let (context, in_flight) = (&acked.context, acked.sample.in_flight);
        let has_probed = self.phase == Phase::Up && self.has_probed(in_flight, flight);
        match self.phase {
            Phase::Down if self.is_time_to_probe(context) => self.start_refill(context),
            Phase::Down if self.has_made_room(in_flight) => self.start_cruise(),
            Phase::Cruise if self.is_time_to_probe(context) => self.start_refill(context),
            Phase::Refill if self.round_starts => self.start_up(context, flight),
            Phase::Up if has_probed => {
                self.cycle.too_high = false;
                self.start_down(context);
            }
            _ => {}
        }
    }

    /// IsTimeToProbeBW.
    fn is_time_to_probe(&self, context: &PathContext<'_>) -> bool {
        let reno_rounds = (self.target_inflight() / self.chunk).min(LONGEST_WAIT_ROUNDS);
        context.now > self.cycle.began + self.cycle.wait || self.cycle.rounds >= reno_rounds
    }

    /// TargetInflight.
    pub(super) fn target_inflight(&self) -> u64 {
        self.product(self.rate, 100).min(self.cwnd)
    }

    /// IsTimeToCruise.
    fn has_made_room(&self, in_flight: u64) -> bool {
        in_flight <= self.bounds.with_headroom(self.chunk) && in_flight <= self.inflight_at(self.max_rate())
    }

    /// IsTimeToGoDown.
    fn has_probed(&mut self, in_flight: u64, flight: &Flight) -> bool {
        // As Linux' first version: a quarter more than the path holds shows whether there is more, and the queue is no longer than that.
        if self.short_queues && in_flight >= self.product(self.max_rate(), Phase::Up.pacing_gain()) {
            return true;
        }
        if self.cycle.too_high && in_flight >= self.bounds.longterm {
            self.cycle.precautionary = true;
            return true;
        }
        if self.is_bound_by_long_term() {
            self.pipe.reset(flight.rate);
            return false;
        }
        self.pipe.now
    }

    /// Whether the flight was as large as the long-term bound allows.
    fn is_bound_by_long_term(&self) -> bool {
        (self.was_full[0] || self.was_full[1]) && self.cwnd >= self.bounds.longterm
    }

    /// AdaptLongTermModel. Returns whether it has changed the phase.
    fn adapt_long_term(&mut self, acked: &Observation<'_>, flight: &Flight) -> bool {
        match self.cycle.feedback {
            Feedback::Starting if self.round_starts => self.cycle.feedback = Feedback::Arriving,
            Feedback::Stopping if self.round_starts => {
                self.cycle.is_sample = false;
                self.cycle.feedback = Feedback::None;
                if self.phase.is_probe_bw() && !flight.application_limited {
                    // AdvanceMaxBwFilter: the cycle before the last one is forgotten.
                    self.max_rates = [0, self.max_rates[0]];
                }
                if self.phase.is_probe_bw() && self.cycle.precautionary && !self.cycle.too_high {
                    self.start_refill(&acked.context);
                    return true;
                }
            }
            _ => {}
        }
        if !self.is_too_much(flight) && self.bounds.longterm != UNBOUNDED {
            self.bounds.longterm = self.bounds.longterm.max(flight.in_flight);
            if self.phase == Phase::Up {
                self.raise_long_term(acked.sample);
            }
        }
        false
    }

    /// ProbeInflightLongtermUpward: faster from round to round.
    fn raise_long_term(&mut self, sample: &RateSample) {
        if !self.is_bound_by_long_term() {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.acked += sample.newly_acked;
        if cycle.acked >= cycle.acked_per_chunk {
            let chunks = cycle.acked / cycle.acked_per_chunk;
            cycle.acked -= chunks * cycle.acked_per_chunk;
            self.bounds.longterm += chunks * self.chunk;
        }
        if self.round_starts {
            self.steepen_growth();
        }
    }

    /// RaiseInflightLongtermSlope.
    fn steepen_growth(&mut self) {
        let cycle = &mut self.cycle;
        let chunks = 1 << cycle.growing_rounds;
        cycle.growing_rounds = (cycle.growing_rounds + 1).min(30);
        cycle.acked_per_chunk = (self.cwnd / chunks).max(self.chunk);
    }
}

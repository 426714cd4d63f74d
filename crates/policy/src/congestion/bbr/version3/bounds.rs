//! Bounds of the model by losses: what is too much in the long run, and until the next probe.
//!
//! Source: draft-ietf-ccwg-bbr, *Updating the Model Upon Packet Loss*.

use super::super::delivery_rate::{Flight, RateSample};
use super::super::modelled::PathContext;
use super::{BbrState, PACING_MARGIN, Phase};
use crate::PathFacts;
use crate::math::mul_div;

/// No bound.
pub(super) const UNBOUNDED: u64 = u64::MAX;
/// What is left after a loss, in tenths (BBR.Beta).
const BETA: u64 = 7;
/// Share of the long-term bound that is left to others, in per cent (BBR.Headroom).
const HEADROOM: u64 = 15;
/// Bursts of losses in a round that end Startup (BBRStartupFullLossCnt).
const STARTUP_LOSSES: u32 = 6;

/// Bounds of rate and flight. Bytes and bytes per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Until the next probe (BBR.bw_shortterm).
    pub(super) rate: u64,
    /// Until the next probe (BBR.inflight_shortterm).
    pub(super) inflight: u64,
    /// From one probe to the next (BBR.inflight_longterm).
    pub(super) longterm: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            rate: UNBOUNDED,
            inflight: UNBOUNDED,
            longterm: UNBOUNDED,
        }
    }
}

impl Bounds {
    /// ResetShortTermModel.
    pub(super) const fn forget_short_term(&mut self) {
        self.rate = UNBOUNDED;
        self.inflight = UNBOUNDED;
    }

    /// The long-term bound with room for others (InflightWithHeadroom).
    pub(super) fn with_headroom(&self, chunk: u64) -> u64 {
        if self.longterm == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = mul_div(self.longterm, HEADROOM, 100).max(chunk);
        self.longterm.saturating_sub(headroom).max(4 * chunk)
    }
}

/// What was delivered in the current round, and whether something was lost in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    /// The highest rate (BBR.bw_latest).
    rate: u64,
    /// The most delivered in a round trip (BBR.inflight_latest).
    delivered: u64,
    /// Bytes delivered in total when the round began (BBR.loss_round_delivered).
    began_at: u64,
    /// The last acknowledgement ended a round (BBR.loss_round_start).
    ended: bool,
    /// Something was lost in it (BBR.is_loss_in_round).
    pub(super) lost_in_round: bool,
    /// How often.
    losses: u32,
}

impl BbrState {
    /// UpdateLatestDeliverySignals.
    pub(super) fn note_delivery(&mut self, sample: &RateSample, flight: &Flight) {
        let recent = &mut self.recent;
        recent.rate = recent.rate.max(flight.rate);
        recent.delivered = recent.delivered.max(flight.delivered);
        recent.ended = flight.delivered_before >= recent.began_at;
        if recent.ended {
            recent.began_at = sample.total_delivered;
        }
    }

    /// AdvanceLatestDeliverySignals.
    pub(super) const fn end_delivery_round(&mut self, flight: &Flight) {
        if self.recent.ended {
            self.recent.rate = flight.rate;
            self.recent.delivered = flight.delivered;
        }
    }

    /// ResetCongestionSignals.
    pub(super) const fn forget_losses(&mut self) {
        self.recent.lost_in_round = false;
        self.recent.rate = 0;
        self.recent.delivered = 0;
    }

    /// Once per round, lowers the short-term bounds towards what was delivered (AdaptLowerBoundsFromCongestion).
    ///
    /// Deviation: the margin by which pacing stays below the rate is added to what was delivered. Otherwise the bound
    /// would fall by the margin in each round with a loss, however few.
    pub(super) fn adapt_to_losses(&mut self, flight: &Flight) {
        if !self.recent.ended {
            return;
        }
        let threshold = self.threshold_until_probe(flight.in_flight);
        let allowed = self.allowed(flight.in_flight, threshold);
        let is_too_much = self.recent.lost_in_round && (allowed == 0 || flight.lost > allowed);
        if is_too_much && !self.phase.looks_for_more() {
            if self.bounds.rate == UNBOUNDED {
                self.bounds.rate = self.max_rate();
            }
            if self.bounds.inflight == UNBOUNDED {
                self.bounds.inflight = self.cwnd;
            }
            let delivered = mul_div(self.recent.rate, 100, 100 - PACING_MARGIN);
            self.bounds.rate = delivered.max(mul_div(self.bounds.rate, BETA, 10));
            self.bounds.inflight = self.recent.delivered.max(self.bounds.inflight * BETA / 10);
        }
        self.recent.lost_in_round = false;
    }

    /// *Exiting Startup Based on Packet Loss*.
    pub(super) fn leave_startup_on_loss(&mut self, path: &PathFacts, flight: &Flight) {
        if !self.recent.ended {
            return;
        }
        let often = self.recent.losses >= STARTUP_LOSSES;
        self.recent.losses = 0;
        let is_high = often && path.in_recovery && self.is_too_much(flight) && self.may_be_congestion();
        if self.phase == Phase::Startup && is_high && !self.pipe.reached {
            self.pipe.reached = true;
            self.bounds.longterm = self.product(self.rate, 100).max(self.recent.delivered);
        }
    }

    /// Whether more was lost of a flight than the threshold allows (IsInflightTooHigh).
    pub(super) fn is_too_much(&self, flight: &Flight) -> bool {
        flight.lost > self.allowed(flight.in_flight, self.loss_threshold)
    }

    /// HandleLostPacket.
    pub(super) fn on_lost(&mut self, bytes: u64, flight: Option<&Flight>, context: &PathContext<'_>) {
        if !self.recent.lost_in_round {
            self.recent.began_at = context.delivered;
            self.recent.lost_in_round = true;
        }
        self.recent.losses += 1;
        let Some(flight) = flight else { return };
        self.learn_losses(0, bytes, flight);
        if !self.cycle.takes_samples() {
            return;
        }
        if self.is_too_much(flight) {
            let inflight = self.inflight_at_loss(bytes, flight);
            self.lower_long_term(inflight, flight, context);
        }
    }

    /// The flight at which losses exceeded the threshold, if the last `bytes` of it were lost together (InflightAtLoss).
    fn inflight_at_loss(&self, bytes: u64, flight: &Flight) -> u64 {
        let before = flight.in_flight.saturating_sub(bytes);
        let lost_before = flight.lost.saturating_sub(bytes);
        let allowed = self.allowed(before, self.loss_threshold);
        let allowed = allowed.saturating_sub(lost_before);
        before + mul_div(allowed, 100, 100 - self.loss_threshold.min(99))
    }

    /// HandleInflightTooHigh.
    fn lower_long_term(&mut self, inflight: u64, flight: &Flight, context: &PathContext<'_>) {
        self.cycle.probe_failed();
        if !flight.application_limited {
            let target = self.target_inflight() * BETA / 10;
            self.bounds.longterm = inflight.max(target);
        }
        if self.phase == Phase::Up {
            self.start_down(context);
        }
    }

    /// BoundCwndForModel.
    pub(super) fn bounded_inflight(&self) -> u64 {
        let bound = match self.phase {
            Phase::Down | Phase::Refill | Phase::Up => self.bounds.longterm,
            Phase::Cruise | Phase::ProbeRtt => self.bounds.with_headroom(self.chunk),
            Phase::Startup | Phase::Drain => UNBOUNDED,
        };
        bound.min(self.bounds.inflight).max(self.least_cwnd())
    }
}

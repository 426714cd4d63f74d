//! ProbeRTT: the flight is halved for a moment to measure the round-trip time without a queue.
//!
//! Source: draft-ietf-ccwg-bbr, *ProbeRTT*.

use core::time::Duration;

use anabranch_types::Instant;

use super::super::modelled::{Observation, Outcome, PathContext};
use super::{BbrState, Phase};

/// How long the flight stays small (BBR.ProbeRTTDuration).
const DURATION: Duration = Duration::from_millis(200);

/// Progress of a probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProbeRtt {
    /// When it may end; `None` while more is in flight than it allows.
    ends_at: Option<Instant>,
    /// A round trip has passed since the flight is small.
    round_done: bool,
}

impl BbrState {
    /// The cwnd of ProbeRTT.
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        let half = self.product(self.rate, Phase::ProbeRtt.cwnd_gain());
        half.max(self.least_cwnd())
    }

    /// CheckProbeRTT. Waits while another path is measured.
    pub(super) fn check_probe_rtt(&mut self, acked: &Observation<'_>) -> Outcome {
        let context = &acked.context;
        if self.restarts && self.min_rtt.is_due() {
            // The path was empty: this sample is as good as a probe.
            self.min_rtt.probed(context.now);
        }
        let may_begin = self.phase != Phase::ProbeRtt && !acked.others_probe_rtt;
        if may_begin && self.min_rtt.is_due() {
            self.save_cwnd();
            self.phase = Phase::ProbeRtt;
            self.probe_rtt = ProbeRtt::default();
            self.cycle.stop_feedback();
            self.rounds.restart(context.delivered);
        }
        let outcome = if self.phase == Phase::ProbeRtt {
            self.hold_small_flight(acked.sample.in_flight, context);
            Outcome::Limited
        } else {
            Outcome::Continue
        };
        self.restarts = false;
        outcome
    }

    /// HandleProbeRTT.
    fn hold_small_flight(&mut self, in_flight: u64, context: &PathContext<'_>) {
        if self.probe_rtt.ends_at.is_none() {
            if in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt = ProbeRtt {
                    ends_at: Some(context.now + DURATION),
                    round_done: false,
                };
                self.rounds.restart(context.delivered);
            }
            return;
        }
        self.probe_rtt.round_done |= self.round_starts;
        if self.probe_rtt.round_done {
            self.end_probe_rtt_if_done(context);
        }
    }

    /// CheckProbeRTTDone and ExitProbeRTT.
    pub(super) fn end_probe_rtt_if_done(&mut self, context: &PathContext<'_>) {
        if self.probe_rtt.ends_at.is_none_or(|end| context.now <= end) {
            return;
        }
        self.min_rtt.probed(context.now);
        self.restore_cwnd();
        self.bounds.forget_short_term();
        if self.pipe.reached {
            self.start_down(context);
            self.start_cruise();
        } else {
            self.phase = Phase::Startup;
        }
    }
}

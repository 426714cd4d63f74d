//! Congestion control by a model of each path. This adapter measures delivery rates and runs a model on each path.
//!
//! It also staggers the probes of the round-trip time: one path at a time reduces its flight for one, so that the others
//! carry the data meanwhile.

use core::fmt;
use core::num::NonZeroU64;
use core::time::Duration;

use anabranch_types::{Instant, PathId};

use super::delivery_rate::{DeliveryRate, Flight, RateSample};
use crate::parameters::Parameters;
use crate::path_table::PathTable;
use crate::{
    AckSample, CongestionControl, LossCause, LossEvent, LostPackets, PathFacts, Policy, SentPacket,
    path_facts,
};

/// A model of a single path. Implemented by its parameters; the state of each path is separate.
pub trait PathModel: Parameters + Send {
    /// The name that users type.
    const NAME: &'static str;
    /// The state of one path.
    type State: Send + fmt::Debug;

    /// The initial state of a path.
    fn start(&self, path: &PathFacts, now: Instant) -> Self::State;
    /// Chunks were acknowledged.
    fn on_ack(&self, state: &mut Self::State, acked: &Observation<'_>) -> Outcome;
    /// `bytes` of chunks were declared lost; `flight` is that of the last of them.
    fn on_lost(
        &self,
        state: &mut Self::State,
        bytes: u64,
        flight: Option<&Flight>,
        context: &PathContext<'_>,
    );
    /// Fast recovery begins, for which `in_flight` bytes are left in flight.
    fn on_recovery(&self, state: &mut Self::State, in_flight: u64, delivered: u64);
    /// Everything in flight was declared lost by a timer.
    fn on_timeout(&self, state: &mut Self::State, path: &PathFacts);
    /// Data is sent after the path had nothing in flight and nothing to send.
    fn on_restart(&self, state: &mut Self::State, context: &PathContext<'_>);
    /// The cwnd is reduced to `limit` bytes to prevent a burst.
    fn on_burst_limit(state: &mut Self::State, limit: u64);
    /// The cwnd in bytes.
    fn cwnd(state: &Self::State) -> u64;
    /// The pacing rate in bytes per second; 0 before it is known.
    fn pacing_rate(state: &Self::State) -> u64;
    /// The least time that a round takes, where packets overtake one another; zero if single samples say it.
    fn floor(state: &Self::State) -> Duration;
    /// Whether the flight is reduced to measure the round-trip time.
    fn probes_rtt(state: &Self::State) -> bool;
}

/// An acknowledgement, and where and when it arrived.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// What was acknowledged, and how fast.
    pub sample: &'a RateSample,
    /// The path and the time.
    pub context: PathContext<'a>,
    /// Whether another path is measuring its round-trip time.
    pub others_probe_rtt: bool,
}

/// The path and the moment of an event.
#[derive(Clone, Copy, Debug)]
pub struct PathContext<'a> {
    /// The path.
    pub path: &'a PathFacts,
    /// Bytes delivered on it in total.
    pub delivered: u64,
    /// The time.
    pub now: Instant,
}

/// What the estimator is to do after an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Nothing.
    Continue,
    /// Low rates that follow are due to the model itself: they are to count as limited by the application.
    Limited,
}

/// One path.
#[derive(Debug)]
struct ModelledPath<S> {
    rate: DeliveryRate,
    model: S,
}

/// The congestion control of an association, made of a model `A` for single paths.
#[derive(Debug)]
pub struct Modelled<A: PathModel> {
    algorithm: A,
    paths: PathTable<ModelledPath<A::State>>,
}

impl<A: PathModel> Modelled<A> {
    /// Creates a controller without paths.
    #[must_use]
    pub fn new(algorithm: A) -> Self {
        Self {
            algorithm,
            paths: PathTable::default(),
        }
    }

    pub(super) const fn algorithm(&self) -> &A {
        &self.algorithm
    }

    /// Adds `path` with a model that has begun.
    pub(super) fn insert(&mut self, path: PathId, model: A::State, now: Instant) {
        let rate = DeliveryRate::new(now);
        self.paths.insert(path, ModelledPath { rate, model });
    }

    /// The model of `path`, if there is one.
    pub(in crate::congestion) fn state(&self, path: PathId) -> Option<&A::State> {
        self.paths.of(path).map(|path| &path.model)
    }

    /// The model of `path`.
    #[cfg(test)]
    pub(super) fn model(&self, path: PathId) -> &A::State {
        self.state(path).expect("the test has added it")
    }

    /// The model of `path`, to be changed.
    #[cfg(test)]
    pub(super) fn model_mut(&mut self, path: PathId) -> &mut A::State {
        let state = self.paths.of_mut(path);
        &mut state.expect("the test has added it").model
    }

    fn rtt_probes(&self) -> usize {
        self.paths
            .iter()
            .filter(|path| A::probes_rtt(&path.model))
            .count()
    }
}

impl<A: PathModel> Policy for Modelled<A> {
    fn name(&self) -> &'static str {
        A::NAME
    }
}

impl<A: PathModel> CongestionControl for Modelled<A> {
    fn add_path(&mut self, path: &PathFacts, now: Instant) {
        self.insert(path.id, self.algorithm.start(path, now), now);
    }

    fn remove_path(&mut self, path: PathId) {
        self.paths.remove(path);
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        for ack in ack.paths {
            let probes = self.rtt_probes();
            let (Some(state), Some(path)) = (self.paths.of_mut(ack.path), path_facts(paths, ack.path)) else {
                continue;
            };
            let floor = A::floor(&state.model);
            let sample = state.rate.on_ack(ack, path, floor, now);
            let own = usize::from(A::probes_rtt(&state.model));
            let acked = Observation {
                sample: &sample,
                context: PathContext {
                    path,
                    delivered: sample.total_delivered,
                    now,
                },
                others_probe_rtt: probes > own,
            };
            if self.algorithm.on_ack(&mut state.model, &acked) == Outcome::Limited {
                state.rate.on_application_limited(sample.in_flight);
            }
        }
    }

    fn on_loss(&mut self, loss: &LossEvent, paths: &[PathFacts], _now: Instant) {
        let (Some(state), Some(path)) = (self.paths.of_mut(loss.path), path_facts(paths, loss.path)) else {
            return;
        };
        match loss.cause {
            LossCause::Timeout => {
                state.rate.on_timeout(loss.bytes);
                self.algorithm.on_timeout(&mut state.model, path);
            }
            LossCause::FastRetransmit | LossCause::Mark | LossCause::Reschedule => {
                let left = path.in_flight.saturating_sub(loss.bytes);
                let delivered = state.rate.delivered();
                self.algorithm.on_recovery(&mut state.model, left, delivered);
            }
        }
    }

    fn on_idle(&mut self, _path: &PathFacts, _idle: Duration) {}

    fn on_burst_limit(&mut self, path: PathId, limit: u64) {
        if let Some(state) = self.paths.of_mut(path) {
            A::on_burst_limit(&mut state.model, limit);
        }
    }

    fn measures_rates(&self) -> bool {
        self.paths.iter().next().is_some()
    }

    fn may_measure_rates(&self) -> bool {
        true
    }

    fn on_sent(&mut self, sent: &SentPacket, path: &PathFacts, now: Instant) {
        let Some(state) = self.paths.of_mut(path.id) else {
            return;
        };
        if sent.in_flight_before == 0 && state.rate.is_application_limited() {
            let context = PathContext {
                path,
                delivered: state.rate.delivered(),
                now,
            };
            self.algorithm.on_restart(&mut state.model, &context);
        }
        state
            .rate
            .on_sent(sent.last, sent.in_flight_before, sent.bytes, now);
    }

    fn on_lost(&mut self, lost: &LostPackets, path: &PathFacts, now: Instant) {
        let Some(state) = self.paths.of_mut(path.id) else {
            return;
        };
        let flight = state.rate.on_lost(lost.bytes, lost.last);
        let context = PathContext {
            path,
            delivered: state.rate.delivered(),
            now,
        };
        self.algorithm
            .on_lost(&mut state.model, lost.bytes, flight.as_ref(), &context);
    }

    fn on_application_limited(&mut self, path: &PathFacts) {
        if let Some(state) = self.paths.of_mut(path.id) {
            state.rate.on_application_limited(path.in_flight);
        }
    }

    fn pacing_rate(&self, path: PathId) -> Option<NonZeroU64> {
        let state = self.paths.of(path)?;
        NonZeroU64::new(A::pacing_rate(&state.model))
    }

    fn cwnd(&self, path: PathId) -> u64 {
        self.paths.of(path).map_or(0, |state| A::cwnd(&state.model))
    }

    fn ssthresh(&self, _path: PathId) -> u64 {
        u64::MAX
    }
}

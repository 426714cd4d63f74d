//! Fixed congestion control. The cwnd is constant.
//!
//! Source: ours, for experiments that must not depend on congestion control.
//!
//! Idea: a constant cwnd on each path, whatever is acknowledged or lost. Not for shared networks.
//!
//! ```text
//! cwnd = max(bytes, PMDCS)
//! ```

use core::time::Duration;

use anabranch_types::Instant;

use super::growth::Growth;
use super::independent::{Acked, Independent, SinglePath};
use super::window::quantum;
use crate::parameters::{Parameter, Parameters, Slot};
use crate::{LossEvent, PathFacts};

/// A constant cwnd on each path.
pub type Fixed = Independent<FixedParameters>;

/// Parameters of [`Fixed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedParameters {
    /// The cwnd of each path in bytes.
    pub cwnd: u64,
}

impl Default for FixedParameters {
    fn default() -> Self {
        Self { cwnd: 100_000 }
    }
}

impl Parameters for FixedParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "cwnd",
        default: "100000",
        meaning: "cwnd of each path in bytes, at least one full chunk, at most 2^40",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "cwnd" => Slot::number(&mut self.cwnd, 1..=1 << 40),
            _ => return None,
        })
    }
}

impl SinglePath for FixedParameters {
    const NAME: &'static str = "fixed";
    /// The cwnd.
    type State = u64;

    fn growth(&self) -> Growth {
        Growth::Cumack
    }

    fn start(&self, path: &PathFacts, _now: Instant) -> u64 {
        self.cwnd.max(quantum(path))
    }

    fn on_ack(&self, _state: &mut u64, _acked: &Acked<'_>) {}

    fn on_loss(&self, _state: &mut u64, _loss: &LossEvent, _path: &PathFacts) {}

    fn on_idle(&self, _state: &mut u64, _path: &PathFacts, _idle: Duration) {}

    fn on_burst_limit(_state: &mut u64, _limit: u64) {}

    fn cwnd(state: &u64) -> u64 {
        *state
    }

    fn ssthresh(_state: &u64) -> u64 {
        u64::MAX
    }

    fn continued(_before: &u64, bytes: u64) -> u64 {
        bytes
    }
}

//! Which policies go together? Recipes: names and parameters from which any number of sets can be made.

use alloc::string::ToString;

use crate::ack::DelayParameters;
use crate::burst::MaxBurstParameters;
use crate::catalog::{
    AckChoice, BufferChoice, BurstChoice, Choice, CongestionChoice, ExtensionPoint, FailoverChoice,
    LossChoice, PathSchedulerChoice, RescueChoice, RetransmissionChoice, SackPathChoice,
    StreamSchedulerChoice,
};
use crate::congestion::{CmtParameters, CubicParameters, Growth};
use crate::failover::{PotentiallyFailedParameters, Rfc9260Parameters};
use crate::loss::{FastRetransmitOnce, MissCountParameters};
use crate::parameters::{NoParameters, Refused};
use crate::set::PolicySet;
use crate::unknown_name::UnknownName;

/// One choice for each extension point: a [`PolicySet`] as data.
///
/// ```
/// use anabranch_policy::PolicyRecipe;
/// let mut recipe = PolicyRecipe::rfc9260();
/// recipe.set("path-scheduler", "round-robin")?;
/// recipe.set("cc", "cubic")?;
/// recipe.set("cc.hystart", "off")?;
/// let policies = recipe.build();
/// assert_eq!(policies.congestion.name(), "cubic");
/// # Ok::<(), anabranch_policy::UnknownName>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyRecipe {
    /// `stream-scheduler`
    pub stream_scheduler: StreamSchedulerChoice,
    /// `path-scheduler`
    pub path_scheduler: PathSchedulerChoice,
    /// `cc`
    pub congestion: CongestionChoice,
    /// `burst`
    pub burst: BurstChoice,
    /// `buffer-split`
    pub buffer: BufferChoice,
    /// `chunk-rescheduling`
    pub rescue: RescueChoice,
    /// `ack-policy`
    pub ack: AckChoice,
    /// `sack-path`
    pub sack_path: SackPathChoice,
    /// `loss`
    pub loss: LossChoice,
    /// `rtx-policy`
    pub retransmission: RetransmissionChoice,
    /// `failover`
    pub failover: FailoverChoice,
}

/// The names of the presets, for [`PolicyRecipe::preset`].
pub const PRESETS: [&str; 3] = ["recommended", "rfc9260", "cmt"];

impl PolicyRecipe {
    /// What we recommend: fast paths first, CUBIC and pacing on each, failures noticed after one timeout.
    ///
    /// No buffer split: half a buffer for each path caps a fast path at half of what it could carry as soon as the
    /// buffer, not the window, is the limit; `min-rtt` fills the fast path first in any case. Where buffers are
    /// small beside the slow path's delay, `buffer-split = both` is the remedy, and it costs one word.
    #[must_use]
    pub const fn recommended() -> Self {
        Self {
            stream_scheduler: StreamSchedulerChoice::RoundRobin(NoParameters),
            path_scheduler: PathSchedulerChoice::MinRtt(NoParameters),
            congestion: CongestionChoice::Cubic(CubicParameters::DEFAULT),
            burst: BurstChoice::Paced(NoParameters),
            buffer: BufferChoice::Shared(NoParameters),
            rescue: RescueChoice::Never(NoParameters),
            ack: AckChoice::Dac(DelayParameters::DEFAULT),
            sack_path: SackPathChoice::DataSource(NoParameters),
            loss: LossChoice::MissCount(MissCountParameters {
                fr_once: FastRetransmitOnce::PerPathOrder,
            }),
            retransmission: RetransmissionChoice::Cwnd(NoParameters),
            failover: FailoverChoice::PotentiallyFailed(PotentiallyFailedParameters::DEFAULT),
        }
    }

    /// The standard: one path at a time, everything as RFC 9260 recommends.
    #[must_use]
    pub const fn rfc9260() -> Self {
        Self {
            stream_scheduler: StreamSchedulerChoice::FirstCome(NoParameters),
            path_scheduler: PathSchedulerChoice::Primary(NoParameters),
            congestion: CongestionChoice::Cmt(CmtParameters {
                growth: Growth::Cumack,
                ..CmtParameters::DEFAULT
            }),
            burst: BurstChoice::MaxBurst(MaxBurstParameters::DEFAULT),
            buffer: BufferChoice::Shared(NoParameters),
            rescue: RescueChoice::Never(NoParameters),
            ack: AckChoice::Rfc9260(DelayParameters::DEFAULT),
            sack_path: SackPathChoice::DataSource(NoParameters),
            loss: LossChoice::MissCount(MissCountParameters {
                fr_once: FastRetransmitOnce::Always,
            }),
            retransmission: RetransmissionChoice::Alternate(NoParameters),
            failover: FailoverChoice::Rfc9260(Rfc9260Parameters::DEFAULT),
        }
    }

    /// Concurrent Multipath Transfer as in the papers and FreeBSD: SFR, CUCv2, DAC, round robin over the paths.
    #[must_use]
    pub const fn cmt() -> Self {
        Self {
            path_scheduler: PathSchedulerChoice::RoundRobin(NoParameters),
            congestion: CongestionChoice::Cmt(CmtParameters::DEFAULT),
            ack: AckChoice::Dac(DelayParameters::DEFAULT),
            retransmission: RetransmissionChoice::Cwnd(NoParameters),
            ..Self::rfc9260()
        }
    }

    /// The preset called `name`, one of [`PRESETS`].
    ///
    /// # Errors
    ///
    /// [`UnknownName`] with the names there are.
    pub fn preset(name: &str) -> Result<Self, UnknownName> {
        match name {
            "recommended" => Ok(Self::recommended()),
            "rfc9260" => Ok(Self::rfc9260()),
            "cmt" => Ok(Self::cmt()),
            _ => Err(UnknownName::new("preset", name, PRESETS)),
        }
    }

    /// A set of new policies.
    #[must_use]
    pub fn build(&self) -> PolicySet {
        PolicySet {
            stream_scheduler: self.stream_scheduler.build(),
            path_scheduler: self.path_scheduler.build(),
            congestion: self.congestion.build(),
            burst: self.burst.build(),
            buffer: self.buffer.build(),
            rescue: self.rescue.build(),
            ack: self.ack.build(),
            sack_path: self.sack_path.build(),
            loss: self.loss.build(),
            retransmission: self.retransmission.build(),
            failover: self.failover.build(),
        }
    }

    /// Chooses an algorithm, as in `set("cc", "cubic")`, which takes all its parameters as they are by default,
    /// or sets a parameter of the chosen one, as in `set("cc.growth", "cuc-v1")`.
    ///
    /// # Errors
    ///
    /// [`UnknownName`] if there is no such extension point, algorithm, parameter, or value; nothing is changed.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), UnknownName> {
        let (point, parameter) = match key.split_once('.') {
            Some((point, parameter)) => (point, Some(parameter)),
            None => (key, None),
        };
        match point {
            "stream-scheduler" => choose(&mut self.stream_scheduler, parameter, value),
            "path-scheduler" => choose(&mut self.path_scheduler, parameter, value),
            "cc" => choose(&mut self.congestion, parameter, value),
            "burst" => choose(&mut self.burst, parameter, value),
            "buffer-split" => choose(&mut self.buffer, parameter, value),
            "chunk-rescheduling" => choose(&mut self.rescue, parameter, value),
            "ack-policy" => choose(&mut self.ack, parameter, value),
            "sack-path" => choose(&mut self.sack_path, parameter, value),
            "loss" => choose(&mut self.loss, parameter, value),
            "rtx-policy" => choose(&mut self.retransmission, parameter, value),
            "failover" => choose(&mut self.failover, parameter, value),
            _ => {
                let points = crate::catalog::CATALOG.iter().map(|point| point.name);
                Err(UnknownName::new("policy", point, points))
            }
        }
    }

    /// Extension points with the names of the chosen algorithms, in the order of [`crate::catalog::CATALOG`].
    #[must_use]
    pub fn names(&self) -> [(&'static str, &'static str); 11] {
        [
            entry(&self.stream_scheduler),
            entry(&self.path_scheduler),
            entry(&self.congestion),
            entry(&self.burst),
            entry(&self.buffer),
            entry(&self.rescue),
            entry(&self.ack),
            entry(&self.sack_path),
            entry(&self.loss),
            entry(&self.retransmission),
            entry(&self.failover),
        ]
    }
}

/// [`PolicyRecipe::recommended`].
impl Default for PolicyRecipe {
    fn default() -> Self {
        Self::recommended()
    }
}

fn entry<C: Choice>(choice: &C) -> (&'static str, &'static str) {
    (C::POINT.name, choice.name())
}

fn choose<C: Choice>(slot: &mut C, parameter: Option<&str>, value: &str) -> Result<(), UnknownName> {
    let Some(parameter) = parameter else {
        *slot = C::named(value)?;
        return Ok(());
    };
    let ExtensionPoint { name: point, .. } = C::POINT;
    let known = slot.algorithm().parameters;
    slot.set_parameter(parameter, value)
        .map_err(|refused| match refused {
            Refused::Name => {
                let what = [slot.name(), " parameter of ", point].concat();
                UnknownName::new(&what, parameter, known.iter().map(|known| known.name))
            }
            Refused::Value => {
                let what = ["value of ", point, ".", parameter].concat().to_string();
                let meaning = known.iter().find(|known| known.name == parameter);
                UnknownName::new(&what, value, meaning.map(|known| known.meaning))
            }
        })
}

#[cfg(test)]
mod tests;

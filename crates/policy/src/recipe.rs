//! Policy recipes: the choices of an association by name, with parameters.

mod text;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::catalog::{
    AckChoice, AddIpChoice, BufferChoice, BurstChoice, Choice, CongestionChoice, EcnChoice, ExtensionPoint,
    FailoverChoice, GapLimitChoice, InterleavingChoice, LossChoice, NrSackChoice, OversizeChoice,
    PathMtuChoice, PathSchedulerChoice, PolicyChoice, ProbingChoice, RecoveryChoice, ReschedulingChoice,
    RetransmissionChoice, RtoChoice, RttSamplesChoice, SackHandlingChoice, SackPathChoice, SackWindowChoice,
    SharedBottleneckChoice, StreamSchedulerChoice, TailProbeChoice,
};
use crate::parameters::Refused;
use crate::set::PolicySet;
use crate::unknown_name::UnknownName;

pub use text::RecipeError;

/// Makes the recipe from the list of its choices: a list repeated in five places would drift apart.
macro_rules! recipe {
    ($($(#[$doc:meta])* $field:ident: $choice:ident,)+) => {
        /// One choice for each extension point, as data; the policies among them become a [`PolicySet`].
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
            $($(#[$doc])* pub $field: $choice,)+
        }

        /// All extension points, in the order in which a packet meets them.
        pub const CATALOG: &[ExtensionPoint] = &[$($choice::POINT,)+];

        impl PolicyRecipe {
            /// Chooses an algorithm with its default parameters, as in `set("cc", "cubic")`, or sets a parameter of
            /// the chosen one, as in `set("cc.growth", "cuc-v1")`.
            ///
            /// # Errors
            ///
            /// [`UnknownName`] if there is no such extension point, algorithm, parameter, or value; nothing is
            /// changed.
            pub fn set(&mut self, key: &str, value: &str) -> Result<(), UnknownName> {
                let (point, parameter) = match key.split_once('.') {
                    Some((point, parameter)) => (point, Some(parameter)),
                    None => (key, None),
                };
                $(if point == $choice::POINT.name {
                    return choose(&mut self.$field, parameter, value);
                })+
                let points = CATALOG.iter().map(|point| point.name);
                Err(UnknownName::new("policy", point, points))
            }

            /// Extension points with the names of the chosen algorithms, in the order of [`CATALOG`].
            #[must_use]
            pub fn names(&self) -> Vec<(&'static str, &'static str)> {
                [$(($choice::POINT.name, self.$field.name()),)+].into()
            }

            /// All assignments that make this recipe from any other through [`PolicyRecipe::set`], in the order of
            /// [`CATALOG`].
            #[must_use]
            pub fn assignments(&self) -> Vec<(String, String)> {
                let mut all = Vec::new();
                $(assign(&self.$field, &mut all);)+
                all
            }
        }
    };
}

recipe! {
    /// `stream-scheduler`
    stream_scheduler: StreamSchedulerChoice,
    /// `interleaving`
    interleaving: InterleavingChoice,
    /// `path-scheduler`
    path_scheduler: PathSchedulerChoice,
    /// `cc`
    congestion: CongestionChoice,
    /// `shared-bottleneck`
    shared_bottleneck: SharedBottleneckChoice,
    /// `burst`
    burst: BurstChoice,
    /// `buffer-split`
    buffer: BufferChoice,
    /// `chunk-rescheduling`
    rescheduling: ReschedulingChoice,
    /// `pmtu`
    path_mtu: PathMtuChoice,
    /// `oversize`
    oversize: OversizeChoice,
    /// `ack-policy`
    ack: AckChoice,
    /// `sack-path`
    sack_path: SackPathChoice,
    /// `nr-sack`
    nr_sack: NrSackChoice,
    /// `gap-limit`
    gap_limit: GapLimitChoice,
    /// `sack-window`
    sack_window: SackWindowChoice,
    /// `sack-handling`
    sack_handling: SackHandlingChoice,
    /// `rtt-samples`
    rtt_samples: RttSamplesChoice,
    /// `loss`
    loss: LossChoice,
    /// `recovery`
    recovery: RecoveryChoice,
    /// `tail-probe`
    tail_probe: TailProbeChoice,
    /// `rto`
    rto: RtoChoice,
    /// `rtx-policy`
    retransmission: RetransmissionChoice,
    /// `failover`
    failover: FailoverChoice,
    /// `probing`
    probing: ProbingChoice,
    /// `add-ip`
    add_ip: AddIpChoice,
    /// `ecn`
    ecn: EcnChoice,
}

impl PolicyRecipe {
    /// Makes a set of new policies.
    #[must_use]
    pub fn build(&self) -> PolicySet {
        PolicySet {
            stream_scheduler: self.stream_scheduler.build(),
            path_scheduler: self.path_scheduler.build(),
            congestion: self.congestion.build(),
            shared_bottleneck: self.shared_bottleneck.build(),
            measures_rates: false,
            burst: self.burst.build(),
            buffer: self.buffer.build(),
            rescheduling: self.rescheduling.build(),
            ack: self.ack.build(),
            sack_path: self.sack_path.build(),
            rtt_samples: self.rtt_samples.build(),
            loss: self.loss.build(),
            tail_probe: self.tail_probe.build(),
            retransmission: self.retransmission.build(),
            failover: self.failover.build(),
        }
    }
}

fn assign<C: Choice>(choice: &C, all: &mut Vec<(String, String)>) {
    let point = C::POINT.name;
    all.push((point.to_string(), choice.name().to_string()));
    for parameter in choice.algorithm().parameters {
        let value = choice.show_parameter(parameter.name);
        let value = value.expect("invariant: a listed parameter has a slot");
        all.push(([point, ".", parameter.name].concat(), value));
    }
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

//! Where does a run take place, and whose stacks talk? In the simulator unless a plan says otherwise.

use serde::{Deserialize, Serialize};

use super::named::Named;
use super::quantity::Whole;

/// Where a run takes place.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendPlan {
    /// In virtual time.
    #[default]
    Sim,
    /// On two hosts of this machine with the simulator's links between them, in real time. Needs root.
    Testbed,
}

/// Whose stack both ends have, on a test bed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackPlan {
    /// Our asynchronous library.
    Anabranch,
    /// FreeBSD's SCTP in user space, a program of its own at each end.
    Usrsctp,
    /// The system's.
    Kernel,
}

/// What only usrsctp has: its knobs, by their names in FreeBSD's `net.inet.sctp`, such as `cmt_on_off`.
pub type UsrsctpPlan = Named<Whole>;

/// What only the kernel's TCP has. Its buffers grow by themselves up to those of the plan.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct KernelPlan {
    /// `reno`, `cubic`, `bbr` or what else it has; its own choice unless set.
    pub congestion: Option<String>,
}

/// For what need not be written down: settings without it are called as they were before it existed.
pub(super) fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

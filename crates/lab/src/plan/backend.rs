//! Backends and stacks: the simulator, or a test bed with real network stacks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named::Named;
use super::quantity::Whole;

/// Where a run is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendPlan {
    /// Simulator, in virtual time.
    #[default]
    Sim,
    /// Test bed: two network namespaces of this machine connected by emulated links, in real time. Needs root.
    Testbed,
}

/// Network stack of both ends on a test bed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StackPlan {
    /// The asynchronous library of this project.
    Anabranch,
    /// usrsctp: FreeBSD's SCTP in user space, as a separate program at each end.
    Usrsctp,
    /// The kernel's TCP or MPTCP.
    Kernel,
}

/// Settings of usrsctp: its sysctl variables by their names in FreeBSD's `net.inet.sctp`, such as `cmt_on_off`.
pub type UsrsctpPlan = Named<Whole>;

/// Settings of the kernel's TCP. Its buffers are auto-tuned up to the sizes of the plan.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct KernelPlan {
    /// Congestion control, such as `reno`, `cubic` or `bbr`. The system default unless set.
    pub congestion: Option<String>,
}

/// Whether a value is the default and need not be written: the hash of a setting does not change when a key is added.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

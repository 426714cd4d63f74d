//! Coupled congestion control. This adapter holds everything that the coupled algorithms share.
//!
//! Each of them is RFC 9260 §7.2 with other increases and cuts, so this adapter implements RFC 9260 and asks the
//! [`Coupling`] two things: which part of the increase of a path alone does a path take, and what does a loss leave of
//! its cwnd? Both are computed from a [`Group`]: the paths that share a bottleneck.
//!
//! ```text
//! each SACK, before any cwnd changes:    members = cwnd, ssthresh, srtt, … of all paths
//! acked, cwnd fully used, growth allowed:
//!   cwnd ≤ ssthresh:  cwnd += min(acked, L · PMDCS), or ⌈part of it⌉ if slow start is coupled
//!   else:                partial += acked;  if partial ≥ cwnd: partial −= cwnd, cwnd += ⌈part · PMDCS⌉
//! loss:                  ssthresh = max(what is left, PMDCS);  cwnd = ssthresh or, on timeout, PMDCS
//! alone in the group:    exactly as `cmt`: part = 1, a loss halves, and the floor is 4 · PMDCS
//! ```
//!
//! Members are collected again for each SACK, so that no path sees a cwnd that the same SACK has changed. Paths that
//! carry no data, or have no RTT sample yet, stay out of the sums of the others; the latter grow alone. Where bottlenecks are
//! detected ([`PathFacts::bottleneck`]), paths of different ones are in different groups, and so is each path at the beginning.

mod group;
mod groups;
mod part;

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use anabranch_types::{Instant, PathId};

use group::Delivered;
pub use group::{Group, Member};
pub use groups::Groups;
pub use part::Part;

use super::cmt::CmtParameters;
use super::independent::Acked;
use super::partial::PartialBytes;
use super::window::{IdleSsthresh, Window, quantum};
use crate::parameters::{Parameter, Parameters, Slot};
use crate::path_table::PathTable;
use crate::{AckSample, CongestionControl, LossEvent, PathFacts, Policy, path_facts};

/// The formulas of one coupled algorithm, for one path of a group.
pub trait Coupling: Send + fmt::Debug + 'static {
    /// The name that users type.
    const NAME: &'static str;
    /// Whether slow start is coupled like congestion avoidance.
    const COUPLES_SLOW_START: bool;

    /// The part of the increase of a path alone that the group's own path takes.
    fn increase(group: &Group<'_>) -> Part;
    /// The cwnd of the own path after a loss, in bytes, before the lower bound of one full chunk is applied.
    fn after_loss(group: &Group<'_>) -> u64;
}

/// Parameters of all coupled controllers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoupledParameters {
    /// The parameters of each path apart from the coupling.
    pub base: CmtParameters,
    /// Which paths are coupled with each other.
    pub groups: Groups,
}

impl CoupledParameters {
    /// All paths coupled, each with the parameters of RFC 9260.
    pub const DEFAULT: Self = Self {
        base: CmtParameters::DEFAULT,
        groups: Groups::TOGETHER,
    };
}

impl Parameters for CoupledParameters {
    const LIST: &'static [Parameter] = {
        let [growth, slow_start_limit, initial_packets] = CmtParameters::LIST else {
            panic!("three parameters")
        };
        &[
            *growth,
            *slow_start_limit,
            *initial_packets,
            Parameter {
                name: "groups",
                default: "0",
                meaning: "groups of path 0, 1, …, as in 0,0,1: only paths of one group are coupled, and paths \
                          that are not listed belong to group 0; 1 to 16 numbers, 0 to 255",
            },
        ]
    };

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        match name {
            "groups" => Some(Slot::text(&mut self.groups)),
            _ => self.base.slot(name),
        }
    }
}

/// The congestion control of an association, made of a coupling.
#[derive(Debug)]
pub struct Coupled<A: Coupling> {
    parameters: CoupledParameters,
    paths: PathTable<State>,
    /// The paths as they were before the current SACK or loss; kept to reuse its memory.
    members: Vec<Member>,
    algorithm: PhantomData<A>,
}

/// The state of one path.
#[derive(Debug)]
struct State {
    window: Window,
    partial: PartialBytes,
    delivered: Delivered,
}

impl<A: Coupling> Coupled<A> {
    /// Creates a controller without paths.
    #[must_use]
    pub fn new(parameters: CoupledParameters) -> Self {
        Self {
            parameters,
            paths: PathTable::default(),
            members: Vec::new(),
            algorithm: PhantomData,
        }
    }

    fn look(&mut self, paths: &[PathFacts]) {
        let member = |path: &PathFacts| {
            let state = self.paths.of(path.id)?;
            let group = (self.parameters.groups.of(path.id), path.bottleneck);
            Some(Member::new(path, group, &state.window, &state.delivered))
        };
        self.members.clear();
        self.members.extend(paths.iter().filter_map(member));
    }

    fn on_path_ack(parameters: &CmtParameters, state: &mut State, acked: &Acked<'_>, group: &Group<'_>) {
        let quantum = quantum(acked.path);
        let window = state.window.bytes.max(quantum);
        state.window.raise_to(quantum);
        let full = acked.was_full(&mut state.window);
        if !state.window.in_slow_start() {
            if state.partial.fills(window, acked, full) {
                let step = A::increase(group).of(quantum);
                state.window.change(step, quantum);
            }
        } else if full && acked.may_grow {
            let limit = quantum * u64::from(parameters.slow_start_limit);
            let alone = acked.ack.newly_acked.min(limit);
            let step = if A::COUPLES_SLOW_START {
                A::increase(group).of(alone)
            } else {
                Part::ONE.of(alone)
            };
            state.window.change(step, quantum);
        }
        state.delivered.count(acked.ack.newly_acked);
    }
}

impl<A: Coupling> Policy for Coupled<A> {
    fn name(&self) -> &'static str {
        A::NAME
    }
}

impl<A: Coupling> CongestionControl for Coupled<A> {
    fn add_path(&mut self, path: &PathFacts, _now: Instant) {
        let state = State {
            window: Window::first(path, self.parameters.base.initial_packets),
            partial: PartialBytes::default(),
            delivered: Delivered::default(),
        };
        self.paths.insert(path.id, state);
    }

    fn remove_path(&mut self, path: PathId) {
        self.paths.remove(path);
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        self.look(paths);
        let parameters = &self.parameters.base;
        for ack in ack.paths {
            let (Some(state), Some(path)) = (self.paths.of_mut(ack.path), path_facts(paths, ack.path)) else {
                continue;
            };
            let Some(group) = Group::of(ack.path, &self.members) else {
                continue;
            };
            let acked = Acked::new(parameters.growth, ack, path, now);
            Self::on_path_ack(parameters, state, &acked, &group);
        }
    }

    fn on_loss(&mut self, loss: &LossEvent, paths: &[PathFacts], _now: Instant) {
        self.look(paths);
        let group = Group::of(loss.path, &self.members);
        let (Some(state), Some(path), Some(group)) =
            (self.paths.of_mut(loss.path), path_facts(paths, loss.path), group)
        else {
            return;
        };
        if group.is_alone() {
            state.window.cut(loss.cause, 5, path);
        } else {
            state.window.cut_to(A::after_loss(&group), loss.cause, path);
        }
        state.partial = PartialBytes::default();
        state.delivered.on_loss();
    }

    fn on_idle(&mut self, path: &PathFacts, idle: Duration) {
        if let Some(state) = self.paths.of_mut(path.id) {
            state.window.decay(path, idle, IdleSsthresh::Lowered);
        }
    }

    fn on_burst_limit(&mut self, path: PathId, limit: u64) {
        if let Some(state) = self.paths.of_mut(path) {
            state.window.limit(limit);
        }
    }

    fn cwnd(&self, path: PathId) -> u64 {
        self.paths.of(path).map_or(0, |state| state.window.bytes)
    }

    fn ssthresh(&self, path: PathId) -> u64 {
        let state = self.paths.of(path);
        state.map_or(u64::MAX, |state| state.window.ssthresh)
    }
}

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;

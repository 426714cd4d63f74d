//! Uncoupled congestion control. This adapter runs an algorithm for a single path on each path separately, and on paths that are known
//! to share a bottleneck as on one.
//!
//! It also decides, once for all algorithms, whether a cwnd may grow at all: the chosen [`Growth`] must allow
//! it, the path must not be in fast recovery, and the cwnd must have been fully used (RFC 9260 §7.2.1).

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use anabranch_types::{Instant, PathId};

use super::growth::Growth;
use super::one_flow::{Flows, Share};
use super::window::{Window, quantum};
use crate::math::mul_div;
use crate::parameters::Parameters;
use crate::path_table::PathTable;
use crate::{AckSample, CongestionControl, LossEvent, PathAck, PathFacts, Policy, path_facts};

/// An algorithm for a single path. Implemented by its parameters; the state of each path is separate.
pub trait SinglePath: Parameters + Send {
    /// The name that users type.
    const NAME: &'static str;
    /// The state of one path.
    type State: Send + fmt::Debug;

    /// When the cwnd may grow.
    fn growth(&self) -> Growth;
    /// The initial state of a path.
    fn start(&self, path: &PathFacts, now: Instant) -> Self::State;
    /// Chunks of the path were acknowledged.
    fn on_ack(&self, state: &mut Self::State, acked: &Acked<'_>);
    /// Chunks of the path were lost.
    fn on_loss(&self, state: &mut Self::State, loss: &LossEvent, path: &PathFacts);
    /// Nothing was sent on the path for `idle`.
    fn on_idle(&self, state: &mut Self::State, path: &PathFacts, idle: Duration);
    /// The cwnd is reduced to `limit` bytes to prevent a burst.
    fn on_burst_limit(state: &mut Self::State, limit: u64);
    /// The cwnd in bytes.
    fn cwnd(state: &Self::State) -> u64;
    /// The ssthresh in bytes.
    fn ssthresh(state: &Self::State) -> u64;
    /// A state with a cwnd of `bytes` in congestion avoidance, for a path or a flow that continues `before` with another cwnd.
    fn continued(before: &Self::State, bytes: u64) -> Self::State;
}

/// Chunks of one path that a SACK acknowledged, with the facts of the path.
#[derive(Clone, Copy, Debug)]
pub struct Acked<'a> {
    /// Bytes and TSNs.
    pub ack: &'a PathAck,
    /// The path.
    pub path: &'a PathFacts,
    /// Whether the growth rule allows growth and the path is not in fast recovery.
    pub may_grow: bool,
    /// When the SACK arrived.
    pub now: Instant,
    /// Whether the cwnd was fully used, if that is known already.
    full: Option<bool>,
}

impl<'a> Acked<'a> {
    pub(super) const fn new(growth: Growth, ack: &'a PathAck, path: &'a PathFacts, now: Instant) -> Self {
        Self {
            ack,
            path,
            // RFC 9260 §7.2.1 allows growth only outside fast recovery; with CMT that is per path.
            may_grow: growth.allows(ack) && !path.in_recovery,
            now,
            full: None,
        }
    }

    /// With that knowledge.
    pub(super) const fn judged(self, full: bool, recovers: bool) -> Self {
        Self {
            full: Some(full),
            may_grow: self.may_grow && !recovers,
            ..self
        }
    }

    /// Whether `window` was fully used when the bytes acknowledged now were in flight. Call once for each SACK.
    pub(super) fn was_full(&self, window: &mut Window) -> bool {
        match self.full {
            Some(full) => full,
            None => window.was_full(self.ack, self.path),
        }
    }
}

//= rfc9260 7.2-3
/// The congestion control of an association, made of an algorithm `A` for single paths.
///
/// Each path has a state of its own, unless it shares a bottleneck with others ([`PathFacts::bottleneck`]): these are one flow.
#[derive(Debug)]
pub struct Independent<A: SinglePath> {
    algorithm: A,
    paths: PathTable<Control<A::State>>,
    flows: Flows<A>,
}

/// Shares that move from one flow to another.
struct Move {
    from: PathId,
    to: PathId,
    members: usize,
    bytes: u64,
}

/// What controls one path.
#[derive(Debug)]
enum Control<S> {
    Alone(S),
    Shares(Share),
}

impl<A: SinglePath> Independent<A> {
    /// Creates a controller without paths.
    #[must_use]
    pub fn new(algorithm: A) -> Self {
        Self {
            algorithm,
            paths: PathTable::default(),
            flows: Flows::default(),
        }
    }

    /// The state of `path`, to be changed, unless it is part of a flow.
    pub(super) fn state_mut(&mut self, path: PathId) -> Option<&mut A::State> {
        match self.paths.of_mut(path)? {
            Control::Alone(state) => Some(state),
            Control::Shares(_) => None,
        }
    }

    /// The share of `path` in a flow of several paths.
    fn share(&self, path: PathId) -> Option<&Share> {
        match self.paths.of(path)? {
            Control::Alone(_) => None,
            Control::Shares(share) => Some(share),
        }
    }

    /// The flow that `path` is to be part of: that of the known paths which share its bottleneck.
    fn flow_of(&self, path: &PathFacts, paths: &[PathFacts]) -> Option<PathId> {
        let leader = path.bottleneck?;
        let shares = |other: &PathFacts| {
            other.id != path.id && other.bottleneck == Some(leader) && self.paths.of(other.id).is_some()
        };
        paths.iter().any(shares).then_some(leader)
    }

    fn leave(&mut self, path: PathId) {
        let state = match self.paths.of(path) {
            Some(Control::Shares(share)) => self.flows.leave(share),
            Some(Control::Alone(_)) | None => None,
        };
        if let Some(state) = state {
            self.paths.insert(path, Control::Alone(state));
        }
    }

    /// Shares whose flow has another leader now move to that of it. Those that move from one flow to one other move together.
    fn move_shares(&mut self, paths: &[PathFacts]) {
        let mut moves: Vec<Move> = Vec::new();
        for path in paths {
            let (Some(share), Some(to)) = (self.share(path.id), self.flow_of(path, paths)) else {
                continue;
            };
            let (from, bytes) = (share.leader(), share.cwnd());
            match moves
                .iter_mut()
                .find(|other| (other.from, other.to) == (from, to))
            {
                Some(known) => {
                    known.members += 1;
                    known.bytes += bytes;
                }
                None if from == to => {}
                None => moves.push(Move {
                    from,
                    to,
                    members: 1,
                    bytes,
                }),
            }
        }
        // All leave before any arrives: the leader of one flow may have led another one before.
        let part = |flows: &mut Flows<A>, moved: &Move| flows.part(moved.from, moved.members, moved.bytes);
        let parts: Vec<_> = moves.iter().map(|moved| part(&mut self.flows, moved)).collect();
        for path in paths {
            let leader = self.flow_of(path, paths);
            if let (Some(leader), Some(Control::Shares(share))) = (leader, self.paths.of_mut(path.id)) {
                share.follow(leader);
            }
        }
        for (moved, part) in moves.iter().zip(parts) {
            if let Some(part) = part {
                self.flows.merge(moved.to, part);
            }
        }
        for moved in moves {
            self.cut_excess(moved.to, paths);
        }
    }

    fn join(&mut self, path: PathId, leader: PathId) {
        if let Some(Control::Alone(state)) = self.paths.of(path) {
            let share = self.flows.join(leader, state);
            self.paths.insert(path, Control::Shares(share));
        }
    }
}

impl<A: SinglePath> Policy for Independent<A> {
    fn name(&self) -> &'static str {
        A::NAME
    }
}

impl<A: SinglePath> CongestionControl for Independent<A> {
    //= rfc9260 7.2.5-1
    fn add_path(&mut self, path: &PathFacts, now: Instant) {
        let state = self.algorithm.start(path, now);
        self.paths.insert(path.id, Control::Alone(state));
    }

    fn remove_path(&mut self, path: PathId) {
        self.leave(path);
        self.paths.remove(path);
    }

    fn on_bottlenecks(&mut self, paths: &[PathFacts]) {
        for path in paths {
            if self.flow_of(path, paths).is_none() {
                self.leave(path.id);
            }
        }
        self.move_shares(paths);
        for path in paths {
            if let Some(leader) = self.flow_of(path, paths)
                && self.state_mut(path.id).is_some()
            {
                self.join(path.id, leader);
                self.cut_excess(leader, paths);
            }
        }
    }

    //= rfc9260 7.2.1-5, 7.2.1-6, 7.2.1-9
    fn on_ack(&mut self, ack: &AckSample<'_>, paths: &[PathFacts], now: Instant) {
        for ack in ack.paths {
            let (Some(control), Some(path)) = (self.paths.of_mut(ack.path), path_facts(paths, ack.path))
            else {
                continue;
            };
            let acked = Acked::new(self.algorithm.growth(), ack, path, now);
            match control {
                Control::Alone(state) => self.algorithm.on_ack(state, &acked),
                Control::Shares(share) => {
                    let leader = share.leader();
                    let growth = self.flows.on_ack(&self.algorithm, share, acked);
                    self.grow(leader, path.id, growth);
                }
            }
        }
    }

    fn on_loss(&mut self, loss: &LossEvent, paths: &[PathFacts], now: Instant) {
        let others_timed_out = self.others_timed_out(loss.path);
        let (Some(control), Some(path)) = (self.paths.of_mut(loss.path), path_facts(paths, loss.path)) else {
            return;
        };
        match control {
            Control::Alone(state) => self.algorithm.on_loss(state, loss, path),
            Control::Shares(share) => {
                let leader = share.leader();
                let at = (path, now);
                let left = self
                    .flows
                    .on_loss(&self.algorithm, share, loss, at, others_timed_out);
                self.cut(leader, Some(loss.path), left, paths);
            }
        }
    }

    fn on_idle(&mut self, path: &PathFacts, idle: Duration) {
        match self.paths.of_mut(path.id) {
            Some(Control::Alone(state)) => self.algorithm.on_idle(state, path, idle),
            Some(Control::Shares(share)) => self.flows.on_idle(share, path, idle),
            None => {}
        }
    }

    fn on_burst_limit(&mut self, path: PathId, limit: u64) {
        match self.paths.of_mut(path) {
            Some(Control::Alone(state)) => A::on_burst_limit(state, limit),
            Some(Control::Shares(share)) => self.flows.limit(share, limit),
            None => {}
        }
    }

    fn cwnd(&self, path: PathId) -> u64 {
        match self.paths.of(path) {
            Some(Control::Alone(state)) => A::cwnd(state),
            Some(Control::Shares(share)) => share.cwnd(),
            None => 0,
        }
    }

    fn ssthresh(&self, path: PathId) -> u64 {
        match self.paths.of(path) {
            Some(Control::Alone(state)) => A::ssthresh(state),
            Some(Control::Shares(share)) => share.cwnd(),
            None => u64::MAX,
        }
    }
}

impl<A: SinglePath> Independent<A> {
    fn shares_of(&mut self, leader: PathId) -> impl Iterator<Item = (PathId, &mut Share)> {
        let ids = (0..=u8::MAX).map(PathId);
        let shares = ids.zip(self.paths.slots_mut());
        shares.filter_map(move |(id, control)| match control {
            Some(Control::Shares(share)) if share.leader() == leader => Some((id, share)),
            _ => None,
        })
    }

    /// Whether all other paths of the flow of `path` have delivered nothing since their timers expired.
    fn others_timed_out(&mut self, path: PathId) -> bool {
        let Some(leader) = self.share(path).map(Share::leader) else {
            return false;
        };
        self.shares_of(leader)
            .all(|(id, share)| id == path || share.timed_out())
    }

    /// Gives `growth` bytes of a flow to its smallest share that is fully used, or else to that of `path`.
    fn grow(&mut self, leader: PathId, path: PathId, growth: u64) {
        if growth == 0 {
            return;
        }
        let full = self
            .shares_of(leader)
            .filter(|(id, share)| *id == path || share.is_full());
        let smallest = full.min_by_key(|(_, share)| share.cwnd());
        if let Some((_, share)) = smallest {
            share.grow(growth);
        }
    }

    /// Takes from all shares what they exceed the cwnd of their flow by.
    fn cut_excess(&mut self, leader: PathId, paths: &[PathFacts]) {
        let excess = self.flows.excess(leader);
        self.cut(leader, None, excess, paths);
    }

    /// Takes `bytes` of a flow from all shares but that of `except`, in proportion, so that one full chunk is left of each.
    fn cut(&mut self, leader: PathId, except: Option<PathId>, bytes: u64, paths: &[PathFacts]) {
        if bytes == 0 {
            return;
        }
        let others = |(id, _): &(PathId, &mut Share)| Some(*id) != except;
        let all: u64 = self
            .shares_of(leader)
            .filter(others)
            .map(|(_, share)| share.cwnd())
            .sum();
        let mut cut = 0;
        for (id, share) in self.shares_of(leader).filter(others) {
            let floor = path_facts(paths, id).map_or_else(|| share.cwnd(), quantum);
            cut += share.cut(mul_div(bytes, share.cwnd(), all.max(1)), floor);
        }
        self.flows.took(leader, cut);
    }
}

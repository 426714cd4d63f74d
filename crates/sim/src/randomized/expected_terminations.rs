//! Expected terminations. Which of its steps may end an association? It may end because of them, and for no other reason.

use core::time::Duration;

use anabranch_proto::CloseReason;

use super::op::Op;
use super::shape::Shape;
use crate::Side;

/// All paths impaired for at least this long may end an association: eleven errors on four paths take no longer with
/// the shortest timeouts.
const LONG: Duration = Duration::from_millis(500);
/// A guard of five times this, in milliseconds, is no promise that data in flight gets through before it ends
/// (T5-shutdown-guard, RFC 9260 §9.2).
const SHORT_RTO_MAX: u32 = 2_000;
/// A link that loses more than so many of a thousand packets counts as impaired.
const HEAVY_LOSS: u32 = 150;

/// So many packets lost on purpose count as an impairment that lasts.
const MANY_LOSSES: u32 = 3;

/// Terminations that the steps so far explain.
#[derive(Clone, Debug)]
pub(super) struct ExpectedTerminations {
    aborted: [bool; 2],
    shut_down: bool,
    /// Something may keep an end from coming in time: somebody reads slowly or not at all, or the time is short.
    is_slow: bool,
    /// Packets were lost on some path for a while.
    was_impaired: bool,
    has_translators: bool,
    may_restart: bool,
    restarted: bool,
    /// What the two sides have left may not be connected: each may have relied on what the other one gave up.
    stranded: bool,
    impaired: Vec<Impairment>,
    all_impaired_for: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Impairment {
    cut: bool,
    lossy: [bool; 2],
    /// Nobody says when the near side speaks again on a path that was rebound, so it stays impaired.
    rebound: bool,
    /// An end of it has left: which side.
    left: [bool; 2],
    /// An end of it has left at some time.
    was_left: bool,
    /// It takes only smaller packets than it did.
    narrow: bool,
    /// Packets lost in bursts, which cost timeouts that go on after them.
    lost: u32,
}

impl Impairment {
    const fn is_any(&self) -> bool {
        self.cut
            || self.left[0]
            || self.left[1]
            || self.lossy[0]
            || self.lossy[1]
            || self.rebound
            || self.lost >= MANY_LOSSES
    }
}

impl ExpectedTerminations {
    pub(super) fn new(shape: &Shape) -> Self {
        Self {
            aborted: [false; 2],
            shut_down: false,
            was_impaired: false,
            is_slow: [&shape.near, &shape.far]
                .iter()
                .any(|side| side.rto[2] <= SHORT_RTO_MAX),
            may_restart: shape.may_restart(),
            restarted: false,
            stranded: false,
            has_translators: shape.has_translators(),
            impaired: vec![Impairment::default(); shape.paths.len()],
            all_impaired_for: Duration::ZERO,
        }
    }

    /// A step is about to be done.
    pub(super) fn note(&mut self, op: &Op) {
        let paths = self.impaired.len();
        match *op {
            Op::Advance { millis } => {
                if self.impaired.iter().all(Impairment::is_any) {
                    self.all_impaired_for += Duration::from_millis(millis.into());
                }
            }
            Op::Cut { path } => self.impaired[path % paths].cut = true,
            Op::Heal { path } => self.impaired[path % paths].cut = false,
            Op::Rebind { path, .. } => self.impaired[path % paths].rebound = self.has_translators,
            Op::Lose { path, packets, .. } => self.impaired[path % paths].lost += packets,
            Op::Disturb {
                path,
                toward,
                lose,
                corrupt,
                ..
            } => self.impaired[path % paths].lossy[toward.index()] = lose + corrupt > HEAVY_LOSS,
            Op::Leave { side, path } => {
                let path = &mut self.impaired[path % paths];
                path.left[side.index()] = true;
                path.was_left = true;
            }
            Op::Join { side, path } => self.impaired[path % paths].left[side.index()] = false,
            Op::Mtu { path, .. } => self.impaired[path % paths].narrow = true,
            Op::Shutdown { .. } => self.shut_down = true,
            Op::Abort { side } => self.aborted[side.index()] = true,
            Op::Read { pace, .. } => self.is_slow |= pace != u32::MAX,
            Op::Restart => {
                self.restarted = self.may_restart;
                for path in self.impaired.iter_mut().filter(|_| self.may_restart) {
                    path.left[Side::Near.index()] = false;
                }
            }
            Op::Send { .. }
            | Op::Rate { .. }
            | Op::Delay { .. }
            | Op::SetPrimary { .. }
            | Op::Resize { .. } => {}
        }
        let is_lost = |path: &Impairment| path.was_left || path.is_any();
        self.stranded |= matches!(op, Op::Leave { .. }) && self.impaired.iter().all(is_lost);
        self.was_impaired |= self.impaired.iter().any(|path| path.is_any() || path.narrow);
    }

    /// Whether the end of `side` for `reason` had a cause; `other` is how the other side ended.
    pub(super) fn explain(&self, side: Side, reason: &CloseReason, other: Option<&CloseReason>) -> bool {
        match reason {
            CloseReason::Finished => self.shut_down,
            CloseReason::Aborted => self.aborted[side.index()] || self.shut_down,
            CloseReason::NoAnswer | CloseReason::PeerUnreachable => {
                self.was_cut_off() || self.stranded || self.peer_is_gone(other)
            }
            CloseReason::ShutdownTimeout => self.shut_down && (self.is_slow || self.was_impaired),
            // The other side's reason is judged on its own.
            CloseReason::AbortedByPeer(_) => other.is_some() || self.was_cut_off() || self.restarted,
            _ => false,
        }
    }

    /// Whether the near side started again: then what was acknowledged may be forgotten.
    pub(super) const fn restarted(&self) -> bool {
        self.restarted
    }

    fn peer_is_gone(&self, other: Option<&CloseReason>) -> bool {
        self.was_impaired && other.is_some()
    }

    fn was_cut_off(&self) -> bool {
        self.all_impaired_for >= LONG
    }
}

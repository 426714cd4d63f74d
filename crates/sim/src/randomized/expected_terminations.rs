//! Expected terminations. Which steps of a test may terminate an association? It must not terminate for any other reason.

use core::time::Duration;

use anabranch_proto::CloseReason;

use super::op::Op;
use super::shape::Shape;
use crate::Side;

/// An association may terminate if all paths are impaired for at least this long: eleven errors on four paths take no longer with
/// the shortest timeouts.
const LONG: Duration = Duration::from_millis(500);
/// A guard timer of five times this, in milliseconds, does not guarantee that data in flight is delivered before it expires
/// (T5-shutdown-guard, RFC 9260 §9.2).
const SHORT_RTO_MAX: u32 = 2_000;
/// A link counts as impaired if it loses more than this many of a thousand packets.
const HEAVY_LOSS: u32 = 150;

/// This many deliberately lost packets count as a lasting impairment.
const MANY_LOSSES: u32 = 3;

/// Terminations explained by the steps so far.
#[derive(Clone, Debug)]
pub(super) struct ExpectedTerminations {
    aborted: [bool; 2],
    shut_down: bool,
    /// Something may delay a shutdown beyond its limit: a slow or stopped reader, a slow writer, or a short guard timer.
    is_slow: bool,
    /// Packets were lost on some path for some time.
    was_impaired: bool,
    has_translators: bool,
    may_translate: bool,
    may_renumber: bool,
    may_restart: bool,
    restarted: bool,
    /// The remaining addresses of both sides may not be connected: each side may have relied on an address that the other
    /// removed.
    stranded: bool,
    impaired: Vec<Impairment>,
    all_impaired_for: Duration,
}

#[derive(Clone, Copy, Debug, Default)]
struct Impairment {
    cut: bool,
    lossy: [bool; 2],
    /// Nothing guarantees when the near side sends again on a rebound path, so it stays impaired.
    rebound: bool,
    /// The side that has removed its address of this path.
    left: [bool; 2],
    /// An address of this path was removed or replaced at some time.
    was_left: bool,
    /// Its MTU was reduced.
    narrow: bool,
    /// Packets lost in bursts, which cause timeouts that outlast them.
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
            may_translate: shape.may_translate(),
            may_renumber: shape.may_renumber(),
            impaired: vec![Impairment::default(); shape.paths.len()],
            all_impaired_for: Duration::ZERO,
        }
    }

    /// Records a step before it is executed.
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
            Op::Translate { path, .. } => {
                let path = &mut self.impaired[path % paths];
                path.rebound |= self.may_translate;
            }
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
            Op::Renumber { path, .. } if self.may_renumber => {
                let path = &mut self.impaired[path % paths];
                path.was_left = true;
                // As after a change of the NAT.
                path.rebound = true;
            }
            Op::Mtu { path, .. } | Op::Hole { path, .. } => self.impaired[path % paths].narrow = true,
            Op::Shutdown { .. } => self.shut_down = true,
            Op::Abort { side } => self.aborted[side.index()] = true,
            Op::Read { pace, .. } => self.is_slow |= pace != u32::MAX,
            Op::SendInParts { .. } => self.is_slow = true,
            Op::Restart => {
                self.restarted = self.may_restart;
                for path in self.impaired.iter_mut().filter(|_| self.may_restart) {
                    path.left[Side::Near.index()] = false;
                }
            }
            Op::Renumber { .. }
            | Op::Send { .. }
            | Op::SendUnreliable { .. }
            | Op::UseKey { .. }
            | Op::Reconfigure { .. }
            | Op::Rate { .. }
            | Op::Delay { .. }
            | Op::SetPrimary { .. }
            | Op::Resize { .. } => {}
        }
        let is_lost = |path: &Impairment| path.was_left || path.is_any();
        let removes = matches!(op, Op::Leave { .. } | Op::Renumber { .. });
        self.stranded |= removes && self.impaired.iter().all(is_lost);
        self.was_impaired |= self.impaired.iter().any(|path| path.is_any() || path.narrow);
    }

    /// Whether the termination of `side` for `reason` is explained; `other` is the reason of the other side.
    pub(super) fn explain(&self, side: Side, reason: &CloseReason, other: Option<&CloseReason>) -> bool {
        match reason {
            CloseReason::Finished => self.shut_down,
            CloseReason::Aborted => self.aborted[side.index()] || self.shut_down,
            CloseReason::NoAnswer | CloseReason::PeerUnreachable => {
                self.was_cut_off() || self.stranded || self.peer_is_gone(other)
            }
            CloseReason::ShutdownTimeout => self.shut_down && (self.is_slow || self.was_impaired),
            // The other side's reason is checked separately.
            CloseReason::AbortedByPeer { .. } => other.is_some() || self.was_cut_off() || self.restarted,
            _ => false,
        }
    }

    /// Whether the near side restarted: then acknowledged data may be lost.
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

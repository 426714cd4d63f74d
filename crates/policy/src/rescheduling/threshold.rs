//! Chunk rescheduling above a threshold. The oldest outstanding chunk moves when half a buffer is blocked.
//!
//! Source: T. Dreibholz et al., "On the use of concurrent multipath transfer over asymmetric paths", GLOBECOM
//! 2010 (chunk rescheduling).
//!
//! Idea: when much of the buffer holds what a path delivered but the cumulative TSN cannot pass, the chunk that it waits
//! for is sent again on that path. The chunk's old path has its cwnd cut, or pauses if it is in fast recovery and its
//! cwnd was cut already.
//!
//! ```text
//! onto: cwnd not full, not in recovery
//! blocked = (queued − in flight) of onto
//! limit   = send buffer, or peer's rwnd + queued on all paths; divided by the number of paths if that buffer is split
//! blocked ≥ threshold · limit, stuck chunk not moved to another path before,
//! and it is on another path or older than 2 · srtt of onto:
//!     send it on onto; its old path: blocked for one srtt if in recovery, else cwnd cut
//!
//! overdue: stuck chunk never rescheduled, on onto, and sent at least 2 · srtt + 4 · rttvar of it ago;
//! blocked = (queued − in flight) of all paths ≥ threshold · limit:
//!     send it again on onto, in recovery too; cwnd cut
//! ```
//!
//! Why `overdue`: the chunk is a lost retransmission, or the last of its path. The buffer lets nothing be sent after it that could show
//! the loss, so that without this rule all paths wait for T3-rtx.
//!
//! The old path's T3-rtx timer keeps running for its other chunks. A rescheduled chunk is no RTT sample. One that was moved to
//! another path may be declared lost by later acknowledgements once it is older than 2 · srtt, even where retransmissions
//! may not (`fr-once` = `always`).
//!
//! Deviations: `overdue` is ours (ADR 0143). Only the core knows whether a path is paused already, and does not penalize it again. The acknowledgement
//! of a rescheduled chunk counts for the cwnd of the path that delivered it; the INET model can exclude it.

use anabranch_types::Instant;

use crate::parameters::{Parameter, Parameters, Slot, Word};
use crate::{
    BufferFacts, PathFacts, Policy, Reschedule, RescheduleExtent, ReschedulePenalty, Rescheduled,
    ReschedulingPolicy, StuckChunk, may_carry_data, path_facts,
};

/// Which buffers are watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watched {
    /// The send buffer.
    Sender,
    /// The peer's receive buffer.
    Receiver,
    /// Both: it suffices that one of them is blocked.
    Both,
}

/// Whether the limit is a path's share of a buffer or the whole buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shares {
    /// The share if the buffer policy splits that buffer.
    #[default]
    AsHeld,
    /// Always the share.
    Always,
    /// Always the whole buffer.
    Never,
}

impl Shares {
    const fn divide(self, is_split: bool) -> bool {
        match self {
            Self::AsHeld => is_split,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

impl Word for Shares {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::AsHeld), ("on", Self::Always), ("off", Self::Never)];
}

pub(super) const THRESHOLD: Parameter = Parameter {
    name: "threshold",
    default: "0.5",
    meaning: "blocked share of the buffer from which on chunks are rescheduled, 0.001 to 1.0",
};
pub(super) const SPLIT: Parameter = Parameter {
    name: "split",
    default: "auto",
    meaning: "whether a path's share of a buffer, one n-th for n usable paths, is the limit: on, off, or auto (if buffer-split splits it)",
};

/// Parameters of [`Threshold`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThresholdParameters {
    /// How much of the buffer must be blocked, in thousandths.
    pub threshold_per_mille: u32,
    /// Whether the limit is a path's share of a buffer or the whole buffer.
    pub split: Shares,
    /// Whether an overdue chunk is sent again on its own path, in recovery too.
    pub overdue: bool,
}

impl ThresholdParameters {
    /// The values of the paper.
    pub const DEFAULT: Self = Self {
        threshold_per_mille: 500,
        split: Shares::AsHeld,
        overdue: false,
    };
}

impl Default for ThresholdParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for ThresholdParameters {
    const LIST: &'static [Parameter] = &[
        THRESHOLD,
        SPLIT,
        Parameter {
            name: "overdue",
            default: "off",
            meaning: "send a chunk that blocks the buffer again on its own path, in recovery too, once it was sent 2 · srtt + 4 · rttvar ago: on or off",
        },
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "threshold" => Slot::thousandths(&mut self.threshold_per_mille, 1..=1_000),
            "split" => Slot::text(&mut self.split),
            "overdue" => Slot::text(&mut self.overdue),
            _ => return None,
        })
    }
}

/// Chunk rescheduling above a threshold.
#[derive(Debug)]
pub struct Threshold {
    watched: Watched,
    parameters: ThresholdParameters,
}

impl Threshold {
    /// Creates the policy.
    #[must_use]
    pub const fn new(watched: Watched, parameters: ThresholdParameters) -> Self {
        Self { watched, parameters }
    }

    /// Whether `blocked` bytes that have arrived and cannot be released are a sufficient part of a buffer.
    fn is_blocked(&self, blocked: u64, buffer: &BufferFacts) -> bool {
        let blocked = u128::from(blocked);
        let reached = |limit: u64, is_split| {
            let divided = self.parameters.split.divide(is_split);
            let paths = if divided { buffer.usable_paths.max(1) } else { 1 };
            let limit = u128::from(limit / u64::from(paths)).max(1);
            blocked * 1_000 >= limit * u128::from(self.parameters.threshold_per_mille)
        };
        let sender = || reached(buffer.send_capacity, buffer.send_split);
        let receiver = || {
            reached(
                buffer.peer_window.saturating_add(buffer.queued),
                buffer.receive_split,
            )
        };
        match self.watched {
            Watched::Sender => sender(),
            Watched::Receiver => receiver(),
            Watched::Both => sender() || receiver(),
        }
    }
}

fn is_due(stuck: &StuckChunk, onto: &PathFacts, now: Instant) -> bool {
    let old = onto.srtt().is_some_and(|srtt| now - stuck.sent_at > srtt * 2);
    stuck.rescheduled != Rescheduled::Moved && (stuck.path != onto.id || old)
}

/// When `stuck` is overdue on `path`, its own; `None` if it was rescheduled before, or before the first RTT sample.
fn overdue_at(stuck: &StuckChunk, path: &PathFacts) -> Option<Instant> {
    let srtt = path.srtt().filter(|_| stuck.rescheduled == Rescheduled::Never)?;
    Some(stuck.sent_at + 2 * srtt + 4 * path.rttvar())
}

impl Policy for Threshold {
    fn name(&self) -> &'static str {
        match self.watched {
            Watched::Sender => "sender",
            Watched::Receiver => "receiver",
            Watched::Both => "both",
        }
    }
}

impl ReschedulingPolicy for Threshold {
    fn reschedule(
        &mut self,
        onto: &PathFacts,
        stuck: &StuckChunk,
        buffer: &BufferFacts,
        paths: &[PathFacts],
        now: Instant,
    ) -> Option<Reschedule> {
        let fit = may_carry_data(onto, paths) && onto.in_flight < onto.cwnd;
        let is_overdue = || {
            let due = self.overdue_at(stuck, buffer, paths);
            due.is_some_and(|due| due <= now)
        };
        if fit && stuck.path == onto.id && is_overdue() {
            return Some(Reschedule {
                extent: RescheduleExtent::Oldest,
                penalty: ReschedulePenalty::WindowCut,
            });
        }
        let blocked = onto.queued.saturating_sub(onto.in_flight);
        if !fit || onto.in_recovery || !is_due(stuck, onto, now) || !self.is_blocked(blocked, buffer) {
            return None;
        }
        let penalty = match path_facts(paths, stuck.path) {
            None => ReschedulePenalty::Nothing,
            Some(old) if old.in_recovery => {
                ReschedulePenalty::Blocked(old.srtt().unwrap_or_else(|| old.rto()))
            }
            Some(_) => ReschedulePenalty::WindowCut,
        };
        Some(Reschedule {
            extent: RescheduleExtent::Oldest,
            penalty,
        })
    }

    fn overdue_at(&self, stuck: &StuckChunk, buffer: &BufferFacts, paths: &[PathFacts]) -> Option<Instant> {
        let blocked = buffer.queued.saturating_sub(buffer.in_flight);
        if !self.parameters.overdue || !self.is_blocked(blocked, buffer) {
            return None;
        }
        overdue_at(stuck, path_facts(paths, stuck.path)?)
    }
}

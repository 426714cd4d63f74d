//! Buffer splitting. Each of n paths may hold one n-th of the buffers.
//!
//! Source: T. Dreibholz et al., "On the use of concurrent multipath transfer over asymmetric paths", GLOBECOM
//! 2010 (buffer splitting), with both ways of counting found in implementations: FreeBSD's (outstanding) and
//! that of the INET model (queued).
//!
//! Idea: with n usable paths, none holds more than one n-th of the send buffer, or of the peer's receive buffer. Counted
//! by `queued`, gap-acknowledged chunks still count, for they still occupy the buffer.
//!
//! ```text
//! sender:    held + PMDCS ≤ send buffer / n
//! receiver:  held ≤ (peer's window + held by all) / n
//! ```
//!
//! This applies to new data only: retransmissions are in the buffers already.
//!
//! Deviations: a path that holds nothing may always send one full chunk, else a small buffer would block it for good.
//! FreeBSD divides by all paths, inactive ones included, and lets a path hold one packet more than its share of the send
//! buffer; neither is done here.

use core::marker::PhantomData;

use crate::parameters::{Parameter, Parameters, Slot, Word};
use crate::{BufferFacts, BufferPolicy, PathFacts, Policy};

/// The bytes that count towards a path's share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Counting {
    /// Bytes in flight.
    Outstanding,
    /// Bytes sent and not releasable yet.
    #[default]
    Queued,
}

impl Word for Counting {
    const WORDS: &'static [(&'static str, Self)] =
        &[("outstanding", Self::Outstanding), ("queued", Self::Queued)];
}

/// Parameters of [`Split`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SplitParameters {
    /// The bytes that count towards a path's share.
    pub counting: Counting,
}

impl Parameters for SplitParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "counting",
        default: "queued",
        meaning: "what counts as held by a path: outstanding (in flight), or queued (sent and not yet releasable)",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "counting" => Slot::text(&mut self.counting),
            _ => return None,
        })
    }
}

/// Which buffers are split.
pub trait Side: Send + core::fmt::Debug {
    /// The name that users type.
    const NAME: &'static str;
    /// Whether the send buffer is split.
    const SENDER: bool;
    /// Whether the peer's receive buffer is split.
    const RECEIVER: bool;
}

/// Splits the send buffer.
#[derive(Debug)]
pub struct SplitSender;

/// Splits the peer's receive buffer.
#[derive(Debug)]
pub struct SplitReceiver;

/// Splits both buffers.
#[derive(Debug)]
pub struct SplitBoth;

impl Side for SplitSender {
    const NAME: &'static str = "sender";
    const SENDER: bool = true;
    const RECEIVER: bool = false;
}

impl Side for SplitReceiver {
    const NAME: &'static str = "receiver";
    const SENDER: bool = false;
    const RECEIVER: bool = true;
}

impl Side for SplitBoth {
    const NAME: &'static str = "both";
    const SENDER: bool = true;
    const RECEIVER: bool = true;
}

/// Limits each of n paths to one n-th of the buffers of `S`.
#[derive(Debug)]
pub struct Split<S> {
    counting: Counting,
    side: PhantomData<S>,
}

impl<S: Side> Split<S> {
    /// Creates the policy.
    #[must_use]
    pub const fn new(parameters: SplitParameters) -> Self {
        Self {
            counting: parameters.counting,
            side: PhantomData,
        }
    }
}

impl<S: Side> Policy for Split<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }
}

impl<S: Side> BufferPolicy for Split<S> {
    fn splits_send_buffer(&self) -> bool {
        S::SENDER
    }

    fn splits_receive_buffer(&self) -> bool {
        S::RECEIVER
    }

    fn allowance(&self, path: &PathFacts, _paths: &[PathFacts], buffer: &BufferFacts) -> u64 {
        let chunk = u64::from(path.max_data_chunk);
        let paths = u64::from(buffer.usable_paths.max(1));
        let (held, held_by_all) = match self.counting {
            Counting::Outstanding => (path.in_flight, buffer.in_flight),
            Counting::Queued => (path.queued, buffer.queued),
        };
        let mut allowance = u64::MAX;
        if S::SENDER {
            let left = (buffer.send_capacity / paths).saturating_sub(held);
            allowance = if left < chunk { 0 } else { left };
        }
        if S::RECEIVER {
            let share = buffer.peer_window.saturating_add(held_by_all) / paths;
            // The rule allows overbooking by one chunk: it is checked before sending only.
            let left = share.checked_sub(held).map_or(0, |left| left.max(chunk));
            allowance = allowance.min(left);
        }
        if held == 0 {
            allowance.max(chunk)
        } else {
            allowance
        }
    }
}

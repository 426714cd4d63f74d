//! Where does a lost chunk go, if the path that does best shall take it? To the largest window.
//!
//! Source: RTX-CWND of J. Iyengar et al., "Retransmission policies for concurrent multipath transfer using SCTP
//! multihoming", ICON 2004; what FreeBSD's CMT does.
//!
//! Idea: a large window is the sign of few losses. A path that just timed out has one of a single chunk, so its
//! chunks leave it by themselves.
//!
//! ```text
//! among paths that may carry data: those with room first, then the largest window, then the chunk's own path
//! ```
//!
//! Deviation: the paper breaks ties at random; here the chunk's own path, then the lowest id.

use core::cmp::Reverse;

use anabranch_types::PathId;

use crate::parameters::NoParameters;
use crate::{LostChunk, PathFacts, Policy, RetransmissionPolicy, may_carry_data};

/// The path with the largest window that has room.
#[derive(Debug, Default)]
pub struct Cwnd;

impl Cwnd {
    /// The policy.
    #[must_use]
    pub const fn new(_: NoParameters) -> Self {
        Self
    }
}

impl Policy for Cwnd {
    fn name(&self) -> &'static str {
        "cwnd"
    }
}

impl RetransmissionPolicy for Cwnd {
    fn path_for(&mut self, chunk: &LostChunk, paths: &[PathFacts]) -> Option<PathId> {
        paths
            .iter()
            .filter(|path| may_carry_data(path, paths))
            .min_by_key(|path| {
                let elsewhere = path.id != chunk.lost_on;
                (path.room == 0, Reverse(path.window), elsewhere, path.id)
            })
            .map(|path| path.id)
    }
}

//! Cwnd update for CMT (CUC). When may the cwnd of a path grow?
//!
//! Source: J. Iyengar, P. Amer, R. Stewart, "Concurrent multipath transfer using SCTP multihoming over
//! independent end-to-end paths", IEEE/ACM ToN 14(5), 2006; version 2 is that of FreeBSD and INET.
//!
//! Idea: with several paths the cumulative TSN does not advance while one of them is slow, although the others deliver
//! in order. So each path has its own pseudo-cumulative ack point, its earliest outstanding chunk, and its cwnd may
//! grow when that chunk is acknowledged.
//!
//! ```text
//! cumack:  a chunk of the path was acknowledged cumulatively that no gap ack block had reported before
//! cuc-v1:  … or the earliest outstanding never-retransmitted chunk of the path was acknowledged
//! cuc-v2:  … or the earliest outstanding retransmitted chunk of the path was acknowledged
//! ```
//!
//! RFC 4960 §7.2.1 required the first; RFC 9260 dropped the condition, so all three are stricter than RFC 9260.

use crate::PathAck;
use crate::parameters::Word;

/// When the cwnd of a path may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Growth {
    /// When a chunk of the path is acknowledged cumulatively.
    Cumack,
    /// Also when the path's earliest outstanding never-retransmitted chunk is acknowledged.
    CucV1,
    /// Also when the path's earliest outstanding retransmitted chunk is acknowledged.
    #[default]
    CucV2,
}

impl Growth {
    /// Whether this acknowledgement lets the cwnd of its path grow.
    #[must_use]
    pub const fn allows(self, ack: &PathAck) -> bool {
        let first = ack.pseudo_cumulative_advanced;
        let again = ack.retransmitted_pseudo_cumulative_advanced;
        let advanced = match self {
            Self::Cumack => ack.cumulative_advanced,
            Self::CucV1 => ack.cumulative_advanced || first,
            Self::CucV2 => ack.cumulative_advanced || first || again,
        };
        advanced && ack.newly_acked > 0
    }
}

impl Word for Growth {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("cumack", Self::Cumack),
        ("cuc-v1", Self::CucV1),
        ("cuc-v2", Self::CucV2),
    ];
}

#[cfg(test)]
mod tests {
    use anabranch_types::PathId;

    use super::Growth;
    use crate::PathAck;

    #[test]
    fn a_stuck_cumulative_tsn_stops_growth_only_without_cuc() {
        let mut ack = PathAck::new(PathId(1), 6_000);
        ack.newly_acked = 1_452;
        ack.pseudo_cumulative_advanced = true;
        assert!(!Growth::Cumack.allows(&ack));
        assert!(Growth::CucV1.allows(&ack));
        ack.pseudo_cumulative_advanced = false;
        ack.retransmitted_pseudo_cumulative_advanced = true;
        assert!(!Growth::CucV1.allows(&ack));
        assert!(Growth::CucV2.allows(&ack));
    }
}

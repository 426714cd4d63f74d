//! Failure detector shared by all failover policies: it counts consecutive errors of a path.
//!
//! ```text
//! error:        errors > Path.Max.Retrans ⇒ inactive;  errors > tolerated ⇒ potentially failed, if that state is used
//! path works:   active
//! peer:         each error counts, or only those on the path with the fewest errors
//! heartbeat:    HB.interval; every RTO while potentially failed or unconfirmed
//! ```

use core::time::Duration;

use super::AckSilence;
use crate::parameters::{Parameter, Parameters, Slot, Word};
use crate::{FailoverPolicy, PathFacts, Policy, Reachability};

/// Which errors of paths also count against the peer (Association.Max.Retrans of RFC 9260 §8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PeerErrors {
    /// All, as RFC 9260 says. If data is sent on all paths at once, an outage of all is counted once for each of them.
    #[default]
    All,
    /// Those on the path with the fewest errors: an outage counts once, however many paths there are.
    Best,
}

impl Word for PeerErrors {
    const WORDS: &'static [(&'static str, Self)] = &[("all", Self::All), ("best", Self::Best)];
}

/// When a path becomes inactive, and how often heartbeats are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorLimits {
    /// Path.Max.Retrans: a path with more consecutive errors is inactive (RFC 9260 §16).
    pub max_retransmissions: u16,
    /// HB.interval (RFC 9260 §16); [`Duration::MAX`] for no heartbeats on confirmed paths.
    pub heartbeat_interval: Duration,
    /// Which errors also count against the peer.
    pub peer_errors: PeerErrors,
}

impl ErrorLimits {
    /// The default values.
    pub const DEFAULT: Self = Self {
        max_retransmissions: 5,
        heartbeat_interval: Duration::from_secs(30),
        peer_errors: PeerErrors::All,
    };
}

impl Default for ErrorLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

pub(super) const MAX_RETRANSMISSIONS: Parameter = Parameter {
    name: "max-retrans",
    default: "5",
    meaning: "errors in a row after which a path is still not inactive (Path.Max.Retrans of RFC 9260 §16), 0 to 1000",
};

pub(super) const HEARTBEAT_INTERVAL: Parameter = Parameter {
    name: "heartbeat",
    default: "30s",
    meaning: "time between heartbeats of an idle path, to which the RTO is added (HB.interval of RFC 9260 §16), \
              at most 86400s",
};

pub(super) const PEER_ERRORS: Parameter = Parameter {
    name: "peer-errors",
    default: "all",
    meaning: "which errors count against the peer, which is given up after Association.Max.Retrans of them (RFC 9260 §8.1): \
              all, or best: only those on the path with the fewest errors",
};

const LONGEST_INTERVAL: Duration = Duration::from_secs(86_400);

impl Parameters for ErrorLimits {
    const LIST: &'static [Parameter] = &[MAX_RETRANSMISSIONS, HEARTBEAT_INTERVAL, PEER_ERRORS];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "max-retrans" => Slot::number(&mut self.max_retransmissions, 0..=1_000),
            "heartbeat" => Slot::time(&mut self.heartbeat_interval, Duration::ZERO..=LONGEST_INTERVAL),
            "peer-errors" => Slot::text(&mut self.peer_errors),
            _ => return None,
        })
    }
}

/// A failure detector. [`Rfc9260`](super::rfc9260), [`PotentiallyFailed`](super::potentially_failed) and
/// [`FastFailover`](super::fast_failover) differ in its parameters.
#[derive(Debug)]
pub struct Detector {
    pub(super) limits: ErrorLimits,
    /// PFMR: a path with more consecutive errors is potentially failed; `None` if that state is not used.
    pub(super) tolerated: Option<u16>,
    /// How long other paths may be acknowledged while the path is not; `None` for no limit.
    pub(super) ack_silence: Option<AckSilence>,
}

impl Policy for Detector {
    fn name(&self) -> &'static str {
        match (self.tolerated, self.ack_silence) {
            (_, Some(_)) => "fast-failover",
            (Some(_), None) => "potentially-failed",
            (None, None) => "rfc9260",
        }
    }
}

impl FailoverPolicy for Detector {
    //= rfc9260 8.2-2
    //= rfc7829 3.2-2
    fn on_error(&mut self, path: &PathFacts) -> Reachability {
        let is_suspect = self.tolerated.is_some_and(|tolerated| path.errors > tolerated);
        match path.reachability {
            Reachability::Unconfirmed => Reachability::Unconfirmed,
            _ if path.errors > self.limits.max_retransmissions => Reachability::Inactive,
            Reachability::Active if is_suspect => Reachability::PotentiallyFailed,
            unchanged => unchanged,
        }
    }

    fn counts_against_peer(&self, path: &PathFacts, paths: &[PathFacts]) -> bool {
        let is_known = |other: &&PathFacts| other.reachability != Reachability::Unconfirmed;
        match self.limits.peer_errors {
            PeerErrors::All => true,
            PeerErrors::Best => paths
                .iter()
                .filter(is_known)
                .all(|other| other.errors >= path.errors),
        }
    }

    fn on_reachable(&mut self, _path: &PathFacts) -> Reachability {
        Reachability::Active
    }

    fn suspect_after(&self, path: &PathFacts) -> Option<Duration> {
        self.ack_silence?.with(path)
    }

    //= rfc7829 3.2-13
    /// Potentially failed paths are probed every RTO (RFC 7829), and so are unconfirmed ones until they become inactive
    /// (RFC 9260 §5.4).
    fn heartbeat_interval(&self, path: &PathFacts) -> Option<Duration> {
        let ErrorLimits {
            max_retransmissions,
            heartbeat_interval,
            ..
        } = self.limits;
        let interval = match path.reachability {
            Reachability::PotentiallyFailed => Duration::ZERO,
            Reachability::Unconfirmed if path.errors <= max_retransmissions => Duration::ZERO,
            _ => heartbeat_interval,
        };
        (interval < Duration::MAX).then_some(interval)
    }
}

//! Transmission of data on a path: timers and limits that no path has while nothing is sent on it.

use alloc::boxed::Box;

use anabranch_types::{Instant, earliest};

use super::{Duplicates, Recovery, T3, TailProbe};
use crate::on_demand::Idle;

/// State of a path on which data is sent. It is idle when nothing is outstanding and nothing limits the next packet.
#[derive(Debug, Default)]
pub(crate) struct Sending {
    pub(crate) t3: T3,
    pub(crate) tail_probe: TailProbe,
    pub(crate) recovery: Option<Box<Recovery>>,
    /// Whether one packet may exceed cwnd, for the first fast retransmit (RFC 9260 §7.2.4 step 3).
    pub(crate) retransmission_credit: bool,
    /// Whether T3 has expired and no data was acknowledged since: only one packet may be in flight (RFC 9260 §7.2.1, §7.2.3).
    pub(crate) one_at_a_time: bool,
    /// Time at which the loss detection has to run again.
    pub(crate) loss_check_at: Option<Instant>,
    /// Time at which the burst policy permits the next packet.
    pub(crate) release_at: Option<Instant>,
    /// Time before which no new data is sent, by decision of the chunk-rescheduling policy.
    pub(crate) blocked_until: Option<Instant>,
    /// Duplicates of chunks that are in flight on other paths.
    pub(crate) duplicates: Duplicates,
}

impl Sending {
    pub(super) fn deadline(&self) -> Option<Instant> {
        earliest([
            self.t3.expires(),
            self.release_at,
            self.blocked_until,
            self.loss_check_at,
            self.tail_probe.deadline(),
            self.duplicates.deadline(),
        ])
    }
}

impl Idle for Sending {
    const IDLE: &'static Self = &Self {
        t3: T3::STOPPED,
        tail_probe: TailProbe::Idle,
        recovery: None,
        retransmission_credit: false,
        one_at_a_time: false,
        loss_check_at: None,
        release_at: None,
        blocked_until: None,
        duplicates: Duplicates::NONE,
    };

    fn is_idle(&self) -> bool {
        let is_unlimited = self.recovery.is_none() && !self.retransmission_credit && !self.one_at_a_time;
        // A probe that was sent is forgotten only when data is acknowledged.
        let is_settled = self.tail_probe == TailProbe::Idle && self.duplicates.bytes() == 0;
        is_unlimited && is_settled && self.deadline().is_none()
    }
}

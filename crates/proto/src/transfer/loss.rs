//! Loss detection and fast recovery on each path (RFC 9260 §7.2.4). Which chunks are lost, and when is the window reduced?
//!
//! Only chunks sent on the same path are compared: chunks on different paths overtake each other all the time, so an
//! acknowledgement of one path says nothing about losses on another (split fast retransmit of CMT). The loss policy returns a
//! threshold; all chunks in flight below it are lost (ADR 0012).

use alloc::boxed::Box;

use anabranch_policy::catalog::RecoveryChoice;
use anabranch_policy::{LossCause, LossEvent, LostPackets};
use anabranch_types::{Instant, PathId, UnwrappedTsn};

use super::{Effects, Transfer};
use crate::path::{ProportionalRate, Recovery, RecoveryKind};
use crate::send::Lost;

impl Transfer {
    /// Asks the loss policy for its threshold on each path: after a SACK, and at the time that the policy has set.
    pub(super) fn find_losses(&mut self, now: Instant) -> Effects {
        let Self { sender, policies, .. } = self;
        sender.look_for_losses(|path| policies.loss.loss_threshold(path, now));
        let mut effects = Effects::default();
        for path in self.paths.ids() {
            effects.append(self.find_losses_on(path, now));
            self.leave_recovery(path);
        }
        effects
    }

    //= rfc9260 7.2.4-6
    /// Marks chunks below the loss policy's threshold for retransmission. The first loss in a window of data starts fast recovery
    /// and reduces cwnd. Further losses of the same window do not: they are due to the same congestion, and a second reduction
    /// would leave the path empty (RFC 9260 §7.2.4).
    fn find_losses_on(&mut self, path: PathId, now: Instant) -> Effects {
        let threshold = self.policies.loss.loss_threshold(path, now);
        let sending = &mut self.paths.path_mut(path).sending;
        if sending.loss_check_at != threshold.again_at {
            sending.make_mut().loss_check_at = threshold.again_at;
        }
        let lost = self.sender.lose(path, threshold);
        if lost.chunks == 0 {
            return Effects::default();
        }
        self.paths.chunks_lost(path, lost.chunks);
        self.tell_lost(path, lost, now);
        let effects = if lost.again > 0 {
            self.doubt_mtu(path, now)
        } else {
            Effects::default()
        };
        let machinery = self.paths.path_mut(path);
        if lost.chunks > 0 {
            machinery.counters.rare().fast_retransmits += u64::from(lost.chunks);
        }
        let recovery = machinery.sending.recovery.as_ref();
        let highest = lost
            .highest
            .filter(|tsn| recovery.is_none_or(|recovery| !recovery.covers(*tsn)));
        if let Some(highest) = highest {
            machinery.sending.make_mut().retransmission_credit = true;
            self.begin_recovery(path, LossCause::FastRetransmit, (highest, lost.bytes), now);
        }
        effects
    }

    /// Notifies a congestion control that measures rates of all lost chunks.
    fn tell_lost(&mut self, path: PathId, lost: Lost, now: Instant) {
        if let Some(last) = lost.latest.filter(|_| self.policies.measures_rates) {
            let lost = LostPackets {
                bytes: lost.bytes,
                last,
            };
            let facts = self.paths.fact(path);
            self.policies.congestion.on_lost(&lost, facts, now);
        }
    }

    /// Reduces the window of `path`, once for all data that is outstanding now, and enters fast recovery; `lost` is the highest
    /// lost or marked TSN, and the lost bytes.
    pub(super) fn begin_recovery(
        &mut self,
        path: PathId,
        cause: LossCause,
        lost: (UnwrappedTsn, u64),
        now: Instant,
    ) {
        let (highest, bytes) = lost;
        let outstanding = self.sender.highest_outstanding(path);
        let exit = outstanding.map_or(highest, |outstanding| outstanding.max(highest));
        self.paths.fact_mut(path).in_recovery = true;
        let event = LossEvent { path, cause, bytes };
        self.tell_loss(&event, now);
        let rate = match self.config.policies.recovery {
            RecoveryChoice::Window(_) => None,
            // A model decides how much may be sent in recovery, too.
            RecoveryChoice::Proportional(_) if self.policies.congestion.pacing_rate(path).is_some() => None,
            // The facts still have the values from before the loss.
            RecoveryChoice::Proportional(_) => Some(ProportionalRate::begin(self.paths.fact(path).in_flight)),
        };
        let sending = self.paths.path_mut(path).sending.make_mut();
        let kind = RecoveryKind::Fast(rate);
        sending.recovery = Some(Box::new(Recovery { exit, kind }));
    }

    /// Ends fast recovery of a path when all data that was outstanding at its start is acknowledged: by the cumulative TSN, or,
    /// since other paths may hold that back, when no chunk up to the exit point is outstanding or lost on this path (per-path
    /// recovery of CMT).
    fn leave_recovery(&mut self, path: PathId) {
        let Some(exit) = self
            .paths
            .path(path)
            .sending
            .recovery
            .as_ref()
            .map(|recovery| recovery.exit)
        else {
            return;
        };
        let sender = &self.sender;
        let passed = sender.cumulative() >= exit
            || (sender
                .earliest_outstanding(path)
                .is_none_or(|(tsn, _)| tsn > exit)
                && sender.first_lost(path).is_none_or(|tsn| tsn > exit));
        if passed {
            self.end_recovery(path);
        }
    }

    /// After T3 has expired: ends fast recovery, because the path returns to slow start, and keeps the highest TSN that was outstanding as
    /// exit point (RFC 6582 §3.2 step 4). SACKs of what was sent before the timeout can report chunks as missing that were
    /// retransmitted since. If that reduced the cwnd of one packet again, ssthresh would fall to its least for nothing.
    pub(super) fn begin_recovery_from_timeout(&mut self, path: PathId, highest: Option<UnwrappedTsn>) {
        let before = self.paths.path(path).sending.recovery.as_ref();
        let exit = highest.max(before.map(|recovery| recovery.exit));
        self.end_recovery(path);
        self.paths.path_mut(path).sending.make_mut().recovery = exit.map(|exit| {
            let kind = RecoveryKind::Timeout;
            Box::new(Recovery { exit, kind })
        });
    }

    /// Ends recovery on `path`; no packet may exceed its window any more.
    pub(super) fn end_recovery(&mut self, path: PathId) {
        let (facts, machinery) = self.paths.both_mut(path);
        if let Some(sending) = machinery.sending.active_mut() {
            sending.recovery = None;
            sending.retransmission_credit = false;
        }
        facts.in_recovery = false;
    }

    /// Runs loss detection at the time that the loss policy has set, without a SACK.
    pub(super) fn loss_timer(&mut self, now: Instant) -> Effects {
        let is_due = |path: PathId| {
            let check_at = self.paths.path(path).sending.loss_check_at;
            check_at.is_some_and(|at| at <= now)
        };
        if !self.paths.ids().any(is_due) {
            return Effects::default();
        }
        let effects = self.find_losses(now);
        self.publish(now);
        effects
    }
}

//! Loss recovery: RFC 6675 with SACK, RFC 6582 (NewReno) without.

use anabranch_policy::{LossCause, LossEvent};

use super::scoreboard::{Changes, DUP_THRESH};
use super::{Context, ControlBlock};
use crate::sequence::Position;

/// Recovery state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Phase {
    /// No recovery: no loss is known, or the response to it has not started.
    #[default]
    Open,
    /// Fast recovery until everything below this position is acknowledged; the window does not grow.
    Fast { until: Position },
    /// Recovery after a timeout until everything below this position is acknowledged.
    Timeout { until: Position },
}

/// Loss recovery of one control block.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    phase: Phase,
    /// Consecutive duplicate acknowledgements; without SACK, each stands for a segment that arrived.
    duplicates: u64,
    /// The next retransmission ignores the window: the first of a recovery.
    urgent: bool,
    /// A rescue retransmission is allowed if nothing else is left to send (RFC 6675 §4, rule 4).
    rescue: bool,
}

impl Recovery {
    pub(super) const fn is_fast(&self) -> bool {
        matches!(self.phase, Phase::Fast { .. })
    }

    pub(super) const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    pub(super) const fn is_urgent(&self) -> bool {
        self.urgent
    }

    pub(super) const fn may_rescue(&self) -> bool {
        self.rescue && self.is_fast()
    }

    /// Records a retransmission.
    pub(super) const fn on_retransmission(&mut self) {
        self.urgent = false;
    }

    pub(super) const fn on_rescue(&mut self) {
        self.rescue = false;
    }

    pub(super) const fn on_timeout(&mut self, until: Position) {
        self.phase = Phase::Timeout { until };
        self.duplicates = 0;
        self.urgent = true;
        self.rescue = false;
    }

    /// Everything before `ack` is acknowledged; ends the recovery if that completes it.
    const fn pass(&mut self, ack: Position) {
        if let Phase::Fast { until } | Phase::Timeout { until } = self.phase
            && ack >= until
        {
            self.phase = Phase::Open;
            self.rescue = false;
        }
    }

    const fn begin(&mut self, until: Position) {
        self.phase = Phase::Fast { until };
        self.urgent = true;
        self.rescue = true;
    }
}

impl ControlBlock {
    /// Processes an acknowledgement after the scoreboard. `is_duplicate` is as RFC 5681 §2 defines it. The window grows only
    /// afterwards.
    pub(super) fn recover(&mut self, changes: &Changes, is_duplicate: bool, context: &mut Context<'_>) {
        let lost = if self.agreed.sack {
            self.find_lost_by_reports(changes)
        } else {
            self.find_lost_by_duplicates(changes, is_duplicate)
        };
        self.recovery.pass(self.scoreboard.first());
        if lost == 0 {
            return;
        }
        let segments = lost.div_ceil(self.effective_mss());
        self.facts(context).lost_chunks += segments;
        self.counters.found_lost += segments;
        self.tell_lost(lost, context);
        if self.recovery.phase == Phase::Open {
            self.recovery.begin(self.scoreboard.next());
            self.counters.fast_recoveries += 1;
            self.tell_loss(LossCause::FastRetransmit, lost, context);
        }
    }

    /// Reports to the policies a loss that reduces the window.
    pub(super) fn tell_loss(&mut self, cause: LossCause, bytes: u64, context: &mut Context<'_>) {
        self.refresh(context);
        let loss = LossEvent {
            path: self.id,
            cause,
            bytes,
        };
        let Context {
            policies, facts, now, ..
        } = context;
        policies.path_scheduler.on_loss(&loss, facts, *now);
        policies.congestion.on_loss(&loss, facts, *now);
    }

    /// Detects losses below the SACK threshold, and by the third duplicate acknowledgement: small segments may not reach the
    /// threshold before it (RFC 6675 §5, rules 1 and 2). There an acknowledgement is a duplicate if it SACKs new data.
    fn find_lost_by_reports(&mut self, changes: &Changes) -> u64 {
        let before = self.scoreboard.in_flight();
        self.scoreboard.find_lost(self.effective_mss());
        if changes.advanced {
            self.recovery.duplicates = 0;
        } else if changes.newly_sacked > 0 {
            self.recovery.duplicates += 1;
            if self.recovery.duplicates == u64::from(DUP_THRESH) && self.recovery.phase == Phase::Open {
                self.scoreboard
                    .lose(self.scoreboard.first()..self.scoreboard.first() + 1);
            }
        }
        before - self.scoreboard.in_flight()
    }

    /// NewReno (RFC 6582): the third duplicate acknowledgement indicates the loss of the oldest segment, and so does every
    /// partial acknowledgement in recovery.
    fn find_lost_by_duplicates(&mut self, changes: &Changes, is_duplicate: bool) -> u64 {
        let before = self.scoreboard.in_flight();
        let oldest = self.scoreboard.first()..self.scoreboard.first() + 1;
        match self.recovery.phase {
            Phase::Fast { until } if changes.advanced && self.scoreboard.first() < until => {
                // The segments that the duplicates stood for are now acknowledged cumulatively, as far as `ack` covers them.
                let passed = changes.newly_acked / self.effective_mss();
                self.recovery.duplicates = self.recovery.duplicates.saturating_sub(passed);
                self.scoreboard.lose(oldest);
                self.recovery.urgent = true;
            }
            _ if changes.advanced => self.recovery.duplicates = 0,
            phase if is_duplicate => {
                self.recovery.duplicates += 1;
                if self.recovery.duplicates == u64::from(DUP_THRESH) && phase == Phase::Open {
                    self.scoreboard.lose(oldest);
                }
            }
            _ => {}
        }
        before - self.scoreboard.in_flight()
    }
}

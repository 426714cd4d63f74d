//! Timers of a control block.

use core::time::Duration;

use anabranch_policy::LossCause;
use anabranch_types::Instant;

use super::{CloseReason, Context, Control, ControlBlock, Effects, State};

/// Maximum interval between window probes (RFC 9293 §3.8.6.1).
const LONGEST_PROBE: Duration = Duration::from_secs(60);

/// Timers of a control block, except that for delayed acknowledgements.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Retransmission of the SYN or SYN-ACK.
    pub(super) half_open: Option<Instant>,
    /// Retransmission timer (RFC 6298).
    pub(super) retransmission: Option<Instant>,
    /// Persist timer: a window probe is sent (RFC 9293 §3.8.6.1).
    pub(super) probe: Option<Instant>,
    /// Override timer: a small segment may be sent after waiting for a larger window.
    pub(super) forced: bool,
    /// Pacing timer: data held back by the burst policy or the scheduler may be sent.
    pub(super) release: Option<Instant>,
    /// TIME-WAIT timer: the addresses become free.
    pub(super) time_wait: Option<Instant>,
    /// Window probes since the window closed.
    pub(super) probes: u16,
    /// Consecutive SYNs, retransmissions or window probes without an answer.
    pub(super) tries: u16,
}

impl ControlBlock {
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let Timers {
            half_open,
            retransmission,
            probe,
            release,
            time_wait,
            ..
        } = self.timers;
        // Acknowledgements pending before the connection is established are sent when it is.
        let acks = self.acks.deadline().filter(|_| self.state.is_synchronized());
        let all = [half_open, retransmission, probe, release, time_wait, acks];
        all.into_iter().flatten().min()
    }

    /// Handles all expired timers. A delayed acknowledgement needs no handling here.
    pub(crate) fn on_deadline(&mut self, context: &mut Context<'_>, effects: &mut Effects) {
        let now = context.now;
        let is_due = |moment: &mut Instant| *moment <= now;
        if self.timers.half_open.take_if(is_due).is_some() {
            self.on_opening_overdue(context, effects);
        }
        if self.timers.retransmission.take_if(is_due).is_some() {
            self.on_timeout(context, effects);
        }
        if self.timers.probe.take_if(is_due).is_some() {
            self.on_probe_due(context, effects);
        }
        self.timers.release.take_if(is_due);
        if self.timers.time_wait.take_if(is_due).is_some() {
            self.end(CloseReason::Finished, effects);
        }
    }

    pub(super) fn end(&mut self, reason: CloseReason, effects: &mut Effects) {
        self.forget();
        effects.closed = Some(reason);
    }

    /// Exponential back-off: 3, 6, 12, 24 s.
    fn on_opening_overdue(&mut self, context: &Context<'_>, effects: &mut Effects) {
        self.timers.tries += 1;
        if self.timers.tries > u16::from(context.config.syn_retries) {
            return self.end(CloseReason::TimedOut, effects);
        }
        self.control = Some(Control::Syn);
    }

    /// Retransmission timeout: nothing was acknowledged for an RTO (RFC 6298 §5.4 to §5.6).
    fn on_timeout(&mut self, context: &mut Context<'_>, effects: &mut Effects) {
        self.timers.tries += 1;
        if self.timers.tries > context.config.retries {
            return self.end(CloseReason::TimedOut, effects);
        }
        self.counters.timeouts += 1;
        effects.timeout = true;
        let bytes = self.scoreboard.in_flight();
        self.scoreboard.lose_all();
        self.recovery.on_timeout(self.scoreboard.next());
        self.rtt.back_off();
        // "On the other hand, when a TCP sender detects segment loss using the retransmission timer and the given segment
        // has already been retransmitted […] at least once, the value of ssthresh is held constant" (RFC 5681 §3.1).
        if self.timers.tries == 1 {
            self.tell_loss(LossCause::Timeout, bytes, context);
        }
        let lost = self.facts(context);
        lost.lost_chunks += 1;
        lost.errors = lost.errors.saturating_add(1);
        self.timers.retransmission = Some(context.now + self.rtt.rto());
        self.refresh(context);
    }

    fn on_probe_due(&mut self, context: &Context<'_>, effects: &mut Effects) {
        self.timers.tries += 1;
        // A peer that answers may keep its window closed forever (RFC 9293 §3.8.6.1); one that does not answer is dead.
        if self.timers.tries > context.config.retries {
            return self.end(CloseReason::TimedOut, effects);
        }
        // A window smaller than a segment is used then (RFC 9293 §3.8.6.2.1). A window shared by subflows may be closed although
        // the last one advertised here was open.
        let is_open = self.peer_window.edge() > self.scoreboard.next();
        self.timers.forced = is_open || self.shares_window();
        if !is_open || self.shares_window() {
            self.control = Some(Control::WindowProbe);
        }
        self.timers.probes += 1;
        let doubled = self.rtt.rto() * 2_u32.pow(u32::from(self.timers.probes.min(8)));
        self.timers.probe = Some(context.now + doubled.min(LONGEST_PROBE));
    }

    /// Starts the persist timer while the window stays closed.
    pub(crate) fn wait_for_window(&mut self, now: Instant) {
        if self.timers.probe.is_none() {
            self.timers.tries = 0;
            self.timers.probes = 0;
            self.timers.probe = Some(now + self.rtt.rto());
        }
    }

    /// Sets the time at which new data may be sent.
    pub(crate) const fn hold_back_until(&mut self, moment: Option<Instant>) {
        self.timers.release = moment;
    }

    /// Whether new data waits for the pacing timer.
    pub(crate) const fn is_held_back(&self) -> bool {
        self.timers.release.is_some()
    }

    pub(crate) const fn stop_waiting_for_window(&mut self) {
        self.timers.probe = None;
        self.timers.forced = false;
    }

    /// (5.1) a segment with sequence numbers is sent: the timer runs.
    pub(super) fn start_retransmission_timer(&mut self, now: Instant) {
        if self.timers.retransmission.is_none() {
            self.timers.retransmission = Some(now + self.rtt.rto());
        }
    }

    /// (5.2), (5.3): new data was acknowledged.
    pub(super) fn restart_retransmission_timer(&mut self, now: Instant) {
        self.timers.tries = 0;
        self.timers.retransmission = if self.scoreboard.is_empty() {
            None
        } else {
            Some(now + self.rtt.rto())
        };
    }

    pub(super) fn enter(&mut self, state: State, context: &Context<'_>, effects: &mut Effects) {
        self.state = state;
        match state {
            State::TimeWait => {
                self.timers = Timers {
                    time_wait: Some(context.now + context.config.time_wait),
                    ..Timers::default()
                };
            }
            State::Closed => self.end(CloseReason::Finished, effects),
            _ => {}
        }
    }
}

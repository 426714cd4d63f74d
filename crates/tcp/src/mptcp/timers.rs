//! Timers of an MPTCP connection.

use core::time::Duration;

use anabranch_types::{Instant, PathId};

use super::MptcpConnection;
use super::data_sender::End;
use super::input::CallContext;
use super::subflow::{Role, Stage, Subflow};
use crate::TcpConfig;
use crate::connection::SocketBuffers;
use crate::tcb::{CloseReason, Effects, State};

/// Minimum interval of checks whether data is stuck. Subflows retransmit their own losses.
const SHORTEST_CHECK: Duration = Duration::from_secs(1);

impl MptcpConnection {
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let subflows = self.subflows.iter().filter_map(Subflow::deadline);
        let end = match self.sender.end {
            End::Told { again, .. } if !self.is_over() => Some(again),
            _ => None,
        };
        let joins = self
            .joins_from
            .filter(|_| self.addresses.may_have_pending_join() && self.may_join());
        let advertisements = self
            .advertisements
            .iter()
            .map(|advertisement| advertisement.again);
        let check = self.sender.check;
        subflows
            .chain(end)
            .chain(check)
            .chain(joins)
            .chain(advertisements)
            .chain(self.leave_by.filter(|_| !self.is_over()))
            .min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, buffers: &mut SocketBuffers, config: &TcpConfig) {
        let mut call = CallContext { now, buffers, config };
        for at in 0..self.subflows.len() {
            if self.subflows[at].deadline().is_some_and(|due| due <= now) {
                self.on_subflow_deadline(at, &mut call);
            }
        }
        if self.sender.check.take_if(|due| *due <= now).is_some() {
            self.on_check(now);
        }
        if self.leave_by.take_if(|by| *by <= now).is_some() && !self.is_over() {
            self.leave(buffers);
        }
        self.repeat_end(now);
        self.repeat_advertisements(now);
    }

    fn on_subflow_deadline(&mut self, at: usize, call: &mut CallContext<'_>) {
        self.subflows[at].paused_until.take_if(|until| *until <= call.now);
        let mut effects = Effects::default();
        let (subflow, mut context) = self.split(at, call.now, call.config);
        subflow.tcb.on_deadline(&mut context, &mut effects);
        self.act_on(at, effects, call);
        self.repeat_proof(at, call);
    }

    /// Repeats the third segment of a handshake, since nothing confirms its arrival.
    fn repeat_proof(&mut self, at: usize, call: &mut CallContext<'_>) {
        let rto = self.facts[at].rto();
        let subflow = &mut self.subflows[at];
        let Stage::PreEstablished { again, times, .. } = &mut subflow.stage else {
            return;
        };
        if again.is_none_or(|again| again > call.now) || subflow.tcb.state() == State::Closed {
            return;
        }
        *times += 1;
        let is_enough = *times > u32::from(call.config.retries);
        *again = (!is_enough).then(|| call.now + rto * 2_u32.pow((*times).min(6)));
        match subflow.role {
            _ if !is_enough => subflow.tcb.acknowledge_at_once(call.now),
            // An idle peer may send nothing; the first data will confirm it.
            Role::CapableInitiator => {}
            _ => {
                subflow.tcb.forget();
                self.on_subflow_closed(at, CloseReason::TimedOut, call.buffers);
            }
        }
    }

    /// Restarts the data-level timer: data was acknowledged, or sent when none was outstanding.
    pub(super) fn restart_check(&mut self, now: Instant) {
        self.sender.check = (!self.sender.is_empty()).then(|| now + self.check_interval());
    }

    pub(super) fn start_check(&mut self, now: Instant) {
        if self.sender.check.is_none() {
            self.restart_check(now);
        }
    }

    fn check_interval(&self) -> Duration {
        let open = self
            .facts
            .iter()
            .zip(&self.subflows)
            .filter(|(_, subflow)| !subflow.gone);
        let longest = open.map(|(facts, _)| facts.rto()).max().unwrap_or_default();
        let doubled = 2_u32.pow(self.sender.checks.min(6));
        (longest * 2).max(SHORTEST_CHECK) * doubled
    }

    /// No data was acknowledged for a long time. If no subflow is about to retransmit the oldest data, a middlebox has
    /// acknowledged it on a subflow without forwarding it (RFC 8684 §3.3.6): it is sent again.
    fn on_check(&mut self, now: Instant) {
        if let Some((start, chunk)) = self.sender.oldest() {
            let subflow = &self.subflows[chunk.path.index()];
            let is_carried = subflow.tcb.data_in_flight().any(|range| range.contains(&start));
            if !is_carried || subflow.is_closed() {
                self.sender.reinject_oldest();
            }
            self.sender.checks += 1;
        }
        self.restart_check(now);
    }

    /// Repeats DATA_FIN on all subflows until it is acknowledged, since subflows do not retransmit it.
    fn repeat_end(&mut self, now: Instant) {
        let interval = self.end_interval();
        let End::Told { again, times, .. } = &mut self.sender.end else {
            return;
        };
        if *again > now {
            return;
        }
        *times += 1;
        *again = now + interval * 2_u32.pow((*times).min(6));
        for subflow in &mut self.subflows {
            subflow.tells_end |= subflow.can_acknowledge();
        }
    }

    /// Upper limit for the time until an answer arrives.
    pub(super) fn end_interval(&self) -> Duration {
        let fastest = self.best_subflow().map(|at| self.facts[at].rto());
        fastest.unwrap_or(SHORTEST_CHECK)
    }

    fn is_over(&self) -> bool {
        self.state == State::Closed
    }

    /// Number of a subflow.
    pub(super) const fn path(at: usize) -> PathId {
        PathId(at as u8)
    }
}

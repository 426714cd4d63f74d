//! Close of subflows, and of the connection when all data is acknowledged or its last subflow is closed.

use anabranch_types::PathId;

use super::MptcpConnection;
use super::input::CallContext;
use super::subflow::{Role, Stage, Subflow};
use crate::connection::{Event, SocketBuffers};
use crate::tcb::{CloseReason, State};
use crate::wire::{MptcpOption, ResetReason};

/// How many times the TIME-WAIT duration subflows may take to close after all data is acknowledged.
const PATIENCE: u32 = 2;

impl MptcpConnection {
    /// The retransmission timer of a subflow expired: reinjects its data on other subflows too.
    pub(super) fn on_subflow_timeout(&mut self, at: usize) {
        let facts = &mut self.facts[at];
        facts.reachability = self.policies.failover.on_error(facts);
        self.reinject_from(at);
    }

    /// Queues the data sent on a subflow for reinjection on another one, if there is any.
    pub(super) fn reinject_from(&mut self, at: usize) {
        let has_other =
            (0..self.subflows.len()).any(|other| other != at && self.subflows[other].can_carry_data());
        if has_other {
            let path = PathId(at as u8);
            for range in self.subflows[at].tcb.data_in_flight() {
                self.sender.reinject(path, range);
            }
        }
    }

    /// The peer has sent FIN on a subflow without DATA_FIN.
    pub(super) fn on_subflow_finished(&mut self, at: usize) {
        let others = self.subflows.iter().enumerate().filter(|(other, _)| *other != at);
        if others.into_iter().any(|(_, subflow)| subflow.can_carry_data()) {
            self.subflows[at].closing = true;
        }
    }

    /// A subflow has closed, and perhaps the connection with it.
    pub(super) fn on_subflow_closed(&mut self, at: usize, reason: CloseReason, buffers: &mut SocketBuffers) {
        let path = PathId(at as u8);
        self.sender.reinject_all_from(path);
        let subflow = &self.subflows[at];
        let was_told = match subflow.role {
            Role::CapableInitiator | Role::CapableResponder | Role::JoinInitiator { .. } => true,
            Role::JoinResponder { .. } => subflow.stage == Stage::Established,
        };
        let is_last = self.subflows.iter().all(Subflow::is_closed);
        if was_told && !is_last {
            buffers.tell(Event::PathClosed(path, reason));
        }
        self.retire(at);
        if is_last {
            let reason = match self.state {
                State::TimeWait => CloseReason::Finished,
                _ => reason,
            };
            self.close(reason, buffers);
        }
    }

    fn close(&mut self, reason: CloseReason, buffers: &mut SocketBuffers) {
        if self.state != State::Closed {
            self.state = State::Closed;
            self.sender.clear();
            buffers.close(reason);
        }
    }

    /// Both DATA_FINs are acknowledged: "all remaining subflows MUST be closed" (RFC 8684 §3.3.3). Subflows that do not answer
    /// are not waited for while others do.
    pub(super) fn finish_if_done(&mut self, call: &mut CallContext<'_>) {
        if self.state != State::TimeWait {
            return;
        }
        self.leave_by
            .get_or_insert(call.now + call.config.time_wait * PATIENCE);
        let resets = |at: usize| self.facts[at].errors == 0;
        let some_answer = (0..self.subflows.len()).any(|at| !self.subflows[at].is_closed() && resets(at));
        for at in 0..self.subflows.len() {
            let is_silent = some_answer && self.facts[at].errors > 0;
            let subflow = &mut self.subflows[at];
            subflow.closing = true;
            if subflow.tcb.state() == State::SynSent {
                subflow.tcb.forget();
            } else if is_silent && !subflow.is_closed() {
                subflow.abort(MptcpOption::Reset {
                    transient: false,
                    reason: ResetReason::BAD_PERFORMANCE,
                });
            }
            self.retire(at);
        }
        if self.subflows.iter().all(Subflow::is_closed) {
            self.close(CloseReason::Finished, call.buffers);
        }
    }

    /// Resets subflows that still retransmit data delivered over other subflows after all data was acknowledged.
    pub(super) fn leave(&mut self, buffers: &mut SocketBuffers) {
        for at in 0..self.subflows.len() {
            let subflow = &mut self.subflows[at];
            if !subflow.is_closed() && subflow.tcb.state() != State::TimeWait {
                subflow.abort(MptcpOption::Reset {
                    transient: false,
                    reason: ResetReason::BAD_PERFORMANCE,
                });
                self.retire(at);
            }
        }
        if self.subflows.iter().all(Subflow::is_closed) {
            self.close(CloseReason::Finished, buffers);
        }
    }

    /// Aborts the connection for the application (MP_FASTCLOSE, RFC 8684 §3.5). Returns whether there was one to abort.
    pub(crate) fn abort(&mut self) -> bool {
        let was_open = self.state != State::Closed;
        self.state = State::Closed;
        self.sender.clear();
        let key = self.handshake.peer;
        for at in 0..self.subflows.len() {
            let why = match key {
                Some(key) => MptcpOption::FastClose { key },
                None => MptcpOption::Reset {
                    transient: false,
                    reason: ResetReason::UNSPECIFIED,
                },
            };
            let subflow = &mut self.subflows[at];
            if subflow.tcb.state() == State::SynSent {
                subflow.tcb.forget();
            } else {
                subflow.abort(why);
            }
            self.retire(at);
        }
        was_open
    }

    /// The peer has aborted the connection.
    pub(super) fn on_fast_close(&mut self, call: &mut CallContext<'_>) {
        self.abort_subflows();
        self.close(CloseReason::Reset, call.buffers);
    }

    fn abort_subflows(&mut self) {
        for at in 0..self.subflows.len() {
            self.subflows[at].abort(MptcpOption::Reset {
                transient: false,
                reason: ResetReason::UNSPECIFIED,
            });
            self.retire(at);
        }
    }
}

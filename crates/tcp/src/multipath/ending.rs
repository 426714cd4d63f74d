//! What ends? Flows one by one, and the connection when its data is through or its last flow is gone.

use anabranch_types::PathId;

use super::Bundle;
use super::input::Scene;
use super::lane::{Lane, Role, Stage};
use crate::connection::{Desk, Event};
use crate::flow::{CloseReason, State};
use crate::wire::{Notice, ResetReason};

/// How many times the length of TIME-WAIT flows may take to end when all data is through.
const PATIENCE: u32 = 2;

impl Bundle {
    /// The retransmission timer of a flow expired: what it carries goes over others too.
    pub(super) fn on_flow_timeout(&mut self, at: usize) {
        let facts = &mut self.facts[at];
        facts.reachability = self.policies.failover.on_error(facts);
        self.move_from(at);
    }

    /// What was sent on a flow shall go over another one, if there is any.
    pub(super) fn move_from(&mut self, at: usize) {
        let has_other = (0..self.lanes.len()).any(|other| other != at && self.lanes[other].carries());
        if has_other {
            let path = PathId(at as u8);
            for range in self.lanes[at].flow.data_in_flight() {
                self.sending.move_away(path, range);
            }
        }
    }

    /// The peer has ended its direction of a flow, and not that of the data.
    pub(super) fn on_flow_finished(&mut self, at: usize) {
        let others = self.lanes.iter().enumerate().filter(|(other, _)| *other != at);
        if others.into_iter().any(|(_, lane)| lane.carries()) {
            self.lanes[at].closing = true;
        }
    }

    /// A flow is over, and perhaps the connection with it.
    pub(super) fn on_flow_closed(&mut self, at: usize, reason: CloseReason, desk: &mut Desk) {
        let path = PathId(at as u8);
        self.sending.move_all_from(path);
        let lane = &self.lanes[at];
        let was_told = match lane.role {
            Role::Opens | Role::Opened | Role::Joins { .. } => true,
            Role::Joined { .. } => lane.stage == Stage::Open,
        };
        let is_last = self.lanes.iter().all(Lane::is_closed);
        if was_told && !is_last {
            desk.tell(Event::PathClosed(path, reason));
        }
        self.retire(at);
        if is_last {
            let reason = match self.state {
                State::TimeWait => CloseReason::Finished,
                _ => reason,
            };
            self.close(reason, desk);
        }
    }

    fn close(&mut self, reason: CloseReason, desk: &mut Desk) {
        if self.state != State::Closed {
            self.state = State::Closed;
            self.sending.clear();
            desk.close(reason);
        }
    }

    /// Both ends have everything: "all remaining subflows MUST be closed" (RFC 8684 §3.3.3). Those that do not answer are
    /// not waited for while others do.
    pub(super) fn finish_if_done(&mut self, scene: &mut Scene<'_>) {
        if self.state != State::TimeWait {
            return;
        }
        self.leave_by
            .get_or_insert(scene.now + scene.config.time_wait * PATIENCE);
        let answers = |at: usize| self.facts[at].errors == 0;
        let some_answer = (0..self.lanes.len()).any(|at| !self.lanes[at].is_closed() && answers(at));
        for at in 0..self.lanes.len() {
            let is_silent = some_answer && self.facts[at].errors > 0;
            let lane = &mut self.lanes[at];
            lane.closing = true;
            if lane.flow.state() == State::SynSent {
                lane.flow.forget();
            } else if is_silent && !lane.is_closed() {
                lane.abort(Notice::Reset {
                    transient: false,
                    reason: ResetReason::BAD_PERFORMANCE,
                });
            }
            self.retire(at);
        }
        if self.lanes.iter().all(Lane::is_closed) {
            self.close(CloseReason::Finished, scene.desk);
        }
    }

    /// All data is through, and flows go on repeating what arrived over others long ago: nobody needs that.
    pub(super) fn leave(&mut self, desk: &mut Desk) {
        for at in 0..self.lanes.len() {
            let lane = &mut self.lanes[at];
            if !lane.is_closed() && lane.flow.state() != State::TimeWait {
                lane.abort(Notice::Reset {
                    transient: false,
                    reason: ResetReason::BAD_PERFORMANCE,
                });
                self.retire(at);
            }
        }
        if self.lanes.iter().all(Lane::is_closed) {
            self.close(CloseReason::Finished, desk);
        }
    }

    /// The application ends the connection at once (MP_FASTCLOSE, RFC 8684 §3.5). Returns whether there was one to end.
    pub(crate) fn abort(&mut self) -> bool {
        let was_open = self.state != State::Closed;
        self.state = State::Closed;
        self.sending.clear();
        let key = self.terms.peer;
        for at in 0..self.lanes.len() {
            let why = match key {
                Some(key) => Notice::FastClose { key },
                None => Notice::Reset {
                    transient: false,
                    reason: ResetReason::UNSPECIFIED,
                },
            };
            let lane = &mut self.lanes[at];
            if lane.flow.state() == State::SynSent {
                lane.flow.forget();
            } else {
                lane.abort(why);
            }
            self.retire(at);
        }
        was_open
    }

    /// The peer has ended the connection at once.
    pub(super) fn on_fast_close(&mut self, scene: &mut Scene<'_>) {
        self.abort_flows();
        self.close(CloseReason::Reset, scene.desk);
    }

    fn abort_flows(&mut self) {
        for at in 0..self.lanes.len() {
            self.lanes[at].abort(Notice::Reset {
                transient: false,
                reason: ResetReason::UNSPECIFIED,
            });
            self.retire(at);
        }
    }
}

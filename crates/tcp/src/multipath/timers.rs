//! When must something happen although nothing arrives?

use core::time::Duration;

use anabranch_types::{Instant, PathId};

use super::Bundle;
use super::input::Scene;
use super::lane::{Lane, Role, Stage};
use super::sending::End;
use crate::TcpConfig;
use crate::connection::Desk;
use crate::flow::{CloseReason, News, State};

/// Flows make good what they lose; whether data is stuck nonetheless is not looked at more often than this.
const SHORTEST_CHECK: Duration = Duration::from_secs(1);

impl Bundle {
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let lanes = self.lanes.iter().filter_map(Lane::deadline);
        let end = match self.sending.end {
            End::Told { again, .. } if !self.is_over() => Some(again),
            _ => None,
        };
        let joins = self
            .joins_from
            .filter(|_| self.addresses.may_wish() && self.may_join());
        let advertisements = self
            .advertisements
            .iter()
            .map(|advertisement| advertisement.again);
        let check = self.sending.check;
        lanes
            .chain(end)
            .chain(check)
            .chain(joins)
            .chain(advertisements)
            .chain(self.leave_by.filter(|_| !self.is_over()))
            .min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant, desk: &mut Desk, config: &TcpConfig) {
        let mut scene = Scene { now, desk, config };
        for at in 0..self.lanes.len() {
            if self.lanes[at].deadline().is_some_and(|due| due <= now) {
                self.on_lane_deadline(at, &mut scene);
            }
        }
        if self.sending.check.take_if(|due| *due <= now).is_some() {
            self.on_check(now);
        }
        if self.leave_by.take_if(|by| *by <= now).is_some() && !self.is_over() {
            self.leave(desk);
        }
        self.repeat_end(now);
        self.repeat_advertisements(now);
    }

    fn on_lane_deadline(&mut self, at: usize, scene: &mut Scene<'_>) {
        self.lanes[at].paused_until.take_if(|until| *until <= scene.now);
        let mut news = News::default();
        let (lane, mut context) = self.split(at, scene.now, scene.config);
        lane.flow.on_deadline(&mut context, &mut news);
        self.act_on(at, news, scene);
        self.repeat_proof(at, scene);
    }

    /// Nothing tells that the third segment of a handshake has arrived: it is said again.
    fn repeat_proof(&mut self, at: usize, scene: &mut Scene<'_>) {
        let rto = self.facts[at].rto;
        let lane = &mut self.lanes[at];
        let Stage::Confirming { again, times, .. } = &mut lane.stage else {
            return;
        };
        if again.is_none_or(|again| again > scene.now) || lane.flow.state() == State::Closed {
            return;
        }
        *times += 1;
        let is_enough = *times > u32::from(scene.config.retries);
        *again = (!is_enough).then(|| scene.now + rto * 2_u32.pow((*times).min(6)));
        match lane.role {
            _ if !is_enough => lane.flow.acknowledge_at_once(scene.now),
            // A peer that has nothing to say may say nothing; the first data will tell.
            Role::Opens => {}
            _ => {
                lane.flow.forget();
                self.on_flow_closed(at, CloseReason::TimedOut, scene.desk);
            }
        }
    }

    /// Something of the data was acknowledged, or sent where nothing was.
    pub(super) fn restart_check(&mut self, now: Instant) {
        self.sending.check = (!self.sending.is_empty()).then(|| now + self.check_interval());
    }

    pub(super) fn start_check(&mut self, now: Instant) {
        if self.sending.check.is_none() {
            self.restart_check(now);
        }
    }

    fn check_interval(&self) -> Duration {
        let open = self.facts.iter().zip(&self.lanes).filter(|(_, lane)| !lane.gone);
        let longest = open.map(|(facts, _)| facts.rto).max().unwrap_or_default();
        let doubled = 2_u32.pow(self.sending.checks.min(6));
        (longest * 2).max(SHORTEST_CHECK) * doubled
    }

    /// Nothing of the data was acknowledged for long. If no flow is about to repeat the oldest of it, somebody has taken
    /// it from a flow and not passed it on (RFC 8684 §3.3.6): then it is sent anew.
    fn on_check(&mut self, now: Instant) {
        if let Some((start, chunk)) = self.sending.oldest() {
            let lane = &self.lanes[chunk.path.index()];
            let is_carried = lane.flow.data_in_flight().any(|range| range.contains(&start));
            if !is_carried || lane.is_closed() {
                self.sending.move_oldest();
            }
            self.sending.checks += 1;
        }
        self.restart_check(now);
    }

    /// Where the data ends is said on all flows until it is acknowledged: it is not part of what flows repeat.
    fn repeat_end(&mut self, now: Instant) {
        let interval = self.end_interval();
        let End::Told { again, times, .. } = &mut self.sending.end else {
            return;
        };
        if *again > now {
            return;
        }
        *times += 1;
        *again = now + interval * 2_u32.pow((*times).min(6));
        for lane in &mut self.lanes {
            lane.tells_end |= lane.speaks();
        }
    }

    /// How long an answer takes at most.
    pub(super) fn end_interval(&self) -> Duration {
        let fastest = self.best_speaker().map(|at| self.facts[at].rto);
        fastest.unwrap_or(SHORTEST_CHECK)
    }

    fn is_over(&self) -> bool {
        self.state == State::Closed
    }

    /// The number of a flow.
    pub(super) const fn path(at: usize) -> PathId {
        PathId(at as u8)
    }
}

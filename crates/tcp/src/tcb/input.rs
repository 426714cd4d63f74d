//! Segment arrival: the steps of RFC 9293 §3.10.7.4, with the checks of RFC 5961.

use alloc::vec::Vec;
use core::ops::Range;
use core::time::Duration;

use anabranch_policy::{AckSample, Arrival, PathAck, SentOnce};
use anabranch_types::{Instant, SendNumber, UnwrappedTsn};

use super::scoreboard::Changes;
use super::{CloseReason, Context, ControlBlock, Effects, State};
use crate::sequence::Position;
use crate::wire::{Kind, Segment};

/// A segment with unwrapped sequence numbers.
struct Placed<'s> {
    segment: &'s Segment<'s>,
    /// Its first position.
    start: Position,
    /// The acknowledged position; `None` if there is no acknowledgement number, or one from before our SYN.
    ack: Option<Position>,
}

impl Placed<'_> {
    fn end(&self) -> Position {
        self.start + u64::from(self.segment.length())
    }
}

/// Verdict on a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// It is processed further.
    Acceptable,
    /// It is dropped and answered by an acknowledgement.
    Answered,
    /// It is dropped and answered with rate limiting, since it may be forged (challenge ACK, RFC 5961 §7).
    Challenged,
    /// It is dropped without an answer.
    Dropped,
}

impl ControlBlock {
    /// Processes a segment of this connection. Returns whether it must be answered by a reset.
    pub(crate) fn on_segment(
        &mut self,
        segment: &Segment<'_>,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) -> bool {
        self.counters.segments_received += 1;
        if self.state == State::SynSent {
            return self.on_answer(segment, context, effects);
        }
        let Some(start) = self.remote.position(segment.sequence, self.reassembly.next()) else {
            return false;
        };
        let ack = segment
            .acknowledgement
            .and_then(|ack| self.local.position(ack, self.scoreboard.first()));
        let placed = Placed { segment, start, ack };
        match self.judge(&placed) {
            Verdict::Acceptable => {
                effects.accepted = true;
                self.take(&placed, context, effects);
            }
            Verdict::Answered => {
                self.note_repetition(&placed);
                self.acks.now(context.now);
            }
            Verdict::Challenged => self.challenge(context.now),
            Verdict::Dropped => {}
        }
        false
    }

    /// A duplicate requires an acknowledgement that echoes its timestamp; otherwise the sender would measure the RTT from the
    /// wrong transmission. A segment far outside the window may be forged.
    fn note_repetition(&mut self, placed: &Placed<'_>) {
        let next = self.reassembly.next();
        let is_near = placed.start <= next && placed.start + self.own_window.capacity() >= next;
        if let Some((timestamp_clock, timestamps)) = self
            .agreed
            .timestamp_clock
            .as_mut()
            .zip(placed.segment.options.timestamps)
            && is_near
        {
            timestamp_clock.note(timestamps, placed.start, next);
        }
    }

    /// Sends a challenge ACK, with rate limiting (RFC 5961 §7).
    fn challenge(&mut self, now: Instant) {
        const INTERVAL: Duration = Duration::from_millis(500);
        if self.challenged_at.is_none_or(|last| now - last >= INTERVAL) {
            self.challenged_at = Some(now);
            self.acks.now(now);
        }
    }

    fn judge(&self, placed: &Placed<'_>) -> Verdict {
        let Placed { segment, start, ack } = *placed;
        let next = self.reassembly.next();
        let limit = self.own_window.edge().max(next);
        let is_reset = segment.kind == Kind::Reset;
        let outdated = match (self.agreed.timestamp_clock, segment.options.timestamps) {
            (Some(timestamp_clock), Some(timestamps)) => timestamp_clock.is_outdated(timestamps),
            _ => false,
        };
        if outdated && !is_reset {
            return Verdict::Answered;
        }
        if is_reset {
            // RFC 5961 §3.2: only a RST with exactly the next number resets; others in the window cause a challenge ACK.
            return match start {
                start if start == next => Verdict::Acceptable,
                start if (next..limit).contains(&start) => Verdict::Challenged,
                _ => Verdict::Dropped,
            };
        }
        if segment.kind == Kind::Syn {
            // A repeated SYN means that our SYN-ACK was lost; any other SYN may be forged (RFC 5961 §4).
            let is_repeated = self.state == State::SynReceived && start == 0;
            return if is_repeated {
                Verdict::Acceptable
            } else {
                Verdict::Challenged
            };
        }
        if placed.end() <= next && segment.length() > 0 || start > limit || placed.end() < next {
            return Verdict::Answered;
        }
        // RFC 5961 §5: an acknowledgement above or far below the valid range may be forged.
        let oldest = self
            .scoreboard
            .first()
            .saturating_sub(self.peer_window.largest().max(1));
        match ack {
            Some(ack) if (oldest..=self.scoreboard.next()).contains(&ack) => Verdict::Acceptable,
            Some(_) => Verdict::Challenged,
            None => Verdict::Dropped,
        }
    }

    fn take(&mut self, placed: &Placed<'_>, context: &mut Context<'_>, effects: &mut Effects) {
        match placed.segment.kind {
            Kind::Reset => {
                let reason = match self.state {
                    State::TimeWait | State::LastAck | State::Closing => CloseReason::Finished,
                    State::SynReceived => CloseReason::Refused,
                    _ => CloseReason::Reset,
                };
                return self.end(reason, effects);
            }
            Kind::Syn => return self.on_repeated_syn(placed, context, effects),
            Kind::Plain | Kind::Fin => {}
        }
        let Some(ack) = placed.ack else { return };
        if self.state == State::SynReceived {
            if ack != 1 && ack < self.scoreboard.first() {
                return;
            }
            self.open(placed.segment, context, effects);
        }
        if let Some((timestamp_clock, timestamps)) = self
            .agreed
            .timestamp_clock
            .as_mut()
            .zip(placed.segment.options.timestamps)
        {
            timestamp_clock.note(timestamps, placed.start, self.reassembly.next());
        }
        self.on_ack(placed, ack, context, effects);
        if self.state != State::Closed {
            self.on_data(placed, context, effects);
        }
    }

    /// Our SYN-ACK was lost; or this is the peer's SYN-ACK in a simultaneous open (RFC 9293 §3.5, figure 7).
    fn on_repeated_syn(&mut self, placed: &Placed<'_>, context: &mut Context<'_>, effects: &mut Effects) {
        if placed.ack == Some(1) {
            self.acks.now(context.now);
            self.open(placed.segment, context, effects);
        } else {
            self.control = Some(super::Control::Syn);
        }
    }

    /// Fifth step: the acknowledgement.
    fn on_ack(
        &mut self,
        placed: &Placed<'_>,
        ack: Position,
        context: &mut Context<'_>,
        effects: &mut Effects,
    ) {
        let segment = placed.segment;
        let window_moved = self.peer_window.update(placed.start, ack, segment.window);
        let blocks = if self.agreed.sack {
            self.blocks(segment, ack)
        } else {
            Vec::new()
        };
        let had_data_out = !self.scoreboard.is_empty();
        let changes = self.scoreboard.acknowledge(ack, &blocks);
        effects.freed += changes.freed;
        let is_duplicate = had_data_out
            && !changes.advanced
            && ack == self.scoreboard.first()
            && segment.length() == 0
            && !window_moved;
        if changes.advanced {
            self.measure(&changes, segment, context.now);
            self.restart_retransmission_timer(context.now);
            self.facts(context).errors = 0;
        } else if self.timers.probe.is_some() {
            // The answer to a window probe: the peer is alive.
            self.timers.tries = 0;
        }
        if changes.newly_acked > 0 {
            self.report(&changes, context);
        }
        if had_data_out {
            self.recover(&changes, is_duplicate, context);
        }
        self.refresh(context);
        if self.fin_is_acked() {
            self.enter(self.state.after_fin_acked(), context, effects);
        }
    }

    /// The valid SACK blocks. A block at or below the acknowledgement number reports a duplicate (RFC 2883), and one that ends
    /// beyond SND.NXT is invalid.
    fn blocks(&self, segment: &Segment<'_>, ack: Position) -> Vec<Range<Position>> {
        let sent = self.scoreboard.first().max(ack)..self.scoreboard.next();
        let blocks = segment.options.sack.iter().filter_map(|block| {
            let start = self.local.position(block.start, self.scoreboard.first())?;
            let end = self.local.position(block.end, self.scoreboard.first())?;
            let is_sound = sent.start < start && start < end && end <= sent.end;
            is_sound.then_some(start..end)
        });
        blocks.collect()
    }

    fn measure(&mut self, changes: &Changes, segment: &Segment<'_>, now: Instant) {
        // Timestamps give valid RTT samples for retransmitted segments too (RFC 7323 §4).
        let echoed = || {
            let timestamp_clock = self.agreed.timestamp_clock?;
            timestamp_clock.sent_at(segment.options.timestamps?, now)
        };
        if let Some(sent_at) = changes.sample.or_else(echoed) {
            self.rtt.on_sample(sent_at, now);
        }
    }

    /// Reports the acknowledged data to the policies.
    fn report(&self, changes: &Changes, context: &mut Context<'_>) {
        self.refresh_srtt(context);
        let mut ack = PathAck::new(self.id, changes.in_flight_before);
        ack.newly_acked = changes.newly_acked;
        ack.newly_acked_chunks = changes.segments;
        ack.cumulative_advanced = changes.advanced;
        ack.pseudo_cumulative_advanced = changes.advanced;
        ack.latest_sent_at = changes.latest_sent_at;
        ack.latest_send_number = Some(SendNumber(changes.latest_order));
        if context.policies.congestion.may_measure_rates() {
            ack.rtt_sample = changes.sample.map(|sent_at| SentOnce {
                sent_at,
                tsn: UnwrappedTsn(self.scoreboard.first()),
            });
            ack.sent_once_chunks = u32::from(changes.sample.is_some());
            ack.earliest_sent_once = changes.sample;
        }
        ack.in_order_since = changes.in_order_since;
        let sample = AckSample {
            cumulative: UnwrappedTsn(self.scoreboard.first()),
            cumulative_advanced: changes.advanced,
            arrived_on: self.id,
            packet_count: None,
            paths: core::slice::from_ref(&ack),
        };
        context
            .policies
            .path_scheduler
            .on_ack(&sample, context.facts, context.now);
        context
            .policies
            .congestion
            .on_ack(&sample, context.facts, context.now);
    }

    /// The policies see the RTT sample of this acknowledgement, and the window before it.
    fn refresh_srtt(&self, context: &mut Context<'_>) {
        self.facts(context).rtt.clone_from(&self.rtt);
    }

    fn fin_is_acked(&self) -> bool {
        let fin_sent = matches!(self.state, State::FinWait1 | State::Closing | State::LastAck);
        fin_sent && self.scoreboard.is_empty()
    }

    /// Seventh and eighth step: data, and the FIN after it.
    fn on_data(&mut self, placed: &Placed<'_>, context: &mut Context<'_>, effects: &mut Effects) {
        let segment = placed.segment;
        if segment.length() == 0 {
            return;
        }
        if !self.state.takes_data() {
            // The peer sends nothing new after its FIN: our acknowledgement of the FIN was lost.
            self.acks.now(context.now);
            if self.state == State::TimeWait {
                self.enter(State::TimeWait, context, effects);
            }
            return;
        }
        if segment.kind == Kind::Fin {
            self.peer_fin.get_or_insert_with(|| placed.end() - 1);
        }
        let limit = self.own_window.edge().max(self.reassembly.next());
        let fitting = (limit.saturating_sub(placed.start)).min(segment.payload.len() as u64) as usize;
        let arrived = self
            .reassembly
            .insert(placed.start, &segment.payload[..fitting], &mut effects.ready);
        let duplicate = segment.payload.len() as u64 - arrived.new;
        self.counters.bytes_received += segment.payload.len() as u64;
        self.counters.duplicate_bytes += duplicate;
        self.schedule_ack(placed, arrived.new == 0, arrived.gaps_changed, context);
        if self.peer_fin == Some(self.reassembly.next()) {
            self.reassembly
                .insert(self.reassembly.next(), &[0], &mut Vec::new());
            self.acks.now(context.now);
            effects.peer_finished = true;
            self.enter(self.state.after_peer_fin(), context, effects);
        }
    }

    fn schedule_ack(
        &mut self,
        placed: &Placed<'_>,
        duplicate: bool,
        gaps_changed: bool,
        context: &mut Context<'_>,
    ) {
        let arrival = Arrival {
            path: self.id,
            first: placed.start == 1,
            duplicate,
            lowest_missing: self
                .reassembly
                .has_gaps()
                .then(|| UnwrappedTsn(self.reassembly.next())),
            highest_new: (!duplicate).then(|| UnwrappedTsn(placed.end() - 1)),
            gaps_changed,
            immediate: false,
            packets_since_sack: self.acks.segments(),
        };
        self.acks
            .on_data(arrival, &mut *context.policies.ack, context.now);
    }
}

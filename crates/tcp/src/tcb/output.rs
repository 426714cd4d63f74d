//! Segment transmission of a control block, in this order: SYN, retransmissions, new data, FIN, acknowledgement.

use anabranch_policy::PathFacts;
use anabranch_types::Instant;
use bytes::Bytes;

use super::sent_segment::{Payload, SentSegment};
use super::{Context, Control, ControlBlock, State};
use crate::sequence::Position;
use crate::wire::{Kind, Options, SackBlock, SackBlocks, Segment};

/// A segment to be sent, before it has addresses and options.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutgoingSegment {
    /// Its first sequence number.
    start: Position,
    kind: Kind,
    bytes: Bytes,
    /// As [`SentSegment::data`].
    data: Option<Position>,
    push: bool,
}

/// Send queue state, as far as a control block needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// Bytes not yet sent.
    pub(crate) unsent: u64,
    /// Bytes of these that the peer's window allows now.
    pub(crate) usable: u64,
    /// The largest window the peer has offered.
    pub(crate) largest_window: u64,
    /// Nothing is in flight.
    pub(crate) idle: bool,
    /// The last bytes need not wait for more data or for acknowledgements.
    pub(crate) flushes: bool,
}

impl Demand {
    /// Whether the waiting data, or the part the peer accepts, would fill the congestion window; if not, the connection is not
    /// limited by its congestion window, which must not grow (RFC 9002 §7.8 says so of pacing).
    pub(crate) fn would_fill(&self, facts: &PathFacts) -> bool {
        let waits = self.unsent.min(self.usable);
        facts.in_flight + waits + u64::from(facts.max_data_chunk) > facts.cwnd
    }
}

/// Fields and options of a segment other than the control block's own sequence numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderFields {
    pub(crate) window: u16,
    pub(crate) options: Options,
}

impl OutgoingSegment {
    fn of(record: &SentSegment) -> Self {
        Self {
            start: record.start,
            kind: if record.fin { Kind::Fin } else { Kind::Plain },
            bytes: record.bytes.clone(),
            data: record.data,
            push: false,
        }
    }

    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) const fn start(&self) -> Position {
        self.start
    }

    pub(crate) const fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    pub(crate) const fn data(&self) -> Option<Position> {
        self.data
    }
}

impl ControlBlock {
    /// The pending SYN or window probe, or a lost segment that may be retransmitted.
    pub(crate) fn next_control(&mut self, context: &mut Context<'_>) -> Option<OutgoingSegment> {
        match self.control.take() {
            Some(Control::Syn) => {
                self.on_syn_sent(context.now, context.config);
                return Some(OutgoingSegment {
                    kind: Kind::Syn,
                    ..OutgoingSegment::default()
                });
            }
            // An acknowledged sequence number: the peer "MUST send" an acknowledgement for it (RFC 9293 §3.10.7.4).
            Some(Control::WindowProbe) => {
                return Some(OutgoingSegment {
                    start: self.scoreboard.first() - 1,
                    ..OutgoingSegment::default()
                });
            }
            None => {}
        }
        self.next_retransmission(context)
    }

    fn next_retransmission(&mut self, context: &mut Context<'_>) -> Option<OutgoingSegment> {
        let length = self.scoreboard.next_lost()?.length();
        let fits = self.in_flight() + length <= context.facts[self.id.index()].cwnd;
        if !fits && !self.recovery.is_urgent() && self.in_flight() > 0 {
            return None;
        }
        if self.is_paced(context) && !self.recovery.is_urgent() {
            return None;
        }
        let repeated = OutgoingSegment::of(self.scoreboard.repeat_lost(context.now)?);
        self.recovery.on_retransmission();
        self.on_repeated(&repeated, context);
        Some(repeated)
    }

    /// RFC 6675's rescue retransmission: no new data is left during a recovery, so the last segment is sent again, in case the
    /// retransmission with nothing sent after it was lost (RFC 6675 §4, rule 4).
    pub(crate) fn next_rescue(&mut self, context: &mut Context<'_>) -> Option<OutgoingSegment> {
        let fits = self.in_flight() + self.effective_mss() <= context.facts[self.id.index()].cwnd;
        if !self.recovery.may_rescue() || !fits || !self.agreed.sack {
            return None;
        }
        self.recovery.on_rescue();
        let repeated = OutgoingSegment::of(self.scoreboard.repeat_last(context.now)?);
        self.on_repeated(&repeated, context);
        Some(repeated)
    }

    fn on_repeated(&mut self, repeated: &OutgoingSegment, context: &mut Context<'_>) {
        self.counters.retransmissions += 1;
        self.counters.bytes_retransmitted += repeated.bytes.len() as u64;
        self.count_as_paced(repeated.bytes.len() as u64, context);
        self.on_data_left(context);
    }

    fn on_data_left(&mut self, context: &mut Context<'_>) {
        self.last_sent = Some(context.now);
        self.start_retransmission_timer(context.now);
        self.tell_sent(context);
        self.refresh(context);
    }

    /// Number of new bytes that may be sent in one segment now; 0 if it is better to wait (RFC 9293 §3.8.6.2.1 and §3.7.4).
    pub(crate) fn sendable(&self, demand: &Demand, context: &mut Context<'_>) -> u64 {
        if !self.state.sends_data() || demand.unsent == 0 {
            return 0;
        }
        if context.policies.limit_window(&context.facts[self.id.index()]) {
            self.refresh(context);
        }
        let segment = self.effective_mss();
        let length = segment
            .min(demand.unsent)
            .min(demand.usable)
            .min(self.span_left());
        let window = context.facts[self.id.index()].cwnd;
        let in_flight = self.in_flight();
        if length == 0 || in_flight > 0 && in_flight + length > window {
            return 0;
        }
        let is_last = length == demand.unsent && (demand.idle || demand.flushes);
        let is_half_of_the_window = length >= demand.largest_window / 2;
        if length == segment || is_last || is_half_of_the_window || demand.idle && self.timers.forced {
            length
        } else {
            0
        }
    }

    /// Sequence numbers for which the peer has room beyond the outstanding ones. A window shared by subflows limits the data. It
    /// advances when other subflows retransmit data that this subflow still waits for, so the subflow's sequence numbers need
    /// their own limit; otherwise the peer would have to buffer any amount of out-of-order data.
    pub(crate) fn span_left(&self) -> u64 {
        let limit = self.scoreboard.first() + self.peer_window.largest();
        match self.shares_window() {
            true => limit.saturating_sub(self.scoreboard.next()),
            false => u64::MAX,
        }
    }

    /// Whether data is waiting and nothing is outstanding that would be acknowledged.
    pub(crate) fn is_idle(&self) -> bool {
        self.scoreboard.is_empty() && self.state.sends_data()
    }

    /// The peer's window for this control block alone: now, and the largest so far.
    pub(crate) fn peer_window(&self) -> (u64, u64) {
        let usable = self.peer_window.edge().saturating_sub(self.scoreboard.next());
        (usable, self.peer_window.largest())
    }

    /// Sends new bytes, the FIN, or both.
    pub(crate) fn send_new(
        &mut self,
        payload: Payload,
        push: bool,
        context: &mut Context<'_>,
    ) -> OutgoingSegment {
        self.decay(context);
        self.counters.bytes_sent += payload.bytes.len() as u64;
        if payload.fin {
            self.state = self.state.after_fin_sent();
        }
        let mut outgoing = OutgoingSegment::of(self.scoreboard.push(payload, context.now));
        outgoing.push = push;
        self.stop_waiting_for_window();
        self.on_data_left(context);
        outgoing
    }

    /// Sends the FIN if there is no data left to carry it.
    pub(crate) fn next_fin(&mut self, context: &mut Context<'_>) -> Option<OutgoingSegment> {
        if !self.state.sends_data() {
            return None;
        }
        let payload = Payload {
            fin: true,
            ..Payload::default()
        };
        self.state = self.state.after_fin_sent();
        let outgoing = OutgoingSegment::of(self.scoreboard.push(payload, context.now));
        self.on_data_left(context);
        Some(outgoing)
    }

    /// After an idle period the congestion controller sets the window (RFC 5681 §4.1).
    fn decay(&self, context: &mut Context<'_>) {
        if let Some(last) = self.last_sent
            && self.scoreboard.is_empty()
        {
            let facts = context.facts[self.id.index()].clone();
            context.policies.congestion.on_idle(&facts, context.now - last);
        }
    }

    /// Whether a window update is worth a segment; `unread` bytes wait for the application.
    pub(crate) fn has_window_to_tell(&self, unread: u64) -> bool {
        let next = self.reassembly.next();
        self.state.takes_data()
            && self
                .own_window
                .is_worth_telling(next, unread, self.effective_mss())
    }

    /// A pure ACK, if one is due or an option has to be sent.
    pub(crate) fn next_ack(&self, tells: bool, now: Instant) -> Option<OutgoingSegment> {
        let opened = self.state.is_synchronized();
        (opened && (tells || self.acks.is_due(now))).then(|| OutgoingSegment {
            start: self.scoreboard.next(),
            ..OutgoingSegment::default()
        })
    }

    /// A RST that tells the peer the connection is gone.
    pub(crate) const fn reset_segment(&self) -> OutgoingSegment {
        OutgoingSegment {
            start: self.scoreboard.next(),
            kind: Kind::Reset,
            bytes: Bytes::new(),
            data: None,
            push: false,
        }
    }

    /// Window field of a segment sent now, recorded as advertised; `unread` bytes wait for the application.
    pub(crate) fn own_field(&mut self, kind: Kind, unread: u64) -> u16 {
        if kind == Kind::Syn {
            return self.own_window.initial_field();
        }
        let (next, segment) = (self.reassembly.next(), self.effective_mss());
        self.own_window.field(next, unread, segment)
    }

    /// Fills in sequence numbers and options of a segment, and records what they advertise.
    pub(crate) fn address<'o>(
        &mut self,
        outgoing: &'o OutgoingSegment,
        header_fields: HeaderFields,
        now: Instant,
        config: &crate::TcpConfig,
    ) -> Segment<'o> {
        self.counters.segments_sent += 1;
        let mut segment = Segment {
            sequence: self.local.wire(outgoing.start),
            kind: outgoing.kind,
            push: outgoing.push,
            payload: &outgoing.bytes,
            window: header_fields.window,
            options: header_fields.options,
            ..Segment::default()
        };
        if self.state != State::SynSent {
            segment.acknowledgement = Some(self.remote.wire(self.reassembly.next()));
        }
        if outgoing.kind == Kind::Syn {
            self.add_syn_options(&mut segment.options, now, config);
            return segment;
        }
        segment.options.timestamps = self
            .agreed
            .timestamp_clock
            .map(|timestamp_clock| timestamp_clock.now(now));
        let complete = self.report_blocks(&mut segment);
        if complete {
            self.acks.on_sent();
        }
        segment
    }

    /// Adds SACK blocks as far as the packet has room. Returns whether some fit or there was nothing to report: then no further
    /// acknowledgement is due.
    fn report_blocks(&self, segment: &mut Segment<'_>) -> bool {
        if !self.agreed.sack || !self.reassembly.has_gaps() {
            return true;
        }
        let taken = segment.options.len() + segment.payload.len();
        let free = usize::from(self.agreed.mss).saturating_sub(taken);
        let most = SackBlocks::fitting(segment.options.room().min(free));
        let blocks = self.reassembly.blocks().take(most).map(|block| SackBlock {
            start: self.remote.wire(block.start),
            end: self.remote.wire(block.end),
        });
        segment.options.sack = blocks.collect();
        most > 0
    }
}

//! What does a flow want to send now? A SYN, what was lost, what is new, the FIN, an acknowledgement: in this order.

use anabranch_policy::Backlog;
use anabranch_types::Instant;
use bytes::Bytes;

use super::record::Record;
use super::{Context, Control, Flow, State};
use crate::buffer::SendBuffer;
use crate::sequence::Position;
use crate::wire::{Kind, Options, SackBlock, SackBlocks, Segment};

/// A segment that is to leave, before it has addresses and options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outgoing {
    /// Its first number.
    start: Position,
    kind: Kind,
    bytes: Bytes,
    push: bool,
}

/// What the connection has for its flows.
pub(crate) struct Supply<'a> {
    pub(crate) buffer: &'a mut SendBuffer,
    /// The application has handed over everything.
    pub(crate) closing: bool,
}

impl Outgoing {
    fn of(record: &Record) -> Self {
        Self {
            start: record.start,
            kind: if record.fin { Kind::Fin } else { Kind::Plain },
            bytes: record.bytes.clone(),
            push: false,
        }
    }
}

impl Flow {
    /// The SYN or the probe that is to leave, or a lost segment that may.
    pub(crate) fn next_control(&mut self, context: &mut Context<'_>) -> Option<Outgoing> {
        match self.control.take() {
            Some(Control::Syn) => {
                self.on_syn_sent(context.now, context.config);
                return Some(Outgoing {
                    kind: Kind::Syn,
                    ..Outgoing::default()
                });
            }
            // A number that is acknowledged already: the peer "MUST send" an acknowledgement for it (RFC 9293 §3.10.7.4).
            Some(Control::WindowProbe) => {
                return Some(Outgoing {
                    start: self.board.first() - 1,
                    ..Outgoing::default()
                });
            }
            None => {}
        }
        self.next_retransmission(context)
    }

    fn next_retransmission(&mut self, context: &mut Context<'_>) -> Option<Outgoing> {
        let length = self.board.next_lost()?.length();
        let fits = self.in_flight() + length <= context.facts[self.id.index()].window;
        if !fits && !self.recovery.is_urgent() && self.in_flight() > 0 {
            return None;
        }
        let repeated = Outgoing::of(self.board.repeat_lost(context.now)?);
        self.recovery.on_retransmission();
        self.on_repeated(&repeated, context);
        Some(repeated)
    }

    /// Nothing new is left to send, and a recovery is under way: the last segment is sent once more, in case the
    /// retransmission was lost behind which nothing comes (RFC 6675 §4, rule 4).
    pub(crate) fn next_rescue(&mut self, supply: &Supply<'_>, context: &mut Context<'_>) -> Option<Outgoing> {
        let fits = self.in_flight() + self.segment_size() <= context.facts[self.id.index()].window;
        if supply.buffer.unsent() > 0 || !self.recovery.may_rescue() || !fits || !self.agreed.sack {
            return None;
        }
        self.recovery.on_rescue();
        let repeated = Outgoing::of(self.board.repeat_last(context.now)?);
        self.on_repeated(&repeated, context);
        Some(repeated)
    }

    fn on_repeated(&mut self, repeated: &Outgoing, context: &mut Context<'_>) {
        self.counters.retransmissions += 1;
        self.counters.bytes_retransmitted += repeated.bytes.len() as u64;
        self.on_data_left(context);
    }

    fn on_data_left(&mut self, context: &mut Context<'_>) {
        self.last_sent = Some(context.now);
        self.start_retransmission_timer(context.now);
        self.refresh(context);
    }

    /// How many new bytes may leave in one segment now; 0 if it is better to wait (RFC 9293 §3.8.6.2.1 and §3.7.4).
    pub(crate) fn sendable(&self, supply: &Supply<'_>, context: &Context<'_>) -> u64 {
        let unsent = supply.buffer.unsent();
        if !self.state.sends_data() || unsent == 0 {
            return 0;
        }
        let segment = self.segment_size();
        let usable = self.peer_window.edge().saturating_sub(self.board.next());
        let length = segment.min(unsent).min(usable);
        let window = context.facts[self.id.index()].window;
        let in_flight = self.in_flight();
        if length == 0 || in_flight > 0 && in_flight + length > window {
            return 0;
        }
        let idle = self.board.is_empty();
        let is_last = length == unsent && (idle || supply.closing || !context.config.nagle);
        let is_half_of_the_window = length >= self.peer_window.largest() / 2;
        if length == segment || is_last || is_half_of_the_window || idle && self.timers.forced {
            length
        } else {
            0
        }
    }

    /// Something may wait that neither an acknowledgement nor a timeout would let go: then the peer is asked for its window
    /// when it has been silent for long enough.
    pub(crate) fn on_nothing_sendable(&mut self, supply: &Supply<'_>, now: Instant) {
        if supply.buffer.unsent() > 0 && self.board.is_empty() && self.state.sends_data() {
            self.wait_for_window(now);
        }
    }

    /// What waits, for the scheduler.
    pub(crate) fn backlog(&self, supply: &Supply<'_>) -> Backlog {
        Backlog {
            unsent_bytes: supply.buffer.unsent(),
            peer_window: self.peer_window.edge().saturating_sub(self.board.next()),
            send_window: supply.buffer.capacity().min(self.peer_window.largest()),
            bound: None,
        }
    }

    /// New bytes leave, and the FIN with them if they are the last.
    pub(crate) fn send_new(
        &mut self,
        length: u64,
        supply: &mut Supply<'_>,
        context: &mut Context<'_>,
    ) -> Outgoing {
        self.decay(context);
        let bytes = supply.buffer.take(length);
        let is_last = supply.buffer.unsent() == 0;
        let fin = is_last && supply.closing;
        self.counters.bytes_sent += bytes.len() as u64;
        let mut outgoing = Outgoing::of(self.board.push(bytes, fin, context.now));
        outgoing.push = is_last;
        if fin {
            self.state = self.state.after_fin_sent();
        }
        self.stop_waiting_for_window();
        self.on_data_left(context);
        outgoing
    }

    /// The FIN, where no data is left to carry it.
    pub(crate) fn next_fin(&mut self, supply: &Supply<'_>, context: &mut Context<'_>) -> Option<Outgoing> {
        if !supply.closing || !self.state.sends_data() || supply.buffer.unsent() > 0 {
            return None;
        }
        let outgoing = Outgoing::of(self.board.push(Bytes::new(), true, context.now));
        self.state = self.state.after_fin_sent();
        self.on_data_left(context);
        Some(outgoing)
    }

    /// After idleness the window is what the controller makes of it (RFC 5681 §4.1).
    fn decay(&self, context: &mut Context<'_>) {
        if let Some(last) = self.last_sent
            && self.board.is_empty()
        {
            let facts = context.facts[self.id.index()].clone();
            context.policies.congestion.on_idle(&facts, context.now - last);
        }
    }

    /// An acknowledgement of its own, if one is due.
    pub(crate) fn next_ack(&self, unread: u64, now: Instant) -> Option<Outgoing> {
        let opened = self.state.is_synchronized();
        let tells = opened
            && self.state.takes_data()
            && self
                .own_window
                .is_worth_telling(self.inbound.next(), unread, self.segment_size());
        (opened && (tells || self.acks.is_due(now))).then(|| Outgoing {
            start: self.board.next(),
            ..Outgoing::default()
        })
    }

    /// Tells the peer that the connection is no more (RST).
    pub(crate) const fn last_word(&self) -> Outgoing {
        Outgoing {
            start: self.board.next(),
            kind: Kind::Reset,
            bytes: Bytes::new(),
            push: false,
        }
    }

    /// Gives a segment its numbers, window and options, and counts what it says as said.
    pub(crate) fn address<'o>(
        &mut self,
        outgoing: &'o Outgoing,
        unread: u64,
        now: Instant,
        config: &crate::TcpConfig,
    ) -> Segment<'o> {
        self.counters.segments_sent += 1;
        let mut segment = Segment {
            sequence: self.local.wire(outgoing.start),
            kind: outgoing.kind,
            push: outgoing.push,
            payload: &outgoing.bytes,
            ..Segment::default()
        };
        if self.state != State::SynSent {
            segment.acknowledgement = Some(self.remote.wire(self.inbound.next()));
        }
        if outgoing.kind == Kind::Syn {
            segment.options = self.syn_options(now, config);
            segment.window = self.own_window.initial_field();
            return segment;
        }
        segment.window = self
            .own_window
            .field(self.inbound.next(), unread, self.segment_size());
        segment.options = Options {
            timestamps: self.agreed.clocks.map(|clocks| clocks.now(now)),
            ..Options::default()
        };
        let complete = self.report_blocks(&mut segment);
        if complete {
            self.acks.on_sent();
        }
        segment
    }

    /// Adds SACK blocks as far as the packet has room for them. Returns whether there was room for some, or nothing to
    /// report: then no further acknowledgement is due.
    fn report_blocks(&self, segment: &mut Segment<'_>) -> bool {
        if !self.agreed.sack || !self.inbound.has_gaps() {
            return true;
        }
        let free = self.segment_size() as usize - segment.payload.len();
        let most = SackBlocks::fitting(segment.options.room().min(free));
        let blocks = self.inbound.blocks().take(most).map(|block| SackBlock {
            start: self.remote.wire(block.start),
            end: self.remote.wire(block.end),
        });
        segment.options.sack = blocks.collect();
        most > 0
    }
}

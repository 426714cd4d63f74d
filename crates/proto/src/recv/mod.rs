//! Receiver of user data. How do DATA chunks become messages, and how are they acknowledged?
//!
//! A chunk passes four steps, each in its own file: is its TSN new ([`tracker`]), is there room for it ([`window`]), does it agree
//! with its neighbours ([`reassembly`]), which messages are deliverable now ([`delivery`])? After the last chunk of a packet
//! [`ack_schedule`] decides when a SACK is sent, and [`sack`] writes it. The receiver never reneges.

mod ack_schedule;
mod arrivals;
mod delivery;
mod forward;
mod parts;
mod reassembly;
mod recent;
mod reconfig;
mod sack;
mod tracker;
mod window;

use alloc::boxed::Box;
use core::mem;

use anabranch_policy::buffer_size::{ReceiveFacts, ReceiveSizing};
use anabranch_policy::catalog::NrSackChoice;
use anabranch_policy::{AckPolicy, BufferSize, PathFacts, SizeRange};
use anabranch_types::{Instant, IntervalSet, PathId, Tsn, UnwrappedTsn};
use anabranch_wire::PacketBuilder;

use self::ack_schedule::AckSchedule;
pub(crate) use self::ack_schedule::SackWanted;
use self::arrivals::{Arrivals, Turn};
use self::delivery::Delivery;
pub(crate) use self::forward::Skips;
pub(crate) use self::parts::Parts;
use self::reassembly::{Limits, Reassembly, Verdict};
use self::sack::SackWriter;
pub(crate) use self::sack::{NonRenegable, SackForm};
use self::tracker::{NewTsn, Position, Sighting, Tracker};
use self::window::Window;
use crate::message::ReceivedMessage;
use crate::on_demand::OnDemand;
use crate::user_data::UserData;
use crate::violation::Violation;

/// The buffer is full of data that cannot be delivered before more arrives: fragments of too many messages (RFC 8260 leaves it to
/// the sender to avoid that), fragments so small that their overhead fills the memory, or messages that wait for a missing sequence
/// number.
const TOO_MUCH_BEGUN: Violation = Violation::Protocol("messages begun exceed the receive buffer");

/// Configuration of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReceiverConfig {
    /// The peer's initial TSN.
    pub(crate) initial_tsn: Tsn,
    /// Receive buffer in bytes of user data; there is always room for one message that is delivered whole.
    pub(crate) buffer: u64,
    /// Maximum message length in bytes.
    pub(crate) max_message: usize,
    /// Length in bytes above which a message is delivered in parts: the partial delivery point.
    pub(crate) whole: usize,
    /// Number of inbound streams.
    pub(crate) inbound_streams: u16,
    /// Whether data arrives in I-DATA chunks instead of DATA chunks (RFC 8260 §2.2.1).
    pub(crate) interleaving: bool,
}

/// Result of handling a DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DataOutcome {
    /// New and accepted.
    Accepted,
    /// Received before.
    Duplicate,
    /// Dropped and not acknowledged, so the peer has to retransmit it.
    NoRoom,
    /// Acknowledged and its payload discarded; an ERROR is sent (RFC 9260 §6.5).
    InvalidStream,
}

/// Counters since the start of the association.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ReceiveStatistics {
    /// Duplicate DATA chunks.
    pub(crate) duplicates: u64,
    /// DATA chunks dropped for lack of room.
    pub(crate) dropped: u64,
}

/// The receiving half of an association. Allocates nothing before the first DATA chunk.
#[derive(Debug)]
pub(crate) struct Receiver {
    tracker: Tracker,
    window: Window,
    reassembly: Reassembly,
    delivery: Delivery,
    schedule: AckSchedule,
    sack: OnDemand<SackWriter>,
    statistics: ReceiveStatistics,
    /// Present if NR-SACKs list only readable TSNs as non-renegable.
    arrivals: Option<Box<Arrivals>>,
    /// Present if the buffer sizes itself and data has arrived.
    sizing: Option<Box<ReceiveSizing>>,
}

impl Receiver {
    pub(crate) fn new(config: ReceiverConfig) -> Self {
        Self {
            tracker: Tracker::new(config.initial_tsn, config.buffer),
            window: Window::new(config.buffer, config.whole),
            reassembly: Reassembly::new(&config),
            delivery: Delivery::default(),
            schedule: AckSchedule::new(),
            sack: OnDemand::default(),
            statistics: ReceiveStatistics::default(),
            arrivals: None,
            sizing: None,
        }
    }

    /// Configures which TSNs are reported as non-renegable.
    pub(crate) fn with_nr_sack(self, nr_sack: NrSackChoice) -> Self {
        let asks = matches!(nr_sack, NrSackChoice::Delivered(_));
        Self {
            arrivals: asks.then(|| Box::new(Arrivals::above(self.tracker.cumulative()))),
            ..self
        }
    }

    /// Creates the receiver of the new association after a restart of the peer. It keeps complete messages that the application has
    /// not received yet, because they were acknowledged before the restart.
    pub(crate) fn restart(&mut self, config: ReceiverConfig) -> Self {
        let mut restarted = Self::new(config);
        self.reassembly.clear(&mut self.window, &mut self.delivery);
        restarted.delivery = mem::take(&mut self.delivery);
        for length in restarted.delivery.lengths() {
            restarted.window.hold(length);
        }
        restarted.window.set_unread(!restarted.delivery.is_empty());
        let above = || Box::new(Arrivals::above(restarted.tracker.cumulative()));
        restarted.arrivals = self.arrivals.is_some().then(above);
        restarted
    }

    /// Sets the size of the buffer to `buffer` bytes, the maximum message length to `longest`, and the length above which a message
    /// is delivered in parts to `whole`. A larger window is advertised at once.
    pub(crate) fn resize(&mut self, buffer: u64, longest: usize, whole: usize) {
        let before = self.window.offer();
        self.tracker.resize(buffer);
        self.window.resize(buffer, whole);
        self.reassembly.allow(Limits { longest, whole });
        if self.window.offer() > before {
            self.schedule.force();
        }
    }

    /// Sizes the buffer after a packet with data, which arrived over one of `paths`. The next SACK advertises what it grows.
    pub(crate) fn size_for(&mut self, range: &SizeRange, paths: &[PathFacts], now: Instant) {
        let (readable, unread) = self.delivery.readable_and_unread();
        let facts = ReceiveFacts {
            readable,
            unread,
            size: self.window.size(),
            scarce: self.window.is_scarce(),
        };
        let sizing = self.sizing.get_or_insert_default();
        let size = sizing.on_packet(range, &facts, paths, now);
        if size > facts.size {
            self.tracker.resize(size);
            self.window.grow(size);
        }
    }

    /// The size of the buffer if it is configured so: one that sizes itself stays as it is.
    pub(crate) fn size_for_config(&self, buffer: BufferSize) -> u64 {
        buffer.initial().max(if buffer.range().is_some() {
            self.window.size()
        } else {
            0
        })
    }

    /// Whether so much has arrived that the size of the window may matter.
    pub(crate) const fn fills_its_window(&self) -> bool {
        self.window.arrived() >= self.window.size() / 8
    }

    /// Size of the buffer now, in bytes of user data.
    pub(crate) const fn size(&self) -> u64 {
        self.window.size()
    }

    /// Sets the memory that the endpoint grants for received data, in bytes, and whether it lacks memory for larger buffers.
    pub(crate) const fn grant(&mut self, memory: u64, scarce: bool) {
        self.window.grant(memory, scarce);
    }

    /// Memory of the received data, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.window.memory()
    }

    /// Releases memory that the next SACK would reuse, and what sizes the buffer if no data has arrived for some time.
    pub(crate) fn release_memory(&mut self, now: Instant) {
        self.sack.release_if_idle();
        self.tracker.release_memory();
        if self.sizing.as_ref().is_some_and(|sizing| sizing.is_idle(now)) {
            self.sizing = None;
        }
        // It counts on from what the queue has counted.
        if self.sizing.is_none() {
            self.delivery.release_memory();
        }
    }

    /// Frees what cannot be delivered any more, because the association has ended. Complete messages whose turn has come stay.
    pub(crate) fn free_undeliverable(&mut self) {
        self.reassembly.clear(&mut self.window, &mut self.delivery);
        self.tracker = Tracker::new(self.tracker.cumulative().next().wrap(), 0);
        self.arrivals = None;
        self.sack = OnDemand::default();
        self.window.keep_only(self.delivery.lengths());
        self.window.set_unread(!self.delivery.is_empty());
    }

    /// Handles a chunk of user data. [`Receiver::packet_done`] follows after the last chunk of a packet.
    ///
    /// # Errors
    /// Protocol violations: a chunk without user data or of the other type, an impossible sequence of fragments, a repeated sequence
    /// number, a message above the size limit. The association must end, and the receiver must not be used again.
    pub(crate) fn on_user_data(&mut self, data: &UserData<'_>) -> Result<DataOutcome, Violation> {
        self.reassembly.check_kind(data)?;
        let payload = data.payload();
        //= rfc9260 6.2-33
        if payload.is_empty() {
            return Err(Violation::NoUserData(data.tsn()));
        }
        self.schedule.on_immediate(data.flags().immediate);
        let NewTsn { tsn, position } = match self.tracker.look(data.tsn()) {
            Sighting::New(new) => new,
            Sighting::Duplicate => return Ok(self.note_duplicate(data.tsn())),
            Sighting::OutOfReach => return Ok(self.drop_chunk()),
        };
        if !self.window.has_room(payload.len(), position) {
            if !self.is_stuck_without(tsn) {
                return Ok(self.drop_chunk());
            }
            if !self.opens_the_window(data, tsn) {
                self.begin_partial();
                if self.readable() {
                    // The application makes room, and the peer retransmits the chunk.
                    return Ok(self.drop_chunk());
                }
                // The endpoint may have memory again later, whatever becomes of this association.
                if self.window.exceeds_grant() {
                    return Ok(self.drop_chunk());
                }
                return Err(TOO_MUCH_BEGUN);
            }
        }
        match self.reassembly.judge(data, tsn, &self.tracker)? {
            Verdict::NotYet => Ok(self.drop_chunk()),
            Verdict::Skipped => {
                self.acknowledge(tsn, payload.len());
                Ok(DataOutcome::Accepted)
            }
            //= rfc9260 6.5-2
            Verdict::InvalidStream => {
                self.acknowledge(tsn, payload.len());
                Ok(DataOutcome::InvalidStream)
            }
            Verdict::Take => {
                self.acknowledge(tsn, payload.len());
                self.take(tsn, data)?;
                self.window.set_unread(!self.delivery.is_empty());
                self.begin_partial_if_stuck();
                Ok(DataOutcome::Accepted)
            }
        }
    }

    //= rfc9260 6.9-16
    /// Delivers a message in parts if the buffer is full, nothing in it can be delivered, and no retransmission can change that: RFC
    /// 9260 §6.9 asks for it.
    #[inline]
    fn begin_partial_if_stuck(&mut self) {
        if self.delivery.is_empty() && self.window.offer() == 0 && self.tracker.lowest_missing().is_none() {
            self.begin_partial();
        }
    }

    #[cold]
    fn begin_partial(&mut self) {
        self.reassembly
            .begin_partial(&mut self.window, &mut self.delivery);
        self.window.set_unread(!self.delivery.is_empty());
    }

    fn take(&mut self, tsn: UnwrappedTsn, data: &UserData<'_>) -> Result<(), Violation> {
        let Self {
            reassembly,
            window,
            delivery,
            arrivals,
            ..
        } = self;
        let Some(arrivals) = arrivals else {
            return reassembly.take(data, tsn, window, delivery);
        };
        arrivals.note(tsn, data);
        let mut turn = reassembly.next_turn(data.stream());
        reassembly.take(data, tsn, window, delivery)?;
        let next = reassembly.next_turn(data.stream());
        while turn != next {
            arrivals.pass(turn);
            turn = reassembly.turn_after(turn);
        }
        Ok(())
    }

    /// Ends a packet with DATA that arrived over `path`. Returns whether the peer requests an immediate SACK (I bit).
    pub(crate) fn packet_done(&mut self, path: PathId, policy: &mut dyn AckPolicy, now: Instant) -> bool {
        self.schedule
            .packet_done(path, self.tracker.lowest_missing(), policy, now)
    }

    /// Whether the next packet carries a SACK, also for a window update after the application has received messages.
    #[inline]
    pub(crate) fn sack_wanted(&self, now: Instant) -> SackWanted {
        match self.schedule.wanted(now) {
            SackWanted::No | SackWanted::May if self.window.update_is_due() => SackWanted::Must,
            wanted => wanted,
        }
    }

    /// Whether there is a delayed SACK, which the next packet carries.
    pub(crate) fn sack_is_delayed(&self, now: Instant) -> bool {
        self.schedule.wanted(now) == SackWanted::May
    }

    /// The time at which a delayed SACK becomes due; `None` if there is none or one is due already.
    pub(crate) fn sack_deadline(&self) -> Option<Instant> {
        self.schedule.deadline()
    }

    /// The path of the last packet with DATA, to which the SACK is sent (RFC 9260 §6.7) unless a policy selects another.
    pub(crate) fn last_data_path(&self) -> PathId {
        self.schedule.last_data_path()
    }

    /// Makes a SACK due at once, as for every packet with DATA in SHUTDOWN-SENT (RFC 9260 §9.2).
    pub(crate) fn force_sack(&mut self) {
        self.schedule.force();
    }

    //= rfc9260 6.2-16, 6.2-27
    /// Writes a SACK into the packet and counts it as sent; returns `false` without any change if it does not fit.
    pub(crate) fn write_sack(&mut self, builder: &mut PacketBuilder<'_>, form: SackForm) -> bool {
        let packets = u8::try_from(self.schedule.packets_since_sack()).unwrap_or(u8::MAX);
        let packet_count = form.reports_packet_count.then_some(packets);
        let a_rwnd = self.a_rwnd();
        let nothing = IntervalSet::new();
        let readable = self.arrivals.as_deref().map_or(&nothing, Arrivals::readable);
        let known = (&self.tracker, readable);
        if !self
            .sack
            .make_mut()
            .write(builder, known, a_rwnd, packet_count, form)
        {
            return false;
        }
        self.tracker.forget_duplicates();
        self.schedule.on_sack_sent();
        self.window.on_advertised();
        true
    }

    /// The next message or part of a message, in the order in which they became deliverable.
    pub(crate) fn receive(&mut self) -> Option<ReceivedMessage> {
        let message = self.delivery.pop()?;
        self.window.release(message.payload.len());
        self.window.set_unread(!self.delivery.is_empty());
        self.begin_partial_if_stuck();
        Some(message)
    }

    /// Whether [`Receiver::receive`] would return a message.
    pub(crate) fn readable(&self) -> bool {
        !self.delivery.is_empty()
    }

    /// The cumulative TSN.
    pub(crate) fn cumulative(&self) -> Tsn {
        self.tracker.cumulative().wrap()
    }

    /// The a_rwnd that a SACK would advertise now; before any DATA, that of INIT and INIT ACK.
    pub(crate) fn a_rwnd(&self) -> u32 {
        u32::try_from(self.window.offer()).unwrap_or(u32::MAX)
    }

    /// Whether TSNs below the highest received one are missing.
    #[cfg(test)]
    pub(crate) fn has_gaps(&self) -> bool {
        self.tracker.lowest_missing().is_some()
    }

    /// Bytes of user data that the application has not received yet.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.window.held()
    }

    pub(crate) fn statistics(&self) -> ReceiveStatistics {
        self.statistics
    }

    /// DATA chunks dropped for lack of room.
    pub(crate) const fn dropped(&self) -> u64 {
        self.statistics.dropped
    }

    /// Whether dropping this chunk for lack of room would block the association for ever: all others wait for it, and no message
    /// can be received.
    fn is_stuck_without(&self, tsn: UnwrappedTsn) -> bool {
        tsn == self.tracker.cumulative().next() && self.delivery.is_empty()
    }

    /// Whether the chunk is accepted although the window is closed, because it can be delivered at once. RFC 9260 §6.2 drops a
    /// chunk with the highest TSN while the window is closed. But a sender that sends messages out of order may give the first
    /// message of a stream the highest TSN, and then only that message can open the window.
    ///
    /// So is the chunk that continues a message in delivery: the application takes it before there is another one.
    fn opens_the_window(&self, data: &UserData<'_>, tsn: UnwrappedTsn) -> bool {
        if self.reassembly.continues(data, tsn) {
            return true;
        }
        let is_whole = data.flags().beginning && data.flags().ending;
        let is_its_turn = |turn: Turn| turn == self.reassembly.next_turn(turn.stream);
        is_whole
            && Turn::of(data).is_none_or(is_its_turn)
            && self
                .window
                .has_room(data.payload().len(), Position::LowestMissing)
    }

    //= rfc9260 6.2-1, 6.2-17
    fn acknowledge(&mut self, tsn: UnwrappedTsn, len: usize) {
        let gaps_changed = self.tracker.record(tsn);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.forget_up_to(self.tracker.cumulative());
        }
        self.window.on_arrival(len);
        self.schedule.on_new(tsn, gaps_changed);
    }

    fn note_duplicate(&mut self, tsn: Tsn) -> DataOutcome {
        self.tracker.note_duplicate(tsn);
        self.schedule.on_duplicate();
        self.statistics.duplicates += 1;
        DataOutcome::Duplicate
    }

    fn drop_chunk(&mut self) -> DataOutcome {
        self.schedule.on_dropped();
        self.statistics.dropped += 1;
        DataOutcome::NoRoom
    }
}

#[cfg(test)]
mod tests;

//! Receiver. How does a DATA chunk become the application's message, and what does the peer hear of it?
//!
//! A new chunk passes four questions, each in its own file: is its TSN new ([`tracker`]), is there room for
//! it ([`window`]), does it fit its neighbours ([`reassembly`]), is a message deliverable now ([`delivery`])?
//! After the last chunk of a packet [`ack_schedule`] decides when the SACK leaves, and [`sack`] writes it.
//! What was acknowledged is never thrown away.

mod ack_schedule;
mod arrivals;
mod delivery;
mod reassembly;
mod sack;
mod tracker;
mod window;

use core::mem;

use anabranch_policy::AckPolicy;
use anabranch_policy::catalog::NrSackChoice;
use anabranch_types::{Instant, IntervalSet, PathId, Tsn, UnwrappedTsn};
use anabranch_wire::PacketBuilder;

use self::ack_schedule::AckSchedule;
pub(crate) use self::ack_schedule::SackWanted;
use self::arrivals::{Arrivals, Turn};
use self::delivery::Delivery;
use self::reassembly::{Reassembly, Verdict};
use self::sack::SackWriter;
pub(crate) use self::sack::{Promises, SackForm};
use self::tracker::{NewTsn, Position, Sighting, Tracker};
use self::window::Window;
use crate::message::ReceivedMessage;
use crate::user_data::UserData;
use crate::violation::Violation;

/// What can only be read after more has come fills the buffer, so that nothing more can come: parts of too many messages
/// (RFC 8260 leaves it to the sender not to do that), one in pieces so small that their overhead fills it, or messages
/// that wait for numbers which the sender left out.
const TOO_MUCH_BEGUN: Violation = Violation::Protocol("messages begun exceed the receive buffer");

/// What a receiver needs to know about its association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReceiverConfig {
    /// The peer's first TSN.
    pub(crate) initial_tsn: Tsn,
    /// User bytes that may wait for the application; at least one message always may.
    pub(crate) buffer: u64,
    /// The largest message that is put together, in bytes.
    pub(crate) max_message: usize,
    /// Streams from the peer, numbered from 0.
    pub(crate) inbound_streams: u16,
    /// Whether data comes in I-DATA chunks, and in DATA chunks otherwise (RFC 8260 §2.2.1).
    pub(crate) interleaving: bool,
}

/// What became of a DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DataOutcome {
    /// It is new and ours.
    Accepted,
    /// It was here before.
    Duplicate,
    /// Dropped and not acknowledged: the peer must send it again.
    NoRoom,
    /// Acknowledged, its payload thrown away; the peer is owed an ERROR (RFC 9260 §6.5).
    InvalidStream,
}

/// Counts since the beginning of the association.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ReceiveStatistics {
    /// DATA chunks that were new and ours.
    pub(crate) chunks: u64,
    /// Their user bytes.
    pub(crate) bytes: u64,
    /// Messages that the application took.
    pub(crate) messages: u64,
    /// DATA chunks that came again.
    pub(crate) duplicates: u64,
    /// DATA chunks that were dropped for want of room.
    pub(crate) dropped: u64,
    /// DATA chunks on streams that do not exist.
    pub(crate) invalid_stream: u64,
}

/// The receiving half of an association. Allocates nothing before the first DATA chunk.
#[derive(Debug)]
pub(crate) struct Receiver {
    tracker: Tracker,
    window: Window,
    reassembly: Reassembly,
    delivery: Delivery,
    schedule: AckSchedule,
    sack: SackWriter,
    statistics: ReceiveStatistics,
    /// Kept if SACKs promise no more than what can be read.
    arrivals: Option<Arrivals>,
}

impl Receiver {
    pub(crate) fn new(config: ReceiverConfig) -> Self {
        Self {
            tracker: Tracker::new(config.initial_tsn, config.buffer),
            window: Window::new(config.buffer, config.max_message),
            reassembly: Reassembly::new(&config),
            delivery: Delivery::default(),
            schedule: AckSchedule::new(),
            sack: SackWriter::default(),
            statistics: ReceiveStatistics::default(),
            arrivals: None,
        }
    }

    /// The same, knowing what it needs to know for what SACKs are to promise.
    pub(crate) fn promising(self, nr_sack: NrSackChoice) -> Self {
        let asks = matches!(nr_sack, NrSackChoice::Delivered(_));
        Self {
            arrivals: asks.then(|| Arrivals::above(self.tracker.cumulative())),
            ..self
        }
    }

    /// The receiver of the association that takes this one's place after the peer restarted. Whole messages that
    /// the application has not taken yet were acknowledged to the old peer, so they are kept.
    pub(crate) fn restart(&mut self, config: ReceiverConfig) -> Self {
        let mut anew = Self::new(config);
        anew.delivery = mem::take(&mut self.delivery);
        for length in anew.delivery.lengths() {
            anew.window.hold(length);
        }
        anew.window.set_unread(!anew.delivery.is_empty());
        let above = |_: &Arrivals| Arrivals::above(anew.tracker.cumulative());
        anew.arrivals = self.arrivals.as_ref().map(above);
        anew
    }

    /// The buffer has `buffer` bytes from now on, and holds messages as long as `max_message`, which is no less than
    /// before. A larger one is told at once.
    pub(crate) fn resize(&mut self, buffer: u64, max_message: usize) {
        let before = self.window.offer();
        self.tracker.resize(buffer);
        self.window.resize(buffer, max_message);
        self.reassembly.allow(max_message);
        if self.window.offer() > before {
            self.schedule.force();
        }
    }

    /// A chunk of user data arrived. After the last one of a packet comes [`Receiver::packet_done`].
    ///
    /// # Errors
    /// What no sender may send: no user data, the other kind of chunk, impossible sequences of fragments, numbers used twice, messages
    /// beyond the limit. The association must end; the receiver is of no use any more.
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
            if !self.opens_the_window(data) {
                return Err(TOO_MUCH_BEGUN);
            }
        }
        match self.reassembly.judge(data, tsn, &self.tracker)? {
            Verdict::NotYet => Ok(self.drop_chunk()),
            //= rfc9260 6.5-2
            Verdict::InvalidStream => {
                self.acknowledge(tsn, payload.len());
                self.statistics.invalid_stream += 1;
                Ok(DataOutcome::InvalidStream)
            }
            Verdict::Take => {
                self.acknowledge(tsn, payload.len());
                self.statistics.chunks += 1;
                self.statistics.bytes += payload.len() as u64;
                self.take(tsn, data)?;
                self.window.set_unread(!self.delivery.is_empty());
                Ok(DataOutcome::Accepted)
            }
        }
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

    /// All chunks of a packet with DATA were handed in; `path` is the one it came over. Tells whether the peer wants
    /// it answered at once (I bit).
    pub(crate) fn packet_done(&mut self, path: PathId, policy: &mut dyn AckPolicy, now: Instant) -> bool {
        self.schedule
            .packet_done(path, self.tracker.lowest_missing(), policy, now)
    }

    /// Whether the next packet carries a SACK. Also after the application took messages: a window that opened
    /// again must be told.
    pub(crate) fn sack_wanted(&self, now: Instant) -> SackWanted {
        match self.schedule.wanted(now) {
            SackWanted::No | SackWanted::May if self.window.update_is_due() => SackWanted::Must,
            wanted => wanted,
        }
    }

    /// When a delayed SACK becomes due. `None` if none waits, or if one is due already.
    pub(crate) fn sack_deadline(&self) -> Option<Instant> {
        self.schedule.deadline()
    }

    /// Where the last packet with DATA came from, and so where the SACK goes (RFC 9260 §6.7) unless a policy
    /// says otherwise.
    pub(crate) fn last_data_path(&self) -> PathId {
        self.schedule.last_data_path()
    }

    /// A SACK is due at once, as in the state SHUTDOWN-SENT for every packet with DATA (RFC 9260 §9.2).
    pub(crate) fn force_sack(&mut self) {
        self.schedule.force();
    }

    //= rfc9260 6.2-16, 6.2-27
    /// Puts a SACK into the packet and takes it for sent; `false`, and nothing changed, if it does not fit.
    pub(crate) fn write_sack(&mut self, builder: &mut PacketBuilder<'_>, form: SackForm) -> bool {
        let packets = u8::try_from(self.schedule.packets_since_sack()).unwrap_or(u8::MAX);
        let packet_count = form.reports_packet_count.then_some(packets);
        let a_rwnd = self.a_rwnd();
        let nothing = IntervalSet::new();
        let readable = self.arrivals.as_ref().map_or(&nothing, Arrivals::readable);
        let known = (&self.tracker, readable);
        if !self.sack.write(builder, known, a_rwnd, packet_count, form) {
            return false;
        }
        self.tracker.forget_duplicates();
        self.schedule.on_sack_sent();
        self.window.on_advertised();
        true
    }

    /// The next whole message, in the order in which they became deliverable.
    pub(crate) fn receive(&mut self) -> Option<ReceivedMessage> {
        let message = self.delivery.pop()?;
        self.window.release(message.payload.len());
        self.window.set_unread(!self.delivery.is_empty());
        self.statistics.messages += 1;
        Some(message)
    }

    /// Whether [`Receiver::receive`] has something.
    pub(crate) fn readable(&self) -> bool {
        !self.delivery.is_empty()
    }

    /// Everything up to this TSN has arrived.
    pub(crate) fn cumulative(&self) -> Tsn {
        self.tracker.cumulative().wrap()
    }

    /// The window as a SACK would advertise it now; before any DATA, what INIT and INIT ACK advertise.
    pub(crate) fn a_rwnd(&self) -> u32 {
        u32::try_from(self.window.offer()).unwrap_or(u32::MAX)
    }

    /// Whether TSNs below the highest received one are missing.
    #[cfg(test)]
    pub(crate) fn has_gaps(&self) -> bool {
        self.tracker.lowest_missing().is_some()
    }

    /// User bytes that arrived and that the application has not taken.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.window.held()
    }

    pub(crate) fn statistics(&self) -> ReceiveStatistics {
        self.statistics
    }

    // Stream reset (RFC 6525) will set expected SSNs back to 0 once the cumulative TSN has passed the
    // sender's last assigned one; that belongs here, between `reassembly` and `tracker`.

    /// Whether there will never be more room if there is none for this chunk: it is the one that all others wait for, and
    /// nothing can be read.
    fn is_stuck_without(&self, tsn: UnwrappedTsn) -> bool {
        tsn == self.tracker.cumulative().next() && self.delivery.is_empty()
    }

    /// Whether the chunk can be read at once, and finds the room of what all others wait for. RFC 9260 §6.2 has a chunk above
    /// all others dropped while the window is shut. But it may be the last in the order of TSNs and the first in that of its
    /// stream, as of a sender that lets later messages leave early; and nothing else would ever open the window.
    fn opens_the_window(&self, data: &UserData<'_>) -> bool {
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

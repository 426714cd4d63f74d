//! Sender. How does a message become acknowledged chunks?
//!
//! [`Sender::enqueue`] queues it on its stream, [`Sender::send_new`] cuts the next piece of some message and gives
//! it a TSN, [`Sender::on_sack`] takes note of what arrived, [`Sender::lose`] and [`Sender::lose_all`] of what did
//! not, and [`Sender::send_again`] repeats it. Which stream, which path and what is lost is asked of policies
//! elsewhere: here it is carried out and counted.

mod ahead;
mod chunk;
mod duplicates;
mod error;
mod fragment;
mod line;
mod low_water;
mod queue;
mod scoreboard;
mod settings;
mod streams;
mod window;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use anabranch_policy::catalog::SackHandlingChoice;
use anabranch_policy::{LossThreshold, LostChunk, PathAck, StreamScheduler, StuckChunk};
use anabranch_types::{Instant, MessageId, PathId, StreamId, Tsn, UnwrappedTsn};
use anabranch_wire::ValidSack;

pub(crate) use self::ahead::Ahead;
pub use self::error::SendError;
pub(crate) use self::scoreboard::{Lost, SackWindow};

use self::chunk::Chunk;
use self::fragment::Room;
use self::line::Line;
use self::low_water::LowWater;
use self::scoreboard::{Applied, Scoreboard};
use self::streams::{PeerRoom, Streams};
use self::window::PeerWindow;
use crate::config::SackWalks;
use crate::message::Message;
use crate::user_data::UserData;

/// How many entries each buffer keeps once everything is acknowledged; what a burst needed beyond is given back.
const KEPT_WHEN_DRAINED: usize = 4;

/// How a [`Sender`] starts. Sizes in bytes of payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderConfig {
    /// The first TSN.
    pub(crate) initial_tsn: Tsn,
    /// How much may wait for the peer's cumulative acknowledgement, sent or not.
    pub(crate) buffer: u64,
    /// The longest message.
    pub(crate) max_message: usize,
    /// Outbound streams asked for.
    pub(crate) outbound_streams: u16,
    /// The peer's window, as far as it is known.
    pub(crate) peer_window: u32,
    /// How SACKs are applied.
    pub(crate) sack_handling: SackHandlingChoice,
    pub(crate) sack_walks: SackWalks,
    /// Which part of SACKs is heard.
    pub(crate) sack_window: SackWindow,
}

/// What a SACK or a SHUTDOWN changed for the whole association.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SackOutcome {
    /// The cumulative TSN ack point moved.
    pub(crate) cumulative_advanced: bool,
    /// Bytes of chunks acknowledged for the first time, on all paths.
    pub(crate) acked_bytes: u64,
    /// Bytes of the send buffer that became free.
    pub(crate) freed_bytes: u64,
    /// Chunks that the peer had acknowledged and now says it has not.
    pub(crate) reneged: u32,
}

/// A message that the peer has not acknowledged in full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unacknowledged {
    /// Which message.
    pub(crate) message: MessageId,
    /// Its stream.
    pub(crate) stream: StreamId,
    /// Bytes of it that are not acknowledged.
    pub(crate) bytes: u64,
    /// Whether any of it was sent: the peer may have received it then.
    pub(crate) sent: bool,
}

/// From the application's message to the peer's acknowledgement.
#[derive(Debug)]
pub(crate) struct Sender {
    streams: Streams,
    /// What was passed over: next before anything of `streams`.
    line: Line,
    /// The message that has to be finished before another one begins, for its chunks need consecutive TSNs.
    begun: Option<MessageId>,
    scoreboard: Scoreboard,
    window: PeerWindow,
    low_water: LowWater,
    buffer: u64,
    max_message: usize,
    /// The longest piece that the path of the last one takes.
    full_piece: u64,
}

/// What [`Sender::send_new`] would send.
#[derive(Clone, Copy, Debug)]
struct Piece {
    stream: StreamId,
    payload: usize,
}

impl Sender {
    //= rfc9260 5.1-21
    /// Nothing queued, nothing sent; allocates nothing.
    pub(crate) fn new(config: SenderConfig) -> Self {
        Self {
            streams: Streams::new(config.outbound_streams),
            line: Line::default(),
            begun: None,
            scoreboard: Scoreboard::new(
                config.initial_tsn,
                (config.sack_handling, config.sack_walks),
                config.sack_window,
            ),
            window: PeerWindow::new(config.peer_window),
            low_water: LowWater::default(),
            buffer: config.buffer,
            max_message: config.max_message,
            full_piece: 0,
        }
    }

    /// The handshake told how many streams the peer takes, how large its window is, and whether messages may be
    /// interleaved. Messages that were queued on streams beyond come back, in the order of streams.
    pub(crate) fn negotiated(
        &mut self,
        outbound_streams: u16,
        peer_window: u32,
        interleaving: bool,
        scheduler: &mut dyn StreamScheduler,
    ) -> Vec<(MessageId, Message)> {
        debug_assert!(!self.has_outstanding(), "data is sent after the handshake");
        self.window = PeerWindow::new(peer_window);
        self.streams.interleave(interleaving);
        self.streams.limit(outbound_streams, scheduler)
    }

    //= rfc9260 3.3.1-5, 6.2-34
    /// Takes a message from the application.
    ///
    /// # Errors
    /// All but [`SendError::Closing`] and [`SendError::NotConnected`], which are not known here.
    pub(crate) fn enqueue(
        &mut self,
        message: Message,
        scheduler: &mut dyn StreamScheduler,
    ) -> Result<MessageId, SendError> {
        let length = message.payload.len() as u64;
        let max = self.buffer.min(self.max_message as u64);
        if length == 0 {
            return Err(SendError::Empty);
        }
        if length > max {
            return Err(SendError::TooLarge { max: max as usize });
        }
        self.check_stream(message.stream)?;
        if length > self.free_space() {
            return Err(SendError::BufferFull);
        }
        let stream = message.stream;
        let id = self.streams.push(message, scheduler);
        if self.low_water.watches(stream) {
            self.low_water.rose_to(stream, self.queued_on(stream));
        }
        Ok(id)
    }

    //= rfc9260 5.1.1-4, 6.5-1
    fn check_stream(&self, stream: StreamId) -> Result<(), SendError> {
        let streams = self.streams.count();
        if stream.0 < streams {
            Ok(())
        } else {
            Err(SendError::InvalidStream { streams })
        }
    }

    //= rfc9260 6.1-1, 6.1-2, 6.1-4, 6.1-5
    /// Whether there is new data, and the peer's window lets a packet of it begin. To be asked before each packet;
    /// what is bundled into it is between [`Sender::send_new`] and the packet's room.
    ///
    /// With nothing outstanding the answer is yes whatever the window, for one chunk may go as a zero window probe
    /// (RFC 9260 §6.1 A). Until then a window that takes less than a packet is left alone (silly-window avoidance).
    pub(crate) fn may_send_new(&self) -> bool {
        let is_worth_it = || {
            self.window
                .is_worth_a_packet(self.peer_window(), self.unsent_bytes(), self.full_piece)
        };
        self.has_unsent() && (!self.has_outstanding() || is_worth_it())
    }

    /// Whether some stream has new data that may go on `path`, as the stream scheduler says.
    /// `fragment_at` tells what it is for [`Sender::send_new`].
    pub(crate) fn has_new_for(
        &self,
        path: PathId,
        fragment_at: impl Fn() -> usize,
        scheduler: &dyn StreamScheduler,
    ) -> bool {
        let peer = || self.peer_room(self.room(fragment_at(), fragment_at()));
        self.has_passed_over() || self.streams.next(path, scheduler, peer).is_some()
    }

    fn room(&self, max_chunk: usize, fragment_at: usize) -> Room {
        Room {
            max_chunk,
            fragment_at,
            header: self.streams.header_len(),
        }
    }

    fn peer_room(&self, room: Room) -> PeerRoom {
        PeerRoom {
            window: self.peer_window(),
            whole: room.cut(usize::MAX) as u64,
        }
    }

    /// Whether the peer's window, and nothing else, keeps new data back, with nothing in flight whose
    /// acknowledgement could open it.
    pub(crate) fn window_is_shut(&self) -> bool {
        let is_worth_it =
            self.window
                .is_worth_a_packet(self.peer_window(), self.unsent_bytes(), self.full_piece);
        self.has_unsent() && !self.has_outstanding() && !is_worth_it
    }

    /// Whether something is outstanding although the peer has no room left at all: a window that its data had filled as
    /// promised would have shut with the last of it acknowledged.
    pub(crate) fn finds_no_room(&self) -> bool {
        self.has_outstanding() && !self.window.takes(1)
    }

    /// Whether the peer has room for a chunk of `bytes` that it has not got.
    pub(crate) fn finds_room(&self, bytes: u64) -> bool {
        self.window.takes(bytes)
    }

    /// Sends the next piece of a message on `path`: it is in flight from now on and has to be written.
    ///
    /// `max_chunk` is the room for a chunk in the packet, `fragment_at` that in an empty packet of this path
    /// ([`anabranch_policy::PathFacts::max_data_chunk`]), both with the chunk header: messages are cut at the
    /// latter only, so that bundling does not make small fragments.
    ///
    /// `None` if there is nothing to send, if it does not fit, or if the peer's window is too small for it. With
    /// nothing outstanding it goes all the same, as a zero window probe (RFC 9260 §6.1 A).
    pub(crate) fn send_new(
        &mut self,
        path: PathId,
        max_chunk: usize,
        fragment_at: usize,
        scheduler: &mut dyn StreamScheduler,
        now: Instant,
    ) -> Option<UserData<'_>> {
        let room = self.room(max_chunk, fragment_at);
        let piece = self.next_piece(path, room, scheduler)?;
        self.full_piece = room.cut(usize::MAX) as u64;
        let chunk = self.streams.cut(piece.stream, piece.payload, scheduler);
        Some(self.put(chunk, path, now))
    }

    //= rfc9260 3.3.1-12, 3.3.1-13, 6.9-12
    fn put(&mut self, chunk: Chunk, path: PathId, now: Instant) -> UserData<'_> {
        let binds = !chunk.flags.ending && !self.streams.is_interleaving();
        self.begun = binds.then_some(chunk.message);
        if self.low_water.watches(chunk.stream) {
            self.low_water.fell_to(chunk.stream, self.queued_on(chunk.stream));
        }
        self.scoreboard.send(chunk, path, now)
    }

    fn has_used_all_tsns(&self) -> bool {
        window::fills_tsn_window(self.scoreboard.len())
    }

    /// What [`Sender::send_new`] gave last leaves with the I bit, to measure the round trip of its path.
    pub(crate) fn last_was_probe(&mut self) {
        self.scoreboard.last_was_probe();
    }

    fn next_piece(&self, path: PathId, room: Room, scheduler: &dyn StreamScheduler) -> Option<Piece> {
        if room.is_full() || self.has_used_all_tsns() {
            return None;
        }
        let next = self.streams.next(path, scheduler, || self.peer_room(room))?;
        let payload = room.piece(next.message.payload.len())?;
        let is_admitted = payload as u64 <= self.peer_window() || !self.has_outstanding();
        is_admitted.then_some(Piece {
            stream: next.message.stream,
            payload,
        })
    }

    /// The lowest TSN that waits for retransmission.
    pub(crate) fn next_lost(&self) -> Option<LostChunk> {
        self.scoreboard.next_lost()
    }

    /// The lowest TSN that was lost on `path` and waits for retransmission.
    pub(crate) fn first_lost(&self, path: PathId) -> Option<UnwrappedTsn> {
        self.scoreboard.first_lost(path)
    }

    /// Of the lowest TSNs that were lost on each path and wait for retransmission, the lowest above `tsn`.
    pub(crate) fn first_lost_of_another(&self, tsn: UnwrappedTsn) -> Option<LostChunk> {
        self.scoreboard.first_lost_of_another(tsn)
    }

    /// The lowest TSN above `tsn` that waits for retransmission.
    pub(crate) fn lost_after(&self, tsn: UnwrappedTsn) -> Option<LostChunk> {
        self.scoreboard.lost_after(tsn)
    }

    /// The chunk `tsn`, if it waits for retransmission.
    pub(crate) fn lost_chunk(&self, tsn: UnwrappedTsn) -> Option<LostChunk> {
        self.scoreboard.lost_chunk(tsn)
    }

    /// Sends a lost chunk again, on `path`: it is in flight from now on and has to be written.
    pub(crate) fn send_again(&mut self, tsn: UnwrappedTsn, path: PathId, now: Instant) -> UserData<'_> {
        self.scoreboard.send_again(tsn, path, now)
    }

    /// The chunk that the cumulative TSN ack point waits for, if it is in flight; a lost one is to be sent again
    /// anyway.
    pub(crate) fn oldest_outstanding(&self) -> Option<StuckChunk> {
        self.scoreboard.oldest_in_flight()
    }

    /// Sends the chunk of [`Sender::oldest_outstanding`] again, on `path`, and asks for a SACK at once: the sooner
    /// it is acknowledged, the sooner the buffer is free.
    pub(crate) fn moved(&mut self, tsn: UnwrappedTsn, path: PathId, now: Instant) -> UserData<'_> {
        self.scoreboard.move_to(tsn, path, now).urging()
    }

    /// Bytes that the highest chunk in flight on `path` takes in a packet, padding included.
    pub(crate) fn tail_bytes(&self, path: PathId) -> Option<u64> {
        let tsn = self.scoreboard.highest_in_flight(path)?;
        self.scoreboard.bytes(tsn)
    }

    /// Sends the highest chunk in flight on `path` once more there, and asks for a SACK at once: a probe. `None` if
    /// nothing is in flight on it.
    pub(crate) fn probe_tail(&mut self, path: PathId, now: Instant) -> Option<UserData<'_>> {
        let tsn = self.scoreboard.highest_in_flight(path)?;
        Some(self.scoreboard.send_again(tsn, path, now).urging())
    }

    //= rfc9260 6.7-3
    /// A SACK came. What it changed on each path is in [`Sender::path_acks`] until the next one.
    pub(crate) fn on_sack(
        &mut self,
        sack: &ValidSack,
        scheduler: &mut dyn StreamScheduler,
        now: Instant,
    ) -> SackOutcome {
        // RFC 9260 §6.2.1 D i: "If Cumulative TSN Ack is less than the Cumulative TSN Ack Point, then drop the SACK
        // chunk."
        if sack.cumulative < self.cumulative() {
            self.scoreboard.clear_path_acks();
            return SackOutcome::default();
        }
        let Applied { reneged, says_less } = self.scoreboard.apply(sack.cumulative, &sack.blocks, now);
        let kept_bytes = self.scoreboard.keep(&sack.kept);
        if says_less && sack.cumulative == self.cumulative() {
            self.window.advertise_at_most(sack.a_rwnd);
        } else {
            self.window.advertise(sack.a_rwnd);
        }
        let outcome = self.settle(sack.cumulative, scheduler);
        SackOutcome {
            reneged,
            freed_bytes: kept_bytes + outcome.freed_bytes,
            ..outcome
        }
    }

    /// A SHUTDOWN came: its cumulative TSN acknowledges, and says nothing about gaps and window (RFC 9260 §3.3.8).
    pub(crate) fn on_cumulative(
        &mut self,
        cumulative: UnwrappedTsn,
        scheduler: &mut dyn StreamScheduler,
    ) -> SackOutcome {
        if cumulative < self.cumulative() || cumulative >= self.next_tsn() {
            self.scoreboard.clear_path_acks();
            return SackOutcome::default();
        }
        let before = self.scoreboard.payload_outstanding();
        self.scoreboard.apply_cumulative(cumulative);
        self.window.fill(before - self.scoreboard.payload_outstanding());
        self.settle(cumulative, scheduler)
    }

    /// Frees what was acknowledged for good.
    fn settle(&mut self, cumulative: UnwrappedTsn, scheduler: &mut dyn StreamScheduler) -> SackOutcome {
        let (mut freed_bytes, before) = (0, self.cumulative());
        self.scoreboard.forget(cumulative, |chunk| {
            freed_bytes += chunk.payload_bytes();
            self.streams.acknowledged(chunk, scheduler);
        });
        if self.is_drained() {
            self.streams.shrink(KEPT_WHEN_DRAINED);
            self.line.shrink(KEPT_WHEN_DRAINED);
            self.scoreboard.shrink(KEPT_WHEN_DRAINED);
        }
        self.scoreboard.debug_check();
        SackOutcome {
            cumulative_advanced: self.cumulative() > before,
            acked_bytes: self.path_acks().iter().map(|ack| ack.newly_acked).sum(),
            freed_bytes,
            ..SackOutcome::default()
        }
    }

    /// What the last SACK or SHUTDOWN changed, in the order of path ids; paths without change are left out.
    pub(crate) fn path_acks(&self) -> &[PathAck] {
        self.scoreboard.path_acks()
    }

    /// To be called before [`Sender::lose`] is called for each path with the same thresholds.
    pub(crate) fn look_for_losses(&mut self, threshold_of: impl Fn(PathId) -> LossThreshold) {
        self.scoreboard.look_for_losses(threshold_of);
    }

    /// Everything in flight on `path` below `threshold` waits for retransmission from now on.
    pub(crate) fn lose(&mut self, path: PathId, threshold: LossThreshold) -> Lost {
        let lost = self.scoreboard.lose(path, threshold);
        self.scoreboard.debug_check();
        lost
    }

    /// Everything sent once on `path`, in flight and below the first TSN that a gap block reports, waits to be sent
    /// again and counts as moved. Gives how many chunks.
    pub(crate) fn reschedule_below_first_gap(&mut self, path: PathId) -> u32 {
        let chunks = self.scoreboard.reschedule_below_first_gap(path);
        self.scoreboard.debug_check();
        chunks
    }

    /// The T3 timer of `path` expired: everything in flight on it waits for retransmission (RFC 9260 §6.3.3 E3).
    pub(crate) fn lose_all(&mut self, path: PathId) -> Lost {
        let lost = self.scoreboard.lose_all(path);
        self.scoreboard.debug_check();
        lost
    }

    /// `path` is no more: what is in flight on it waits for retransmission. Its id may be given to another path once
    /// [`Sender::queued`] says 0 of it.
    pub(crate) fn close_path(&mut self, path: PathId) {
        self.scoreboard.close_path(path);
        self.scoreboard.debug_check();
    }

    /// A path begins that has the id of one that was closed.
    pub(crate) fn open_path(&mut self, path: PathId) {
        if self.scoreboard.is_closed(path) {
            self.scoreboard.open_path(path);
        }
    }

    /// The messages that the peer has not acknowledged in full, in the order of handing over.
    pub(crate) fn unacknowledged(&self) -> impl Iterator<Item = Unacknowledged> + use<> {
        let sent = self.scoreboard.unacknowledged();
        let sent = sent.map(|chunk| (chunk.message, chunk.stream, chunk.payload_bytes(), true));
        let waiting = self.streams.waiting();
        let waiting = waiting.map(|waiting| (waiting.id, waiting.message.stream, waiting.bytes(), false));
        let mut messages = BTreeMap::new();
        let passed_over = self.line.iter();
        let passed_over =
            passed_over.map(|chunk| (chunk.message, chunk.stream, chunk.payload_bytes(), false));
        for (message, stream, bytes, sent) in sent.chain(passed_over).chain(waiting) {
            let nothing = Unacknowledged {
                message,
                stream,
                bytes: 0,
                sent,
            };
            messages.entry(message).or_insert(nothing).bytes += bytes;
        }
        messages.into_values()
    }

    /// Whether some message has not been sent to its end.
    pub(crate) fn has_unsent(&self) -> bool {
        self.unsent_bytes() > 0
    }

    /// Whether something that was sent is not acknowledged cumulatively.
    pub(crate) fn has_outstanding(&self) -> bool {
        !self.scoreboard.is_empty()
    }

    /// Whether everything that was handed over is acknowledged cumulatively.
    pub(crate) fn is_drained(&self) -> bool {
        !self.has_unsent() && !self.has_outstanding()
    }

    /// Payload bytes that wait to be sent, for the first time or again.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.unsent_bytes() + self.scoreboard.lost_bytes()
    }

    /// Payload bytes that have not been sent yet.
    pub(crate) fn unsent_bytes(&self) -> u64 {
        self.streams.unsent_bytes() + self.line.payload()
    }

    /// The same of one stream.
    pub(crate) fn queued_on(&self, stream: StreamId) -> u64 {
        let passed_over = self.line.iter().filter(|chunk| chunk.stream == stream);
        let passed_over: u64 = passed_over.map(Chunk::payload_bytes).sum();
        self.streams.queued_on(stream) + passed_over
    }

    /// Payload bytes in the send buffer: not sent, or not acknowledged cumulatively nor kept by the peer for good.
    pub(crate) fn send_used(&self) -> u64 {
        self.unsent_bytes() + self.scoreboard.payload_held()
    }

    /// Payload bytes that the send buffer still takes.
    pub(crate) fn free_space(&self) -> u64 {
        self.buffer.saturating_sub(self.send_used())
    }

    /// Chunk bytes in flight on `path`: neither acknowledged nor thought lost.
    pub(crate) fn in_flight(&self, path: PathId) -> u64 {
        self.scoreboard.in_flight(path)
    }

    /// Chunk bytes last sent on `path` and still in the send buffer: not acknowledged cumulatively nor kept by the peer
    /// for good.
    pub(crate) fn queued(&self, path: PathId) -> u64 {
        self.scoreboard.queued(path)
    }

    /// [`Sender::in_flight`] of all paths together.
    pub(crate) fn total_in_flight(&self) -> u64 {
        self.scoreboard.total_in_flight()
    }

    /// [`Sender::queued`] of all paths together.
    pub(crate) fn total_queued(&self) -> u64 {
        self.scoreboard.total_queued()
    }

    /// The earliest chunk in flight on `path`, and when it was last sent. T3 starts anew when this changes.
    ///
    /// That is the lower of two TSNs: the lowest of those sent once, and the first of those sent again.
    pub(crate) fn earliest_outstanding(&self, path: PathId) -> Option<(UnwrappedTsn, Instant)> {
        self.scoreboard.earliest_in_flight(path)
    }

    /// The highest TSN in flight on `path`; see [`Lost::highest`] for those that are not any more. Costs a walk
    /// over the retransmissions in flight on it: made for the start of a fast recovery, not for each SACK.
    pub(crate) fn highest_outstanding(&self, path: PathId) -> Option<UnwrappedTsn> {
        self.scoreboard.highest_in_flight(path)
    }

    /// How many chunks were looked at to find out what SACKs changed and what was lost.
    pub(crate) fn elements_visited(&self) -> u64 {
        self.scoreboard.elements_visited()
    }

    /// The TSN that the next new chunk gets.
    pub(crate) fn next_tsn(&self) -> UnwrappedTsn {
        self.scoreboard.next_tsn()
    }

    /// The cumulative TSN ack point.
    pub(crate) fn cumulative(&self) -> UnwrappedTsn {
        self.scoreboard.cumulative()
    }

    /// User data that the peer takes on top of what is in flight (`rwnd`, RFC 9260 §6.2.1).
    pub(crate) fn peer_window(&self) -> u64 {
        self.window.open(self.scoreboard.payload_outstanding())
    }
}

#[cfg(test)]
mod tests;

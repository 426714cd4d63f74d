//! Sender of user data, from a message to its acknowledgement.
//!
//! [`Sender::enqueue`] queues a message on its stream, [`Sender::send_new`] takes the next fragment of a message and gives it a
//! TSN, [`Sender::on_sack`] applies acknowledgements, [`Sender::lose`] and [`Sender::lose_all`] mark chunks as lost, and
//! [`Sender::send_again`] retransmits them. Policies select streams, paths and losses elsewhere; the sender executes their
//! decisions.

mod abandon;
mod ahead;
mod buffer;
mod chunk;
mod duplicates;
mod early;
mod enqueue;
mod error;
mod fragment;
mod held;
mod keyed;
mod line;
mod losses;
mod low_water;
mod partial;
mod parts;
mod queue;
mod reconfig;
mod redundant;
mod scoreboard;
mod settings;
mod started;
mod streams;
mod unacknowledged;
mod unreported;
mod urgent;
mod window;

use alloc::vec::Vec;

use anabranch_policy::catalog::SackHandlingChoice;
use anabranch_policy::{BufferSize, LostChunk, PathAck, StreamScheduler, StuckChunk};
use anabranch_types::{Instant, MessageId, PathId, StreamId, Tsn, UnwrappedTsn};
use anabranch_wire::ValidSack;

pub(crate) use self::abandon::Forward;
pub(crate) use self::ahead::Ahead;
pub use self::error::SendError;
pub(crate) use self::held::HoldId;
pub(crate) use self::partial::Abandoned;
pub use self::partial::Abandonments;
pub(crate) use self::scoreboard::{Lost, SackWindow};
pub(crate) use self::unreported::MaybeTruncated;

use self::buffer::SendBuffer;
use self::chunk::Chunk;
use self::fragment::Room;
use self::keyed::KeyedMessages;
use self::line::Line;
use self::low_water::LowWater;
use self::partial::Partial;
use self::queue::Waiting;
use self::redundant::RedundantStreams;
use self::scoreboard::{Applied, Scoreboard};
use self::streams::{PeerRoom, Streams};
use self::window::PeerWindow;
use crate::config::SackWalks;
use crate::message::Message;
use crate::on_demand::OnDemand;
use crate::user_data::UserData;

/// Entries that each buffer keeps when all data is acknowledged; memory that a burst needed beyond them is released.
const KEPT_WHEN_DRAINED: usize = 4;

/// Configuration of a [`Sender`]. Sizes are in bytes of user data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SenderConfig {
    /// The initial TSN.
    pub(crate) initial_tsn: Tsn,
    /// Size of the send buffer: data that is not acknowledged cumulatively, sent or not.
    pub(crate) buffer: BufferSize,
    /// Maximum message length.
    pub(crate) max_message: usize,
    /// Requested number of outbound streams.
    pub(crate) outbound_streams: u16,
    /// The peer's window as known at the start.
    pub(crate) peer_window: u32,
    /// SACK-handling algorithm.
    pub(crate) sack_handling: SackHandlingChoice,
    pub(crate) sack_walks: SackWalks,
    /// Part of each SACK that is processed.
    pub(crate) sack_window: SackWindow,
}

/// Effects of a SACK or SHUTDOWN on the whole association.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct SackOutcome {
    /// Whether the cumulative TSN ack point has advanced.
    pub(crate) cumulative_advanced: bool,
    /// Bytes of chunks acknowledged for the first time, on all paths.
    pub(crate) acked_bytes: u64,
    /// Bytes freed in the send buffer.
    pub(crate) freed_bytes: u64,
    /// Chunks that the peer has reneged on.
    pub(crate) reneged: u32,
    /// Whether the SACK leaves out TSNs that stay acknowledged.
    pub(crate) retains_unreported: bool,
}

/// The sender of an association.
#[derive(Debug)]
pub(crate) struct Sender {
    streams: Streams,
    /// Skipped chunks, which are sent before other data of `streams`.
    line: OnDemand<Line>,
    scoreboard: Scoreboard,
    window: PeerWindow,
    low_water: OnDemand<LowWater>,
    partial: Partial,
    keyed: KeyedMessages,
    redundant: RedundantStreams,
    /// Whether both ends support FORWARD TSN.
    partially_reliable: bool,
    /// Whether the handshake is complete.
    was_negotiated: bool,
    /// See [`Sender::is_renumbered`].
    is_renumbered: bool,
    /// Whether SACKs report a selection of the received TSNs if not all fit.
    selected_gaps: bool,
    buffer: SendBuffer,
    max_message: usize,
    /// Payload of a full-sized fragment on the path of the last one.
    full_piece: u32,
}

/// The chunk that [`Sender::send_new`] would send.
#[derive(Clone, Copy, Debug)]
struct Piece {
    message: MessageId,
    stream: StreamId,
    payload: usize,
}

impl Sender {
    //= rfc9260 5.1-21
    /// Creates an empty sender without allocating.
    pub(crate) fn new(config: SenderConfig) -> Self {
        Self {
            streams: Streams::new(config.outbound_streams),
            line: OnDemand::default(),
            scoreboard: Scoreboard::new(
                config.initial_tsn,
                (config.sack_handling, config.sack_walks),
                config.sack_window,
            ),
            window: PeerWindow::new(config.peer_window),
            low_water: OnDemand::default(),
            partial: Partial::default(),
            keyed: KeyedMessages::default(),
            redundant: RedundantStreams::default(),
            partially_reliable: false,
            was_negotiated: false,
            is_renumbered: false,
            selected_gaps: false,
            buffer: SendBuffer::new(config.buffer),
            max_message: config.max_message,
            full_piece: 0,
        }
    }

    /// Applies the negotiated number of streams, window and interleaving. Returns the messages that were queued on streams which
    /// the peer does not accept, in the order of streams.
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
        self.was_negotiated = true;
        let refused = self.streams.limit(outbound_streams, scheduler);
        for (message, _) in &refused {
            if self.partial.has_messages() {
                self.partial.make_mut().remove(*message);
            }
            self.keyed.remove(*message);
        }
        refused
    }

    /// Notes whether SACKs report a selection of the received TSNs if not all fit.
    pub(crate) const fn expect_selected_gaps(&mut self, agreed: bool) {
        self.selected_gaps = agreed;
    }

    //= rfc9260 6.1-1, 6.1-2, 6.1-4, 6.1-5
    /// Whether there is new data, and the peer's window permits a packet of it. Asked before each packet; further chunks of the
    /// packet are limited by [`Sender::send_new`] and the room in the packet.
    ///
    /// With nothing outstanding the result is true for any window, because one chunk may be sent as a zero window probe (RFC 9260
    /// §6.1 A). Otherwise a window smaller than a packet is not used (silly window avoidance).
    pub(crate) fn may_send_new(&self) -> bool {
        let is_worth_it = || {
            self.window
                .is_worth_a_packet(self.peer_window(), self.unsent_bytes(), self.full_piece.into())
        };
        self.has_unsent() && (!self.has_outstanding() || is_worth_it())
    }

    /// Whether any stream has new data for `path` by decision of the stream scheduler. See [`Sender::send_new`] for `fragment_at`.
    pub(crate) fn has_new_for(
        &self,
        path: PathId,
        fragment_at: impl Fn() -> usize,
        scheduler: &dyn StreamScheduler,
    ) -> bool {
        let peer = || self.peer_room(self.room(fragment_at(), fragment_at()));
        self.has_passed_over() || self.streams.next(path, scheduler, peer).is_some()
    }

    /// Length of the header of the chunks that are sent.
    pub(crate) fn header_len(&self) -> usize {
        self.streams.header_len()
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

    /// Whether only the peer's window prevents new data, and nothing is in flight whose acknowledgement could open it.
    pub(crate) fn window_is_shut(&self) -> bool {
        let is_worth_it =
            self.window
                .is_worth_a_packet(self.peer_window(), self.unsent_bytes(), self.full_piece.into());
        self.has_unsent() && !self.has_outstanding() && !is_worth_it
    }

    /// Whether data is outstanding although the peer's window is zero: a window that was filled with permitted data closes only
    /// when the last of it is acknowledged.
    pub(crate) fn finds_no_room(&self) -> bool {
        self.has_outstanding() && !self.window.takes(1)
    }

    /// Whether the peer's window has room for an outstanding chunk of `bytes`.
    pub(crate) fn finds_room(&self, bytes: u64) -> bool {
        self.window.takes(bytes)
    }

    /// Sends the next fragment of a message on `path`. It counts as in flight from now on, and the caller has to write it.
    ///
    /// `max_chunk` is the room for a chunk in the packet, `fragment_at` that in an empty packet of this path
    /// ([`anabranch_policy::PathFacts::max_data_chunk`]), both with the chunk header. Messages are fragmented only at the latter,
    /// so that bundling does not cause small fragments.
    ///
    /// `None` if there is nothing to send, if it does not fit, or if the peer's window is too small. With nothing outstanding the
    /// chunk is sent nevertheless, as a zero window probe (RFC 9260 §6.1 A).
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
        self.send_piece(piece, (path, room), scheduler, now)
    }

    fn send_piece(
        &mut self,
        piece: Piece,
        (path, room): (PathId, Room),
        scheduler: &mut dyn StreamScheduler,
        now: Instant,
    ) -> Option<UserData<'_>> {
        if !self.keyed.admits(|| Some(piece.message)) {
            return None;
        }
        self.full_piece = room.cut(usize::MAX) as u32;
        self.put_ends();
        scheduler.on_placed(piece.stream, path);
        let chunk = self.streams.cut(piece.stream, piece.payload, scheduler);
        Some(self.put(chunk, path, now))
    }

    //= rfc9260 3.3.1-12, 3.3.1-13, 6.9-12
    fn put(&mut self, chunk: Chunk, path: PathId, now: Instant) -> UserData<'_> {
        if self.partial.is_active() {
            self.partial
                .make_mut()
                .sent(chunk.message, self.scoreboard.next_tsn());
        }
        self.streams.bind(chunk.message, chunk.flags.ending);
        if self
            .low_water
            .active()
            .is_some_and(|marks| marks.watches(chunk.stream))
        {
            let queued = self.queued_on(chunk.stream);
            self.low_water.make_mut().fell_to(chunk.stream, queued);
        }
        self.redundant.sent(chunk.stream, self.scoreboard.next_tsn());
        self.scoreboard.send(chunk, path, now)
    }

    fn has_used_all_tsns(&self) -> bool {
        window::fills_tsn_window(self.scoreboard.len())
    }

    /// Marks the chunk that [`Sender::send_new`] returned last as an RTT probe with the I bit.
    pub(crate) fn last_was_probe(&mut self) {
        self.scoreboard.last_was_probe();
    }

    //= rfc8260 2.2.2-4
    fn next_piece(&self, path: PathId, room: Room, scheduler: &dyn StreamScheduler) -> Option<Piece> {
        let next = self.streams.next(path, scheduler, || self.peer_room(room))?;
        self.piece_of(next, room)
    }

    fn piece_of(&self, next: &Waiting, room: Room) -> Option<Piece> {
        if room.is_full() || self.has_used_all_tsns() {
            return None;
        }
        let payload = room.piece(next.message.payload.len())?;
        let is_admitted = payload as u64 <= self.peer_window() || !self.has_outstanding();
        is_admitted.then_some(Piece {
            message: next.id,
            stream: next.message.stream,
            payload,
        })
    }

    /// The lowest lost TSN.
    pub(crate) fn next_lost(&self) -> Option<LostChunk> {
        self.scoreboard.next_lost()
    }

    /// The lowest TSN that was lost on `path`.
    pub(crate) fn first_lost(&self, path: PathId) -> Option<UnwrappedTsn> {
        self.scoreboard.first_lost(path)
    }

    /// The lowest TSN above `tsn` among the lowest lost TSN of each path.
    pub(crate) fn first_lost_of_another(&self, tsn: UnwrappedTsn) -> Option<LostChunk> {
        self.scoreboard.first_lost_of_another(tsn)
    }

    /// The lowest lost TSN above `tsn`.
    pub(crate) fn lost_after(&self, tsn: UnwrappedTsn) -> Option<LostChunk> {
        self.scoreboard.lost_after(tsn)
    }

    /// The chunk `tsn` if it is lost.
    pub(crate) fn lost_chunk(&self, tsn: UnwrappedTsn) -> Option<LostChunk> {
        self.scoreboard.lost_chunk(tsn)
    }

    /// Retransmits a lost chunk on `path`. It counts as in flight from now on, and the caller has to write it.
    pub(crate) fn send_again(&mut self, tsn: UnwrappedTsn, path: PathId, now: Instant) -> UserData<'_> {
        self.scoreboard.send_again(tsn, path, now)
    }

    /// The chunk after the cumulative TSN ack point if it is in flight; a lost one is retransmitted anyway.
    #[inline]
    pub(crate) fn oldest_outstanding(&self) -> Option<StuckChunk> {
        let oldest = self.scoreboard.oldest_in_flight();
        oldest.filter(|chunk| !(self.partial.has_messages() && self.gives_up(chunk.tsn)))
    }

    /// Retransmits the chunk of [`Sender::oldest_outstanding`] on `path` with the I bit, so that its acknowledgement frees the
    /// buffer early.
    pub(crate) fn moved(&mut self, tsn: UnwrappedTsn, path: PathId, now: Instant) -> UserData<'_> {
        self.scoreboard.move_to(tsn, path, now).urging()
    }

    /// Length of the highest chunk in flight on `path`, with padding.
    pub(crate) fn tail_bytes(&self, path: PathId) -> Option<u64> {
        let tsn = self.scoreboard.highest_in_flight(path)?;
        self.scoreboard.bytes(tsn)
    }

    /// Retransmits the highest chunk in flight on `path` as a tail loss probe with the I bit; `None` if nothing is in flight there.
    pub(crate) fn probe_tail(&mut self, path: PathId, now: Instant) -> Option<UserData<'_>> {
        let tsn = self.scoreboard.highest_in_flight(path)?;
        Some(self.scoreboard.send_again(tsn, path, now).urging())
    }

    //= rfc9260 6.7-3
    /// Applies a SACK. [`Sender::path_acks`] has its effects on each path until the next one.
    pub(crate) fn on_sack(
        &mut self,
        sack: &ValidSack,
        scheduler: &mut dyn StreamScheduler,
        now: Instant,
    ) -> SackOutcome {
        //= rfc3758 3.5-17, 3.5-18
        // RFC 9260 §6.2.1 D i: "If Cumulative TSN Ack is less than the Cumulative TSN Ack Point, then drop the SACK
        // chunk."
        if sack.cumulative < self.cumulative() {
            self.scoreboard.clear_path_acks();
            return SackOutcome::default();
        }
        let Applied {
            reneged,
            retains_unreported,
        } = if self.selected_gaps {
            self.scoreboard.apply_selected(sack.cumulative, &sack.blocks)
        } else {
            self.scoreboard.apply(sack.cumulative, &sack.blocks, now)
        };
        let kept_bytes = self.scoreboard.keep(&sack.kept);
        // SACKs do not report abandoned TSNs, so these do not show that the SACK is an old one.
        let is_old = retains_unreported && !self.partial.has_skipped();
        if is_old && sack.cumulative == self.cumulative() {
            self.window.advertise_at_most(sack.a_rwnd);
        } else {
            self.window.advertise(sack.a_rwnd);
        }
        let outcome = self.settle(sack.cumulative, scheduler);
        SackOutcome {
            reneged,
            retains_unreported,
            freed_bytes: kept_bytes + outcome.freed_bytes,
            ..outcome
        }
    }

    /// Applies the cumulative TSN of a SHUTDOWN, which has neither gap ack blocks nor a window (RFC 9260 §3.3.8).
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

    /// Frees chunks that are acknowledged cumulatively.
    fn settle(&mut self, cumulative: UnwrappedTsn, scheduler: &mut dyn StreamScheduler) -> SackOutcome {
        let (mut freed_bytes, before) = (0, self.cumulative());
        let (may_abandon, may_be_keyed) = (self.partial.is_active(), self.keyed.is_active());
        self.scoreboard.forget(cumulative, |chunk| {
            freed_bytes += chunk.payload_bytes();
            self.streams.acknowledged(chunk, scheduler);
            if may_abandon {
                let (line, streams) = (&self.line, &self.streams);
                let is_cut = |stream| streams.has_cut(stream, chunk.message);
                let is_sent = |stream| is_cut(stream) && line.at(line.find_message(chunk.message)).is_none();
                self.partial
                    .make_mut()
                    .acknowledged(chunk.message, cumulative, is_sent);
            }
            if may_be_keyed {
                self.keyed.acknowledged(chunk.message, chunk.payload_bytes());
            }
        });
        self.redundant.acknowledged(cumulative);
        if self.partial.has_skipped() {
            self.partial.make_mut().skipped.remove_below(cumulative.next().0);
        }
        if self.is_drained() {
            self.streams.shrink(KEPT_WHEN_DRAINED);
            self.line.release_if_idle();
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

    /// Effects of the last SACK or SHUTDOWN on each path, in the order of path ids; paths without news are left out.
    pub(crate) fn path_acks(&self) -> &[PathAck] {
        self.scoreboard.path_acks()
    }

    /// Whether any message has unsent data.
    pub(crate) fn has_unsent(&self) -> bool {
        self.unsent_bytes() > 0
    }

    /// Whether any sent data is not acknowledged cumulatively.
    pub(crate) fn has_outstanding(&self) -> bool {
        !self.scoreboard.is_empty()
    }

    /// Whether all queued data is acknowledged cumulatively.
    pub(crate) fn is_drained(&self) -> bool {
        !self.has_unsent() && !self.has_outstanding()
    }

    /// Payload bytes to send or to retransmit.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.unsent_bytes() + self.scoreboard.lost_bytes()
    }

    /// Payload bytes that have not been sent yet.
    pub(crate) fn unsent_bytes(&self) -> u64 {
        self.streams.unsent_bytes() + self.line.active().map_or(0, Line::payload)
    }

    /// Unsent payload bytes of one stream.
    pub(crate) fn queued_on(&self, stream: StreamId) -> u64 {
        let passed_over = self.line.iter().filter(|chunk| chunk.stream == stream);
        let passed_over: u64 = passed_over.map(Chunk::payload_bytes).sum();
        self.streams.queued_on(stream) + passed_over
    }

    /// Payload bytes in the send buffer: not sent, or sent and neither cumulatively acknowledged nor non-renegable.
    pub(crate) fn send_used(&self) -> u64 {
        self.unsent_bytes() + self.scoreboard.payload_held()
    }

    /// Free payload bytes in the send buffer.
    pub(crate) fn free_space(&self) -> u64 {
        self.buffer.size.saturating_sub(self.send_used())
    }

    /// Chunk bytes in flight on `path`: neither acknowledged nor marked as lost.
    pub(crate) fn in_flight(&self, path: PathId) -> u64 {
        self.scoreboard.in_flight(path)
    }

    /// Chunk bytes in the send buffer that were last sent on `path`: neither cumulatively acknowledged nor non-renegable.
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

    /// The earliest chunk in flight on `path`, and when it was last sent. T3 restarts when this changes.
    ///
    /// It is the lower of two TSNs: the lowest that was sent once, and the first in the list of retransmissions.
    pub(crate) fn earliest_outstanding(&self, path: PathId) -> Option<(UnwrappedTsn, Instant)> {
        self.scoreboard.earliest_in_flight(path)
    }

    /// The highest TSN in flight on `path`; see [`Lost::highest`] for lost ones. Visits all retransmissions in flight there, so it
    /// is meant for the start of a fast recovery and not for each SACK.
    pub(crate) fn highest_outstanding(&self, path: PathId) -> Option<UnwrappedTsn> {
        self.scoreboard.highest_in_flight(path)
    }

    /// Chunks visited to process SACKs and to find losses.
    pub(crate) fn elements_visited(&self) -> u64 {
        self.scoreboard.elements_visited()
    }

    /// The TSN of the next new chunk.
    pub(crate) fn next_tsn(&self) -> UnwrappedTsn {
        self.scoreboard.next_tsn()
    }

    /// The cumulative TSN ack point.
    pub(crate) fn cumulative(&self) -> UnwrappedTsn {
        self.scoreboard.cumulative()
    }

    /// User data that the peer accepts beyond what is outstanding (rwnd, RFC 9260 §6.2.1).
    pub(crate) fn peer_window(&self) -> u64 {
        self.window.open(self.scoreboard.payload_outstanding())
    }
}

#[cfg(test)]
mod tests;

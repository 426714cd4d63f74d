//! Receiver window. How much may the peer still send? The receiver window (RFC 9260 §6.2): the buffer less what is held.
//!
//! Two budgets limit what waits for the application: user bytes, which is what the peer counts too, and
//! memory, in which every held chunk also costs [`CHUNK_OVERHEAD`]. The window is what remains of the scarcer
//! one. For chunks of 64 bytes and more that is user bytes, exactly as the RFC describes; a flood of one-byte
//! chunks runs out of memory first. So whatever a peer sends, the memory held is at most [`MEMORY_FACTOR`]
//! times the buffer and two messages more.
//!
//! A small window is worse than none: the sender would fill it with a small packet, for ever (silly window
//! syndrome). So the edge up to which the peer may send moves only by worthwhile steps, as RFC 1122 §4.2.3.3
//! has it.

use super::tracker::Position;

/// What a held chunk costs beside its payload: handle, allocator's header and rounding, and its share of a
/// tree node. The dearest chunk, a lone fragment that starts a run of its own, takes about this much.
pub(super) const CHUNK_OVERHEAD: u64 = 192;

/// How much memory may be used for each byte of buffer.
pub(super) const MEMORY_FACTOR: u64 = 4;

/// Two full packets on Ethernet: opening the window by less is not worth a SACK, nor telling.
const WORTHWHILE: u64 = 2 * 1_500;

/// The receive buffer of one association, as a balance.
#[derive(Debug)]
pub(super) struct Window {
    /// The size of the buffer: what was asked for, or more while what was advertised before needs more.
    capacity: u64,
    /// What was asked for.
    wanted: u64,
    /// The largest message: chunks that fill gaps may exceed the budgets by this much, and by as much again the one that
    /// all others wait for.
    reserve: u64,
    /// User bytes held.
    payload: u64,
    /// Chunks held; the fragments of a message become one when they are joined.
    chunks: u64,
    /// User bytes that ever arrived.
    arrived: u64,
    /// Up to where `arrived` may grow, by all that was advertised.
    edge: u64,
    /// The application has something to read.
    unread: bool,
}

impl Window {
    /// An empty buffer of `buffer` bytes, or more if one message needs more.
    pub(super) fn new(buffer: u64, max_message: usize) -> Self {
        let reserve = max_message as u64;
        let capacity = buffer.max(reserve);
        Self {
            capacity,
            wanted: capacity,
            reserve,
            payload: 0,
            chunks: 0,
            arrived: 0,
            edge: capacity,
            unread: false,
        }
    }

    //= rfc9260 3.3.2-12, 3.3.3-13
    /// The buffer shall have `buffer` bytes, and hold messages as long as `max_message`.
    ///
    /// "A TCP receiver SHOULD NOT shrink the window, i.e., move the right window edge to the left" (RFC 1122 §4.2.2.16): a
    /// smaller buffer keeps what was promised, and shrinks as that is used up and read.
    pub(super) fn resize(&mut self, buffer: u64, max_message: usize) {
        self.reserve = max_message as u64;
        self.wanted = buffer.max(self.reserve);
        self.capacity = self.capacity.max(self.wanted);
        self.shrink();
    }

    /// As far as promises allow.
    fn shrink(&mut self) {
        let promised = self.payload + self.believed();
        self.capacity = self.capacity.min(self.wanted.max(promised));
    }

    /// Whether a chunk of `len` user bytes may be accepted whose TSN lies there.
    pub(super) fn has_room(&self, len: usize, position: Position) -> bool {
        match position {
            //= rfc9260 6.2-2, 6.2-5
            // RFC 9260 §6.2: "When the receiver's advertised window is 0, the receiver MUST drop any new incoming
            // DATA chunk with a TSN larger than the largest TSN received so far."
            Position::AboveAll => self.offer() > 0,
            //= rfc9260 6.2-31
            // RFC 9260 §6.2: a chunk that fills a gap SHOULD be accepted, at the expense of the largest TSN
            // held. That one was acknowledged and is kept; there is as much room again instead. A peer that
            // takes lost data off what is outstanding (§6.2.1 C) may fill the window a second time before it
            // fills the gaps, and without room for them nobody could ever go on.
            Position::InGap => self.has_spare_room(len, 0),
            // Small messages take more memory than the window tells their sender. If they have used up the room for
            // gaps, too, the message that begins here can still be read, and all that wait for it.
            Position::LowestMissing => self.has_spare_room(len, self.reserve),
        }
    }

    fn has_spare_room(&self, len: usize, spare: u64) -> bool {
        let payload = self.capacity.saturating_mul(2).saturating_add(spare);
        let memory = self.capacity.saturating_add(self.reserve).saturating_add(spare);
        self.payload + len as u64 <= payload && self.memory() <= memory.saturating_mul(MEMORY_FACTOR)
    }

    /// `len` new user bytes arrived. They are not held yet.
    pub(super) fn on_arrival(&mut self, len: usize) {
        self.arrived += len as u64;
    }

    //= rfc9260 6.2-25, 6.2-26, 6.2-28
    /// A chunk of `len` user bytes is held from now on.
    pub(super) fn hold(&mut self, len: usize) {
        self.payload += len as u64;
        self.chunks += 1;
    }

    /// `pieces` held chunks became one.
    pub(super) fn join(&mut self, pieces: usize) {
        debug_assert!(self.chunks >= pieces as u64, "more chunks joined than held");
        self.chunks -= pieces as u64 - 1;
    }

    /// A message of `len` user bytes, in one piece, went to the application.
    pub(super) fn release(&mut self, len: usize) {
        debug_assert!(
            self.payload >= len as u64 && self.chunks > 0,
            "more released than held"
        );
        self.payload -= len as u64;
        self.chunks -= 1;
        self.shrink();
    }

    /// Whether the application has something to read now.
    pub(super) fn set_unread(&mut self, unread: bool) {
        self.unread = unread;
    }

    /// User bytes held.
    pub(super) fn held(&self) -> u64 {
        self.payload
    }

    /// What a SACK says now, in user bytes; see [`Window::on_advertised`].
    pub(super) fn offer(&self) -> u64 {
        let (room, believed) = (self.room(), self.believed());
        // What is held and cannot be read waits for the peer. Reading will not open the window any further, so
        // there is nothing to wait for, however small it is.
        let worth_telling = !self.unread || room.saturating_sub(believed) >= self.worthwhile();
        if worth_telling { room } else { room.min(believed) }
    }

    /// The current offer went to the peer.
    pub(super) fn on_advertised(&mut self) {
        self.edge = self.arrived + self.offer();
    }

    //= rfc9260 6.2-6, 6.2-12, 6.2-13, 6.2-24
    /// Whether the window opened so much since the last SACK that the peer must hear of it (RFC 9260 §6.2):
    /// out of a state in which it could hardly send, or by a quarter of the buffer. A shut window that opens as
    /// far as it ever will without the peer is told in any case.
    pub(super) fn update_is_due(&self) -> bool {
        let believed = self.believed();
        let growth = self.room().saturating_sub(believed);
        if !self.unread && believed == 0 && growth > 0 {
            return true;
        }
        let hardly_open = believed < self.worthwhile();
        let step = if hardly_open { 0 } else { self.capacity.div_ceil(4) };
        growth >= step.max(self.worthwhile())
    }

    /// The window as the peer knows it: what was advertised less what has come since.
    fn believed(&self) -> u64 {
        self.edge.saturating_sub(self.arrived)
    }

    fn room(&self) -> u64 {
        let memory = self
            .capacity
            .saturating_mul(MEMORY_FACTOR)
            .saturating_sub(self.memory());
        self.capacity.saturating_sub(self.payload).min(memory)
    }

    fn memory(&self) -> u64 {
        self.payload + self.chunks * CHUNK_OVERHEAD
    }

    fn worthwhile(&self) -> u64 {
        WORTHWHILE.min(self.capacity.div_ceil(2)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use anabranch_types::Seed;

    use super::{Position, Window};

    //= rfc9260 3.3.2-12, 3.3.3-13
    /// An honest sender, chunks of 100 bytes and more, any number of sizes in between.
    #[test]
    fn right_edge_of_the_window_never_moves_back() {
        for seed in 0..200 {
            let mut rng = Seed(seed).rng();
            let mut window = Window::new(100_000, 5_000);
            let (mut held, mut arrived, mut edge) = (Vec::new(), 0, 100_000);
            for _ in 0..500 {
                match rng.below(4) {
                    0 => window.resize(5_000 + rng.below(200_000), 5_000),
                    1 if !held.is_empty() => window.release(held.remove(0)),
                    _ => {
                        let len = 100 + rng.below(1_300) as usize;
                        if arrived + len as u64 <= edge {
                            assert!(window.has_room(len, Position::AboveAll), "it was promised");
                            window.on_arrival(len);
                            window.hold(len);
                            held.push(len);
                            arrived += len as u64;
                        }
                    }
                }
                window.set_unread(!held.is_empty());
                let told = arrived + window.offer();
                assert!(told >= edge, "{told} after {edge}: {window:?}");
                edge = told;
                window.on_advertised();
            }
        }
    }
}

//! Receive window (RFC 9260 §6.2): the receive buffer less the data in it.
//!
//! Two limits apply to buffered data: bytes of user data, which the peer counts as well, and memory, where each chunk also costs
//! [`CHUNK_OVERHEAD`]. The window is what remains of the scarcer one. For chunks of 64 bytes and more that is user data, exactly as
//! in the RFC; a flood of one-byte chunks reaches the memory limit first. So for any input, the memory in use is at most
//! [`MEMORY_FACTOR`] times the buffer plus two messages.
//!
//! A small window is not advertised, because the sender would fill it with small packets again and again (silly window syndrome).
//! The right edge of the window moves only in steps of a useful size (RFC 1122 §4.2.3.3).

use super::tracker::Position;

/// Memory of a buffered chunk beside its payload: handle, allocator overhead, and its share of a tree node. The most expensive
/// chunk, a single fragment that starts a run, takes about this much.
pub(super) const CHUNK_OVERHEAD: u64 = 192;

/// Memory limit per byte of buffer.
pub(super) const MEMORY_FACTOR: u64 = 4;

/// Minimum step of the window, two full Ethernet packets: a smaller one is neither advertised nor worth a SACK.
const WORTHWHILE: u64 = 2 * 1_500;

/// Memory beyond the endpoint's grant for the chunk that all others wait for: enough for a short message, which makes the others
/// deliverable.
const SPARE_GRANT: u64 = 16 << 10;

/// Accounting of an association's receive buffer.
#[derive(Debug)]
pub(super) struct Window {
    /// Size of the buffer: as configured, or larger while the advertised window needs more.
    capacity: u64,
    /// The size that is meant: as configured, or what the buffer has grown to.
    wanted: u64,
    /// Maximum message length. Chunks that fill gaps may exceed the limits by this much, and the chunk that all others wait for by
    /// as much again.
    reserve: u64,
    /// Bytes of user data in the buffer.
    payload: u64,
    /// Chunks in the buffer; the fragments of a message count as one when they are joined.
    chunks: u32,
    /// Total bytes of user data received.
    arrived: u64,
    /// Right edge of the advertised window, as a value of `arrived`.
    edge: u64,
    /// Whether the application has messages to receive.
    unread: bool,
    /// Memory that the endpoint grants to this association. Unlike the buffer it may decrease at any time.
    granted: u64,
    /// Whether the endpoint lacks memory for larger buffers.
    scarce: bool,
}

impl Window {
    /// Creates an empty buffer of `buffer` bytes, or of `max_message` if that is larger.
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
            granted: u64::MAX,
            scarce: false,
        }
    }

    //= rfc9260 3.3.2-12, 3.3.3-13
    /// Sets the size of the buffer and the maximum message length. Room for a message that may have begun stays.
    ///
    /// "A TCP receiver SHOULD NOT shrink the window, i.e., move the right window edge to the left" (RFC 1122 §4.2.2.16): a smaller
    /// buffer takes effect as the advertised window is used up and its data is received.
    pub(super) fn resize(&mut self, buffer: u64, max_message: usize) {
        self.reserve = self.reserve.max(max_message as u64);
        self.wanted = buffer.max(self.reserve);
        self.capacity = self.capacity.max(self.wanted);
        self.shrink();
    }

    /// Makes the buffer larger, so that it has room for `buffer` bytes.
    pub(super) fn grow(&mut self, buffer: u64) {
        self.wanted = self.wanted.max(buffer);
        self.capacity = self.capacity.max(self.wanted);
    }

    /// Size of the buffer, in bytes of user data.
    pub(super) const fn size(&self) -> u64 {
        self.wanted
    }

    /// Bytes of user data that have arrived, in total.
    pub(super) const fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Shrinks the buffer as far as the advertised window allows.
    fn shrink(&mut self) {
        let advertised = self.payload + self.believed();
        self.capacity = self.capacity.min(self.wanted.max(advertised));
    }

    /// Whether a chunk of `len` bytes of user data at this position is accepted.
    pub(super) fn has_room(&self, len: usize, position: Position) -> bool {
        match position {
            //= rfc9260 6.2-2, 6.2-5
            // RFC 9260 §6.2: "When the receiver's advertised window is 0, the receiver MUST drop any new incoming
            // DATA chunk with a TSN larger than the largest TSN received so far."
            Position::AboveAll => self.offer() > 0,
            //= rfc9260 6.2-31
            // RFC 9260 §6.2: a chunk that fills a gap SHOULD be accepted, at the expense of the largest TSN held. The receiver does
            // not renege on that one and has extra room instead. A peer that subtracts lost data from outstanding data (§6.2.1 C)
            // may fill the window a second time before it fills the gaps; without extra room the association would block.
            Position::InGap => self.has_spare_room(len, 0),
            // Small messages take more memory than their sender counts. If they have used up the extra room, too, the message that
            // starts here still has room of its own, and all that wait for it become deliverable.
            Position::LowestMissing => self.has_spare_room(len, self.reserve),
        }
    }

    fn has_spare_room(&self, len: usize, spare: u64) -> bool {
        let payload = self.capacity.saturating_mul(2).saturating_add(spare);
        let memory = self.capacity.saturating_add(self.reserve).saturating_add(spare);
        let granted = self.granted.saturating_add(spare.min(SPARE_GRANT));
        self.payload + len as u64 <= payload
            && self.memory() <= memory.saturating_mul(MEMORY_FACTOR).min(granted)
    }

    /// Counts `len` bytes of new user data that arrived and are not in the buffer yet.
    pub(super) fn on_arrival(&mut self, len: usize) {
        self.arrived += len as u64;
    }

    //= rfc9260 6.2-25, 6.2-26, 6.2-28
    /// Adds a chunk of `len` bytes of user data to the buffer.
    pub(super) fn hold(&mut self, len: usize) {
        self.payload += len as u64;
        self.chunks += 1;
    }

    /// Notes that `pieces` chunks were joined into one.
    pub(super) fn join(&mut self, pieces: usize) {
        debug_assert!(self.chunks as usize >= pieces, "more chunks joined than held");
        self.chunks -= pieces as u32 - 1;
    }

    /// Removes a message of `len` bytes, in one piece, which the application has received.
    pub(super) fn release(&mut self, len: usize) {
        debug_assert!(
            self.payload >= len as u64 && self.chunks > 0,
            "more released than held"
        );
        self.payload -= len as u64;
        self.chunks -= 1;
        self.shrink();
    }

    /// Removes `pieces` chunks with `bytes` of user data, whose message will never be complete.
    pub(super) fn drop_pieces(&mut self, bytes: usize, pieces: usize) {
        self.payload = self.payload.saturating_sub(bytes as u64);
        self.chunks = self.chunks.saturating_sub(pieces as u32);
        self.shrink();
    }

    /// Sets the memory that this association may use, and whether the endpoint lacks memory for larger buffers.
    pub(super) const fn grant(&mut self, memory: u64, scarce: bool) {
        (self.granted, self.scarce) = (memory, scarce);
    }

    /// Whether the endpoint lacks memory for larger buffers.
    pub(super) const fn is_scarce(&self) -> bool {
        self.scarce
    }

    /// Whether no memory is left of what the endpoint grants.
    pub(super) fn exceeds_grant(&self) -> bool {
        self.memory() >= self.granted
    }

    /// Counts only messages of these lengths from now on.
    pub(super) fn keep_only(&mut self, lengths: impl Iterator<Item = usize>) {
        (self.payload, self.chunks) = (0, 0);
        lengths.for_each(|length| self.hold(length));
    }

    /// Sets whether the application has messages to receive.
    pub(super) fn set_unread(&mut self, unread: bool) {
        self.unread = unread;
    }

    /// Bytes of user data in the buffer.
    pub(super) fn held(&self) -> u64 {
        self.payload
    }

    /// The a_rwnd of a SACK that is sent now; see [`Window::on_advertised`].
    pub(super) fn offer(&self) -> u64 {
        let (room, believed) = (self.room(), self.believed());
        // If no message can be received, only the peer can make progress. The window will not open further, so it is advertised
        // however small it is.
        let worth_telling = !self.unread || room.saturating_sub(believed) >= self.worthwhile();
        if worth_telling { room } else { room.min(believed) }
    }

    /// Notes that the current window was advertised to the peer.
    pub(super) fn on_advertised(&mut self) {
        self.edge = self.arrived + self.offer();
    }

    //= rfc9260 6.2-6, 6.2-12, 6.2-13, 6.2-24
    /// Whether a window update is due (RFC 9260 §6.2): the window was nearly closed and has opened, or it has opened by a quarter
    /// of the buffer. A closed window that has opened as far as it can without the peer is advertised in any case.
    #[inline]
    pub(super) fn update_is_due(&self) -> bool {
        let (believed, worthwhile) = (self.believed(), self.worthwhile());
        let least = if believed >= worthwhile {
            self.capacity.div_ceil(4).max(worthwhile)
        } else if believed == 0 && !self.unread {
            1
        } else {
            worthwhile
        };
        // Each packet asks, so what memory leaves of the room is computed only if the rest of it suffices.
        let most = self.capacity.saturating_sub(self.payload);
        most >= believed + least && self.room() >= believed + least
    }

    /// The window as the peer knows it: the advertised window less data received since.
    fn believed(&self) -> u64 {
        self.edge.saturating_sub(self.arrived)
    }

    fn room(&self) -> u64 {
        let memory = self
            .capacity
            .saturating_mul(MEMORY_FACTOR)
            .min(self.granted)
            .saturating_sub(self.memory());
        self.capacity.saturating_sub(self.payload).min(memory)
    }

    /// Memory of the data in the buffer, in bytes.
    pub(super) fn memory(&self) -> u64 {
        self.payload + u64::from(self.chunks) * CHUNK_OVERHEAD
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
                match rng.below(5) {
                    0 => window.resize(5_000 + rng.below(200_000), 5_000),
                    4 => window.grow(rng.below(400_000)),
                    1 if !held.is_empty() => window.release(held.remove(0)),
                    _ => {
                        let len = 100 + rng.below(1_300) as usize;
                        if arrived + len as u64 <= edge {
                            assert!(
                                window.has_room(len, Position::AboveAll),
                                "the window advertised it"
                            );
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

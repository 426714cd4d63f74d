//! Spare packet buffers. Where does the memory of the next packet come from? From a packet that has arrived.
//!
//! All hosts of a thread share them: a host that mostly sends would run out of its own, and one that mostly receives would have too
//! many.

use std::cell::RefCell;

/// Maximum number of buffers kept.
const MAX_SPARE: usize = 256;
/// Capacity that is enough for most packets.
const USUAL_PACKET: usize = 1_500;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer for a packet.
pub(crate) fn take() -> Vec<u8> {
    let spare = SPARE.with_borrow_mut(Vec::pop);
    spare.unwrap_or_else(|| Vec::with_capacity(USUAL_PACKET))
}

/// Keeps the buffer of a packet that is not needed any more. Its content is discarded.
pub(crate) fn put(mut buffer: Vec<u8>) {
    buffer.clear();
    SPARE.with_borrow_mut(|spare| {
        // Buffers of whole batches would keep more memory than a packet needs.
        if spare.len() < MAX_SPARE && buffer.capacity() <= 2 * USUAL_PACKET {
            spare.push(buffer);
        }
    });
}

//! Flow control of one connection: credit of the sender, window of the receiver. How many bytes may be on their way or unread?
//!
//! The receive window of the association is shared by all its streams, so a reader that stalls would stall the others. Each end therefore
//! takes everything from the association at once, and grants each connection only what it is ready to hold, as HTTP/2 does (RFC 9113 §5.2).

/// Credit of each direction of a new connection, in bytes.
pub const INITIAL_WINDOW: u64 = 128 << 10;

/// Largest window that a receiver grants: as much as the association buffers. Three quarters of it are enough for 1 Gbit/s if credit comes
/// back within 100 ms.
pub const LARGEST_WINDOW: u64 = 16 << 20;

/// Bytes that all receive windows of an association may have in total, beyond [`INITIAL_WINDOW`] of each.
pub const BUDGET: u64 = 128 << 20;

/// Credit is given when this part of the window was read. The sender can always have the rest on its way.
const GRANT: u64 = 4;

/// A window grows while it is at most this part of what is left of the budget, so that connections that come later find some.
const SHARE: u64 = 8;

/// Most credit that a sender may have. A peer that gives more is wrong.
pub(crate) const MAX_CREDIT: u64 = (1 << 31) - 1;

/// Credit of the sender of one direction.
#[derive(Debug)]
pub(crate) struct Credit(u64);

impl Credit {
    pub(crate) const fn initial() -> Self {
        Self(INITIAL_WINDOW)
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.0
    }

    pub(crate) const fn spend(&mut self, bytes: u64) {
        self.0 = self.0.saturating_sub(bytes);
    }

    /// `false` if that is more than anybody may have.
    pub(crate) const fn add(&mut self, bytes: u32) -> bool {
        self.0 = self.0.saturating_add(bytes as u64);
        self.0 <= MAX_CREDIT
    }
}

/// Window of the receiver of one direction.
#[derive(Debug)]
pub(crate) struct Window {
    size: u64,
    /// Bytes that the peer may still send.
    granted: u64,
    /// Bytes that have arrived and were not read.
    unread: u64,
}

impl Window {
    pub(crate) const fn initial() -> Self {
        Self {
            size: INITIAL_WINDOW,
            granted: INITIAL_WINDOW,
            unread: 0,
        }
    }

    pub(crate) const fn unread(&self) -> u64 {
        self.unread
    }

    /// `false` if the peer was not granted so many bytes.
    pub(crate) const fn arrive(&mut self, bytes: u64) -> bool {
        if bytes > self.granted {
            return false;
        }
        self.granted -= bytes;
        self.unread += bytes;
        true
    }

    /// By how much it has grown.
    pub(crate) const fn grown(&self) -> u64 {
        self.size - INITIAL_WINDOW
    }

    /// Bytes were read. Returns what to grant now, if it is worth a frame: a quarter of the window. `left` of the budget is not taken by windows.
    ///
    /// The window doubles if everything was read: a reader that keeps up cannot have too much credit, and one that does not needs no more.
    pub(crate) fn read(&mut self, bytes: u64, left: u64) -> Option<u32> {
        self.unread = self.unread.saturating_sub(bytes);
        let taken = self.granted + self.unread;
        if self.size.saturating_sub(taken) < self.size / GRANT {
            return None;
        }
        if self.unread == 0 && self.size < LARGEST_WINDOW && self.size <= left / SHARE {
            self.size *= 2;
        }
        let grant = self.size - taken;
        self.granted += grant;
        u32::try_from(grant).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_of_a_reader_that_keeps_up_doubles() {
        let mut window = Window::initial();
        let mut size = INITIAL_WINDOW;
        while size < LARGEST_WINDOW {
            let part = size / GRANT;
            assert!(window.arrive(part));
            assert_eq!(window.read(part - 1, BUDGET), None);
            assert_eq!(window.read(1, BUDGET), Some((part + size) as u32));
            size *= 2;
            assert_eq!(window.grown(), size - INITIAL_WINDOW);
        }
        let part = size / GRANT;
        assert!(window.arrive(part));
        assert_eq!(window.read(part, BUDGET), Some(part as u32));
        assert_eq!(window.size, LARGEST_WINDOW);
    }

    #[test]
    fn window_stays_small_without_budget_or_with_a_slow_reader() {
        let mut window = Window::initial();
        let part = INITIAL_WINDOW / GRANT;
        assert!(window.arrive(INITIAL_WINDOW));
        // A part is read, and the rest is not.
        assert_eq!(window.read(part, BUDGET), Some(part as u32));
        assert_eq!(window.grown(), 0);
        assert!(window.arrive(part));
        assert_eq!(
            window.read(INITIAL_WINDOW, SHARE * INITIAL_WINDOW - 1),
            Some(INITIAL_WINDOW as u32)
        );
        assert_eq!(window.grown(), 0);
    }

    #[test]
    fn more_than_granted_is_recognised() {
        let mut window = Window::initial();
        assert!(window.arrive(INITIAL_WINDOW));
        assert!(!window.arrive(1));
        let mut credit = Credit::initial();
        assert!(credit.add((MAX_CREDIT - INITIAL_WINDOW) as u32));
        assert!(!credit.add(1));
    }
}

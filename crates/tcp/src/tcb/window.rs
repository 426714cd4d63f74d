//! Send and receive windows (RFC 9293 §3.8.6).

use crate::sequence::Position;

/// Send window: the peer's receive window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerWindow {
    /// Right edge: the first position that we may not send.
    edge: Position,
    /// Window scale shift.
    scale: u8,
    /// The segment that last updated the window: its sequence and acknowledgement number (SND.WL1, SND.WL2).
    told_by: (Position, Position),
    /// The largest window the peer has offered.
    largest: u64,
}

impl PeerWindow {
    pub(crate) const fn new(scale: u8) -> Self {
        Self {
            edge: 1,
            scale,
            told_by: (0, 0),
            largest: 0,
        }
    }

    /// Processes the window `field` of a segment at `start` that acknowledges `ack`. Segments older than the last update are
    /// ignored. Returns whether the edge moved.
    pub(crate) fn update(&mut self, start: Position, ack: Position, field: u16) -> bool {
        if (start, ack) < self.told_by {
            return false;
        }
        self.told_by = (start, ack);
        let offered = self.scaled(field);
        self.largest = self.largest.max(offered);
        let before = core::mem::replace(&mut self.edge, ack + offered);
        before != self.edge
    }

    /// The window of a SYN, which is never scaled (RFC 7323 §2.2).
    pub(crate) fn begin(&mut self, start: Position, ack: Position, field: u16) {
        self.told_by = (start, ack);
        self.largest = u64::from(field);
        self.edge = 1 + self.largest;
    }

    pub(crate) fn scaled(&self, field: u16) -> u64 {
        u64::from(field) << self.scale
    }

    pub(crate) const fn edge(&self) -> Position {
        self.edge
    }

    pub(crate) const fn largest(&self) -> u64 {
        self.largest
    }
}

/// Receive window advertised to the peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnWindow {
    capacity: u64,
    /// Right edge: the first position that the peer may not send; never moves back (RFC 9293 §3.8.6).
    edge: Position,
    scale: u8,
}

impl OwnWindow {
    /// A window of `capacity` bytes that starts at position 1.
    pub(crate) const fn new(capacity: u64, scaling: bool) -> Self {
        Self {
            capacity,
            edge: 1,
            scale: if scaling { Self::scale_for(capacity) } else { 0 },
        }
    }

    /// The smallest shift with which `capacity` fits the window field.
    const fn scale_for(capacity: u64) -> u8 {
        let mut scale = 0;
        while scale < 14 && capacity >> scale > u16::MAX as u64 {
            scale += 1;
        }
        scale
    }

    pub(crate) const fn scale(&self) -> u8 {
        self.scale
    }

    pub(crate) const fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) const fn edge(&self) -> Position {
        self.edge
    }

    /// The peer does not scale windows, so we must not either.
    pub(crate) const fn unscale(&mut self) {
        self.scale = 0;
    }

    /// Another subflow advertises the same window, with this shift.
    pub(crate) const fn set_scale(&mut self, scale: u8) {
        self.scale = scale;
    }

    /// Accepts sequence numbers before `edge`.
    pub(crate) fn open_to(&mut self, edge: Position) {
        self.edge = self.edge.max(edge);
    }

    /// Window field of a SYN, for a window that starts at position 1.
    pub(crate) fn initial_field(&mut self) -> u16 {
        let field = self.capacity.min(u64::from(u16::MAX));
        self.edge = self.edge.max(1 + field);
        field as u16
    }

    /// The right edge if advertised now: `next` is the next position expected, and `unread` bytes before it wait for the
    /// application.
    const fn possible(&self, next: Position, unread: u64) -> Position {
        let room = self.capacity.saturating_sub(unread);
        let most = (u16::MAX as u64) << self.scale;
        next + if room < most { room } else { most }
    }

    /// Whether a window update is worth a segment: the edge would move by two segments or half the buffer.
    pub(crate) fn is_worth_telling(&self, next: Position, unread: u64, segment: u64) -> bool {
        let gain = self.possible(next, unread).saturating_sub(self.edge);
        gain > 0 && gain >= (2 * segment).min(self.capacity / 2)
    }

    /// Window field of a segment sent now. The edge moves only by at least a segment or half the buffer (RFC 9293 §3.8.6.2.2), so
    /// that the peer is not asked for small segments.
    pub(crate) fn field(&mut self, next: Position, unread: u64, segment: u64) -> u16 {
        let possible = self.possible(next, unread);
        let gain = possible.saturating_sub(self.edge);
        let wanted = if gain >= segment.min(self.capacity / 2) {
            possible
        } else {
            self.edge
        };
        let unit = 1 << self.scale;
        let window = wanted.max(self.edge).saturating_sub(next);
        let mut field = window / unit;
        if next + field * unit < self.edge {
            field += 1;
        }
        let field = field.min(u64::from(u16::MAX));
        self.edge = self.edge.max(next + field * unit);
        field as u16
    }
}

#[cfg(test)]
mod tests {
    use super::{OwnWindow, PeerWindow};

    #[test]
    fn receive_window_edge_never_moves_back_or_by_little() {
        let mut window = OwnWindow::new(1 << 20, true);
        assert_eq!(window.scale(), 5);
        let whole = window.field(1, 0, 1_000);
        let edge = window.edge();
        assert_eq!(u64::from(whole) << 5, 1 << 20);
        let less = window.field(5_001, 5_000, 1_000);
        assert!(less < whole);
        assert!(window.edge() >= edge && window.edge() < edge + 32);
        assert!(!window.is_worth_telling(5_001, 4_500, 1_000));
        assert!(window.is_worth_telling(5_001, 0, 1_000));
    }

    #[test]
    fn older_segment_does_not_update_the_window() {
        let mut window = PeerWindow::new(2);
        window.begin(0, 1, 1_000);
        assert_eq!(window.edge(), 1_001);
        assert!(window.update(1, 500, 1_000));
        assert_eq!(window.edge(), 4_500);
        assert!(!window.update(1, 300, 9_999));
        assert_eq!(window.edge(), 4_500);
    }
}

//! Peer window. How much more does the peer take? RFC 9260 §6.1 A and §6.2.1.

//= rfc9260 6.2.1-1
/// The peer's receive buffer as it last described it.
///
/// RFC 9260 §6.2.1 keeps an `rwnd` that every transmission lowers (B) and every SACK sets to `a_rwnd` minus what
/// is outstanding (D ii). Both say the same: `rwnd` is the last `a_rwnd` minus the user data outstanding. So only
/// the last `a_rwnd` is kept, and the rest is a subtraction.
///
/// It also lets every loss raise `rwnd` (C). That is left out: what is lost comes again and needs its place at
/// the peer. With one path it comes before anything else and takes the place back at once; with several, other
/// paths would fill it with new data meanwhile, and a peer that does not renege would have no room for the gap.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerWindow {
    advertised: u64,
    largest: u64,
}

impl PeerWindow {
    pub(super) fn new(advertised: u32) -> Self {
        let advertised = u64::from(advertised);
        Self {
            advertised,
            largest: advertised,
        }
    }

    /// A SACK says how large the window is.
    pub(super) fn advertise(&mut self, a_rwnd: u32) {
        self.advertised = u64::from(a_rwnd);
        self.largest = self.largest.max(self.advertised);
    }

    /// A SACK says how large the window is, and may be older than the last one: it tells of less, and that room has been
    /// used since. A larger window is not believed until the cumulative TSN moves.
    pub(super) fn advertise_at_most(&mut self, a_rwnd: u32) {
        self.advertised = self.advertised.min(u64::from(a_rwnd));
    }

    /// `bytes` of user data arrived, and the peer did not say how much room that left: it took as much.
    pub(super) fn fill(&mut self, bytes: u64) {
        self.advertised = self.advertised.saturating_sub(bytes);
    }

    /// Bytes of user data that may be sent on top of those outstanding.
    pub(super) fn open(&self, outstanding: u64) -> u64 {
        self.advertised.saturating_sub(outstanding)
    }

    /// Whether the peer had room for `bytes` when it said how large its window is, if nothing else had come before them.
    pub(super) fn takes(&self, bytes: u64) -> bool {
        self.advertised >= bytes
    }

    //= rfc9260 6.1-10
    /// Whether `open` bytes are worth a packet while others are in flight: a full one, all there is, or half
    /// of the largest window seen (silly-window avoidance as in RFC 1122 §4.2.3.4, which RFC 9260 §6.1 A
    /// refers to).
    pub(super) fn is_worth_a_packet(&self, open: u64, unsent: u64, full: u64) -> bool {
        open >= unsent.min(full) || open >= (self.largest / 2).max(1)
    }
}

//= rfc9260 1.6-3, 6.1-23
/// Whether a send window of so many chunks takes no TSN more: serial numbers compare within half of their space
/// (RFC 9260 §6.1).
pub(super) const fn fills_tsn_window(chunks: usize) -> bool {
    chunks >= i32::MAX as usize
}

#[cfg(test)]
mod tests {
    use super::{PeerWindow, fills_tsn_window};

    //= rfc9260 6.2.1-1
    #[test]
    fn peer_window_is_a_rwnd_minus_outstanding_bytes() {
        let mut window = PeerWindow::new(1_000);
        assert_eq!(window.open(400), 600);
        window.advertise(300);
        assert_eq!(window.open(400), 0);
        window.fill(100);
        assert_eq!(window.open(0), 200);
    }

    #[test]
    fn small_window_is_not_worth_a_packet() {
        let mut window = PeerWindow::new(10_000);
        window.advertise(100);
        assert!(!window.is_worth_a_packet(100, 5_000, 1_400));
        assert!(window.is_worth_a_packet(100, 90, 1_400), "it is all there is");
        assert!(window.is_worth_a_packet(1_400, 5_000, 1_400), "a full packet");
        assert!(
            window.is_worth_a_packet(5_000, 60_000, 9_000),
            "half the largest window"
        );
    }

    //= rfc9260 1.6-3, 6.1-23
    #[test]
    fn send_window_takes_half_of_the_tsn_space() {
        let half = 1 << 31;
        assert!(!fills_tsn_window(half - 2));
        assert!(fills_tsn_window(half - 1) && fills_tsn_window(half));
    }
}

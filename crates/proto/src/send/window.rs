//! Peer window: how much data the peer accepts (RFC 9260 §6.1 A, §6.2.1).

//= rfc9260 6.2.1-1
/// The peer's receive window as last advertised.
///
/// In RFC 9260 §6.2.1 every transmission lowers rwnd (B), and every SACK sets it to a_rwnd minus outstanding data (D ii). Both mean
/// that rwnd is the last a_rwnd minus the outstanding user data, so only the last a_rwnd is stored.
///
/// The RFC also lets every loss raise rwnd (C). That is left out, because a lost chunk will be retransmitted and needs its room at
/// the peer. With one path the retransmission comes first and takes the room back at once. With several paths, others would fill it
/// with new data meanwhile, and a peer that does not renege would have no room for the gap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerWindow {
    advertised: u32,
    largest: u32,
}

impl PeerWindow {
    pub(super) const fn new(advertised: u32) -> Self {
        Self {
            advertised,
            largest: advertised,
        }
    }

    /// Sets the window to the a_rwnd of a SACK.
    pub(super) fn advertise(&mut self, a_rwnd: u32) {
        self.advertised = a_rwnd;
        self.largest = self.largest.max(a_rwnd);
    }

    /// Sets the window to the a_rwnd of a SACK that may be older than the last one, because it reports fewer TSNs. A larger window
    /// is not accepted until the cumulative TSN advances.
    pub(super) fn advertise_at_most(&mut self, a_rwnd: u32) {
        self.advertised = self.advertised.min(a_rwnd);
    }

    /// Raises the window to what it was at `earlier`, because the SACKs since then were truncated: a_rwnd leaves out data that they do not
    /// report, which counts as outstanding.
    pub(super) fn at_least(&mut self, earlier: Self) {
        self.advertised = self.advertised.max(earlier.advertised);
    }

    /// Lowers the window by `bytes` of user data that were acknowledged without an a_rwnd.
    pub(super) fn fill(&mut self, bytes: u64) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.advertised = self.advertised.saturating_sub(bytes);
    }

    /// Whether `a_rwnd` is no larger than the last one, as if data had arrived since.
    pub(super) const fn may_shrink_to(&self, a_rwnd: u32) -> bool {
        a_rwnd <= self.advertised
    }

    /// Bytes of user data that may be sent beyond those outstanding.
    pub(super) fn open(&self, outstanding: u64) -> u64 {
        u64::from(self.advertised).saturating_sub(outstanding)
    }

    /// Whether the advertised window has room for `bytes` if nothing else arrives before them.
    pub(super) fn takes(&self, bytes: u64) -> bool {
        u64::from(self.advertised) >= bytes
    }

    //= rfc9260 6.1-10
    /// Whether a window of `open` bytes is worth a packet while data is in flight: a full packet, all queued data, or half of the
    /// largest window seen (silly window avoidance of RFC 1122 §4.2.3.4, to which RFC 9260 §6.1 A refers).
    pub(super) fn is_worth_a_packet(&self, open: u64, unsent: u64, full: u64) -> bool {
        open >= unsent.min(full) || open >= u64::from(self.largest / 2).max(1)
    }
}

//= rfc9260 1.6-3, 6.1-23
//= rfc8260 2.1-6, 2.1-7, 2.1-9
/// Whether a send window of `chunks` chunks is full: serial numbers compare only within half of their space (RFC 9260 §6.1).
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
    //= rfc8260 2.1-6, 2.1-7, 2.1-9
    #[test]
    fn send_window_takes_half_of_the_tsn_space() {
        let half = 1 << 31;
        assert!(!fills_tsn_window(half - 2));
        assert!(fills_tsn_window(half - 1) && fills_tsn_window(half));
    }
}

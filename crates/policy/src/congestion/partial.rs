//! `partial_bytes_acked` (RFC 9260 §7.2.2). Has a whole cwnd been acknowledged since the last increase?

use super::independent::Acked;
use super::window::quantum;

/// `partial_bytes_acked` of RFC 9260 §7.2.2.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartialBytes(u64);

impl PartialBytes {
    //= rfc9260 7.2.2-1, 7.2.2-2
    /// Counts newly acknowledged bytes. `true` if they complete a cwnd of `window` bytes, which then may be increased;
    /// `full` if it was fully used.
    pub(super) fn fills(&mut self, window: u64, acked: &Acked<'_>, full: bool) -> bool {
        let saved = self.0.saturating_add(acked.ack.newly_acked);
        let everything_acked = acked.ack.in_flight_before <= acked.ack.newly_acked;
        let whole_window = saved >= window || (everything_acked && saved + quantum(acked.path) > window);
        let fills = whole_window && full && acked.may_grow;
        self.0 = if everything_acked {
            0
        } else if fills {
            saved.saturating_sub(window)
        } else {
            // RFC 9260 §7.2.2 limits the count to the cwnd when that was not fully used; likewise where growth is not
            // allowed, or the accumulated bytes would add several chunks per RTT.
            saved.min(window)
        };
        fills
    }
}

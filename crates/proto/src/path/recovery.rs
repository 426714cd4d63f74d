//! Fast recovery. How fast does a path send while it recovers from a loss? In proportion to what arrives, if so chosen.
//!
//! Source: RFC 9937 (Proportional Rate Reduction), once for each path.
//!
//! Idea: what is found lost makes room in the window at once, and a sender that fills it keeps the very queue full
//! that lost the packets. So a recovering path sends in proportion to what the peer reports as received, such that the
//! flight comes down to the new window as the old flight is acknowledged; and once below it, no more than that.
//!
//! ```text
//! begins:   flight = in flight before the SACK that showed the loss; delivered = sent = 0
//! SACK:     delivered += newly acknowledged
//!           in flight > window:  more = ⌈delivered · window / flight⌉ − sent
//!           else:                more = max(delivered − sent, newly acknowledged), and one chunk if all is well:
//!                                the path's earliest repeated chunk arrived, and nothing further was found lost
//!                                more = min(more, window − in flight)
//!           the path may have in flight what it has, and `more`
//! ```
//!
//! Deviations: the packet that RFC 9937 lets go in any case is that of RFC 9260 §7.2.4 step 3, kept elsewhere.

use anabranch_policy::{PathAck, PathFacts};
use anabranch_types::UnwrappedTsn;

/// A fast recovery under way on one path (RFC 9260 §7.2.4).
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    /// It lasts until this TSN is acknowledged.
    pub(crate) exit: UnwrappedTsn,
    /// `None` if the window alone decides.
    pub(crate) rate: Option<ProportionalRate>,
}

/// Counts of one recovery, in bytes of chunks.
#[derive(Clone, Debug)]
pub(crate) struct ProportionalRate {
    flight: u64,
    delivered: u64,
    sent: u64,
    /// [`PathFacts::lost_chunks`] after the last SACK.
    lost_chunks: u64,
    /// What may be in flight; `None` before the first SACK of the recovery.
    limit: Option<u64>,
}

impl ProportionalRate {
    /// A recovery begins with `flight` bytes outstanding, those included that are now known to be lost.
    pub(crate) fn begin(flight: u64) -> Self {
        Self {
            flight: flight.max(1),
            delivered: 0,
            sent: 0,
            lost_chunks: 0,
            limit: None,
        }
    }

    /// A SACK was processed; `facts` are those after it.
    pub(crate) fn on_ack(&mut self, ack: &PathAck, facts: &PathFacts) {
        self.delivered += ack.newly_acked;
        let newly_lost = facts.lost_chunks != self.lost_chunks;
        self.lost_chunks = facts.lost_chunks;
        let more = if facts.in_flight > facts.cwnd {
            // The product has 80 bits at most: windows end at 2⁴⁰.
            let product = u128::from(self.delivered) * u128::from(facts.cwnd);
            let share = product.div_ceil(u128::from(self.flight));
            u64::try_from(share).unwrap_or(u64::MAX).saturating_sub(self.sent)
        } else {
            // Lost chunks are not outstanding, so the earliest outstanding new one says nothing of repair.
            let repaired = ack.cumulative_advanced || ack.retransmitted_pseudo_cumulative_advanced;
            let probe = if repaired && !newly_lost {
                u64::from(facts.max_data_chunk)
            } else {
                0
            };
            let conserved = self.delivered.saturating_sub(self.sent).max(ack.newly_acked);
            (conserved + probe).min(facts.cwnd - facts.in_flight)
        };
        self.limit = Some(facts.in_flight + more);
    }

    pub(crate) const fn on_sent(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// How many bytes may be in flight until the next SACK. A recovery that a timer began has heard of nothing that
    /// arrived yet, so `window` decides.
    pub(crate) fn limit(&self, window: u64) -> u64 {
        self.limit.unwrap_or(window)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use anabranch_policy::{PathAck, PathFacts};
    use anabranch_types::PathId;

    use super::ProportionalRate;

    const CHUNK: u64 = 1_000;

    /// A path whose window was cut from 100 to 70 chunks.
    fn facts(in_flight: u64) -> PathFacts {
        let mut facts = PathFacts::new(PathId(0), 1_012, 1_000, Duration::from_secs(1));
        facts.cwnd = 70 * CHUNK;
        facts.in_flight = in_flight;
        facts
    }

    fn acked(bytes: u64, repaired: bool) -> PathAck {
        let mut ack = PathAck::new(PathId(0), 0);
        ack.newly_acked = bytes;
        ack.pseudo_cumulative_advanced = true;
        ack.retransmitted_pseudo_cumulative_advanced = repaired;
        ack
    }

    #[test]
    fn prr_sends_seven_chunks_per_ten_delivered() {
        let mut rate = ProportionalRate::begin(100 * CHUNK);
        let mut in_flight = 99 * CHUNK;
        let mut sent = 0;
        for _ in 0..90 {
            in_flight -= CHUNK;
            rate.on_ack(&acked(CHUNK, false), &facts(in_flight));
            while in_flight < rate.limit(70 * CHUNK) {
                in_flight += CHUNK;
                sent += 1;
                rate.on_sent(CHUNK);
            }
        }
        // 0.7 · 90, and one more because a chunk is not divided.
        assert!((63..=64).contains(&sent), "{sent}");
        assert!((70 * CHUNK..=73 * CHUNK).contains(&in_flight), "{in_flight}");
    }

    #[test]
    fn prr_sends_no_more_than_is_delivered_after_heavy_loss() {
        let mut rate = ProportionalRate::begin(100 * CHUNK);
        let mut facts = facts(40 * CHUNK);
        facts.lost_chunks = 60;
        rate.on_ack(&acked(2 * CHUNK, false), &facts);
        assert_eq!(rate.limit(70 * CHUNK), 42 * CHUNK);
        rate.on_sent(2 * CHUNK);
        facts.in_flight = 40 * CHUNK;
        rate.on_ack(&acked(2 * CHUNK, true), &facts);
        assert_eq!(
            rate.limit(70 * CHUNK),
            43 * CHUNK,
            "and a chunk more once nothing new is lost"
        );
        facts.in_flight = 70 * CHUNK - 1;
        rate.on_ack(&acked(2 * CHUNK, true), &facts);
        assert_eq!(rate.limit(70 * CHUNK), 70 * CHUNK, "never beyond the window");
    }
}

//! Recovery of a path after losses (RFC 9260 §7.2.4), and its sending rate with Proportional Rate Reduction (PRR).
//!
//! Source: RFC 9937, applied to each path separately.
//!
//! Idea: detected losses free window space at once, and a sender that fills it keeps the queue full that lost the packets. So a
//! path in recovery sends in proportion to the bytes delivered, such that the flight size falls to the new window while the old
//! flight is acknowledged, and afterwards sends no more than is delivered.
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
//! Deviation: the packet that RFC 9937 permits in any case is that of RFC 9260 §7.2.4 step 3, which `retransmission_credit`
//! permits.

use anabranch_policy::{PathAck, PathFacts};
use anabranch_types::UnwrappedTsn;

/// Recovery in progress on a path: losses up to the exit point are due to one congestion event, for which cwnd was reduced.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    /// Exit point: recovery ends when this TSN is acknowledged.
    pub(crate) exit: UnwrappedTsn,
    pub(crate) kind: RecoveryKind,
}

/// What began a recovery.
#[derive(Clone, Debug)]
pub(crate) enum RecoveryKind {
    /// Fast recovery (RFC 9260 §7.2.4): lost or marked packets, with the state of PRR, or `None` if only cwnd limits the path.
    Fast(Option<ProportionalRate>),
    /// T3 has expired. The path is in slow start.
    Timeout,
}

impl Recovery {
    pub(crate) const fn rate(&self) -> Option<&ProportionalRate> {
        match &self.kind {
            RecoveryKind::Fast(rate) => rate.as_ref(),
            RecoveryKind::Timeout => None,
        }
    }

    pub(crate) const fn rate_mut(&mut self) -> Option<&mut ProportionalRate> {
        match &mut self.kind {
            RecoveryKind::Fast(rate) => rate.as_mut(),
            RecoveryKind::Timeout => None,
        }
    }

    /// Whether a loss of `tsn` is due to the event for which cwnd was reduced. In fast recovery each loss is (RFC 9260 §7.2.4). After
    /// a timeout, chunks are sent that were not outstanding then, and they can be lost to other congestion.
    pub(crate) fn covers(&self, tsn: UnwrappedTsn) -> bool {
        match self.kind {
            RecoveryKind::Fast(_) => true,
            RecoveryKind::Timeout => tsn <= self.exit,
        }
    }
}

/// PRR state of one recovery, in bytes of chunks.
#[derive(Clone, Debug)]
pub(crate) struct ProportionalRate {
    flight: u64,
    delivered: u64,
    sent: u64,
    /// [`PathFacts::lost_chunks`] after the last SACK.
    lost_chunks: u64,
    /// Limit of the flight size; `None` before the first SACK of the recovery.
    limit: Option<u64>,
}

impl ProportionalRate {
    /// Starts recovery with `flight` bytes outstanding, lost ones included.
    pub(crate) fn begin(flight: u64) -> Self {
        Self {
            flight: flight.max(1),
            delivered: 0,
            sent: 0,
            lost_chunks: 0,
            limit: None,
        }
    }

    /// Updates the limit after a SACK; `facts` are those after it.
    pub(crate) fn on_ack(&mut self, ack: &PathAck, facts: &PathFacts) {
        self.delivered += ack.newly_acked;
        let newly_lost = facts.lost_chunks != self.lost_chunks;
        self.lost_chunks = facts.lost_chunks;
        let more = if facts.in_flight > facts.cwnd {
            // The product has at most 80 bits: windows are at most 2⁴⁰.
            let product = u128::from(self.delivered) * u128::from(facts.cwnd);
            let share = product.div_ceil(u128::from(self.flight));
            u64::try_from(share).unwrap_or(u64::MAX).saturating_sub(self.sent)
        } else {
            // Lost chunks are not outstanding, so the earliest new chunk outstanding does not show whether losses are repaired.
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

    /// Maximum bytes in flight until the next SACK. Before the first SACK of a recovery that a timer started, `window` is the
    /// limit.
    pub(crate) fn limit(&self, window: u64) -> u64 {
        self.limit.unwrap_or(window)
    }
}

#[cfg(test)]
mod tests {
    use anabranch_policy::options::RtoParameters;
    use anabranch_policy::{PathAck, PathFacts, RttEstimator};
    use anabranch_types::PathId;

    use super::ProportionalRate;

    const CHUNK: u64 = 1_000;

    /// A path whose window was cut from 100 to 70 chunks.
    fn facts(in_flight: u64) -> PathFacts {
        let mut facts = PathFacts::new(PathId(0), 1_012, 1_000, RttEstimator::new(RtoParameters::RFC9260));
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

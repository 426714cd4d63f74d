//! Truncated SACKs. What does a SACK show that has no room for more gap ack blocks?
//!
//! A receiver lists as many gap ack blocks as fit into a packet, the lowest first (RFC 9260 §6.7). If one of two paths fails, almost
//! every second TSN is missing, and some 300 blocks fill a packet. All chunks above the last block stay in flight, although they arrive.
//! So the window of the working path fills up, nothing is sent, and no SACK arrives. The silence of the failed path is not noticed
//! before T3 expires on both.
//!
//! But a receiver sends a SACK because packets have arrived. So a SACK that acknowledges nothing new makes room for new packets on the
//! path that it arrived on, as a duplicate acknowledgement does in TCP (RFC 5681 §3.2 step 4). The room is taken back when SACKs report
//! the chunks (ADR 0199).

use anabranch_types::{Instant, PathId};
use anabranch_wire::ValidSack;

use super::Transfer;
use crate::send::MaybeTruncated;

impl Transfer {
    /// Looks whether `sack`, which arrived over `path` and is not applied yet, may have been sent for packets that it cannot report.
    pub(super) fn may_be_truncated(
        &self,
        path: PathId,
        sack: &ValidSack,
        now: Instant,
    ) -> Option<MaybeTruncated> {
        let min_rtt = self.paths.fact(path).min_rtt()?;
        self.sender.may_be_truncated(sack, path, now - min_rtt)
    }

    /// Notes that `packets` packets have arrived on `path` that a SACK had no room to report, so the path works.
    pub(super) fn note_unreported(
        &mut self,
        path: PathId,
        before: MaybeTruncated,
        packets: u8,
        now: Instant,
    ) {
        let (facts, machinery) = self.paths.both_mut(path);
        machinery.acked_at = Some(now);
        let bytes = u64::from(packets) * u64::from(facts.max_data_chunk);
        self.sender.arrived_unreported(path, bytes, before);
    }
}

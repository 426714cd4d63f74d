//! What do all SCTP windows have in common? Start, slow start, loss and idleness of RFC 9260 §7.2.

use core::time::Duration;

use crate::{LossCause, PathAck, PathFacts};

/// No window grows beyond this: more than any path holds, far from any overflow.
const CEILING: u64 = 1 << 40;

/// One full chunk of `path` (PMDCS), the unit of windows.
pub(crate) fn quantum(path: &PathFacts) -> u64 {
    u64::from(path.max_data_chunk).max(1)
}

/// What idleness does to the slow-start threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IdleThreshold {
    /// "Before the first cwnd adjustment, the ssthresh of the transport address SHOULD be set to the cwnd"
    /// (RFC 9260 §7.2.1).
    Lowered,
    /// It stays at what was learnt from losses, or unset, as RFC 2861 proposes: an association that idles
    /// before its first transfer would otherwise grow linearly from the initial window on.
    Kept,
}

/// Window and threshold of one path, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) bytes: u64,
    pub(crate) threshold: u64,
    utilisation: Utilisation,
}

impl Window {
    //= rfc9260 7.2.1-1, 7.2.1-3
    /// The window before any acknowledgement: `packets` full chunks, or what RFC 9260 §7.2.1 says if 0.
    pub(crate) fn initial(path: &PathFacts, packets: u16) -> Self {
        let quantum = quantum(path);
        let three_packets = if path.ipv6 { 4_344 } else { 4_404 };
        let bytes = match packets {
            0 => (4 * quantum).min((2 * quantum).max(three_packets)),
            packets => quantum * u64::from(packets),
        };
        Self {
            bytes,
            threshold: u64::MAX,
            utilisation: Utilisation::default(),
        }
    }

    /// The window of a path that begins. After a lost SYN or SYN/ACK the initial window is one
    /// segment (RFC 5681 §3.1).
    pub(crate) fn first(path: &PathFacts, packets: u16) -> Self {
        let initial = Self::initial(path, packets);
        let bytes = if path.lost_chunks > 0 {
            quantum(path)
        } else {
            initial.bytes
        };
        Self { bytes, ..initial }
    }

    pub(crate) const fn in_slow_start(&self) -> bool {
        self.bytes <= self.threshold
    }

    pub(crate) fn grow(&mut self, by: u64) {
        self.bytes = self.bytes.saturating_add(by).min(CEILING);
    }

    /// A step of any sign that leaves one full chunk at least.
    pub(crate) fn change(&mut self, by: i64, quantum: u64) {
        self.bytes = self.bytes.saturating_add_signed(by).clamp(quantum, CEILING);
    }

    /// Whether the window was fully used while the bytes acknowledged now were in flight.
    ///
    /// Data that waits for its turn in pacing counts as sent. Acknowledgements that come back over a faster path would
    /// otherwise keep the window from ever being full, and the rate, which follows from the window, from ever growing:
    /// a sender "SHOULD NOT consider itself application limited if it would have fully utilized the congestion window
    /// without pacing delay" (RFC 9002 §7.8).
    pub(crate) fn was_full(&mut self, ack: &PathAck, path: &PathFacts) -> bool {
        let no_chunk_fits = ack.in_flight_before + path.duplicated_bytes + quantum(path) > self.bytes;
        let full = no_chunk_fits || path.pacing_limited;
        self.utilisation
            .observe(full, ack.in_flight_before, ack.newly_acked)
    }

    /// A cut to `share_of_ten` tenths, never below four full chunks (RFC 9260 §7.2.3), or to one after a
    /// timeout.
    ///
    /// Deviation: a window already below four chunks is not raised to them. The RFC's formula would answer a
    /// loss with a larger window.
    pub(crate) fn cut(&mut self, cause: LossCause, share_of_ten: u64, path: &PathFacts) {
        let left = self.bytes * share_of_ten / 10;
        self.cut_to(left.max(4 * quantum(path)), cause, path);
    }

    //= rfc9260 7.2.1-2
    /// A cut to `threshold`, at least one full chunk, or to one full chunk after a timeout. It raises nothing.
    pub(crate) fn cut_to(&mut self, threshold: u64, cause: LossCause, path: &PathFacts) {
        let quantum = quantum(path);
        self.threshold = threshold.max(quantum);
        self.bytes = match cause {
            LossCause::FastRetransmit => self.bytes.min(self.threshold),
            LossCause::Timeout => self.bytes.min(quantum),
        };
        self.utilisation = Utilisation::default();
    }

    //= rfc9260 6.1-9, 7.1-1, 7.2.1-10, 7.2.1-11, 7.2.2-3
    /// "While the endpoint does not transmit data on a given transport address, the cwnd […] SHOULD be adjusted
    /// to max(cwnd / 2, 4 * PMDCS) once per RTO" (RFC 9260 §7.2.1). Like a loss, idleness does not raise a small
    /// window. The threshold is the business of `threshold`.
    pub(crate) fn decay(&mut self, path: &PathFacts, idle: Duration, threshold: IdleThreshold) {
        let rto = path.rto.as_nanos().max(1);
        let periods = u32::try_from(idle.as_nanos() / rto).unwrap_or(u32::MAX).min(63);
        if periods == 0 {
            return;
        }
        self.threshold = match threshold {
            IdleThreshold::Lowered => self.bytes,
            IdleThreshold::Kept => self.threshold.max(self.bytes),
        };
        let floor = self.bytes.min(4 * quantum(path));
        self.bytes = (self.bytes >> periods).max(floor);
        self.utilisation = Utilisation::default();
    }

    /// Comes down to `limit`, and may come back in slow start: nothing was lost.
    pub(crate) fn limit(&mut self, limit: u64) {
        self.threshold = self.threshold.max(self.bytes);
        self.bytes = self.bytes.min(limit);
        self.utilisation = Utilisation::default();
    }

    /// Keeps the window at one full chunk at least when the path's packets have become larger.
    pub(crate) fn raise_to(&mut self, quantum: u64) {
        self.bytes = self.bytes.max(quantum);
    }
}

/// Bytes that were in flight when the window was last seen full and are not acknowledged yet.
///
/// RFC 9260 §7.2.1 lets a window grow only while it "is being fully utilized", judged when a SACK arrives.
/// Real drivers hand over a batch of SACKs before anything can be sent, and only the first one would see a
/// full window. So fullness is remembered for the bytes of that flight. Full means: no further full chunk fits.
#[derive(Clone, Debug, Default)]
struct Utilisation {
    credit: u64,
}

impl Utilisation {
    fn observe(&mut self, full: bool, in_flight: u64, newly_acked: u64) -> bool {
        // No more than what is in flight can be left of that flight.
        self.credit = if full {
            in_flight.max(1)
        } else {
            self.credit.min(in_flight)
        };
        let was_full = self.credit > 0;
        self.credit = self.credit.saturating_sub(newly_acked);
        was_full
    }
}

//! Cwnd and ssthresh of one path: initial values, slow start, loss and idleness of RFC 9260 §7.2.

use core::time::Duration;

use crate::{LossCause, PathAck, PathFacts};

/// Upper bound of every cwnd: more than any path holds, far from any overflow.
pub(crate) const MAX_CWND: u64 = 1 << 40;

/// One full chunk of `path` (PMDCS), the unit of increases.
pub(crate) fn quantum(path: &PathFacts) -> u64 {
    u64::from(path.max_data_chunk).max(1)
}

/// Effect of an idle period on ssthresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IdleSsthresh {
    /// Set to the cwnd before the first adjustment (RFC 9260 §7.2.1).
    Lowered,
    /// Unchanged, as RFC 2861 proposes: an association that is idle before its first transfer would otherwise grow
    /// linearly from the initial cwnd on.
    Kept,
}

/// The cwnd and ssthresh of one path, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) bytes: u64,
    pub(crate) ssthresh: u64,
    utilisation: Utilisation,
}

impl Window {
    //= rfc9260 7.2.1-1, 7.2.1-3
    /// The cwnd before any acknowledgement: `packets` full chunks, or the formula of RFC 9260 §7.2.1 if 0.
    pub(crate) fn initial(path: &PathFacts, packets: u16) -> Self {
        let quantum = quantum(path);
        let three_packets = if path.ipv6 { 4_344 } else { 4_404 };
        let bytes = match packets {
            0 => (4 * quantum).min((2 * quantum).max(three_packets)),
            packets => quantum * u64::from(packets),
        };
        Self {
            bytes,
            ssthresh: u64::MAX,
            utilisation: Utilisation::default(),
        }
    }

    /// The cwnd of a new path: one full chunk if its first packet was lost, as RFC 5681 §3.1 requires where a SYN or
    /// SYN/ACK was lost.
    pub(crate) fn first(path: &PathFacts, packets: u16) -> Self {
        let initial = Self::initial(path, packets);
        let bytes = if path.lost_chunks > 0 {
            quantum(path)
        } else {
            initial.bytes
        };
        Self { bytes, ..initial }
    }

    /// A cwnd of `bytes` in congestion avoidance.
    pub(crate) fn avoiding(bytes: u64) -> Self {
        Self {
            bytes: bytes.min(MAX_CWND),
            // In slow start a cwnd may equal ssthresh (RFC 9260 §7.2.1).
            ssthresh: bytes.min(MAX_CWND).saturating_sub(1),
            utilisation: Utilisation::default(),
        }
    }

    pub(crate) const fn in_slow_start(&self) -> bool {
        self.bytes <= self.ssthresh
    }

    pub(crate) fn grow(&mut self, by: u64) {
        self.bytes = self.bytes.saturating_add(by).min(MAX_CWND);
    }

    /// Changes the cwnd by `by`, which may be negative; at least one full chunk is left.
    pub(crate) fn change(&mut self, by: i64, quantum: u64) {
        self.bytes = self.bytes.saturating_add_signed(by).clamp(quantum, MAX_CWND);
    }

    /// Whether the cwnd was fully used while the bytes acknowledged now were in flight.
    ///
    /// Data delayed by pacing counts as sent (RFC 9002 §7.8). Otherwise acknowledgements that return over a faster path
    /// could keep the cwnd from ever being full, and the pacing rate, which follows from the cwnd, from growing.
    pub(crate) fn was_full(&mut self, ack: &PathAck, path: &PathFacts) -> bool {
        self.utilisation.was_full(self.bytes, ack, path)
    }

    /// Cuts the cwnd to `share_of_ten` tenths, never below four full chunks (RFC 9260 §7.2.3), or to one after a
    /// timeout.
    ///
    /// Deviation: a cwnd already below four chunks is not raised to them. The RFC's formula would answer a loss with a
    /// larger cwnd.
    pub(crate) fn cut(&mut self, cause: LossCause, share_of_ten: u64, path: &PathFacts) {
        let left = self.bytes * share_of_ten / 10;
        self.cut_to(left.max(4 * quantum(path)), cause, path);
    }

    //= rfc9260 7.2.1-2
    /// Cuts the cwnd to `ssthresh`, at least one full chunk, or to one full chunk after a timeout. Never raises it.
    pub(crate) fn cut_to(&mut self, ssthresh: u64, cause: LossCause, path: &PathFacts) {
        let quantum = quantum(path);
        self.ssthresh = ssthresh.max(quantum);
        self.bytes = match cause {
            LossCause::FastRetransmit | LossCause::Mark | LossCause::Reschedule => {
                self.bytes.min(self.ssthresh)
            }
            LossCause::Timeout => self.bytes.min(quantum),
        };
        self.utilisation = Utilisation::default();
    }

    //= rfc9260 6.1-9, 7.1-1, 7.2.1-10, 7.2.1-11, 7.2.2-3
    /// Halves an idle cwnd once per RTO, down to 4 · PMDCS (RFC 9260 §7.2.1). Like a loss, idleness does not raise a
    /// small cwnd.
    pub(crate) fn decay(&mut self, path: &PathFacts, idle: Duration, ssthresh: IdleSsthresh) {
        let rto = path.rto().as_nanos().max(1);
        let periods = u32::try_from(idle.as_nanos() / rto).unwrap_or(u32::MAX).min(63);
        if periods == 0 {
            return;
        }
        self.ssthresh = match ssthresh {
            IdleSsthresh::Lowered => self.bytes,
            IdleSsthresh::Kept => self.ssthresh.max(self.bytes),
        };
        let floor = self.bytes.min(4 * quantum(path));
        self.bytes = (self.bytes >> periods).max(floor);
        self.utilisation = Utilisation::default();
    }

    /// Reduces the cwnd to `limit`, from which it may return in slow start: nothing was lost.
    pub(crate) fn limit(&mut self, limit: u64) {
        self.ssthresh = self.ssthresh.max(self.bytes);
        self.bytes = self.bytes.min(limit);
        self.utilisation = Utilisation::default();
    }

    /// Takes over a path that has a cwnd of `bytes`: congestion avoidance follows.
    pub(crate) fn continue_with(&mut self, bytes: u64, path: &PathFacts) {
        self.bytes = bytes.clamp(quantum(path), MAX_CWND);
        self.ssthresh = self.bytes;
    }

    /// Keeps the cwnd at one full chunk at least when the packets of the path have become larger.
    pub(crate) fn raise_to(&mut self, quantum: u64) {
        self.bytes = self.bytes.max(quantum);
    }
}

/// Bytes that were in flight when the cwnd was last seen full and are not acknowledged yet.
///
/// RFC 9260 §7.2.1 lets a cwnd grow only while it is fully used, judged when a SACK arrives. Real drivers pass a batch of
/// SACKs before anything can be sent, and only the first one would see a full cwnd. So a cwnd counts as full for the
/// bytes of that flight. Full means: no further full chunk fits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Utilisation {
    credit: u64,
}

impl Utilisation {
    /// Whether a cwnd of `bytes` was fully used (see [`Window::was_full`]).
    pub(crate) fn was_full(&mut self, bytes: u64, ack: &PathAck, path: &PathFacts) -> bool {
        let no_chunk_fits = ack.in_flight_before + path.duplicated_bytes + quantum(path) > bytes;
        let full = no_chunk_fits || path.pacing_limited;
        self.observe(full, ack.in_flight_before, ack.newly_acked)
    }

    /// Whether bytes of a flight that filled the cwnd are yet to be acknowledged.
    pub(crate) const fn is_full(&self) -> bool {
        self.credit > 0
    }

    fn observe(&mut self, full: bool, in_flight: u64, newly_acked: u64) -> bool {
        // The rest of that flight is at most what is in flight.
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

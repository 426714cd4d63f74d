//! Stream reconfiguration, the receiver's part (RFC 6525 §5.2): sequence numbers of inbound streams restart.

use anabranch_types::{StreamId, Tsn, UnwrappedTsn};

use super::Receiver;
use super::arrivals::Arrivals;

impl Receiver {
    /// Number of inbound streams.
    pub(crate) const fn stream_count(&self) -> u16 {
        self.reassembly.stream_count()
    }

    //= rfc6525 5.2.5-2
    /// Sets the number of inbound streams, which may not decrease.
    pub(crate) const fn set_stream_count(&mut self, count: u16) {
        self.reassembly.set_stream_count(count);
    }

    /// The TSN that `tsn` means.
    pub(crate) fn nearest(&self, tsn: Tsn) -> UnwrappedTsn {
        self.tracker.cumulative().nearest(tsn)
    }

    /// Whether all data up to `last` has arrived, and the application has received what is complete.
    pub(crate) fn has_delivered_through(&self, last: UnwrappedTsn) -> bool {
        self.tracker.cumulative() >= last && self.delivery.is_empty() && !self.delivery.holds_any()
    }

    //= rfc6525 5.2.2-6
    /// Expects number 0 next on `streams`, or on all if none is listed. Messages that a peer left waiting for earlier ones are delivered.
    pub(crate) fn reset_streams(&mut self, streams: &[StreamId]) {
        let Self {
            reassembly,
            window,
            delivery,
            ..
        } = self;
        reassembly.reset_streams(streams, window, delivery);
        self.window.set_unread(!self.delivery.is_empty());
    }

    //= rfc6525 5.2.4-4
    /// Expects TSN `next`, and number 0 on all streams.
    pub(crate) fn renumber(&mut self, next: Tsn) {
        self.reset_streams(&[]);
        self.tracker.renumber(next);
        if let Some(arrivals) = &mut self.arrivals {
            **arrivals = Arrivals::above(self.tracker.cumulative());
        }
        self.schedule.force();
    }
}

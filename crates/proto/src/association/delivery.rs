//! Delivery settings. Which paths do streams use, and how long may queues be?

use anabranch_policy::PathUse;
use anabranch_types::StreamId;

use crate::send::SendError;
use crate::transfer::Transfer;

/// Settings of how data is to reach the peer; see [`crate::Association::delivery`].
#[derive(Debug)]
pub struct DeliverySettings<'a>(&'a mut Transfer);

impl<'a> DeliverySettings<'a> {
    pub(super) const fn new(transfer: &'a mut Transfer) -> Self {
        Self(transfer)
    }

    /// Sets which paths `stream` is to use. With [`PathUse::One`], its messages stay on one path as long as that is not clearly worse than
    /// another, so that they do not overtake one another: for flows whose ends take reordering for loss. With [`PathUse::Fastest`],
    /// they wait for a path with a short round-trip time rather than take a long one: for calls. The stream scheduler `wfq` obeys it,
    /// others ignore it.
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`].
    pub fn set_stream_path_use(&mut self, stream: StreamId, path_use: PathUse) -> Result<(), SendError> {
        let scheduler = &mut *self.0.policies.stream_scheduler;
        self.0.sender.set_path_use(stream, path_use, scheduler)
    }

    /// Sets whether queues on the paths are to be short from now on, as for a call beside a transfer. A congestion control that fills
    /// queues then uses a model of the paths instead; of those that there are, `loss-differentiating` does. Off by default, and after
    /// a restart of the association.
    pub const fn set_low_latency(&mut self, low_latency: bool) {
        self.0.set_low_latency(low_latency);
    }

    /// Sets whether `stream` is redundant: its chunks are sent on all paths that are in use, so that what a path loses arrives over
    /// another one, and a path that fails delays nothing. Duplicates are sent within the windows and limits of the paths, as the path
    /// scheduler decides, and the peer delivers each message once. False by default.
    ///
    /// # Errors
    ///
    /// [`SendError::InvalidStream`].
    pub fn set_stream_redundancy(&mut self, stream: StreamId, redundant: bool) -> Result<(), SendError> {
        self.0.sender.set_redundancy(stream, redundant)
    }
}

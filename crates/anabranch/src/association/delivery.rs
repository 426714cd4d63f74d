//! Delivery settings of an association. Which paths do streams use, and how long may queues be?

use anabranch_proto::PathUse;
use anabranch_types::StreamId;

use super::Association;
use crate::error::SendError;

impl Association {
    /// Sets which paths `stream` is to use. With [`PathUse::One`], its messages stay on one path as long as that is not clearly worse than
    /// another, so that they do not overtake one another: for flows whose ends take reordering for loss. With [`PathUse::Fastest`],
    /// they wait for a path with a short round-trip time rather than take a long one: for calls. The stream scheduler `wfq` obeys it,
    /// others ignore it.
    ///
    /// # Errors
    ///
    /// The association is closed, or has no such stream.
    pub fn set_stream_path_use(&self, stream: StreamId, path_use: PathUse) -> Result<(), SendError> {
        self.0
            .set(|core| core.delivery().set_stream_path_use(stream, path_use))
    }

    /// Sets whether queues on the paths are to be short from now on, as for a call beside a transfer. A congestion control that fills
    /// queues then uses a model of the paths instead; of those that there are, `loss-differentiating` does. Off by default, and after
    /// a restart of the association.
    ///
    /// # Errors
    ///
    /// The association is closed.
    pub fn set_low_latency(&self, low_latency: bool) -> Result<(), SendError> {
        self.0.set(|core| {
            core.delivery().set_low_latency(low_latency);
            Ok(())
        })
    }

    /// Sets whether `stream` is redundant: its messages are sent on all paths in use, so that neither a loss nor a path that fails delays
    /// them, and delivered once. Paths that [rest](crate::PathPreference) carry none. False by default.
    ///
    /// # Errors
    ///
    /// The association is closed, or has no such stream.
    pub fn set_stream_redundancy(&self, stream: StreamId, redundant: bool) -> Result<(), SendError> {
        self.0
            .set(|core| core.delivery().set_stream_redundancy(stream, redundant))
    }
}

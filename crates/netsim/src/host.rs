//! Who sends and receives? Anything that reacts to packets and to time.

use core::fmt;

use anabranch_types::Instant;

use crate::Datagram;

/// A machine on the network: reacts to packets and deadlines, and is then asked what it wants to send.
pub trait Host {
    /// A datagram arrived. Its path is the sender's view: [`PathAddr::reversed`] is this host's.
    ///
    /// [`PathAddr::reversed`]: anabranch_types::PathAddr::reversed
    fn on_datagram(&mut self, now: Instant, datagram: Datagram);

    /// The moment that [`Host::deadline`] named has come. Afterwards the deadline must lie ahead.
    fn on_deadline(&mut self, now: Instant);

    /// The next datagram to send at this moment. Called until `None` after every other call.
    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram>;

    /// When the host wants [`Host::on_deadline`], if ever. Asked after every other call.
    fn deadline(&self) -> Option<Instant>;
}

/// Which host of a [`World`](crate::World), counted in the order of adding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub(crate) u32);

impl HostId {
    /// The number as an index into a dense array.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}", self.0)
    }
}

//! Interface between simulator and hosts. When is a host called, and what does it return?

use core::fmt;

use anabranch_types::Instant;

use crate::Datagram;

/// A host on the network. It reacts to datagrams and deadlines, and is then polled for datagrams to send.
pub trait Host {
    /// Handles a datagram that arrived. Its path is the sender's view; [`PathAddr::reversed`] is this host's.
    ///
    /// [`PathAddr::reversed`]: anabranch_types::PathAddr::reversed
    fn on_datagram(&mut self, now: Instant, datagram: Datagram);

    /// Handles the deadline that [`Host::deadline`] returned. Afterwards the deadline must lie in the future.
    fn on_deadline(&mut self, now: Instant);

    /// The next datagram to send now. Called until `None` after every other call.
    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram>;

    /// When to call [`Host::on_deadline`], if ever. Called after every other call.
    fn deadline(&self) -> Option<Instant>;
}

/// Number of a host in a [`Network`](crate::Network), in the order of adding.
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

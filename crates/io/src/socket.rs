//! Socket traits: batches of datagrams, without blocking.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::task::{Context, Poll};

use crate::datagram::{Incoming, Outgoing};
use crate::icmp::IcmpMessage;
use crate::uplinks::Egress;

/// A non-blocking socket of the operating system, without any notion of readiness: an event loop watches its
/// file descriptor.
pub trait Transport: AsFd + fmt::Debug + Send + Sync {
    /// The address it is bound to. The port is that of the UDP encapsulation, 0 on raw sockets.
    fn local_addr(&self) -> SocketAddr;

    /// The most segments that one [`Outgoing`] may carry; 1 without segmentation offload. May shrink to 1
    /// during operation, when a network interface turns out not to support it.
    fn max_segments(&self) -> usize;

    /// Sends datagrams.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if the socket buffer is full; then nothing was sent. See [`classify`](crate::classify) for all
    /// others.
    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()>;

    /// Receives what has arrived, into as many of `incoming` as needed; returns how many were filled.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if nothing has arrived. See [`classify`](crate::classify) for all others.
    fn try_receive(&self, incoming: &mut [Incoming]) -> io::Result<usize>;

    /// Makes the system keep ICMP messages about packets of this socket. They have to be [taken](Self::take_icmp), because
    /// they take space in the receive buffer.
    ///
    /// # Errors
    ///
    /// See [`classify`](crate::classify).
    fn keep_icmp(&self) -> io::Result<()> {
        Ok(())
    }

    /// Takes the next ICMP message that was kept; `None` if there is none, or the system keeps none.
    ///
    /// # Errors
    ///
    /// See [`classify`](crate::classify).
    fn take_icmp(&self) -> io::Result<Option<IcmpMessage>> {
        Ok(None)
    }

    /// Reads the routing table again, and binds this socket to the device of its address if packets to `remotes` would leave
    /// by another one. Returns how they leave now.
    ///
    /// # Errors
    ///
    /// The system denies it.
    fn follow_routes(&self, remotes: &[SocketAddr]) -> io::Result<Egress> {
        let _ = remotes;
        Ok(Egress::Routed)
    }
}

/// A socket that wakes its user when it becomes ready: a [`Transport`] inside an asynchronous runtime, or
/// a wrapper of another `Socket` that delays, shapes or drops packets.
///
/// There is one user, a driver task: each `poll_` method remembers the waker of its last call only. `try_send`
/// may be called from anywhere.
pub trait Socket: fmt::Debug + Send + Sync {
    /// The address it is bound to. The port is that of the UDP encapsulation, 0 on raw sockets.
    fn local_addr(&self) -> SocketAddr;

    /// The most segments that one [`Outgoing`] may carry; 1 without segmentation offload. May shrink to 1
    /// during operation.
    fn max_segments(&self) -> usize;

    /// Sends without waiting.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if the socket buffer is full; then nothing was sent, and [`poll_writable`](Self::poll_writable)
    /// tells when to try again. See [`classify`](crate::classify) for all others.
    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()>;

    /// Ready when [`try_send`](Self::try_send) is worth a try after a `WouldBlock`.
    ///
    /// # Errors
    ///
    /// The socket can no longer be watched, for instance because its runtime is shutting down.
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Takes what has arrived, into as many of `incoming` as needed; ready with the number filled.
    ///
    /// # Errors
    ///
    /// See [`classify`](crate::classify); never `WouldBlock`.
    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>>;

    /// The next ICMP message about a packet of this socket. Only messages that arrive after the first call are returned.
    /// Sockets without ICMP messages are never ready.
    fn poll_icmp(&self, cx: &mut Context<'_>) -> Poll<IcmpMessage> {
        let _ = cx;
        Poll::Pending
    }

    /// As [`Transport::follow_routes`]. Sockets without an address of one device do nothing.
    ///
    /// # Errors
    ///
    /// The system denies it.
    fn follow_routes(&self, remotes: &[SocketAddr]) -> io::Result<Egress> {
        let _ = remotes;
        Ok(Egress::Routed)
    }
}

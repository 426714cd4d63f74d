//! The asynchronous runtime: readiness, a timer, a clock and tasks. All use of tokio is in
//! this file.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
#[cfg(target_os = "linux")]
use std::os::fd::AsFd as _;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use anabranch_io::{self as sockets, Egress, Incoming, Outgoing, Socket, Transport, UdpSocket};
use anabranch_types::Instant;
use tokio::io::Interest;

/// Runs `task` to completion, in the background.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(task);
}

/// Has the task polled again after others and the runtime itself had a turn. Waking it at once would let
/// it run dozens of times before the future that a single-threaded runtime blocks on.
pub(crate) fn yield_to_others(cx: &mut Context<'_>) {
    let _ = pin!(tokio::task::yield_now()).poll(cx);
}

/// Maps the runtime's clock onto the core's: nanoseconds since the endpoint was bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: tokio::time::Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            epoch: tokio::time::Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::ZERO + self.epoch.elapsed()
    }

    fn runtime_instant(&self, at: Instant) -> tokio::time::Instant {
        self.epoch + (at - Instant::ZERO)
    }
}

/// A timer that is armed repeatedly.
#[derive(Debug)]
pub(crate) struct Timer {
    clock: Clock,
    sleep: Pin<Box<tokio::time::Sleep>>,
    armed: Option<Instant>,
}

impl Timer {
    pub(crate) fn new(clock: Clock) -> Self {
        Self {
            clock,
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            armed: None,
        }
    }

    /// Ready at `deadline` or a little earlier: when a deadline moves into the future, as retransmission timers
    /// do with every acknowledgement, arming the timer again is not worth it.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, deadline: Instant) -> Poll<()> {
        if self.armed.is_none_or(|armed| deadline < armed) {
            self.sleep.as_mut().reset(self.clock.runtime_instant(deadline));
            self.armed = Some(deadline);
        }
        ready!(self.sleep.as_mut().poll(cx));
        self.armed = None;
        Poll::Ready(())
    }
}

/// Opens a UDP socket on the current tokio runtime, to be wrapped by something that shapes, loses or records
/// what passes, and then given to [`EndpointBuilder::socket`](crate::EndpointBuilder::socket).
///
/// # Errors
///
/// As [`UdpSocket::bind`]; also if the runtime cannot watch one more descriptor.
pub fn udp_socket(local: SocketAddr) -> io::Result<Arc<dyn Socket>> {
    Ok(Arc::new(Watched::new(UdpSocket::bind(local)?)?))
}

/// Opens a UDP socket at `local`, an address of one device, such that packets to `remotes` leave by that device; returns
/// how they leave. See [`UdpSocket::bind_to_uplink`].
///
/// # Errors
///
/// As [`UdpSocket::bind_to_uplink`]; also if the runtime cannot watch one more descriptor.
pub fn uplink_socket(local: SocketAddr, remotes: &[SocketAddr]) -> io::Result<(Arc<dyn Socket>, Egress)> {
    let (socket, egress) = UdpSocket::bind_to_uplink(local, remotes)?;
    Ok((Arc::new(Watched::new(socket)?), egress))
}

/// A watch on the host's interfaces, addresses and routes: for programs that follow them with
/// [`Endpoint::add_local`](crate::Endpoint::add_local) and
/// [`Association::add_local_address`](crate::Association::add_local_address).
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct InterfaceChanges {
    watch: sockets::InterfaceWatch,
    /// A second descriptor of the same socket, of which tokio watches the readiness only.
    readiness: tokio::net::UdpSocket,
}

#[cfg(target_os = "linux")]
impl InterfaceChanges {
    /// Watches from now on.
    ///
    /// # Errors
    ///
    /// The system denies the socket, or the runtime cannot watch one more descriptor.
    pub fn start() -> io::Result<Self> {
        let watch = sockets::InterfaceWatch::start()?;
        let descriptor = watch.as_fd().try_clone_to_owned()?;
        let readiness = tokio::net::UdpSocket::from_std(descriptor.into())?;
        Ok(Self { watch, readiness })
    }

    /// Ready when something changed since the last call. Nothing is lost if the future is dropped before it is ready.
    ///
    /// # Errors
    ///
    /// The descriptor broke, or the runtime has ended.
    pub async fn changed(&self) -> io::Result<()> {
        let take = || {
            let changed = self.watch.take_changes()?;
            changed
                .then_some(())
                .ok_or_else(|| io::ErrorKind::WouldBlock.into())
        };
        self.readiness.async_io(Interest::READABLE, take).await
    }
}

/// A transport whose readiness the runtime watches.
#[derive(Debug)]
pub(crate) struct Watched<T> {
    transport: T,
    /// A second descriptor of the same socket. tokio watches it and never reads or writes: batches and control messages
    /// are handled by the transport.
    watch: tokio::net::UdpSocket,
}

impl<T: Transport> Watched<T> {
    /// # Errors
    ///
    /// The runtime cannot watch one more descriptor.
    pub(crate) fn new(transport: T) -> io::Result<Self> {
        let descriptor = transport.as_fd().try_clone_to_owned()?;
        let watch = tokio::net::UdpSocket::from_std(descriptor.into())?;
        Ok(Self { transport, watch })
    }
}

/// The error of a socket whose runtime has ended: it will never be ready.
fn ended(_: io::Error) -> io::Error {
    sockets::broken()
}

impl<T: Transport> Socket for Watched<T> {
    fn local_addr(&self) -> SocketAddr {
        self.transport.local_addr()
    }

    fn max_segments(&self) -> usize {
        self.transport.max_segments()
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        self.watch
            .try_io(Interest::WRITABLE, || self.transport.try_send(outgoing))
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.watch.poll_send_ready(cx).map_err(ended)
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.watch.poll_recv_ready(cx)).map_err(ended)?;
            match self
                .watch
                .try_io(Interest::READABLE, || self.transport.try_receive(incoming))
            {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => return Poll::Ready(received),
            }
        }
    }
}

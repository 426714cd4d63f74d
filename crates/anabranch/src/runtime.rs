//! The asynchronous runtime: readiness, a timer, a clock and tasks. All use of tokio is in
//! this file.

use std::fmt;
use std::future::Future;
use std::io;
#[cfg(target_os = "linux")]
use std::net::IpAddr;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

#[cfg(target_os = "linux")]
use anabranch_io::RawSocket;
use anabranch_io::{self as sockets, Egress, IcmpMessage, Incoming, Outgoing, Socket, Transport, UdpSocket};
use anabranch_types::Instant;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Time after which a full socket is tried again that could not be watched.
const RETRY: Duration = Duration::from_millis(10);

/// The runtime of an endpoint: that in which it was bound. Its handles may be used on other executors.
#[derive(Clone, Debug)]
pub(crate) struct Home(tokio::runtime::Handle);

impl Home {
    /// The current runtime.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub(crate) fn current() -> Self {
        Self(tokio::runtime::Handle::current())
    }

    /// What `make` makes may be a timer or a socket of the runtime.
    pub(crate) fn within<T>(&self, make: impl FnOnce() -> T) -> T {
        let _entered = self.0.enter();
        make()
    }

    /// Polls `work` such that it finds timers, sockets and threads of the runtime, whatever executor polls it.
    pub(crate) async fn poll_within<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        std::future::poll_fn(|cx| self.within(|| work.as_mut().poll(cx))).await
    }
}

/// Runs `task` to completion, in the background.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(task);
}

/// The result of `work`, or `None` if it takes longer than `limit`.
pub(crate) async fn timeout<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(limit, work).await.ok()
}

/// Waits for `duration`.
#[cfg(target_os = "linux")]
pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Runs both until one is ready, and drops the other one.
#[cfg(target_os = "linux")]
pub(crate) async fn either(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    std::future::poll_fn(|cx| {
        let is_ready = one.as_mut().poll(cx).is_ready() || other.as_mut().poll(cx).is_ready();
        if is_ready { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
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

/// Regular ticks, the first at once.
#[derive(Debug)]
pub(crate) struct Ticks(tokio::time::Interval);

impl Ticks {
    pub(crate) fn new(interval: Duration) -> Self {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        Self(ticks)
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll_tick(cx).map(drop)
    }
}

/// Opens a UDP socket on the current tokio runtime, to be wrapped by something that shapes, loses or records
/// what passes, and then given to [`EndpointBuilder::socket`](crate::EndpointBuilder::socket).
///
/// # Errors
///
/// As [`UdpSocket::bind`]; also if the runtime cannot watch one more descriptor.
///
/// # Panics
///
/// Outside of a tokio runtime. The runtime needs I/O and timers (`enable_all`), without which this or `poll_writable` panics. The
/// socket itself may be polled anywhere.
pub fn udp_socket(local: SocketAddr) -> io::Result<Arc<dyn Socket>> {
    Ok(Arc::new(Watched::new(UdpSocket::bind(local)?)?))
}

/// Opens a socket for SCTP directly over IP, as [`EndpointBuilder::local_raw`](crate::EndpointBuilder::local_raw) does, which receives packets
/// to one SCTP port only. The endpoint should have no other port.
///
/// # Errors
///
/// As [`RawSocket::bind_port`]; also if the runtime cannot watch one more descriptor.
///
/// # Panics
///
/// Outside of a tokio runtime. The runtime needs I/O and timers (`enable_all`), without which this or `poll_writable` panics. The
/// socket itself may be polled anywhere.
#[cfg(target_os = "linux")]
pub fn raw_socket(local: IpAddr, sctp_port: u16) -> io::Result<Arc<dyn Socket>> {
    Ok(Arc::new(Watched::new(RawSocket::bind_port(local, sctp_port)?)?))
}

/// Opens a UDP socket at `local`, an address of one device, such that packets to `remotes` leave by that device; returns
/// how they leave. See [`UdpSocket::bind_to_uplink`].
///
/// # Errors
///
/// As [`UdpSocket::bind_to_uplink`]; also if the runtime cannot watch one more descriptor.
///
/// # Panics
///
/// Outside of a tokio runtime. The runtime needs I/O and timers (`enable_all`), without which this or `poll_writable` panics. The
/// socket itself may be polled anywhere.
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
///
/// Whether it is writable is only watched while it is full: otherwise each packet that has left would wake the runtime.
#[derive(Debug)]
pub(crate) struct Watched<T> {
    home: Home,
    transport: T,
    readable: Arc<Descriptor>,
    /// `None` unless a task waits for space.
    writable: Mutex<Option<Waiting>>,
    errors: Mutex<ErrorWatch>,
}

/// A further descriptor of the same socket. tokio only watches its readiness; the transport sends and receives, because it
/// needs batches and control messages.
type Descriptor = AsyncFd<OwnedFd>;

#[expect(
    deprecated,
    reason = "it is sound for a descriptor that it owns, and the function that replaces it is unsafe"
)]
fn watch(transport: &impl Transport, interest: Interest) -> io::Result<Descriptor> {
    let descriptor = transport.as_fd().try_clone_to_owned()?;
    AsyncFd::with_interest(descriptor, interest)
}

/// A task that waits until a full socket has space.
#[derive(Debug)]
struct Waiting {
    space: Space,
    task: Waker,
}

/// How the task learns of it.
#[derive(Debug)]
enum Space {
    Watched(Descriptor),
    /// No descriptor was free, or the runtime could not watch it. The socket is tried again after a pause.
    Tried(Pin<Box<tokio::time::Sleep>>),
}

impl Space {
    fn of(transport: &impl Transport) -> Self {
        watch(transport, Interest::WRITABLE).map_or_else(
            |_| Self::Tried(Box::pin(tokio::time::sleep(RETRY))),
            Self::Watched,
        )
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Watched(descriptor) => descriptor
                .poll_write_ready(cx)
                .map(|watched| watched.map(drop).map_err(ended)),
            Self::Tried(pause) => pause.as_mut().poll(cx).map(Ok),
        }
    }
}

impl<T: Transport> Watched<T> {
    /// # Errors
    ///
    /// The runtime cannot watch one more descriptor.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub(crate) fn new(transport: T) -> io::Result<Self> {
        let readable = Arc::new(watch(&transport, Interest::READABLE | Interest::ERROR)?);
        Ok(Self {
            home: Home::current(),
            transport,
            errors: Mutex::new(ErrorWatch::of(&readable)),
            readable,
            writable: Mutex::new(None),
        })
    }

    fn writable(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.writable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn errors(&self) -> MutexGuard<'_, ErrorWatch> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until the error queue of a socket has a message.
struct ErrorWatch {
    socket: Arc<Descriptor>,
    /// Whether the system puts ICMP messages into the queue.
    is_kept: bool,
    /// `None` while the queue is read.
    filled: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

impl ErrorWatch {
    fn of(socket: &Arc<Descriptor>) -> Self {
        let mut errors = Self {
            socket: Arc::clone(socket),
            is_kept: false,
            filled: None,
        };
        errors.rest();
        errors
    }

    /// Ready while the queue may have a message.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(filled) = &mut self.filled else {
            return Poll::Ready(());
        };
        // An error means that the runtime has ended.
        if ready!(filled.as_mut().poll(cx)).is_err() {
            *filled = Box::pin(std::future::pending());
            return Poll::Pending;
        }
        self.filled = None;
        // Clears the readiness, so that further messages are reported.
        let taken = |_: &OwnedFd| Err::<(), _>(io::ErrorKind::WouldBlock.into());
        let _ = self.socket.try_io(Interest::ERROR, taken);
        Poll::Ready(())
    }

    /// Waits for the next message, because the queue is empty.
    fn rest(&mut self) {
        let socket = Arc::clone(&self.socket);
        self.filled = Some(Box::pin(
            async move { socket.ready(Interest::ERROR).await.map(drop) },
        ));
    }
}

impl fmt::Debug for ErrorWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorWatch").finish_non_exhaustive()
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
        let sent = self.transport.try_send(outgoing);
        let is_full = matches!(&sent, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
        let waiting = (!is_full).then(|| self.writable().take()).flatten();
        if let Some(waiting) = waiting {
            // It may be another task than this one, and nothing else would tell it of the space any more.
            waiting.task.wake();
        }
        sent
    }

    /// Each time that the socket is full, another descriptor is watched: after an ICMP message, tokio reports one as writable for
    /// ever.
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut writable = self.writable();
        let mut space = match writable.take() {
            Some(waiting) => waiting.space,
            None => self.home.within(|| Space::of(&self.transport)),
        };
        let polled = space.poll(cx);
        if polled.is_pending() {
            let task = cx.waker().clone();
            *writable = Some(Waiting { space, task });
        }
        polled
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.readable.poll_read_ready(cx)).map_err(ended)?;
            let Ok(received) = ready.try_io(|_| self.transport.try_receive(incoming)) else {
                continue;
            };
            // Linux fills all buffers while the socket has datagrams, and reports those that arrive from now on: a call that
            // finds nothing is saved.
            if cfg!(target_os = "linux") && received.as_ref().is_ok_and(|count| *count < incoming.len()) {
                ready.clear_ready();
            }
            return Poll::Ready(received);
        }
    }

    fn poll_icmp(&self, cx: &mut Context<'_>) -> Poll<IcmpMessage> {
        let mut errors = self.errors();
        if !errors.is_kept {
            errors.is_kept = true;
            // If this fails, no ICMP messages are received, which is harmless.
            let _ = self.transport.keep_icmp();
        }
        loop {
            ready!(errors.poll(cx));
            match self.transport.take_icmp() {
                Ok(Some(message)) => return Poll::Ready(message),
                // Any other error does not stay: the next message replaces it.
                Ok(None) | Err(_) => errors.rest(),
            }
        }
    }

    fn follow_routes(&self, remotes: &[SocketAddr]) -> io::Result<Egress> {
        self.transport.follow_routes(remotes)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::os::fd::BorrowedFd;
    use std::os::unix::net::UnixDatagram;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use anabranch_types::{Ecn, PathAddr};

    use super::*;

    fn outgoing(remote: SocketAddr, bytes: &[u8]) -> Outgoing<'_> {
        let local = SocketAddr::from(([0, 0, 0, 0], 0));
        Outgoing {
            path: PathAddr { local, remote },
            ecn: Ecn::NotCapable,
            bytes,
            segment_size: None,
            may_fragment: false,
        }
    }

    #[tokio::test]
    async fn each_datagram_after_the_last_one_wakes_the_receiver() {
        let [here, there] = [0, 1].map(|_| udp_socket(([127, 0, 0, 1], 0).into()).unwrap());
        let mut incoming = vec![Incoming::new(); 2];
        for number in 0..3 {
            there.try_send(&outgoing(here.local_addr(), &[number])).unwrap();
            let received = poll_fn(|cx| here.poll_receive(cx, &mut incoming)).await;
            assert_eq!((received.unwrap(), incoming[0].bytes()), (1, &[number][..]));
        }
    }

    /// A socket that is connected to itself alone, so that its port is closed to all others.
    #[cfg(target_os = "linux")]
    fn closed_port() -> std::net::UdpSocket {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(socket.local_addr().unwrap()).unwrap();
        socket
    }

    /// Receives until `last` arrives; returns the bytes of all datagrams.
    #[cfg(target_os = "linux")]
    async fn received_up_to(last: u8, socket: &Arc<dyn Socket>) -> Vec<u8> {
        let (mut bytes, mut incoming) = (Vec::new(), vec![Incoming::new(); 4]);
        while !bytes.contains(&last) {
            let count = poll_fn(|cx| socket.poll_receive(cx, &mut incoming))
                .await
                .unwrap();
            let batches = incoming[..count].iter();
            bytes.extend(batches.flat_map(|batch| batch.bytes()));
        }
        bytes
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn icmp_message_between_datagrams_keeps_none_of_them_back() {
        let [here, there] = [0, 1].map(|_| udp_socket(([127, 0, 0, 1], 0).into()).unwrap());
        let send = |number| there.try_send(&outgoing(here.local_addr(), &[number])).unwrap();
        let closed = closed_port();
        let nobody = closed.local_addr().unwrap();
        let is_kept = poll_fn(|cx| Poll::Ready(here.poll_icmp(cx).is_pending())).await;
        assert!(is_kept);
        for _ in 0..3 {
            send(0);
            here.try_send(&outgoing(nobody, b"anybody?")).unwrap();
            send(1);
            assert_eq!(received_up_to(1, &here).await, [0, 1]);
            let message = poll_fn(|cx| here.poll_icmp(cx)).await;
            assert_eq!(message.destination, nobody);
            send(2);
            assert_eq!(received_up_to(2, &here).await, [2]);
        }
    }

    /// A socket with a buffer that stays full until it is read from.
    #[derive(Debug)]
    struct Pipe {
        socket: UnixDatagram,
        /// A descriptor that cannot be watched, to be shown in place of the socket.
        unwatchable: std::fs::File,
        is_watchable: AtomicBool,
    }

    impl Pipe {
        /// The socket, and the other end that empties it.
        fn new() -> (Watched<Self>, UnixDatagram) {
            let (socket, far) = UnixDatagram::pair().unwrap();
            socket.set_nonblocking(true).unwrap();
            far.set_nonblocking(true).unwrap();
            let near = Self {
                socket,
                unwatchable: std::fs::File::open(std::env::current_exe().unwrap()).unwrap(),
                is_watchable: AtomicBool::new(true),
            };
            (Watched::new(near).unwrap(), far)
        }
    }

    impl AsFd for Pipe {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self.is_watchable.load(Ordering::Relaxed) {
                true => self.socket.as_fd(),
                false => self.unwatchable.as_fd(),
            }
        }
    }

    impl Transport for Pipe {
        fn local_addr(&self) -> SocketAddr {
            ([127, 0, 0, 1], 1).into()
        }

        fn max_segments(&self) -> usize {
            1
        }

        fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
            self.socket.send(outgoing.bytes).map(drop)
        }

        fn try_receive(&self, _incoming: &mut [Incoming]) -> io::Result<usize> {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    /// A task that counts how often it is woken.
    #[derive(Debug, Default)]
    struct Task(AtomicUsize);

    impl std::task::Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    const PACKET: [u8; 1_000] = [0; 1_000];

    fn fill(socket: &Watched<Pipe>) {
        while socket.try_send(&outgoing(socket.local_addr(), &PACKET)).is_ok() {}
    }

    fn empty(far: &UnixDatagram) {
        while far.recv(&mut [0; PACKET.len()]).is_ok() {}
    }

    #[tokio::test]
    async fn full_socket_becomes_writable_each_time_that_it_is_emptied() {
        let (socket, far) = Pipe::new();
        for _ in 0..3 {
            fill(&socket);
            let is_full = poll_fn(|cx| Poll::Ready(socket.poll_writable(cx).is_pending())).await;
            assert!(is_full);
            empty(&far);
            poll_fn(|cx| socket.poll_writable(cx)).await.unwrap();
            let sent = socket.try_send(&outgoing(socket.local_addr(), &PACKET));
            assert!(sent.is_ok());
        }
    }

    #[test]
    fn socket_is_not_watched_any_more_when_it_took_a_packet_again_and_its_task_knows() {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        let (socket, far) = runtime.block_on(async { Pipe::new() });
        let task = Arc::new(Task::default());
        let waker = Waker::from(Arc::clone(&task));
        for times in 1..=3 {
            fill(&socket);
            // Outside of the runtime, too.
            assert!(
                socket
                    .poll_writable(&mut Context::from_waker(&waker))
                    .is_pending()
            );
            assert!(socket.try_send(&outgoing(socket.local_addr(), &PACKET)).is_err());
            assert!(socket.writable().is_some());
            empty(&far);
            assert!(socket.try_send(&outgoing(socket.local_addr(), &PACKET)).is_ok());
            assert!(socket.writable().is_none());
            assert_eq!(task.0.load(Ordering::Relaxed), times);
        }
    }

    #[tokio::test]
    async fn full_socket_that_cannot_be_watched_is_tried_again_after_a_pause() {
        let (socket, _far) = Pipe::new();
        socket.transport.is_watchable.store(false, Ordering::Relaxed);
        fill(&socket);
        let task = Arc::new(Task::default());
        let waker = Waker::from(Arc::clone(&task));
        assert!(
            socket
                .poll_writable(&mut Context::from_waker(&waker))
                .is_pending()
        );
        assert_eq!(task.0.load(Ordering::Relaxed), 0);
        poll_fn(|cx| socket.poll_writable(cx)).await.unwrap();
        assert!(socket.writable().is_none());
    }
}

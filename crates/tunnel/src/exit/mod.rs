//! Exit: connects to the targets of the peer's connections, if it may reach them.

mod datagrams;

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::thread;
use std::time::Duration;

use anabranch::Bytes;
use anabranch::io::is_host_address;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

pub use self::datagrams::ExitFlows;
use crate::frame::Reason;
use crate::reach::Reach;
use crate::splice::splice;
use crate::target::{Host, Target};
use crate::tunnel::Incoming;

/// How long a target has to answer, all its addresses together.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long one of several addresses has to answer before the next one is tried beside it (RFC 8305 §5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Addresses of a name that are tried: each is a socket.
const MAX_ADDRESSES: usize = 8;

/// Connections of a peer at the same time, unless told. Each is a socket, or up to [`MAX_ADDRESSES`] while its target is tried.
const MAX_CONNECTIONS: usize = 1_024;

/// Flows of a peer at the same time. Each is a socket or two.
const MAX_FLOWS: usize = 4_096;

/// Names that are resolved at the same time. Each takes a thread.
const RESOLVING: usize = 64;

/// Connects to targets. Clones share their limits.
#[derive(Clone, Debug)]
pub struct Exit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    reach: RwLock<Reach>,
    /// Connections that are not in use.
    unused: Semaphore,
    /// Flows that are not in use.
    unused_flows: Arc<Semaphore>,
    resolving: Arc<Semaphore>,
}

impl Exit {
    /// An exit to what is within `reach`, for 1,024 connections at the same time.
    #[must_use]
    pub fn new(reach: Reach) -> Self {
        Self::with_limit(reach, MAX_CONNECTIONS)
    }

    /// An exit to what is within `reach`, for so many connections at the same time.
    #[must_use]
    pub fn with_limit(reach: Reach, connections: usize) -> Self {
        Self(Arc::new(Inner {
            reach: RwLock::new(reach),
            unused: Semaphore::new(connections),
            unused_flows: Arc::new(Semaphore::new(MAX_FLOWS)),
            resolving: Arc::new(Semaphore::new(RESOLVING)),
        }))
    }

    /// From now on, what is within `reach` is permitted. Connections that were opened before stay, as do hosts that a flow knows.
    pub fn set_reach(&self, reach: Reach) {
        *self.0.reach.write().unwrap_or_else(PoisonError::into_inner) = reach;
    }

    /// Connects the peer's connection to its target, and passes bytes on until it ends.
    pub async fn serve(&self, incoming: Incoming) {
        let Incoming { target, connection } = incoming;
        // Until the connection has ended.
        let Ok(_used) = self.0.unused.try_acquire() else {
            return connection.refuse(Reason::TooMany);
        };
        let dialled = tokio::select! {
            dialled = timeout(PATIENCE, self.dial(&target)) => dialled.unwrap_or(Err(Reason::TimedOut)),
            // The peer gave it up.
            _ = connection.broken() => return,
        };
        match dialled {
            Ok(socket) => {
                connection.accept();
                // The peer is told by a reset, if it has not reset the connection itself.
                let _ = splice(socket, connection, Bytes::new()).await;
            }
            Err(reason) => connection.refuse(reason),
        }
    }

    async fn dial(&self, target: &Target) -> Result<TcpStream, Reason> {
        // Nobody has names resolved that he may not use.
        if self.reaches_nothing() {
            return Err(Reason::NotPermitted);
        }
        let addresses = self.addresses_of(target).await?;
        let permitted: Vec<SocketAddr> = addresses
            .into_iter()
            .filter(|address| self.permits(*address))
            .take(MAX_ADDRESSES)
            .collect();
        first_of(permitted).await
    }

    fn permits(&self, address: SocketAddr) -> bool {
        // If the system does not tell, it may be ours.
        let is_own = |ip: IpAddr| is_host_address(ip).unwrap_or(true);
        self.reach().permits(address, is_own)
    }

    fn reaches_nothing(&self) -> bool {
        self.reach().is_empty()
    }

    fn reach(&self) -> RwLockReadGuard<'_, Reach> {
        self.0.reach.read().unwrap_or_else(PoisonError::into_inner)
    }

    async fn addresses_of(&self, target: &Target) -> Result<Vec<SocketAddr>, Reason> {
        let (name, port) = match &target.host {
            Host::Address(ip) => return Ok(vec![SocketAddr::new(*ip, target.port)]),
            Host::Name(name) => (name.as_str().to_owned(), target.port),
        };
        let resolving = Arc::clone(&self.0.resolving);
        let permit = resolving.acquire_owned().await.map_err(|_| Reason::Failed)?;
        let (sender, receiver) = oneshot::channel();
        // Not a blocking task of the runtime: that would wait for a resolver that does not answer when the program ends.
        thread::spawn(move || {
            let found = (name.as_str(), port).to_socket_addrs().map(Vec::from_iter);
            // Nobody waits any more if the connection was given up, but the thread counts until it ends.
            let _ = sender.send(found);
            drop(permit);
        });
        match receiver.await {
            Ok(Ok(found)) if !found.is_empty() => Ok(found),
            _ => Err(Reason::UnknownName),
        }
    }
}

/// A connection to the first of `addresses` that answers. Each is tried when the one before has failed, or has not answered for a while.
async fn first_of(addresses: Vec<SocketAddr>) -> Result<TcpStream, Reason> {
    let (mut waiting, mut attempts) = (addresses.into_iter(), JoinSet::new());
    let mut reason = Reason::NotPermitted;
    loop {
        if let Some(address) = waiting.next() {
            attempts.spawn(TcpStream::connect(address));
        }
        tokio::select! {
            Some(attempt) = attempts.join_next() => match attempt {
                Ok(Ok(socket)) => return Ok(socket),
                Ok(Err(error)) => reason = reason_of(&error),
                Err(_) => reason = Reason::Failed,
            },
            () = sleep(ATTEMPT_DELAY), if waiting.len() > 0 => {}
            else => return Err(reason),
        }
    }
}

fn reason_of(error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Reason::Refused,
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown => Reason::NetworkUnreachable,
        io::ErrorKind::HostUnreachable => Reason::HostUnreachable,
        io::ErrorKind::TimedOut => Reason::TimedOut,
        _ => Reason::Failed,
    }
}

//! Exit: connects to the targets of the peer's connections, if it may reach them.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anabranch::Bytes;
use anabranch::io::is_host_address;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use crate::frame::Reason;
use crate::reach::Reach;
use crate::splice::splice;
use crate::target::{Host, Target};
use crate::tunnel::Incoming;

/// How long a target has to answer, all its addresses together.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long one of several addresses has to answer.
const PATIENCE_FOR_ONE: Duration = Duration::from_secs(5);

/// Names that are resolved at the same time. Each takes a thread.
const RESOLVING: usize = 64;

/// Connects to targets. Clones share their limits.
#[derive(Clone, Debug)]
pub struct Exit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    reach: Reach,
    resolving: Arc<Semaphore>,
}

impl Exit {
    /// An exit to what is within `reach`.
    #[must_use]
    pub fn new(reach: Reach) -> Self {
        Self(Arc::new(Inner {
            reach,
            resolving: Arc::new(Semaphore::new(RESOLVING)),
        }))
    }

    /// Connects the peer's connection to its target, and passes bytes on until it ends.
    pub async fn serve(&self, incoming: Incoming) {
        let Incoming { target, connection } = incoming;
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
        if self.0.reach.is_empty() {
            return Err(Reason::NotPermitted);
        }
        let addresses = self.addresses_of(target).await?;
        let permitted: Vec<SocketAddr> = addresses
            .into_iter()
            .filter(|address| self.permits(*address))
            .collect();
        let mut reason = Reason::NotPermitted;
        let patience = if permitted.len() > 1 {
            PATIENCE_FOR_ONE
        } else {
            PATIENCE
        };
        for address in permitted {
            match timeout(patience, TcpStream::connect(address)).await {
                Ok(Ok(socket)) => return Ok(socket),
                Ok(Err(error)) => reason = reason_of(&error),
                Err(_) => reason = Reason::TimedOut,
            }
        }
        Err(reason)
    }

    fn permits(&self, address: SocketAddr) -> bool {
        // If the system does not tell, it may be ours.
        let is_own = |ip: IpAddr| is_host_address(ip).unwrap_or(true);
        self.0.reach.permits(address, is_own)
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

fn reason_of(error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset => Reason::Refused,
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown => Reason::NetworkUnreachable,
        io::ErrorKind::HostUnreachable => Reason::HostUnreachable,
        io::ErrorKind::TimedOut => Reason::TimedOut,
        _ => Reason::Failed,
    }
}

//! TUN device: programs that know no proxy. How do packets become connections and datagrams of a tunnel?
//!
//! | file | question |
//! |---|---|
//! | `device.rs` | how do packets come out of the kernel, and into it? |
//! | `packet.rs` | what is in a packet, and how is it given other ends? |
//! | `crossing`, `syn.rs` | how does a TCP connection of a program become a socket of this process? |
//! | `clients.rs` | which flow do other packets belong to? |
//! | `answer.rs` | which packets does a tunnel make itself? |
//! | `pace.rs` | when do datagrams go to the programs, if many were released at once? |
//!
//! IPv4 and IPv6, TCP, UDP and echo requests of ICMP are carried; fragments and all else are dropped.

mod answer;
mod clients;
mod crossing;
mod device;
mod pace;
mod packet;
mod syn;

use std::collections::HashMap;
use std::fmt;
use std::future::pending;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anabranch::Bytes;
use ipnet::IpNet;
use tokio::net::TcpSocket;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet, yield_now};
use tokio::time::{MissedTickBehavior, interval, sleep_until, timeout};

use self::clients::Clients;
pub use self::clients::NameServers;
use self::crossing::{CrossingId, Crossings, Doors, Verdict};
pub use self::device::TunDevice;
use self::device::{Batch, Buffer, Read};
use self::pace::Pace;
use self::packet::{Protocol, is_intact, parse};
use crate::datagram::Datagram;
use crate::frame::Reason;
use crate::proxy::Route;
use crate::splice::splice;
use crate::target::{Host, Target};

/// Connections at the same time; further ones are refused.
const MAX_CONNECTIONS: usize = 1_024;

/// Datagrams that wait to be put into the device.
const QUEUE: usize = 4_096;

/// Packets of one kind, out of the device or into it, that are handled before others are, and before tasks of this thread. The kernel takes as
/// many segments of UDP in one packet.
const TURN: usize = 64;

/// How often what has been silent for long is looked for.
const SWEEP: Duration = Duration::from_secs(5);

/// How long a leg may take to be connected. Both its ends are on this host.
const PATIENCE_WITH_LEG: Duration = Duration::from_secs(10);

/// Tells whether an address is that of a socket of the tunnel.
#[derive(Clone)]
pub struct IsOwn(Arc<dyn Fn(SocketAddr) -> bool + Send + Sync>);

impl IsOwn {
    /// What `tells` says.
    #[must_use]
    pub fn new(tells: impl Fn(SocketAddr) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(tells))
    }

    fn is(&self, address: SocketAddr) -> bool {
        (self.0)(address)
    }
}

impl fmt::Debug for IsOwn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IsOwn")
    }
}

/// What a device is to carry, and where to.
#[derive(Clone, Debug)]
pub struct TunConfig {
    /// The name of the device.
    pub name: String,
    /// Its addresses, one for each IP version at most. The tunnel uses a second one of each network, [`door`].
    pub addresses: Vec<IpNet>,
    /// Name servers for programs.
    pub servers: NameServers,
    /// Whether an address is that of a socket of the tunnel itself, whose packets must not go through it.
    pub is_own: IsOwn,
}

/// The address of the network that the tunnel uses for itself: the next one, or the one before. `None` if there is no other host address.
#[must_use]
pub fn door(address: &IpNet) -> Option<IpAddr> {
    let beside = match address {
        IpNet::V4(network) => {
            let own = network.addr().to_bits();
            [own.checked_add(1), own.checked_sub(1)].map(|bits| bits.map(|bits| IpAddr::V4(bits.into())))
        }
        IpNet::V6(network) => {
            let own = network.addr().to_bits();
            [own.checked_add(1), own.checked_sub(1)].map(|bits| bits.map(|bits| IpAddr::V6(bits.into())))
        }
    };
    let is_host = |ip: &IpAddr| {
        address.contains(ip) && *ip != address.network() && (*ip != address.broadcast() || ip.is_ipv6())
    };
    beside.into_iter().flatten().find(is_host)
}

/// Carries what comes out of `device` to the peer at the end of `route`, until the device fails.
///
/// # Errors
///
/// Always: why the device has failed.
pub async fn carry(device: TunDevice, config: TunConfig, route: Route) -> io::Error {
    let doors = config.addresses.iter().filter_map(door);
    let doors = Doors {
        v4: doors.clone().find_map(|ip| match ip {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        }),
        v6: doors.clone().find_map(|ip| match ip {
            IpAddr::V6(ip) => Some(ip),
            IpAddr::V4(_) => None,
        }),
    };
    let (sender, mut answers) = mpsc::channel(QUEUE);
    let shared = Arc::new(Shared {
        device,
        crossings: Mutex::new(Crossings::new(doors)),
        unused: Semaphore::new(MAX_CONNECTIONS),
        route: route.clone(),
        config: config.clone(),
    });
    let mut carrier = Carrier {
        clients: Clients::new(route, config.servers, config.is_own, sender),
        shared: Arc::clone(&shared),
        batch: Batch::default(),
        pace: Pace::new(Instant::now()),
        legs: JoinSet::new(),
        tasks: HashMap::new(),
    };
    let mut buffer = Buffer::new();
    let mut datagrams = Vec::new();
    let mut sweep = interval(SWEEP);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let due = carrier.pace.due(Instant::now());
        tokio::select! {
            read = shared.device.read(&mut buffer) => match read {
                Ok(read) => {
                    if let Err(error) = carrier.turn(&mut buffer, read) {
                        return error;
                    }
                    // The device is ready as long as packets wait.
                    yield_now().await;
                }
                Err(error) => return error,
            },
            () = until(due) => {}
            1.. = answers.recv_many(&mut datagrams, TURN), if due.is_none() => carrier.answer(&mut datagrams),
            Some(ended) = carrier.legs.join_next() => if let Ok(id) = ended {
                carrier.tasks.remove(&id);
            },
            _ = sweep.tick() => carrier.expire(),
        }
    }
}

/// What the tasks of legs share.
#[derive(Debug)]
struct Shared {
    device: TunDevice,
    crossings: Mutex<Crossings>,
    /// Connections that are not in use.
    unused: Semaphore,
    route: Route,
    config: TunConfig,
}

/// The task that reads the device.
#[derive(Debug)]
struct Carrier {
    shared: Arc<Shared>,
    clients: Clients,
    batch: Batch,
    pace: Pace,
    legs: JoinSet<CrossingId>,
    tasks: HashMap<CrossingId, AbortHandle>,
}

impl Carrier {
    /// Handles a packet, and some of those that wait.
    fn turn(&mut self, buffer: &mut Buffer, mut read: Read) -> io::Result<()> {
        for _ in 0..TURN {
            self.handle(buffer, &read);
            read = match self.shared.device.try_read(buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
        }
        self.handle(buffer, &read);
        Ok(())
    }

    fn handle(&mut self, buffer: &mut Buffer, read: &Read) {
        let bytes = buffer.packet(read);
        let Some(packet) = parse(bytes) else {
            return;
        };
        let now = Instant::now();
        match packet.protocol {
            Protocol::Tcp => {
                let verdict = self
                    .shared
                    .crossings()
                    .handle(bytes, &packet, read.is_partial, now);
                self.act(buffer, read, verdict, packet.dscp);
            }
            Protocol::Udp if !read.is_partial && !is_intact(bytes, &packet) => {}
            Protocol::Udp | Protocol::Echo => self.clients.handle(bytes, &packet, read.segment, now),
        }
    }

    /// `dscp` is that of the packet.
    fn act(&mut self, buffer: &Buffer, read: &Read, verdict: Verdict, dscp: u8) {
        match verdict {
            Verdict::Pass => self.shared.device.write_back(buffer, read.length),
            Verdict::Drop => {}
            Verdict::Answer(packets) => {
                for packet in packets {
                    self.shared.device.write(&packet);
                }
            }
            Verdict::Open { id, target, replaces } => {
                if let Some(task) = replaces.and_then(|id| self.tasks.remove(&id)) {
                    task.abort();
                }
                let shared = Arc::clone(&self.shared);
                let task = self.legs.spawn(async move {
                    serve(&shared, id, target, dscp).await;
                    id
                });
                self.tasks.insert(id, task);
            }
        }
    }

    /// Gives datagrams that have come back to the programs.
    fn answer(&mut self, datagrams: &mut Vec<Datagram>) {
        let now = Instant::now();
        let packets = datagrams
            .drain(..)
            .filter_map(|datagram| self.clients.answer(&datagram, now));
        let mut bytes = 0;
        packets.for_each(|packet| {
            bytes += packet.len();
            self.batch.push(&packet);
        });
        self.pace.on_written(bytes, now);
        self.shared.device.write_batch(&mut self.batch);
    }

    fn expire(&mut self) {
        let now = Instant::now();
        self.shared.crossings().expire(now);
        self.clients.expire(now);
    }
}

/// Waits until then; for ever if there is no such moment.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due.into()).await,
        None => pending().await,
    }
}

/// Opens a connection to `target`, and its leg, and passes bytes on until both end.
async fn serve(shared: &Shared, id: CrossingId, target: SocketAddr, dscp: u8) {
    if let Err(reason) = join(shared, id, target, dscp).await
        && let Some(packet) = shared.crossings().refuse(id, reason)
    {
        shared.device.write(&packet);
    }
    shared.crossings().end(id, Instant::now());
}

/// # Errors
///
/// Why there is no connection.
async fn join(shared: &Shared, id: CrossingId, target: SocketAddr, dscp: u8) -> Result<(), Reason> {
    let _used = shared.unused.try_acquire().map_err(|_| Reason::TooMany)?;
    let target = shared.config.servers.instead_of(target);
    let target = Target::new(Host::Address(target.ip()), target.port()).ok_or(Reason::Failed)?;
    let own = shared.own_address(id).ok_or(Reason::Failed)?;
    let connection = shared.route.clone().open(target, Some(dscp)).await?;
    let socket = leg(own, &shared.config.name).map_err(|_| Reason::Failed)?;
    let local = socket.local_addr().map_err(|_| Reason::Failed)?;
    let door = shared.crossings().expect(id, local).ok_or(Reason::Failed)?;
    let connected = timeout(PATIENCE_WITH_LEG, socket.connect(door)).await;
    let socket = connected
        .map_err(|_| Reason::Failed)?
        .map_err(|_| Reason::Failed)?;
    // Both programs were told.
    let _ = splice(socket, connection, Bytes::new()).await;
    Ok(())
}

/// A socket that sends through the device.
fn leg(own: IpAddr, device: &str) -> io::Result<TcpSocket> {
    let socket = match own {
        IpAddr::V4(_) => TcpSocket::new_v4(),
        IpAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    socket.bind_device(Some(device.as_bytes()))?;
    socket.bind(SocketAddr::new(own, 0))?;
    Ok(socket)
}

impl Shared {
    fn crossings(&self) -> MutexGuard<'_, Crossings> {
        self.crossings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The address of the device of the same IP version as the client.
    fn own_address(&self, id: CrossingId) -> Option<IpAddr> {
        let client = self.crossings().client(id)?;
        let addresses = self.config.addresses.iter().map(IpNet::addr);
        addresses
            .into_iter()
            .find(|own| own.is_ipv4() == client.is_ipv4())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn door_is_another_host_address_of_the_network() {
        for (address, expected) in [
            ("10.9.0.2/24", Some("10.9.0.3")),
            ("10.9.0.1/30", Some("10.9.0.2")),
            ("10.9.0.2/30", Some("10.9.0.1")),
            ("10.9.0.254/24", Some("10.9.0.253")),
            ("10.9.0.2/32", None),
            ("10.9.0.2/31", None),
            ("fd00::1/126", Some("fd00::2")),
            ("fd00::3/126", Some("fd00::2")),
            ("fd00::1/128", None),
        ] {
            let found = door(&address.parse().unwrap());
            assert_eq!(found, expected.map(|ip| ip.parse().unwrap()), "{address}");
        }
    }
}

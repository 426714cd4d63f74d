//! Far side of flows: sends the peer's datagrams to their hosts, if it may reach them, and returns the answers.
//!
//! A flow has one socket of each IP version for all its hosts (endpoint-independent mapping, RFC 4787 §4.1), and gets what comes from hosts that it has sent
//! to (address-dependent filtering, RFC 4787 §5).

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anabranch::Bytes;
use rustix::net::{AddressFamily, SocketType, ipproto};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::{Exit, PATIENCE};
use crate::class::{Class, by_size};
use crate::datagram::{Datagram, DatagramKind};
use crate::target::{Host, HostName, Target};
use crate::tunnel::Tunnel;

/// How long a flow is silent before it ends (RFC 4787 §4.3: at least two minutes).
const IDLE: Duration = Duration::from_secs(120);

/// The same for one that has only asked name servers, which the RFC permits: each question is a flow.
const IDLE_DNS: Duration = Duration::from_secs(20);

const DNS: u16 = 53;

/// Datagrams of a flow that wait to be sent.
const QUEUE: usize = 256;

/// Hosts and names that a flow knows. One with more forgets all, and they are looked up again.
const MAX_KNOWN: usize = 1_024;

/// Longest datagram.
const LONGEST: usize = 65_535;

/// The flows that the peer has begun in one tunnel. They end when this is dropped.
#[derive(Debug)]
pub struct ExitFlows {
    exit: Exit,
    tunnel: Tunnel,
    flows: Arc<Mutex<HashMap<u16, mpsc::Sender<Datagram>>>>,
    tasks: Mutex<JoinSet<()>>,
}

impl ExitFlows {
    /// Flows that leave by `exit`; the answers go back through `tunnel`.
    #[must_use]
    pub fn new(exit: Exit, tunnel: Tunnel) -> Self {
        Self {
            exit,
            tunnel,
            flows: Arc::default(),
            tasks: Mutex::default(),
        }
    }

    /// Sends a datagram of the peer to its host. It is lost if it is the first one of a flow, and there are too many of them.
    pub fn take(&self, datagram: Datagram) {
        let number = datagram.flow;
        let mut flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flow) = flows.get(&number) {
            // A flow that cannot send as fast loses datagrams.
            let _ = flow.try_send(datagram);
            return;
        }
        let Ok(permit) = Arc::clone(&self.exit.0.unused_flows).try_acquire_owned() else {
            return;
        };
        let (sender, receiver) = mpsc::channel(QUEUE);
        let _ = sender.try_send(datagram);
        flows.insert(number, sender);
        drop(flows);
        let (exit, tunnel, flows) = (self.exit.clone(), self.tunnel.clone(), Arc::clone(&self.flows));
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let _permit = permit;
            serve(&exit, &tunnel, number, receiver).await;
            flows
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .remove(&number);
        });
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes the datagrams of one flow on, until it has been silent for long.
async fn serve(exit: &Exit, tunnel: &Tunnel, flow: u16, mut receiver: mpsc::Receiver<Datagram>) {
    let mut outlet = Outlet::default();
    let mut buffers = [(); 2].map(|()| vec![0; LONGEST]);
    let [buffer_v4, buffer_v6] = &mut buffers;
    let mut last = Instant::now();
    loop {
        let received = tokio::select! {
            datagram = receiver.recv() => match datagram {
                // What cannot be sent is lost.
                Some(datagram) => {
                    last = Instant::now();
                    let _ = outlet.send(exit, datagram).await;
                    continue;
                }
                None => return,
            },
            received = receive(outlet.v4.as_ref(), buffer_v4) => received,
            received = receive(outlet.v6.as_ref(), buffer_v6) => received,
            () = sleep_until(last + outlet.patience()) => return,
        };
        // ICMP errors are told to sockets that are not connected on some systems; the next datagram may get through.
        if let Ok((from, payload)) = received
            && let Some(answer) = outlet.answer(flow, from, payload)
        {
            last = Instant::now();
            tunnel.send_datagram(&answer);
        }
    }
}

/// The next datagram of a socket, if there is one.
async fn receive<'b>(socket: Option<&UdpSocket>, buffer: &'b mut [u8]) -> io::Result<(SocketAddr, &'b [u8])> {
    match socket {
        Some(socket) => {
            let (length, from) = socket.recv_from(buffer).await?;
            Ok((from, buffer.get(..length).unwrap_or_default()))
        }
        None => pending().await,
    }
}

/// The sockets of a flow.
#[derive(Default)]
struct Outlet {
    /// That of the first datagram.
    kind: Option<DatagramKind>,
    /// That of the last datagram, which the answers have, too.
    class: Option<Class>,
    /// Whether the last datagram that could be redundant was, and so the answers.
    redundant: bool,
    v4: Option<UdpSocket>,
    v6: Option<UdpSocket>,
    /// What the peer may send to.
    permitted: HashSet<SocketAddr>,
    /// Hosts that it has sent to, and may hear.
    hosts: HashSet<IpAddr>,
    names: HashMap<HostName, IpAddr>,
    /// It has sent to something else than name servers.
    is_long: bool,
}

impl Outlet {
    const fn patience(&self) -> Duration {
        if self.is_long { IDLE } else { IDLE_DNS }
    }

    async fn send(&mut self, exit: &Exit, datagram: Datagram) -> io::Result<()> {
        let kind = *self.kind.get_or_insert(datagram.kind);
        self.class = datagram.class;
        // A long datagram whose size decides says nothing about short ones.
        if datagram.class.is_some() || by_size(datagram.payload.len()) == Class::RealTime {
            self.redundant = datagram.redundant;
        }
        let Some(address) = self
            .address_of(exit, &datagram)
            .await
            .filter(|_| kind == datagram.kind)
        else {
            return Ok(());
        };
        if !self.permitted.contains(&address) {
            if !exit.permits(address) {
                return Ok(());
            }
            if self.permitted.len() >= MAX_KNOWN {
                self.permitted.clear();
                self.hosts.clear();
            }
            self.permitted.insert(address);
            self.hosts.insert(address.ip());
        }
        self.is_long |= address.port() != DNS;
        let socket = if address.is_ipv4() {
            &mut self.v4
        } else {
            &mut self.v6
        };
        let socket = match socket {
            Some(socket) => socket,
            None => socket.insert(open(kind, address.is_ipv4())?),
        };
        match kind {
            DatagramKind::Udp => socket.send_to(&datagram.payload, address).await?,
            DatagramKind::Echo => {
                let request = echo_request(&datagram.payload, address.is_ipv4());
                socket.send_to(&request, address).await?
            }
        };
        Ok(())
    }

    /// The address of the host; `None` if its name cannot be resolved.
    async fn address_of(&mut self, exit: &Exit, datagram: &Datagram) -> Option<SocketAddr> {
        let ip = match &datagram.host {
            Host::Address(ip) => *ip,
            Host::Name(name) => match self.names.get(name) {
                Some(ip) => *ip,
                // Nobody has names resolved that he may not use, and an echo has no port to resolve them with.
                None if exit.reaches_nothing() => return None,
                None => {
                    let target = Target::new(datagram.host.clone(), datagram.port)?;
                    let found = timeout(PATIENCE, exit.addresses_of(&target)).await.ok()?.ok()?;
                    let found = found.into_iter().find(|address| exit.permits(*address))?.ip();
                    if self.names.len() >= MAX_KNOWN {
                        self.names.clear();
                    }
                    self.names.insert(name.clone(), found);
                    found
                }
            },
        };
        Some(SocketAddr::new(ip.to_canonical(), datagram.port))
    }

    /// What goes back to the peer, if the flow has sent to this host.
    fn answer(&self, flow: u16, from: SocketAddr, payload: &[u8]) -> Option<Datagram> {
        let ip = from.ip().to_canonical();
        let kind = self.kind?;
        let (port, payload) = match kind {
            DatagramKind::Udp => (from.port(), payload),
            DatagramKind::Echo => (0, echo_reply(payload, ip.is_ipv4())?),
        };
        // No datagram comes from port 0 that can be answered.
        let is_valid = self.hosts.contains(&ip) && (kind == DatagramKind::Echo || port != 0);
        is_valid.then(|| Datagram {
            flow,
            kind,
            host: Host::Address(ip),
            port,
            class: self.class,
            redundant: self.redundant,
            payload: Bytes::copy_from_slice(payload),
        })
    }
}

/// A socket for UDP, or one for echo requests, which needs no privilege where `net.ipv4.ping_group_range` has the group of this program.
fn open(kind: DatagramKind, is_ipv4: bool) -> io::Result<UdpSocket> {
    let socket: std::net::UdpSocket = match (kind, is_ipv4) {
        (DatagramKind::Udp, true) => std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?,
        (DatagramKind::Udp, false) => std::net::UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?,
        (DatagramKind::Echo, true) => {
            rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, Some(ipproto::ICMP))?.into()
        }
        (DatagramKind::Echo, false) => {
            rustix::net::socket(AddressFamily::INET6, SocketType::DGRAM, Some(ipproto::ICMPV6))?.into()
        }
    };
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket)
}

// Types of ICMP (RFC 792) and ICMPv6 (RFC 4443 §4).
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST_V6: u8 = 128;
const ECHO_REPLY_V6: u8 = 129;

/// An echo request with the sequence number and the data in `payload`. The system sets checksum and identifier.
fn echo_request(payload: &[u8], is_ipv4: bool) -> Vec<u8> {
    let kind = if is_ipv4 { ECHO_REQUEST } else { ECHO_REQUEST_V6 };
    [&[kind, 0, 0, 0, 0, 0], payload].concat()
}

/// Sequence number and data of an echo reply.
fn echo_reply(message: &[u8], is_ipv4: bool) -> Option<&[u8]> {
    let expected = if is_ipv4 { ECHO_REPLY } else { ECHO_REPLY_V6 };
    let (head, payload) = message.split_at_checked(6)?;
    (head[0] == expected && payload.len() >= 2).then_some(payload)
}

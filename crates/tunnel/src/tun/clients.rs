//! Flows of programs that use a TUN device. Which flow has a packet, and who gets what comes back?
//!
//! Queries for name servers go to those of the configuration, wherever programs send them; the answers come from where they were sent.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use anabranch::Bytes;
use tokio::sync::mpsc;

use super::packet::{Ends, Packet, Protocol};
use super::{IsOwn, answer};
use crate::datagram::{Datagram, DatagramKind};
use crate::flows::Flow;
use crate::proxy::Route;
use crate::target::Host;

/// How long a flow is silent before it ends, as at the far side.
const IDLE: Duration = Duration::from_secs(120);

/// The same for one that has only asked name servers.
const IDLE_DNS: Duration = Duration::from_secs(20);

const DNS: u16 = 53;

/// A socket of a program: protocol, address and port.
type Client = (DatagramKind, SocketAddr);

#[derive(Debug)]
struct Entry {
    flow: Flow,
    last: Instant,
    /// It has sent to something else than name servers.
    is_long: bool,
    /// The name server that was asked last, and was replaced by one of the configuration.
    asked: Option<SocketAddr>,
}

/// All flows of a device.
#[derive(Debug)]
pub(super) struct Clients {
    route: Route,
    servers: NameServers,
    is_own: IsOwn,
    /// Gets what comes back.
    answers: mpsc::Sender<Datagram>,
    entries: HashMap<Client, Entry>,
    by_number: HashMap<u16, Client>,
}

/// Name servers: those of the configuration stand in for those that programs ask.
#[derive(Clone, Default, Debug)]
pub struct NameServers {
    /// Those that this host asks without the tunnel.
    pub replaced: Vec<IpAddr>,
    /// Those of the configuration; none leaves queries as they are.
    pub used: Vec<IpAddr>,
}

impl NameServers {
    /// Where a packet for `asked` goes. The second one of this host is replaced by the second one of the configuration, so that a program
    /// that tries both gets both.
    pub(super) fn instead_of(&self, asked: SocketAddr) -> SocketAddr {
        let place = self.replaced.iter().position(|server| *server == asked.ip());
        let count = self.used.len().max(1);
        match self.used.get(place.unwrap_or(0) % count) {
            Some(server) if asked.port() == DNS => SocketAddr::new(*server, DNS),
            _ => asked,
        }
    }
}

impl Clients {
    pub(super) fn new(
        route: Route,
        servers: NameServers,
        is_own: IsOwn,
        answers: mpsc::Sender<Datagram>,
    ) -> Self {
        Self {
            route,
            servers,
            is_own,
            answers,
            entries: HashMap::new(),
            by_number: HashMap::new(),
        }
    }

    /// A UDP packet or an echo request came out of the device. `segment`: the data is that of several datagrams, each as long as this but the last.
    pub(super) fn handle(&mut self, bytes: &[u8], packet: &Packet, segment: Option<usize>, now: Instant) {
        let kind = match packet.protocol {
            Protocol::Udp => DatagramKind::Udp,
            Protocol::Echo => DatagramKind::Echo,
            Protocol::Tcp => return,
        };
        // The header of UDP has 8 bytes; sequence number and data of an echo begin after 6.
        let header = if kind == DatagramKind::Udp { 8 } else { 6 };
        let payload = bytes
            .get(packet.transport + header..packet.end)
            .unwrap_or_default();
        let asked = packet.ends.destination;
        let target = self.servers.instead_of(asked);
        let client = (kind, packet.ends.source);
        self.begin(client, now);
        let Some(entry) = self.entries.get_mut(&client) else {
            return;
        };
        entry.last = now;
        entry.is_long |= target.port() != DNS;
        entry.asked = (target != asked).then_some(asked).or(entry.asked);
        let length = segment.unwrap_or(usize::MAX).max(1);
        // An empty datagram is one, too.
        let datagrams = payload
            .chunks(length)
            .chain(payload.is_empty().then_some(payload));
        for datagram in datagrams {
            let host = (Host::Address(target.ip()), target.port());
            let kind = (kind, Some(packet.dscp));
            self.route
                .send(&entry.flow, kind, host, Bytes::copy_from_slice(datagram));
        }
    }

    /// Begins a flow for a client that has none, unless there are too many. A tunnel that carried its own packets would never end that.
    fn begin(&mut self, client: Client, now: Instant) {
        if self.entries.contains_key(&client) || self.is_own.is(client.1) {
            return;
        }
        let Some(flow) = self.route.begin(self.answers.clone()) else {
            return;
        };
        self.by_number.insert(flow.number(), client);
        let entry = Entry {
            flow,
            last: now,
            is_long: false,
            asked: None,
        };
        self.entries.insert(client, entry);
    }

    /// The packet that a client gets for a datagram that has come back.
    pub(super) fn answer(&mut self, datagram: &Datagram, now: Instant) -> Option<Vec<u8>> {
        let client = *self.by_number.get(&(datagram.flow >> 1))?;
        let entry = self.entries.get_mut(&client)?;
        let (kind, address) = client;
        let Host::Address(from) = datagram.host else {
            return None;
        };
        if kind != datagram.kind {
            return None;
        }
        entry.last = now;
        match kind {
            DatagramKind::Udp => {
                let from = SocketAddr::new(from, datagram.port);
                let is_replaced = |asked: &SocketAddr| self.servers.instead_of(*asked) == from;
                let source = entry.asked.filter(is_replaced).unwrap_or(from);
                let ends = Ends {
                    source,
                    destination: address,
                };
                answer::udp(ends, &datagram.payload)
            }
            DatagramKind::Echo => answer::echo_reply(from, address, &datagram.payload),
        }
    }

    /// Ends flows that have been silent for long.
    pub(super) fn expire(&mut self, now: Instant) {
        self.entries.retain(|_, entry| {
            let patience = if entry.is_long { IDLE } else { IDLE_DNS };
            now.duration_since(entry.last) < patience
        });
        let entries = &self.entries;
        self.by_number.retain(|_, client| entries.contains_key(client));
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::watch;

    use super::super::packet::tests::ends;
    use super::*;
    use crate::class::Classes;
    use crate::flows::Flows;

    fn packet(protocol: Protocol, source: &str, destination: &str) -> Packet {
        Packet {
            protocol,
            ends: ends(source, destination),
            dscp: 0,
            transport: 20,
            end: 40,
        }
    }

    fn clients(used: &[&str]) -> (Clients, mpsc::Receiver<Datagram>) {
        let (sender, receiver) = mpsc::channel(8);
        let servers = NameServers {
            replaced: ["10.0.0.1", "10.0.0.2"].map(|ip| ip.parse().unwrap()).into(),
            used: used.iter().map(|ip| ip.parse().unwrap()).collect(),
        };
        let route = Route::new(watch::channel(None).1, Flows::default(), Classes::default());
        let is_own = IsOwn::new(|address| address.port() == 9_899);
        (Clients::new(route, servers, is_own, sender), receiver)
    }

    fn answer(host: &str, port: u16, flow: u16) -> Datagram {
        Datagram {
            flow: flow << 1,
            kind: DatagramKind::Udp,
            host: host.parse().unwrap(),
            port,
            class: None,
            redundant: false,
            payload: Bytes::from_static(b"answer"),
        }
    }

    #[test]
    fn answers_of_a_name_server_come_from_the_one_that_was_asked() {
        let (mut clients, _receiver) = clients(&["192.0.2.53", "198.51.100.53"]);
        let now = Instant::now();
        let question = packet(Protocol::Udp, "10.9.0.2:4000", "10.0.0.2:53");
        clients.handle(&[0; 40], &question, None, now);
        let asked: SocketAddr = question.ends.destination;
        assert_eq!(
            clients.servers.instead_of(asked),
            "198.51.100.53:53".parse().unwrap()
        );
        let packet = clients.answer(&answer("198.51.100.53", 53, 0), now).unwrap();
        let parsed = super::super::packet::parse(&packet).unwrap();
        assert_eq!(parsed.ends, question.ends.reversed());
        // Others come from where they are.
        let packet = clients.answer(&answer("192.0.2.1", 4_500, 0), now).unwrap();
        let parsed = super::super::packet::parse(&packet).unwrap();
        assert_eq!(parsed.ends, ends("192.0.2.1:4500", "10.9.0.2:4000"));
        // A flow of a name server's client is short.
        clients.expire(now + IDLE_DNS);
        assert_eq!(clients.answer(&answer("192.0.2.1", 4_500, 0), now), None);
    }

    #[test]
    fn flow_ends_when_it_was_silent_for_two_minutes() {
        let (mut clients, _receiver) = clients(&[]);
        let begun = Instant::now();
        clients.handle(
            &[0; 40],
            &packet(Protocol::Udp, "10.9.0.2:1", "192.0.2.1:4500"),
            None,
            begun,
        );
        clients.handle(
            &[0; 40],
            &packet(Protocol::Echo, "10.9.0.2:1", "192.0.2.1:0"),
            None,
            begun,
        );
        // The tunnel does not carry its own packets.
        let own = packet(Protocol::Udp, "10.9.0.2:9899", "192.0.2.1:9");
        clients.handle(&[0; 40], &own, None, begun);
        assert_eq!(clients.entries.len(), 2);
        let later = begun + IDLE - Duration::from_secs(1);
        clients.expire(later);
        assert!(clients.answer(&answer("192.0.2.1", 4_500, 0), later).is_some());
        clients.expire(begun + IDLE);
        assert_eq!((clients.entries.len(), clients.by_number.len()), (1, 1));
        clients.expire(later + IDLE);
        assert_eq!((clients.entries.len(), clients.by_number.len()), (0, 0));
    }
}

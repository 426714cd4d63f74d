//! Tests of MPTCP connections between two hosts with several paths.

mod scenarios;
mod unverified_peers;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;

use anabranch_types::{Instant, Rng, Seed};
use bytes::Bytes;

use super::MptcpConfig;
use crate::wire::Segment;
use crate::wire::checksum::checksum;
use crate::{AddressPair, Connection, ConnectionId, Endpoint, Event, TcpConfig};

/// How a path treats a segment.
type Filter = Box<dyn FnMut(&Segment<'_>) -> bool>;

/// One direction of one path.
struct Way {
    delay: Duration,
    /// Transmission time per byte.
    per_byte: Duration,
    free_at: Instant,
    cut: bool,
    /// Treatment of segments.
    passes: Filter,
    /// Changes data and corrects the TCP checksum, as a careless NAT does.
    rewrites: bool,
    /// Changes a few bits in the MPTCP options of some segments.
    mangles: Option<Rng>,
    bytes: u64,
}

impl Way {
    fn new(delay: Duration, bytes_per_second: u64) -> Self {
        Self {
            delay,
            per_byte: Duration::from_secs(1) / bytes_per_second as u32,
            free_at: Instant::ZERO,
            cut: false,
            passes: Box::new(|_| true),
            rewrites: false,
            mangles: None,
            bytes: 0,
        }
    }
}

/// Two hosts and the paths between them, in virtual time.
struct Fixture {
    now: Instant,
    hosts: [Endpoint; 2],
    id: ConnectionId,
    /// Forward and reverse direction, by path.
    ways: Vec<[Way; 2]>,
    /// Segments in flight: arrival time, and a counter that keeps the order.
    flying: BTreeMap<(Instant, u64), (usize, AddressPair, Vec<u8>)>,
    count: u64,
    to_send: [Bytes; 2],
    sent: [usize; 2],
    got: [Vec<u8>; 2],
    events: [Vec<Event>; 2],
    reads: bool,
    closes: bool,
}

fn rewritten(segment: &Segment<'_>, addresses: AddressPair) -> Vec<u8> {
    let mut payload = segment.payload.to_vec();
    payload.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
    let mut bytes = Vec::new();
    let changed = Segment {
        payload: &payload,
        ..segment.clone()
    };
    changed.write(addresses.source, addresses.destination, &mut bytes);
    bytes
}

/// Flips a few bits behind the fixed header and corrects the checksum.
fn mangled(mut bytes: Vec<u8>, addresses: AddressPair, rng: &mut Rng) -> Vec<u8> {
    let header = usize::from(bytes[12] >> 4) * 4;
    let mptcp = (20..header).find(|at| bytes[*at] == 30 && bytes[at - 1] <= 1);
    if let Some(from) = mptcp.filter(|_| rng.chance(1, 5)) {
        for _ in 0..=rng.below(2) {
            let at = from + 2 + rng.below((header - from - 2) as u64) as usize;
            bytes[at] ^= 1 << rng.below(8);
        }
    }
    bytes[16..18].fill(0);
    let sum = checksum(&bytes, addresses.source, addresses.destination).unwrap();
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    bytes
}

fn ip(path: usize, host: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, path as u8, host + 1).into()
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Configures all addresses except the first.
fn config(paths: usize, host: u8) -> TcpConfig {
    TcpConfig {
        mptcp: Some(MptcpConfig {
            local: (1..paths).map(|path| ip(path, host)).collect(),
            remote: (1..paths).map(|path| ip(path, 1 - host)).collect(),
            ..MptcpConfig::default()
        }),
        ..TcpConfig::default()
    }
}

fn content(bytes: usize) -> Bytes {
    let mut content = vec![0; bytes];
    Seed(77).rng().fill(&mut content);
    content.into()
}

impl Fixture {
    /// Paths of 1 MB/s with 10, 20, … ms each way; the near side connects.
    fn new(paths: usize) -> Self {
        Self::with(config(paths, 0), config(paths, 1), paths)
    }

    fn with(near: TcpConfig, far: TcpConfig, paths: usize) -> Self {
        let mut hosts = [Endpoint::new(Seed(1)), Endpoint::new(Seed(2))];
        hosts[1].listen(80, far);
        let local = SocketAddr::new(ip(0, 0), 0);
        let remote = SocketAddr::new(ip(0, 1), 80);
        let id = hosts[0].connect(local, remote, near).unwrap();
        let way = |path: u64| Way::new(ms(10 * path), 1_000_000);
        Self {
            now: Instant::ZERO,
            hosts,
            id,
            ways: (1..=paths as u64).map(|path| [way(path), way(path)]).collect(),
            flying: BTreeMap::new(),
            count: 0,
            to_send: [Bytes::new(), Bytes::new()],
            sent: [0, 0],
            got: [Vec::new(), Vec::new()],
            events: [Vec::new(), Vec::new()],
            reads: true,
            closes: false,
        }
    }

    /// Both sides send this many bytes and close.
    fn sends(mut self, near: usize, far: usize) -> Self {
        self.to_send = [content(near), content(far)];
        self.closes = true;
        self
    }

    fn id_of(&self, host: usize) -> Option<ConnectionId> {
        match host {
            0 => Some(self.id),
            _ => self.hosts[1].connections().next().map(|(id, _)| id),
        }
    }

    fn connection(&self, host: usize) -> &Connection {
        self.hosts[host].connection(self.id_of(host).unwrap()).unwrap()
    }

    fn serve(&mut self, host: usize) {
        while let Some((_, event)) = self.hosts[host].poll_event() {
            self.events[host].push(event);
        }
        let Some(id) = self.id_of(host) else { return };
        let (reads, closes) = (self.reads, self.closes);
        let (to_send, sent, got) = (&self.to_send[host], &mut self.sent[host], &mut self.got[host]);
        self.hosts[host].with(id, |connection| {
            while reads && let Some(bytes) = connection.read(100_000) {
                got.extend_from_slice(&bytes);
            }
            let end = to_send.len().min(*sent + connection.room() as usize);
            let rest = to_send.slice(*sent..end);
            if !rest.is_empty() {
                *sent += rest.len() - connection.write(rest).len();
            }
            if closes && *sent == to_send.len() {
                connection.close();
            }
        });
    }

    fn transmit(&mut self, host: usize) {
        let mut bytes = Vec::new();
        while let Some(addresses) = self.hosts[host].poll_transmit(self.now, &mut bytes) {
            let bytes = core::mem::take(&mut bytes);
            let IpAddr::V4(source) = addresses.source else {
                continue;
            };
            let way = &mut self.ways[usize::from(source.octets()[2])][host];
            let segment = Segment::parse(&bytes, addresses.source, addresses.destination).unwrap();
            assert!(bytes.len() <= 1_480);
            if way.cut || !(way.passes)(&segment) {
                continue;
            }
            way.bytes += segment.payload.len() as u64;
            let bytes = match way.rewrites {
                true => rewritten(&segment, addresses),
                false => bytes,
            };
            let bytes = match &mut way.mangles {
                Some(rng) => mangled(bytes, addresses, rng),
                None => bytes,
            };
            way.free_at = way.free_at.max(self.now) + way.per_byte * bytes.len() as u32;
            self.count += 1;
            self.flying.insert(
                (way.free_at + way.delay, self.count),
                (1 - host, addresses, bytes),
            );
        }
    }

    /// Advances time until `done`, at most by this duration. Returns whether it was done.
    fn run_until(&mut self, most: Duration, done: impl Fn(&Self) -> bool) -> bool {
        let end = self.now + most;
        loop {
            for host in 0..2 {
                self.serve(host);
                self.transmit(host);
            }
            if done(self) {
                return true;
            }
            let arrival = self.flying.first_key_value().map(|((at, _), _)| *at);
            let timeouts = self.hosts.iter().filter_map(Endpoint::poll_timeout);
            let Some(next) = timeouts.chain(arrival).min().filter(|next| *next <= end) else {
                self.now = end;
                return false;
            };
            self.now = self.now.max(next);
            if arrival.is_some_and(|arrival| arrival <= self.now) {
                let Some((_, (host, addresses, bytes))) = self.flying.pop_first() else {
                    continue;
                };
                self.hosts[host].handle_segment(self.now, addresses, &bytes);
            }
            for host in &mut self.hosts {
                host.handle_timeout(self.now);
            }
        }
    }

    fn run_for(&mut self, time: Duration) {
        self.run_until(time, |_| false);
    }

    fn all_arrived(&self) -> bool {
        self.got[1].len() == self.to_send[0].len() && self.got[0].len() == self.to_send[1].len()
    }

    /// Runs until everything has arrived, compares it with the data sent, and returns the duration.
    fn finish(&mut self, most: Duration) -> Duration {
        let begin = self.now;
        let states = |fixture: &Self| {
            (0..2)
                .filter_map(|host| fixture.hosts[host].connections().next())
                .map(|(_, connection)| {
                    alloc::format!(
                        "{:?} {:#?}",
                        connection.statistics(),
                        connection.paths().collect::<Vec<_>>()
                    )
                })
                .collect::<Vec<_>>()
        };
        let done = self.run_until(most, Self::all_arrived);
        assert!(
            done,
            "{} and {} bytes arrived: {}",
            self.got[1].len(),
            self.got[0].len(),
            states(self).join("\n")
        );
        assert!(self.got[1] == self.to_send[0] && self.got[0] == self.to_send[1]);
        self.now - begin
    }

    fn cut(&mut self, path: usize) {
        self.ways[path].iter_mut().for_each(|way| way.cut = true);
    }

    fn bytes_on(&self, path: usize) -> u64 {
        self.ways[path][0].bytes
    }
}

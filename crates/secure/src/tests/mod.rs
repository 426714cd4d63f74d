//! Scenario tests of two endpoints on lossy paths, in virtual time.

mod attacks;
mod balancer;
mod data;
mod handshake;
mod identity;
mod key_log;
mod versions;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anabranch_types::{Instant, PathAddr, Rng, Seed, earliest};
use rcgen::{CertifiedKey, KeyPair};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::{Config, DATA_HEADER_LEN, Dropped, Endpoint, Event, Index, OVERHEAD, Received, SpaceId, TAG_LEN};

const CLIENT: usize = 0;
const SERVER: usize = 1;
const SIZE: usize = 1_200;

/// A key pair for each role; making one takes longer than most tests.
static SERVER_KEY: LazyLock<CertifiedKey<KeyPair>> =
    LazyLock::new(|| rcgen::generate_simple_self_signed(["server.test".to_owned()]).unwrap());
static CLIENT_KEY: LazyLock<CertifiedKey<KeyPair>> =
    LazyLock::new(|| rcgen::generate_simple_self_signed(["client.test".to_owned()]).unwrap());

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

fn roots(key: &CertifiedKey<KeyPair>) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(key.cert.der().clone()).unwrap();
    roots
}

fn private(key: &CertifiedKey<KeyPair>) -> PrivateKeyDer<'static> {
    PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into())
}

fn server_tls() -> ServerConfig {
    ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![SERVER_KEY.cert.der().clone()], private(&SERVER_KEY))
        .unwrap()
}

/// A client that trusts the holder of `trusted`.
fn client_tls(trusted: &CertifiedKey<KeyPair>) -> ClientConfig {
    ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots(trusted))
        .with_no_client_auth()
}

fn client_config() -> Config {
    Config::new(&aws_lc_rs::default_provider()).unwrap()
}

fn server_config() -> Config {
    let mut config = client_config();
    config.server = Some(Arc::new(server_tls()));
    config
}

fn name() -> ServerName<'static> {
    "server.test".try_into().unwrap()
}

/// Path `number` as the client sees it.
fn path(number: u8) -> PathAddr {
    PathAddr {
        local: SocketAddr::from(([10, 0, 0, number], 1_000)),
        remote: SocketAddr::from(([10, 0, 1, number], 2_000)),
    }
}

fn space(number: u8) -> SpaceId {
    SpaceId::new(number).unwrap()
}

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// What the network does to packets, in thousandths.
#[derive(Clone, Copy, Default)]
struct Weather {
    lost: u64,
    duplicated: u64,
    /// Greatest additional delay, which reorders packets.
    jitter: Duration,
}

/// A datagram on its way.
#[derive(Clone, Debug)]
struct Sent {
    to: usize,
    /// As the sender sees it.
    path: PathAddr,
    datagram: Vec<u8>,
}

/// A client and a server, and the network between them.
struct Pair {
    now: Instant,
    ends: [Endpoint; 2],
    weather: Weather,
    delay: Duration,
    /// Paths that carry nothing, by the client's address.
    cut: BTreeSet<SocketAddr>,
    /// UDP payloads that are longer disappear.
    largest: usize,
    rng: Rng,
    queue: BTreeMap<(Instant, u64), Sent>,
    count: u64,
    events: [Vec<Event>; 2],
    connected: [Option<Index>; 2],
    /// Everything sent, including what was lost.
    log: Vec<Sent>,
    payloads: [Vec<(SpaceId, Vec<u8>)>; 2],
    dropped: [Vec<Dropped>; 2],
}

impl Pair {
    fn new(seed: u64, client: Config, server: Config) -> Self {
        Self {
            now: Instant::ZERO + Duration::from_secs(100),
            ends: [Endpoint::new(client), Endpoint::new(server)],
            weather: Weather::default(),
            delay: milliseconds(10),
            cut: BTreeSet::new(),
            largest: 65_507,
            rng: Seed(seed).rng(),
            queue: BTreeMap::new(),
            count: 0,
            events: [Vec::new(), Vec::new()],
            connected: [None, None],
            log: Vec::new(),
            payloads: [Vec::new(), Vec::new()],
            dropped: [Vec::new(), Vec::new()],
        }
    }

    /// A pair with an established connection over path 0, and no packet on its way.
    fn connected() -> Self {
        let mut pair = Self::new(1, client_config(), server_config());
        pair.connect(&[path(0)]);
        pair.run(|pair| pair.is_connected());
        pair.settle();
        pair
    }

    fn connect(&mut self, paths: &[PathAddr]) -> Index {
        self.connect_with(&client_tls(&SERVER_KEY), paths, SIZE)
    }

    fn connect_with(&mut self, tls: &ClientConfig, paths: &[PathAddr], size: usize) -> Index {
        let paths: Vec<_> = paths.iter().map(|path| (*path, size)).collect();
        self.ends[CLIENT].connect(self.now, tls, name(), &paths).unwrap()
    }

    fn is_connected(&self) -> bool {
        self.connected.iter().all(Option::is_some)
    }

    /// Puts a datagram of `end` on its path.
    fn post(&mut self, end: usize, path: PathAddr, datagram: Vec<u8>) {
        let sent = Sent {
            to: 1 - end,
            path,
            datagram,
        };
        self.log.push(sent.clone());
        let client = if end == CLIENT { path.local } else { path.remote };
        let copies = 1 + u64::from(self.rng.chance(self.weather.duplicated, 1_000));
        for _ in 0..copies {
            let lost = self.rng.chance(self.weather.lost, 1_000);
            let jitter = self.rng.below(self.weather.jitter.as_nanos() as u64 + 1);
            let fits = sent.datagram.len() <= self.largest;
            if !lost && fits && !self.cut.contains(&client) {
                self.count += 1;
                let arrival = self.now + self.delay + Duration::from_nanos(jitter);
                self.queue.insert((arrival, self.count), sent.clone());
            }
        }
    }

    /// Passes a datagram to its receiver at once.
    fn deliver(&mut self, sent: &Sent) -> Result<Received, Dropped> {
        let mut datagram = sent.datagram.clone();
        let received = self.ends[sent.to].handle_datagram(self.now, sent.path.reversed(), &mut datagram);
        match &received {
            Ok(Received::Data { space, payload, .. }) => {
                self.payloads[sent.to].push((*space, datagram[payload.clone()].to_vec()));
            }
            Ok(Received::Control) => {}
            Err(reason) => self.dropped[sent.to].push(*reason),
        }
        received
    }

    fn collect(&mut self) {
        for end in [CLIENT, SERVER] {
            while let Some(transmit) = self.ends[end].poll_transmit(self.now) {
                self.post(end, transmit.path, transmit.datagram);
            }
            while let Some(event) = self.ends[end].poll_event() {
                if let Event::Connected { connection, .. } = &event {
                    self.connected[end] = Some(*connection);
                }
                self.events[end].push(event);
            }
        }
    }

    /// Goes on to the next packet or timer; returns whether there was one.
    fn step(&mut self) -> bool {
        self.collect();
        let arrival = self.queue.first_key_value().map(|((at, _), _)| *at);
        let timer = earliest(self.ends.each_ref().map(Endpoint::deadline));
        let Some(next) = earliest([arrival, timer]) else {
            return false;
        };
        self.now = self.now.max(next);
        if arrival.is_some_and(|at| at <= self.now) {
            if let Some((_, sent)) = self.queue.pop_first() {
                // Reasons to drop packets are kept by `deliver`.
                let _ = self.deliver(&sent);
            }
        } else {
            for end in &mut self.ends {
                end.handle_deadline(self.now);
            }
        }
        self.collect();
        true
    }

    /// Runs until `done`.
    fn run(&mut self, mut done: impl FnMut(&Self) -> bool) {
        for _ in 0..100_000 {
            if done(self) {
                return;
            }
            assert!(
                self.step(),
                "nothing more happens: {:?} {:?}",
                self.events,
                self.dropped
            );
        }
        panic!("no end: {:?}", self.events);
    }

    /// Delivers all packets on their way.
    fn settle(&mut self) {
        self.collect();
        self.run(|pair| pair.queue.is_empty());
    }

    /// Advances time, and delivers what arrives meanwhile.
    fn wait(&mut self, duration: Duration) {
        let end = self.now + duration;
        self.collect();
        self.run(|pair| {
            let arrival = pair.queue.first_key_value().map(|((at, _), _)| *at);
            let timer = earliest(pair.ends.each_ref().map(Endpoint::deadline));
            earliest([arrival, timer]).is_none_or(|next| next > end)
        });
        self.now = end;
    }

    /// A data packet of `end`.
    fn sealed(&mut self, end: usize, number: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; DATA_HEADER_LEN];
        packet.extend(payload);
        packet.extend([0; TAG_LEN]);
        assert_eq!(packet.len(), payload.len() + OVERHEAD);
        let connection = self.connected[end].unwrap();
        self.ends[end]
            .seal(connection, space(number), &mut packet)
            .unwrap();
        packet
    }

    /// Sends `payload` on path `number` in the space of the same number.
    fn send(&mut self, end: usize, number: u8, payload: &[u8]) {
        let datagram = self.sealed(end, number, payload);
        let path = if end == CLIENT {
            path(number)
        } else {
            path(number).reversed()
        };
        self.post(end, path, datagram);
    }
}

/// A datagram for the server on path 0.
fn to_server(datagram: Vec<u8>) -> Sent {
    Sent {
        to: SERVER,
        path: path(0),
        datagram,
    }
}

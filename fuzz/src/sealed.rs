//! Fuzz target `sealed`. Can datagrams make an end of sealed connections panic, loop, or deliver what was not sent?
//!
//! A client and a server begin a handshake, or have finished one. Then the bytes select genuine, lost, repeated, damaged and
//! forged datagrams to both ends, payloads, and time steps.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anabranch_secure::rustls::crypto::{CryptoProvider, aws_lc_rs};
use anabranch_secure::rustls::pki_types::PrivateKeyDer;
use anabranch_secure::rustls::version::TLS13;
use anabranch_secure::rustls::{ClientConfig, RootCertStore, ServerConfig};
use anabranch_secure::{Config, DATA_HEADER_LEN, Endpoint, Event, Index, OVERHEAD, Received, SpaceId};
use anabranch_types::{Instant, PathAddr};

use crate::Choices;

/// Steps of one run; longer inputs find nothing that shorter ones do not.
const MAX_STEPS: usize = 200;
/// Limit of datagrams per step.
const MAX_DATAGRAMS: usize = 5_000;

/// Keys and configurations, which take longer to make than most runs.
static TLS: LazyLock<(ClientConfig, ServerConfig)> = LazyLock::new(|| {
    let key = rcgen::generate_simple_self_signed(["server.test".to_owned()]).expect("a key");
    let mut roots = RootCertStore::empty();
    roots.add(key.cert.der().clone()).expect("a certificate");
    let client = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .expect("TLS 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let private = PrivateKeyDer::Pkcs8(key.signing_key.serialize_der().into());
    let server = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], private)
        .expect("a key");
    (client, server)
});

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// Runs the test that `bytes` encode.
///
/// # Panics
///
/// If an invariant is violated.
pub fn exercise(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut fixture = Fixture::new(choices.byte());
    for _ in 0..choices.below(10) {
        fixture.exchange();
    }
    for _ in 0..MAX_STEPS {
        if choices.is_empty() {
            break;
        }
        fixture.step(&mut choices);
    }
}

struct End {
    endpoint: Endpoint,
    connection: Option<Index>,
    /// Datagrams in flight towards this end.
    inbound: Vec<Vec<u8>>,
    /// The last datagram towards this end.
    last: Vec<u8>,
    /// Numbers of payloads that arrived.
    arrived: BTreeSet<u32>,
}

struct Fixture {
    now: Instant,
    /// Client and server.
    ends: [End; 2],
    /// Payloads are numbers that count up.
    sent: u32,
}

impl Fixture {
    fn new(number: u8) -> Self {
        let mut client = Config::new(&provider()).expect("randomness");
        client.key_update_after = 1 + u64::from(number & 15);
        let mut server = client.clone();
        server.key_update_after = 1 + u64::from(number >> 4);
        server.server = Some(Arc::new(TLS.1.clone()));
        let now = Instant::ZERO + Duration::from_secs(50);
        let end = |config| End {
            endpoint: Endpoint::new(config),
            connection: None,
            inbound: Vec::new(),
            last: Vec::new(),
            arrived: BTreeSet::new(),
        };
        let mut ends = [end(client), end(server)];
        let name = "server.test".try_into().expect("a name");
        let path = [(path(0), 1_200)];
        ends[0]
            .endpoint
            .connect(now, &TLS.0, name, &path)
            .expect("a connection");
        let mut fixture = Self { now, ends, sent: 0 };
        fixture.settle();
        fixture
    }

    /// Delivers all datagrams that are in flight now.
    fn exchange(&mut self) {
        for to in [0, 1] {
            for datagram in std::mem::take(&mut self.ends[to].inbound) {
                self.deliver(to, datagram);
            }
        }
        self.settle();
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        let to = usize::from(choices.below(2));
        match choices.below(8) {
            0 => self.exchange(),
            1 if !self.ends[to].inbound.is_empty() => drop(self.ends[to].inbound.remove(0)),
            2 => {
                self.now += Duration::from_millis(u64::from(choices.short()));
                for end in &mut self.ends {
                    end.endpoint.handle_deadline(self.now);
                }
            }
            3 => self.send(to, choices.byte()),
            4 => self.deliver(to, self.ends[to].last.clone()),
            5 => {
                let mut datagram = self.ends[to].last.clone();
                let at = usize::from(choices.short()) % datagram.len().max(1);
                if let Some(byte) = datagram.get_mut(at) {
                    *byte ^= choices.byte();
                }
                datagram.truncate(datagram.len() - usize::from(choices.byte()).min(datagram.len()));
                self.deliver(to, datagram);
            }
            6 => {
                // A header for the right connection, and any rest.
                let mut datagram = vec![choices.byte()];
                datagram.extend(
                    self.ends[to]
                        .connection
                        .map(|index| *index.as_bytes())
                        .unwrap_or_default(),
                );
                let len = usize::from(choices.byte());
                datagram.extend(choices.slice(len));
                datagram.resize(datagram.len() + usize::from(choices.below(40)), 0);
                self.deliver(to, datagram);
            }
            _ => {
                let len = usize::from(choices.byte());
                let datagram = choices.slice(len).to_vec();
                self.deliver(to, datagram);
            }
        }
        self.settle();
    }

    fn send(&mut self, from: usize, space: u8) {
        let Some(connection) = self.ends[from].connection else {
            return;
        };
        let space = SpaceId::new(space & 31).expect("below 32");
        let mut packet = vec![0; OVERHEAD + 4];
        packet[DATA_HEADER_LEN..DATA_HEADER_LEN + 4].copy_from_slice(&self.sent.to_be_bytes());
        // Without a connection or keys, nothing is sent.
        if self.ends[from]
            .endpoint
            .seal(connection, space, &mut packet)
            .is_ok()
        {
            self.sent += 1;
            self.ends[1 - from].last = packet.clone();
            self.ends[1 - from].inbound.push(packet);
        }
    }

    fn deliver(&mut self, to: usize, mut datagram: Vec<u8>) {
        let end = &mut self.ends[to];
        let received = end.endpoint.handle_datagram(self.now, path(to), &mut datagram);
        if let Ok(Received::Data { payload, .. }) = received {
            let number: [u8; 4] = datagram[payload].try_into().expect("a payload that was sent");
            let number = u32::from_be_bytes(number);
            assert!(number < self.sent, "payload {number} was never sent");
            assert!(end.arrived.insert(number), "payload {number} arrived twice");
        }
    }

    /// Collects what both ends send and report.
    fn settle(&mut self) {
        for from in [0, 1] {
            let mut datagrams = Vec::new();
            while let Some(transmit) = self.ends[from].endpoint.poll_transmit(self.now) {
                assert!(transmit.datagram.len() <= 1_200, "longer than the path");
                datagrams.push(transmit.datagram);
                assert!(datagrams.len() < MAX_DATAGRAMS, "it never stops sending");
            }
            while let Some(event) = self.ends[from].endpoint.poll_event() {
                if let Event::Connected { connection, .. } = event {
                    self.ends[from].connection = Some(connection);
                }
            }
            let due = self.ends[from].endpoint.deadline();
            assert!(due.is_none_or(|due| due > self.now), "a timer that is always due");
            let to = &mut self.ends[1 - from];
            to.last = datagrams
                .last()
                .cloned()
                .unwrap_or_else(|| std::mem::take(&mut to.last));
            to.inbound.extend(datagrams);
        }
        assert!(self.ends[0].endpoint.connections() <= 1);
        assert!(self.ends[1].endpoint.connections() <= 2);
    }
}

/// The path as the client (0) or the server (1) sees it.
fn path(end: usize) -> PathAddr {
    let path = PathAddr {
        local: SocketAddr::from(([10, 0, 0, 1], 1_000)),
        remote: SocketAddr::from(([10, 0, 0, 2], 2_000)),
    };
    if end == 0 { path } else { path.reversed() }
}

//! Two sessions on a network that delays, loses and changes datagrams, in virtual time.

use std::time::Duration;

use anabranch_types::Instant;

use crate::{Certificate, Fingerprint, Session, SessionError};

const DELAY: Duration = Duration::from_millis(10);

/// A fatal alert in the clear: `handshake_failure`.
const ALERT: [u8; 15] = [21, 254, 253, 0, 0, 0, 0, 0, 0, 0, 9, 0, 2, 2, 40];

/// Both ends, the client first, and the datagrams on their way to each.
struct Fixture {
    now: Instant,
    ends: [Session; 2],
    on_the_way: [Vec<(Instant, Vec<u8>)>; 2],
    sent: [usize; 2],
    errors: [Option<SessionError>; 2],
}

impl Fixture {
    fn new() -> Self {
        let certificates = [(); 2].map(|()| Certificate::generate().unwrap());
        let [client, server] = &certificates;
        Self::with(&certificates, [server.fingerprint(), client.fingerprint()])
    }

    /// With what each end believes of the other one.
    fn with(certificates: &[Certificate; 2], believed: [Fingerprint; 2]) -> Self {
        let now = Instant::ZERO;
        Self {
            now,
            ends: [
                Session::client(&certificates[0], believed[0], now),
                Session::server(&certificates[1], believed[1], now),
            ],
            on_the_way: [Vec::new(), Vec::new()],
            sent: [0, 0],
            errors: [None, None],
        }
    }

    /// Puts what `end` has to send on the way, except for the datagrams whose number is in `lost`.
    fn send(&mut self, end: usize, lost: &[usize]) {
        while let Some(datagram) = self.ends[end].poll_transmit() {
            if !lost.contains(&self.sent[end]) {
                self.on_the_way[1 - end].push((self.now + DELAY, datagram));
            }
            self.sent[end] += 1;
        }
    }

    /// Runs until `done`, or both ends have nothing to do any more. `lost` are datagrams of the client and of the server.
    fn run(&mut self, lost: [&[usize]; 2], mut done: impl FnMut(&Self) -> bool) {
        for _ in 0..1_000 {
            for (end, lost) in lost.iter().enumerate() {
                self.send(end, lost);
            }
            if done(self) {
                return;
            }
            let arrivals = self.on_the_way.iter().flatten().map(|(at, _)| *at);
            let living = self
                .ends
                .iter()
                .zip(&self.errors)
                .filter(|(_, error)| error.is_none());
            let deadlines = living.filter_map(|(session, _)| session.deadline());
            let Some(next) = arrivals.chain(deadlines).min() else {
                return;
            };
            self.now = self.now.max(next);
            for end in 0..2 {
                self.step(end);
            }
        }
        panic!("no end of it: {:?}", self.ends);
    }

    fn step(&mut self, end: usize) {
        if self.errors[end].is_some() {
            self.on_the_way[end].clear();
            return;
        }
        let due = |(at, _): &(Instant, Vec<u8>)| *at <= self.now;
        let arrived: Vec<_> = self.on_the_way[end].extract_if(.., |one| due(one)).collect();
        let session = &mut self.ends[end];
        let mut result = Ok(());
        for (_, datagram) in arrived {
            result = result.and_then(|()| session.handle_datagram(&datagram, self.now));
        }
        if session.deadline().is_some_and(|deadline| deadline <= self.now) {
            result = result.and_then(|()| session.handle_timeout(self.now));
        }
        self.errors[end] = result.err();
    }

    fn connect(&mut self, lost: [&[usize]; 2]) {
        self.run(lost, Self::are_connected);
        assert!(self.are_connected(), "{:?} {:?}", self.ends, self.errors);
    }

    fn are_connected(&self) -> bool {
        self.ends.iter().all(Session::is_connected)
    }

    /// The packets that arrive at the other end when `end` sends `packet`.
    fn deliver(&mut self, end: usize, packet: &[u8]) -> Vec<Vec<u8>> {
        self.ends[end].send(packet, self.now).unwrap();
        self.run([&[], &[]], |fixture| fixture.on_the_way.iter().all(Vec::is_empty));
        std::iter::from_fn(|| self.ends[1 - end].poll_packet()).collect()
    }
}

#[test]
fn packets_of_both_ends_arrive_encrypted() {
    let mut fixture = Fixture::new();
    fixture.connect([&[], &[]]);
    for end in 0..2 {
        let packet = vec![7; 1_200];
        fixture.ends[end].send(&packet, fixture.now).unwrap();
        fixture.send(end, &[]);
        let on_the_way = &fixture.on_the_way[1 - end];
        let readable = |(_, datagram): &(Instant, Vec<u8>)| datagram.windows(8).any(|bytes| bytes == [7; 8]);
        assert!(!on_the_way.is_empty() && !on_the_way.iter().any(readable));
        assert_eq!(fixture.deliver(end, b"next"), [packet, b"next".to_vec()]);
    }
}

#[test]
fn handshake_completes_although_any_one_datagram_is_lost() {
    let mut fixture = Fixture::new();
    fixture.connect([&[], &[]]);
    let counts = fixture.sent;
    for number in 0..counts[0] {
        Fixture::new().connect([&[number], &[]]);
    }
    for number in 0..counts[1] {
        Fixture::new().connect([&[], &[number]]);
    }
}

#[test]
fn server_with_another_certificate_is_refused_by_its_fingerprint() {
    let certificates = [(); 3].map(|()| Certificate::generate().unwrap());
    let [client, server, announced] = certificates;
    let believed = [announced.fingerprint(), client.fingerprint()];
    let mut fixture = Fixture::with(&[client, server.clone()], believed);
    fixture.run([&[], &[]], |fixture| fixture.errors[0].is_some());
    assert_eq!(
        fixture.errors[0],
        Some(SessionError::OtherCertificate(server.fingerprint()))
    );
    assert!(!fixture.ends[0].is_connected());
}

#[test]
fn client_with_another_certificate_is_refused_and_delivers_nothing() {
    let certificates = [(); 3].map(|()| Certificate::generate().unwrap());
    let [client, server, announced] = certificates;
    let believed = [server.fingerprint(), announced.fingerprint()];
    let mut fixture = Fixture::with(&[client.clone(), server], believed);
    fixture.run([&[], &[]], |fixture| fixture.errors[1].is_some());
    assert_eq!(
        fixture.errors[1],
        Some(SessionError::OtherCertificate(client.fingerprint()))
    );
    assert_eq!(fixture.ends[1].poll_packet(), None);
}

#[test]
fn nonsense_ends_no_handshake_and_no_session() {
    let mut fixture = Fixture::new();
    let nonsense = [
        &b""[..],
        &[0x16, 0xFE],
        &[0x16; 200],
        &[0x40; 50],
        &[0x17; 60],
        &[22, 254, 253],
    ];
    for step in 0..12 {
        for end in 0..2 {
            for datagram in nonsense {
                fixture.ends[end].handle_datagram(datagram, fixture.now).unwrap();
            }
        }
        let target = fixture.now + DELAY * step;
        fixture.run([&[], &[]], |fixture| {
            fixture.are_connected() || fixture.now >= target
        });
    }
    fixture.connect([&[], &[]]);
    assert_eq!(fixture.deliver(0, b"after all"), [b"after all"]);
}

/// Plaintext alerts and ClientHellos that are none, which need no key, before the peer has presented its certificate.
#[test]
fn forged_handshake_datagrams_delay_a_handshake_only() {
    let mut hello = vec![
        22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 3, 0, 62, 1, 0, 0, 50, 0, 0, 0, 0, 0, 0, 0, 50,
    ];
    hello.extend([254, 253]);
    hello.resize(75, 7);
    for forged in [&ALERT[..], &hello] {
        for end in 0..2 {
            let mut fixture = Fixture::new();
            // As many as fill what is kept of a handshake.
            for _ in 0..100 {
                let read = fixture.ends[end].handle_datagram(forged, fixture.now);
                assert_eq!(read, Ok(()), "end {end}, {forged:?}");
            }
            fixture.connect([&[], &[]]);
            assert_eq!(fixture.deliver(0, b"after all"), [b"after all"]);
        }
    }
}

/// A server that has no algorithm in common with the client: it sends a cookie, and then an alert.
#[test]
fn client_that_is_refused_tries_once_a_second_and_says_why_in_the_end() {
    let certificate = Certificate::generate().unwrap();
    let peer = certificate.fingerprint();
    let mut now = Instant::ZERO;
    let mut client = Session::client(&certificate, peer, now);
    let mut attempts = 0;
    let error = loop {
        if let Err(error) = client.handle_timeout(now) {
            break error;
        }
        attempts += 1;
        let mut server = Session::server(&certificate, peer, now);
        while let Some(hello) = client.poll_transmit() {
            server.handle_datagram(&hello, now).unwrap();
        }
        while let Some(cookie) = server.poll_transmit() {
            client.handle_datagram(&cookie, now).unwrap();
        }
        assert!(client.poll_transmit().is_some());
        client.handle_datagram(&ALERT, now).unwrap();
        while client.poll_transmit().is_some() {}
        now = client.deadline().unwrap();
    };
    assert!(matches!(error, SessionError::Dtls(_)), "{error:?}");
    assert_eq!(attempts, 40);
}

/// `dimpl` needs a buffer for the whole certificate, and panics without.
#[test]
fn peer_with_a_large_certificate_is_refused() {
    let (ours, announced) = (Certificate::generate().unwrap(), Certificate::generate().unwrap());
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new([]).unwrap();
    let large = rcgen::CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![7; 20_000]);
    parameters.custom_extensions = vec![large];
    let certificate = dimpl::DtlsCertificate {
        certificate: parameters.self_signed(&key).unwrap().der().to_vec(),
        private_key: key.serialize_der(),
    };
    let mut now = Instant::ZERO;
    let start = std::time::Instant::now();
    let config = dimpl::Config::builder().max_queue_tx(100).build().unwrap();
    let mut attacker = dimpl::Dtls::new_12(std::sync::Arc::new(config), certificate, start);
    attacker.set_active(true);
    let mut server = Session::server(&ours, announced.fingerprint(), now);
    let mut buffer = vec![0; 1 << 16];
    let refused = (0..100).find_map(|_| {
        now += DELAY;
        attacker.handle_timeout(start + (now - Instant::ZERO)).unwrap();
        while let dimpl::Output::Packet(datagram) = attacker.poll_output(&mut buffer) {
            if let Err(error) = server.handle_datagram(datagram, now) {
                return Some(error);
            }
        }
        while let Some(datagram) = server.poll_transmit() {
            attacker.handle_packet(&datagram).unwrap();
        }
        None
    });
    assert!(
        matches!(refused, Some(SessionError::OtherCertificate(_))),
        "{refused:?}"
    );
}

#[test]
fn server_gives_up_without_a_client() {
    let mut fixture = Fixture::new();
    let all: Vec<usize> = (0..100).collect();
    fixture.run([&all, &[]], |fixture| fixture.errors[1].is_some());
    assert_eq!(fixture.errors[1], Some(SessionError::TimedOut));
    assert!(fixture.now >= Instant::ZERO + Duration::from_secs(40));
}

#[test]
fn replayed_record_is_delivered_once() {
    let mut fixture = Fixture::new();
    fixture.connect([&[], &[]]);
    fixture.ends[0].send(b"once", fixture.now).unwrap();
    let record = fixture.ends[0].poll_transmit().unwrap();
    for _ in 0..3 {
        fixture.ends[1].handle_datagram(&record, fixture.now).unwrap();
    }
    assert_eq!(fixture.ends[1].poll_packet().as_deref(), Some(&b"once"[..]));
    assert_eq!(fixture.ends[1].poll_packet(), None);
}

#[test]
fn changed_record_is_dropped() {
    let mut fixture = Fixture::new();
    fixture.connect([&[], &[]]);
    fixture.ends[0].send(b"genuine", fixture.now).unwrap();
    let record = fixture.ends[0].poll_transmit().unwrap();
    for at in 0..record.len() {
        let mut changed = record.clone();
        changed[at] ^= 1;
        fixture.ends[1].handle_datagram(&changed, fixture.now).unwrap();
        assert_eq!(fixture.ends[1].poll_packet(), None, "byte {at}");
    }
    fixture.ends[1].handle_datagram(&record, fixture.now).unwrap();
    assert_eq!(fixture.ends[1].poll_packet().as_deref(), Some(&b"genuine"[..]));
}

#[test]
fn client_gives_up_without_an_answer() {
    let mut fixture = Fixture::new();
    let all: Vec<usize> = (0..100).collect();
    fixture.run([&all, &[]], |fixture| fixture.errors[0].is_some());
    assert_eq!(fixture.errors[0], Some(SessionError::TimedOut));
}

#[test]
fn close_is_the_end_of_both() {
    let mut fixture = Fixture::new();
    fixture.connect([&[], &[]]);
    fixture.ends[0].close().unwrap();
    assert_eq!(
        fixture.ends[0].send(b"late", fixture.now),
        Err(SessionError::Closed)
    );
    fixture.run([&[], &[]], |fixture| fixture.errors[1].is_some());
    assert_eq!(fixture.errors[1], Some(SessionError::Closed));
}

/// Nothing longer than the Request for it is sent to an address that may be forged (RFC 6347 §4.2.1, RFC 9147 §5.1).
#[test]
fn server_answers_an_unproven_client_with_a_short_cookie() {
    let mut fixture = Fixture::new();
    fixture.ends[0].handle_timeout(fixture.now).unwrap();
    let hello = fixture.ends[0].poll_transmit().unwrap();
    fixture.ends[1].handle_datagram(&hello, fixture.now).unwrap();
    let answers: Vec<_> = std::iter::from_fn(|| fixture.ends[1].poll_transmit()).collect();
    let bytes: usize = answers.iter().map(Vec::len).sum();
    assert!(
        !answers.is_empty() && bytes <= hello.len(),
        "{bytes} bytes for {}",
        hello.len()
    );
}

//! Handshakes on good, lossy and dead paths, and refused ones.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anabranch_types::PathAddr;
use rustls::crypto::aws_lc_rs::{self, kx_group};
use rustls::server::WebPkiClientVerifier;
use rustls::{AlertDescription, ClientConfig, NamedGroup, ServerConfig, Side};

use super::{
    CLIENT, CLIENT_KEY, Pair, SERVER, SERVER_KEY, SIZE, Sent, Weather, client_config, client_tls,
    milliseconds, path, private, provider, roots, server_config, to_server,
};
use crate::{Dropped, Event, HandshakeError, Received};

#[test]
fn ends_agree_on_a_hybrid_key_and_a_secret() {
    let pair = Pair::connected();
    let [client, server] =
        [CLIENT, SERVER].map(|end| pair.ends[end].peer(pair.connected[end].unwrap()).unwrap());
    assert_eq!(client.exporter, server.exporter);
    assert_ne!(client.exporter.as_bytes(), &[0; 32]);
    assert_eq!(format!("{:?}", client.exporter), "ExporterSecret");
    assert_eq!(client.key_exchange, Some(NamedGroup::X25519MLKEM768));
    assert_eq!(client.certificates[0], *SERVER_KEY.cert.der());
    assert!(server.certificates.is_empty());
}

#[test]
fn handshake_takes_two_round_trips() {
    let mut pair = Pair::new(1, client_config(), server_config());
    let start = pair.now;
    pair.connect(&[path(0)]);
    pair.run(|pair| pair.connected[CLIENT].is_some());
    assert_eq!(pair.now - start, milliseconds(40));
    pair.run(|pair| pair.connected[SERVER].is_some());
    assert_eq!(pair.now - start, milliseconds(50));
    pair.settle();
    assert_eq!(pair.now - start, milliseconds(60));
    assert!(pair.dropped.iter().all(Vec::is_empty), "{:?}", pair.dropped);
    let Event::Connected { side, paths, .. } = &pair.events[SERVER][0] else {
        panic!("not connected")
    };
    assert_eq!((*side, &paths[..]), (Side::Server, &[path(0).reversed()][..]));
}

/// The paths on which the client has sent anything.
fn tried(pair: &Pair) -> BTreeSet<PathAddr> {
    let of_client = pair.log.iter().filter(|sent| sent.to == SERVER);
    of_client.map(|sent| sent.path).collect()
}

/// A client connects over path 0, with path 1 as an alternative. Returns the time until it is connected.
fn connect_with_alternative(pair: &mut Pair) -> Duration {
    let start = pair.now;
    let connection = pair.connect(&[path(0)]);
    pair.ends[CLIENT].add_alternatives(connection, &[(path(1), SIZE)]);
    pair.run(|pair| pair.connected[CLIENT].is_some());
    pair.now - start
}

#[test]
fn alternatives_are_not_tried_while_a_path_answers() {
    let mut pair = Pair::new(1, client_config(), server_config());
    // Each flight arrives long after alternatives would have been tried.
    pair.delay = milliseconds(120);
    assert_eq!(connect_with_alternative(&mut pair), milliseconds(480));
    // The client cannot know that its last flight arrived, and sends it again.
    pair.cut.insert(path(0).local);
    pair.wait(Duration::from_secs(10));
    assert_eq!(tried(&pair), [path(0)].into());
}

#[test]
fn alternatives_are_tried_after_250_ms_without_an_answer() {
    let mut pair = Pair::new(1, client_config(), server_config());
    pair.cut.insert(path(0).local);
    assert_eq!(connect_with_alternative(&mut pair), milliseconds(290));
    let Event::Connected { paths, .. } = &pair.events[CLIENT][0] else {
        panic!("not connected")
    };
    assert_eq!(paths[..], [path(1)]);
}

#[test]
fn alternatives_are_tried_at_once_when_no_path_is_left() {
    let mut pair = Pair::new(1, client_config(), server_config());
    let start = pair.now;
    let connection = pair.connect(&[path(0)]);
    pair.ends[CLIENT].add_alternatives(connection, &[(path(1), SIZE)]);
    pair.cut.insert(path(0).local);
    pair.collect();
    let request = pair.log[0].datagram.clone();
    pair.ends[CLIENT].handle_refused(pair.now, path(0).remote, &request);
    pair.run(|pair| pair.connected[CLIENT].is_some());
    assert_eq!(pair.now - start, milliseconds(40));
}

#[test]
fn alternatives_are_tried_when_a_path_that_answered_falls_silent() {
    let mut pair = Pair::new(1, client_config(), server_config());
    let connection = pair.connect(&[path(0)]);
    pair.ends[CLIENT].add_alternatives(connection, &[(path(1), SIZE)]);
    // It has answered the Request, or there would not be a second packet.
    pair.run(|pair| pair.log.iter().filter(|sent| sent.to == SERVER).count() > 1);
    pair.cut.insert(path(0).local);
    pair.run(|pair| pair.connected[CLIENT].is_some());
    assert!(tried(&pair).contains(&path(1)));
}

#[test]
fn loss_reordering_and_duplicates_do_not_prevent_handshakes() {
    for seed in 0..60 {
        let mut pair = Pair::new(seed, client_config(), server_config());
        pair.weather = Weather {
            lost: 50 * (seed % 6),
            duplicated: 200,
            jitter: milliseconds(40),
        };
        let paths = [path(0), path(1)];
        pair.connect(&paths[..1 + seed as usize % 2]);
        pair.run(Pair::is_connected);
        pair.weather = Weather::default();
        pair.send(CLIENT, 0, b"ping");
        pair.send(SERVER, 1, b"pong");
        pair.run(|pair| pair.payloads.iter().all(|payloads| payloads.len() == 1));
        assert_eq!(pair.payloads[SERVER][0].1, b"ping");
        assert_eq!(pair.payloads[CLIENT][0].1, b"pong");
        for end in [CLIENT, SERVER] {
            assert_eq!(pair.ends[end].connections(), 1, "seed {seed}");
        }
        // Both ends forget their handshakes.
        pair.wait(Duration::from_secs(60));
        assert!(
            pair.ends.iter().all(|end| end.deadline().is_none()),
            "seed {seed}"
        );
    }
}

#[test]
fn packets_of_the_handshake_fit_the_path() {
    for size in [256, 300, 548, 1_200, 1_452] {
        let mut pair = Pair::new(1, client_config(), server_config());
        pair.connect_with(&client_tls(&SERVER_KEY), &[path(0)], size);
        pair.run(Pair::is_connected);
        for end in [CLIENT, SERVER] {
            let packets = pair.log.iter().filter(|sent| sent.to == end);
            let longest = packets.map(|sent| sent.datagram.len()).max();
            let fits = longest.is_some_and(|longest| longest <= size && longest > size / 2);
            assert!(fits, "{longest:?} on {size}");
        }
    }
}

#[test]
fn handshake_completes_where_large_packets_disappear() {
    let mut pair = Pair::new(1, client_config(), server_config());
    pair.largest = 600;
    pair.connect(&[path(0)]);
    pair.run(Pair::is_connected);
    assert!(pair.log.iter().any(|sent| sent.datagram.len() > 600));
}

#[test]
fn dead_first_path_costs_no_time() {
    let mut pair = Pair::new(1, client_config(), server_config());
    pair.cut.insert(path(0).local);
    let start = pair.now;
    pair.connect(&[path(0), path(1)]);
    pair.run(Pair::is_connected);
    assert_eq!(pair.now - start, milliseconds(50));
}

/// A pair whose client is connected, and whose server does not have the client's last packets of the handshake yet, which are returned.
fn without_the_last_flight() -> (Pair, Vec<Sent>) {
    let mut pair = Pair::new(1, client_config(), server_config());
    pair.connect(&[path(0)]);
    pair.run(|pair| pair.connected[CLIENT].is_some());
    pair.collect();
    let last = pair
        .queue
        .values()
        .filter(|sent| sent.to == SERVER)
        .cloned()
        .collect();
    pair.queue.clear();
    (pair, last)
}

#[test]
fn data_that_overtakes_the_end_of_the_handshake_is_not_lost() {
    let (mut pair, last) = without_the_last_flight();
    for payload in [&b"first"[..], b"second"] {
        let early = to_server(pair.sealed(CLIENT, 0, payload));
        assert_eq!(pair.deliver(&early), Ok(Received::Control));
    }
    for sent in last {
        pair.deliver(&sent).unwrap();
    }
    pair.collect();
    let payloads: Vec<_> = pair.events[SERVER]
        .iter()
        .filter_map(|event| match event {
            Event::Data { from, payload, .. } => Some((*from, payload.as_slice())),
            _ => None,
        })
        .collect();
    let from = path(0).reversed();
    assert_eq!(payloads, [(from, &b"first"[..]), (from, b"second")]);
    assert!(matches!(pair.events[SERVER][0], Event::Connected { .. }));
}

#[test]
fn few_packets_wait_for_the_end_of_a_handshake() {
    let (mut pair, last) = without_the_last_flight();
    let long = to_server(pair.sealed(CLIENT, 0, &[7; 2_048]));
    assert_eq!(pair.deliver(&long), Err(Dropped::NoKeys));
    for number in 0..10_u8 {
        let early = to_server(pair.sealed(CLIENT, 0, &[number]));
        let waits = pair.deliver(&early).is_ok();
        assert_eq!(waits, number < 4);
    }
    for sent in last {
        pair.deliver(&sent).unwrap();
    }
    pair.collect();
    let is_data = |event: &&Event| matches!(event, Event::Data { .. });
    assert_eq!(pair.events[SERVER].iter().filter(is_data).count(), 4);
}

#[test]
fn handshake_moves_to_an_added_path() {
    let mut pair = Pair::new(1, client_config(), server_config());
    let connection = pair.connect(&[path(0)]);
    pair.run(|pair| pair.log.iter().any(|sent| sent.datagram[0] == 0x85));
    pair.cut.insert(path(0).local);
    pair.queue.clear();
    pair.ends[CLIENT].add_path(connection, path(1), SIZE);
    pair.run(Pair::is_connected);
    let Event::Connected { paths, .. } = &pair.events[CLIENT][0] else {
        panic!("not connected")
    };
    assert!(paths.contains(&path(1)));
}

#[test]
fn handshake_without_answer_fails() {
    let mut pair = Pair::new(1, client_config(), server_config());
    pair.cut.insert(path(0).local);
    let start = pair.now;
    pair.connect(&[path(0)]);
    pair.run(|pair| !pair.events[CLIENT].is_empty());
    let Event::Failed { error, .. } = &pair.events[CLIENT][0] else {
        panic!("not failed")
    };
    assert_eq!(*error, HandshakeError::TimedOut);
    assert_eq!(pair.now - start, Duration::from_secs(30));
    assert!(pair.log.len() < 12);
    assert_eq!(pair.ends[CLIENT].connections(), 0);
}

#[test]
fn handshake_fails_at_once_when_all_hosts_report_a_closed_port() {
    let mut pair = Pair::new(1, client_config(), server_config());
    pair.connect(&[path(0), path(1)]);
    pair.collect();
    let requests: Vec<Sent> = pair
        .log
        .iter()
        .filter(|sent| sent.to == SERVER)
        .cloned()
        .collect();
    let (first, second) = (&requests[0], &requests[1]);
    let now = pair.now;
    let client = &mut pair.ends[CLIENT];
    // Quotations of an attacker that did not see the Request, and of another packet.
    let mut forged = first.datagram[..64].to_vec();
    forged[12] ^= 1;
    client.handle_refused(now, first.path.remote, &forged);
    client.handle_refused(now, first.path.remote, b"");
    client.handle_refused(now, first.path.remote, &first.datagram[..64]);
    assert!(client.poll_event().is_none());
    client.handle_refused(now, second.path.remote, &second.datagram[..64]);
    let Some(Event::Failed { error, .. }) = client.poll_event() else {
        panic!("not failed")
    };
    assert_eq!(error, HandshakeError::Refused);
    assert_eq!(client.connections(), 0);
}

#[test]
fn handshake_goes_on_when_only_one_address_is_closed() {
    let mut pair = Pair::new(1, client_config(), server_config());
    pair.cut.insert(path(0).local);
    pair.connect(&[path(0), path(1)]);
    pair.collect();
    let request = pair.log.iter().find(|sent| sent.path == path(0)).unwrap().clone();
    pair.ends[CLIENT].handle_refused(pair.now, request.path.remote, &request.datagram);
    pair.run(Pair::is_connected);
    pair.settle();
    assert!(pair.log.iter().filter(|sent| sent.path == path(0)).count() == 1);
}

#[test]
fn handshake_with_other_groups_takes_a_hello_retry() {
    let mut tls = ServerConfig::clone(server_config().server.as_ref().unwrap());
    let mut crypto = aws_lc_rs::default_provider();
    crypto.kx_groups = vec![kx_group::SECP384R1];
    tls = ServerConfig::builder_with_provider(Arc::new(crypto))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(tls.cert_resolver);
    let mut config = server_config();
    config.server = Some(Arc::new(tls));
    for seed in 0..10 {
        let mut pair = Pair::new(seed, client_config(), config.clone());
        pair.weather.lost = 100;
        pair.connect(&[path(0)]);
        pair.run(Pair::is_connected);
        let peer = pair.ends[CLIENT].peer(pair.connected[CLIENT].unwrap()).unwrap();
        assert_eq!(peer.key_exchange, Some(NamedGroup::secp384r1));
    }
}

#[test]
fn untrusted_server_is_refused_and_told_why() {
    let mut pair = Pair::new(1, client_config(), server_config());
    // Both certificates have the same subject, so the signature is what does not fit.
    pair.connect_with(&client_tls(&CLIENT_KEY), &[path(0)], SIZE);
    pair.run(|pair| pair.events.iter().all(|events| !events.is_empty()));
    let [
        [Event::Failed { error: client, .. }],
        [Event::Failed { error: server, .. }],
    ] = [&pair.events[CLIENT][..], &pair.events[SERVER][..]]
    else {
        panic!("{:?}", pair.events)
    };
    assert!(
        matches!(client, HandshakeError::Tls(rustls::Error::InvalidCertificate(_))),
        "{client}"
    );
    assert_eq!(
        *server,
        HandshakeError::ClosedByPeer(AlertDescription::DecryptError)
    );
    assert!(pair.ends.iter().all(|end| end.connections() == 0));
}

/// A server that wants the client of [`CLIENT_KEY`].
fn strict_server() -> crate::Config {
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(&CLIENT_KEY)), provider())
        .build()
        .unwrap();
    let tls = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![SERVER_KEY.cert.der().clone()], private(&SERVER_KEY))
        .unwrap();
    let mut config = client_config();
    config.server = Some(Arc::new(tls));
    config
}

#[test]
fn client_without_identity_is_refused_and_told_why() {
    let mut pair = Pair::new(1, client_config(), strict_server());
    pair.connect(&[path(0)]);
    pair.run(|pair| pair.events[CLIENT].len() == 2);
    let [Event::Connected { .. }, Event::Failed { error, .. }] = &pair.events[CLIENT][..] else {
        panic!("{:?}", pair.events)
    };
    assert_eq!(
        *error,
        HandshakeError::ClosedByPeer(AlertDescription::CertificateRequired)
    );
    assert!(matches!(pair.events[SERVER][..], [Event::Failed { .. }]));
}

#[test]
fn client_with_identity_is_accepted() {
    let tls = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots(&SERVER_KEY))
        .with_client_auth_cert(vec![CLIENT_KEY.cert.der().clone()], private(&CLIENT_KEY))
        .unwrap();
    let mut pair = Pair::new(1, client_config(), strict_server());
    pair.connect_with(&tls, &[path(0)], SIZE);
    pair.run(Pair::is_connected);
    let peer = pair.ends[SERVER].peer(pair.connected[SERVER].unwrap()).unwrap();
    assert_eq!(peer.certificates[0], *CLIENT_KEY.cert.der());
}

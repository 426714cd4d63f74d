//! Raw public keys as identities: which peers are accepted, and what the others are told.

use std::sync::Arc;

use rustls::{AlertDescription, ClientConfig};

use super::{CLIENT, Pair, SERVER, SIZE, client_config, path};
use crate::{Event, HandshakeError, KeyList, PrivateKey, Trust, raw_key_configs, raw_key_name};

/// A server with `identity` that trusts `trust`, and the TLS of a client with `client` that trusts `expected`.
fn pair(
    server: &PrivateKey,
    trust: Trust,
    client: &PrivateKey,
    expected: &PrivateKey,
) -> (Pair, ClientConfig) {
    let mut config = client_config();
    let (_, tls) = raw_key_configs(server, &trust).unwrap();
    config.server = Some(Arc::new(tls));
    let trusted = Trust::Keys(vec![expected.public_key()]);
    let (tls, _) = raw_key_configs(client, &trusted).unwrap();
    (Pair::new(1, client_config(), config), tls)
}

fn keys() -> [PrivateKey; 3] {
    std::array::from_fn(|_| PrivateKey::generate().unwrap())
}

fn connect(pair: &mut Pair, tls: &ClientConfig) {
    let paths = [(path(0), SIZE)];
    pair.ends[CLIENT]
        .connect(pair.now, tls, raw_key_name(), &paths)
        .unwrap();
}

#[test]
fn trusted_keys_are_accepted_and_reported_to_both_ends() {
    let [server, client, _] = keys();
    for trust in [Trust::Keys(vec![client.public_key()]), Trust::Everyone] {
        let (mut pair, tls) = pair(&server, trust, &client, &server);
        connect(&mut pair, &tls);
        pair.run(Pair::is_connected);
        for (end, key) in [(CLIENT, &server), (SERVER, &client)] {
            let peer = pair.ends[end].peer(pair.connected[end].unwrap()).unwrap();
            assert_eq!(peer.public_key(), Some(key.public_key()));
        }
    }
}

#[test]
fn key_is_accepted_only_while_it_is_on_the_list() {
    let [server, client, other] = keys();
    let list = KeyList::default();
    for (listed, is_accepted) in [(&other, false), (&client, true), (&other, false)] {
        let (mut pair, tls) = pair(&server, Trust::Listed(list.clone()), &client, &server);
        // After the endpoint was made.
        list.replace(vec![listed.public_key()]);
        connect(&mut pair, &tls);
        pair.run(|pair| !pair.events[SERVER].is_empty());
        let refused = pair.events[SERVER].iter().find_map(|event| match event {
            Event::Failed { error, .. } => error.untrusted_key(),
            _ => None,
        });
        assert_eq!(pair.connected[SERVER].is_some(), is_accepted);
        assert_eq!(refused, (!is_accepted).then_some(client.public_key()));
    }
}

#[test]
fn server_with_another_key_is_refused_by_name() {
    let [server, client, expected] = keys();
    let (mut pair, tls) = pair(&server, Trust::Everyone, &client, &expected);
    connect(&mut pair, &tls);
    pair.run(|pair| !pair.events[CLIENT].is_empty());
    let [Event::Failed { error, .. }] = &pair.events[CLIENT][..] else {
        panic!("{:?}", pair.events)
    };
    assert_eq!(error.untrusted_key(), Some(server.public_key()));
    assert!(error.to_string().contains(&server.public_key().to_string()));
    assert!(pair.connected[SERVER].is_none());
}

#[test]
fn client_with_another_key_is_refused_and_told_so() {
    let [server, client, expected] = keys();
    let trust = Trust::Keys(vec![expected.public_key()]);
    let (mut pair, tls) = pair(&server, trust, &client, &server);
    connect(&mut pair, &tls);
    pair.run(|pair| pair.events[CLIENT].len() == 2 && !pair.events[SERVER].is_empty());
    let [Event::Connected { .. }, Event::Failed { error, .. }] = &pair.events[CLIENT][..] else {
        panic!("{:?}", pair.events)
    };
    assert!(error.refuses_us());
    assert_eq!(
        *error,
        HandshakeError::ClosedByPeer(AlertDescription::CertificateUnknown)
    );
    let [Event::Failed { error, .. }] = &pair.events[SERVER][..] else {
        panic!("{:?}", pair.events)
    };
    assert_eq!(error.untrusted_key(), Some(client.public_key()));
}

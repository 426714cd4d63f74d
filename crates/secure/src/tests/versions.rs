//! Version negotiation, and attempts to influence it.

use super::{CLIENT, Pair, SERVER, Sent, client_config, path, server_config};
use crate::{Event, HandshakeError, Version};

/// A version that only tests speak.
const RESERVED: Version = Version(0x1a2a_3a4a);

fn pair(client: &[Version], server: &[Version]) -> Pair {
    let [mut first, mut second] = [client_config(), server_config()];
    first.versions = client.to_vec();
    second.versions = server.to_vec();
    assert!(RESERVED.is_reserved() && !Version::V1.is_reserved());
    Pair::new(1, first, second)
}

/// Both ends speak both versions; the client prefers the reserved one.
fn both() -> Pair {
    pair(&[RESERVED, Version::V1], &[Version::V1, RESERVED])
}

fn version(pair: &Pair, end: usize) -> Version {
    let connection = pair.connected[end].unwrap();
    pair.ends[end].peer(connection).unwrap().version
}

fn error(pair: &Pair) -> HandshakeError {
    match &pair.events[CLIENT][..] {
        [Event::Failed { error, .. }] => error.clone(),
        other => panic!("{other:?}"),
    }
}

/// A Version Negotiation for the client that sent `request`.
fn forged(request: &Sent, versions: &[Version]) -> Sent {
    let mut datagram = vec![0x82];
    datagram.extend(&request.datagram[5..13]);
    datagram.extend(versions.iter().flat_map(|version| version.0.to_be_bytes()));
    Sent {
        to: CLIENT,
        path: request.path.reversed(),
        datagram,
    }
}

#[test]
fn client_takes_a_version_of_the_server() {
    let mut pair = pair(&[RESERVED, Version::V1], &[Version::V1]);
    pair.connect(&[path(0)]);
    pair.run(Pair::is_connected);
    for end in [CLIENT, SERVER] {
        assert_eq!(version(&pair, end), Version::V1);
    }
}

#[test]
fn preferred_common_version_needs_no_negotiation() {
    let mut pair = both();
    pair.connect(&[path(0)]);
    pair.run(Pair::is_connected);
    assert_eq!(version(&pair, CLIENT), RESERVED);
    assert!(pair.log.iter().all(|sent| sent.datagram[0] != 0x82));
}

#[test]
fn ends_without_common_version_fail() {
    let mut pair = pair(&[RESERVED], &[Version::V1]);
    pair.connect(&[path(0)]);
    pair.run(|pair| !pair.events[CLIENT].is_empty());
    assert_eq!(error(&pair), HandshakeError::NoCommonVersion);
}

#[test]
fn downgrade_by_a_forged_version_negotiation_is_detected() {
    let mut pair = both();
    pair.connect(&[path(0)]);
    pair.collect();
    let list = forged(&pair.log[0], &[Version::V1]);
    pair.deliver(&list).unwrap();
    pair.run(|pair| !pair.events[CLIENT].is_empty());
    assert_eq!(error(&pair), HandshakeError::Downgrade);
    assert!(pair.connected[SERVER].is_none());
}

#[test]
fn version_negotiation_after_a_cookie_or_with_our_version_changes_nothing() {
    let mut pair = both();
    pair.connect(&[path(0)]);
    pair.collect();
    let list = forged(&pair.log[0], &[Version::V1, RESERVED]);
    pair.deliver(&list).unwrap();
    pair.run(|pair| pair.log.iter().any(|sent| sent.datagram[0] == 0x83));
    let list = forged(&pair.log[0], &[Version::V1]);
    pair.deliver(&list).unwrap();
    pair.run(Pair::is_connected);
    assert_eq!(version(&pair, CLIENT), RESERVED);
}

#[test]
fn second_version_negotiation_is_ignored() {
    let mut pair = pair(&[RESERVED, Version::V1], &[Version::V1]);
    pair.connect(&[path(0)]);
    pair.collect();
    let first = forged(&pair.log[0], &[Version::V1]);
    pair.deliver(&first).unwrap();
    // A second list would lead back, or to no version at all.
    for versions in [&[RESERVED][..], &[Version(9)]] {
        let second = forged(&pair.log[0], versions);
        pair.deliver(&second).unwrap();
    }
    pair.run(Pair::is_connected);
    assert_eq!(version(&pair, CLIENT), Version::V1);
}

//! Tests of INIT handling: crossing INITs establish one association, and the parameters of INIT ACK are correct.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

use anabranch_types::{Ecn, Instant, PathAddr, Seed, StreamId};
use anabranch_wire::ParameterWriter;

use super::{one, parameters};
use crate::{AssociationConfig, DEFAULT_PORT, Endpoint, EndpointConfig, Message};

fn address(host: u8, net: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, net, host], DEFAULT_PORT))
}

fn config() -> AssociationConfig {
    AssociationConfig {
        local_sctp_port: Some(DEFAULT_PORT),
        ..AssociationConfig::default()
    }
}

/// A listening endpoint with two addresses.
fn host(number: u8) -> Endpoint {
    started(number, number.into())
}

/// A host with the randomness of `seed`, which differs after a restart.
fn started(number: u8, seed: u64) -> Endpoint {
    let config = EndpointConfig {
        local: vec![address(number, 0), address(number, 1)],
        accept: Some(config()),
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Seed(seed))
}

fn sent_by(endpoint: &mut Endpoint, now: Instant) -> VecDeque<(PathAddr, Vec<u8>)> {
    let mut sent = VecDeque::new();
    let mut buffer = Vec::new();
    while let Some(transmit) = endpoint.poll_transmit(now, &mut buffer, 1) {
        sent.push_back((transmit.path, core::mem::take(&mut buffer)));
    }
    sent
}

/// Exchanges packets until neither endpoint sends any.
fn settle(alice: &mut Endpoint, bob: &mut Endpoint, now: Instant) {
    settle_over(|_| true, alice, bob, now);
}

/// The same where the network drops the packets that are not sent over `works`.
fn settle_over(works: impl Fn(PathAddr) -> bool, alice: &mut Endpoint, bob: &mut Endpoint, now: Instant) {
    loop {
        let (there, back) = (sent_by(alice, now), sent_by(bob, now));
        if there.is_empty() && back.is_empty() {
            return;
        }
        for (sent, receiver) in [(there, &mut *bob), (back, &mut *alice)] {
            for (path, bytes) in sent.into_iter().filter(|(path, _)| works(*path)) {
                receiver.handle_datagram(now, path.reversed(), Ecn::NotCapable, &bytes);
            }
        }
    }
}

//= rfc9260 5.2.1-3, 5.2.1-4
#[test]
fn crossing_inits_on_different_addresses_join() {
    let (mut alice, mut bob) = (host(1), host(2));
    let mut now = Instant::ZERO;
    alice
        .connect(now, &[address(2, 0)], &config())
        .expect("a path to Bob");
    bob.connect(now, &[address(1, 0)], &config())
        .expect("a path to Alice");
    // The first INITs are lost; Alice retransmits hers from an address that Bob did not use.
    sent_by(&mut alice, now);
    sent_by(&mut bob, now);
    now += Duration::from_secs(1);
    alice.handle_timeout(now);
    let (path, init) = sent_by(&mut alice, now).pop_front().expect("T1 repeats the INIT");
    assert_eq!(path.local, address(1, 1));
    bob.handle_datagram(now, path.reversed(), Ecn::NotCapable, &init);
    let (reverse_path, _) = sent_by(&mut bob, now).pop_front().expect("the INIT is answered");
    assert_eq!(reverse_path.remote, address(1, 0), "the address that Bob called");
    now += Duration::from_secs(10);
    alice.handle_timeout(now);
    bob.handle_timeout(now);
    settle(&mut alice, &mut bob, now);
    for endpoint in [&alice, &bob] {
        assert_eq!(endpoint.associations().len(), 1);
        assert!(endpoint.associations().all(crate::Association::is_connected));
    }
}

#[test]
fn cookie_older_than_our_connect_joins_its_association() {
    let (mut alice, mut bob) = (host(1), host(2));
    let mut now = Instant::ZERO;
    alice
        .connect(now, &[address(2, 0)], &config())
        .expect("a path to Bob");
    sent_by(&mut alice, now);
    now += Duration::from_secs(1);
    alice.handle_timeout(now);
    // Bob replies as to an unknown peer, then sends his INIT to her other address.
    let (path, init) = sent_by(&mut alice, now).pop_front().expect("T1 repeats the INIT");
    bob.handle_datagram(now, path.reversed(), Ecn::NotCapable, &init);
    let (path, answer) = sent_by(&mut bob, now).pop_front().expect("an INIT ACK");
    bob.connect(now, &[address(1, 0)], &config())
        .expect("a path to Alice");
    sent_by(&mut bob, now);
    alice.handle_datagram(now, path.reversed(), Ecn::NotCapable, &answer);
    settle(&mut alice, &mut bob, now);
    now += Duration::from_secs(10);
    alice.handle_timeout(now);
    bob.handle_timeout(now);
    settle(&mut alice, &mut bob, now);
    assert_eq!(bob.associations().len(), 1);
    let id = bob
        .associations()
        .map(crate::Association::id)
        .next()
        .expect("one");
    let mut association = bob.association_mut(id).expect("it lives");
    association
        .send(Message::new(StreamId(0), "hello"))
        .expect("it is connected");
    drop(association);
    settle(&mut alice, &mut bob, now);
    let id = alice
        .associations()
        .map(crate::Association::id)
        .next()
        .expect("one");
    let received = alice.association_mut(id).and_then(|mut alice| alice.receive());
    assert!(received.is_some_and(|message| message.payload == "hello"));
}

#[test]
fn last_parameter_of_an_init_ack_is_not_padded() {
    let cookie = |bytes: &[u8]| {
        let mut mandatory = ParameterWriter::new();
        mandatory.push_state_cookie(bytes);
        mandatory
    };
    let extensions = one(|alone| {
        alone.push_supported_extensions(&[0x10]);
    });
    assert_eq!(parameters(cookie(&[7; 5]), &[vec![]], 100).len(), 9);
    assert_eq!(
        parameters(cookie(&[7; 5]), &[vec![], extensions.clone()], 100).len(),
        12 + 5
    );
    assert_eq!(
        parameters(cookie(&[7; 5]), &[extensions], 16).len(),
        9,
        "there is no room"
    );
}

//= rfc9260 5.2.4-4
#[test]
fn restart_with_a_cookie_echo_from_an_unconfirmed_address_makes_no_second_association() {
    let (mut alice, mut bob) = (host(1), host(2));
    let now = Instant::ZERO;
    alice
        .connect(now, &[address(2, 0)], &config())
        .expect("a path to Bob");
    let on_net_0 =
        |path: PathAddr| path.local.ip() == address(1, 0).ip() || path.local.ip() == address(2, 0).ip();
    settle_over(on_net_0, &mut alice, &mut bob, now);
    let mut restarted = started(1, 3);
    restarted
        .connect(now, &[address(2, 0)], &config())
        .expect("a path to Bob");
    let (path, init) = sent_by(&mut restarted, now).pop_front().expect("an INIT");
    bob.handle_datagram(now, path.reversed(), Ecn::NotCapable, &init);
    let (path, init_ack) = sent_by(&mut bob, now).pop_front().expect("an INIT ACK");
    restarted.handle_datagram(now, path.reversed(), Ecn::NotCapable, &init_ack);
    let (_, cookie_echo) = sent_by(&mut restarted, now).pop_front().expect("a COOKIE ECHO");
    let other = PathAddr {
        local: address(2, 1),
        remote: address(1, 1),
    };
    bob.handle_datagram(now, other, Ecn::NotCapable, &cookie_echo);
    settle(&mut restarted, &mut bob, now);
    assert_eq!(bob.associations().len(), 1);
    assert!(restarted.associations().all(crate::Association::is_connected));
}

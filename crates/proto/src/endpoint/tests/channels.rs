//! Tests of channels of the layer below SCTP: packets of one do not reach the associations of another.

use core::time::Duration;

use super::*;
use crate::Channel;

const OURS: ChannelId = ChannelId([1; 8]);
const OTHERS: ChannelId = ChannelId([2; 8]);

/// Delivers one chunk from `peer(2)` through `channel`. Returns the replies with their channels.
fn deliver_through(
    endpoint: &mut Endpoint,
    channel: ChannelId,
    tag: VerificationTag,
    chunk: &impl WriteChunk,
) -> (Vec<Vec<u8>>, Vec<ChannelId>) {
    let bytes = packet(tag, |packet| packet.push(chunk).expect("a small chunk"));
    let path = PathAddr {
        local: here(),
        remote: peer(2),
    };
    endpoint.handle_packet(START, channel, path, Ecn::NotCapable, &bytes);
    let (mut packets, mut channels) = (Vec::new(), Vec::new());
    let mut buffer = Vec::new();
    while let Some(transmit) = endpoint.poll_transmit(START, &mut buffer, 1) {
        packets.push(core::mem::take(&mut buffer));
        channels.push(transmit.channel);
    }
    (packets, channels)
}

/// The peer completes a handshake through `channel`. Returns the verification tag of packets to the endpoint.
fn accept_through(endpoint: &mut Endpoint, channel: ChannelId, tag: u32) -> VerificationTag {
    let init = init(tag, Vec::new());
    let (answer, channels) = deliver_through(endpoint, channel, VerificationTag::ZERO, &init);
    assert_eq!(channels, [channel]);
    let (tag, cookie) = tag_and_cookie(&answer);
    let (answer, channels) = deliver_through(endpoint, channel, tag, &CookieEcho { cookie: &cookie });
    assert_eq!(kinds(&answer).first(), Some(&kind::COOKIE_ACK));
    assert!(channels.iter().all(|sent| *sent == channel));
    tag
}

fn only_kinds(answer: &(Vec<Vec<u8>>, Vec<ChannelId>)) -> Vec<u8> {
    kinds(&answer.0)
}

#[test]
fn replies_and_data_keep_the_channel_of_the_association() {
    let mut endpoint = endpoint();
    let tag = accept_through(&mut endpoint, OURS, 7);
    assert_eq!(
        endpoint.associations().next().map(Association::channel),
        Some(OURS)
    );
    let answer = deliver_through(&mut endpoint, OURS, tag, &DATA);
    assert_eq!((only_kinds(&answer), answer.1), (vec![kind::SACK], vec![OURS]));
}

#[test]
fn packet_of_another_channel_does_not_reach_the_association() {
    let mut endpoint = endpoint();
    let tag = accept_through(&mut endpoint, OURS, 7);
    for channel in [OTHERS, ChannelId::NONE] {
        let answer = deliver_through(&mut endpoint, channel, tag, &DATA);
        assert_eq!(
            (only_kinds(&answer), answer.1),
            (vec![kind::ABORT], vec![channel])
        );
        let abort = OutboundAbort {
            tag_reflected: false,
            causes: Vec::new(),
        };
        deliver_through(&mut endpoint, channel, tag, &abort);
    }
    let answer = deliver_through(&mut endpoint, OURS, tag, &DATA);
    assert_eq!(only_kinds(&answer), [kind::SACK]);
}

#[test]
fn init_of_another_channel_does_not_restart_the_association() {
    let mut endpoint = endpoint();
    let tag = accept_through(&mut endpoint, OURS, 7);
    accept_through(&mut endpoint, OTHERS, 8);
    let said = events(&mut endpoint);
    let is_new = |event: &&Event| matches!(event, Event::Connected { incoming: true });
    assert_eq!(said.iter().filter(is_new).count(), 2);
    assert_eq!(endpoint.associations().len(), 2);
    assert_eq!(
        only_kinds(&deliver_through(&mut endpoint, OURS, tag, &DATA)),
        [kind::SACK]
    );
}

#[test]
fn cookie_of_another_channel_creates_no_association() {
    let mut endpoint = endpoint();
    let init = init(7, Vec::new());
    let (answer, _) = deliver_through(&mut endpoint, OURS, VerificationTag::ZERO, &init);
    let (tag, cookie) = tag_and_cookie(&answer);
    deliver_through(&mut endpoint, OTHERS, tag, &CookieEcho { cookie: &cookie });
    assert_eq!(endpoint.associations().len(), 0);
}

fn channel(id: ChannelId, proven: &[PathAddr]) -> Channel<'_> {
    Channel { id, proven }
}

#[test]
fn two_channels_may_use_the_same_addresses_and_ports() {
    let mut endpoint = endpoint();
    for id in [OURS, OTHERS] {
        endpoint
            .connect_through(START, channel(id, &[]), &[peer(2)], &config())
            .expect("a path to the peer");
    }
    let again = endpoint.connect_through(START, channel(OURS, &[]), &[peer(2)], &config());
    assert_eq!(again, Err(crate::ConnectError::InUse));
}

/// The addresses of two hosts with two links: 10.0.1.1 and 10.0.2.1 of ours, 10.0.1.2 and 10.0.2.2 of the peer.
fn of_link(link: u8, host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, link, host], DEFAULT_PORT))
}

fn between_links(ours: u8, theirs: u8) -> PathAddr {
    PathAddr {
        local: of_link(ours, 1),
        remote: of_link(theirs, 2),
    }
}

/// The peer's two addresses.
fn there() -> [SocketAddr; 2] {
    [of_link(1, 2), of_link(2, 2)]
}

fn endpoint_of_two_links() -> Endpoint {
    let both = EndpointConfig {
        local: vec![of_link(1, 1), of_link(2, 1)],
        ..EndpointConfig::default()
    };
    Endpoint::new(both, Seed(1))
}

/// Connects through a channel that has reached the peer on `proven`. Returns the path of the INIT and all paths.
fn connect_over(proven: &[PathAddr], config: &AssociationConfig) -> (PathAddr, Vec<PathAddr>) {
    let mut endpoint = endpoint_of_two_links();
    let id = endpoint
        .connect_through(START, channel(OURS, proven), &there(), config)
        .expect("paths to the peer");
    begun(&mut endpoint, START, id)
}

/// As [`connect_over`]; the association was begun before its channel was.
fn connect_before(proven: &[PathAddr]) -> (PathAddr, Vec<PathAddr>) {
    let mut endpoint = endpoint_of_two_links();
    let id = endpoint
        .connect_later(START, OURS, &there(), &config())
        .expect("paths to the peer");
    endpoint.channel_ready(START, id, proven);
    begun(&mut endpoint, START, id)
}

/// The path of the INIT and all paths.
fn begun(endpoint: &mut Endpoint, now: Instant, id: AssociationId) -> (PathAddr, Vec<PathAddr>) {
    let init = endpoint.poll_transmit(now, &mut Vec::new(), 1).expect("an INIT");
    let association = endpoint.association(id).expect("it was just begun");
    let paths = association.statistics().paths;
    let paths = paths.iter().map(|path| path.addr).collect();
    (init.path, paths)
}

#[test]
fn init_leaves_on_a_proven_path_and_the_pairing_stays() {
    let straight = vec![between_links(1, 1), between_links(2, 2)];
    for (proven, first) in [
        (vec![], between_links(1, 1)),
        (vec![between_links(2, 2)], between_links(2, 2)),
        // The reply that crossed came first. Both paths would share both links if they were paired like that.
        (
            vec![between_links(1, 2), between_links(2, 2)],
            between_links(2, 2),
        ),
        (
            vec![between_links(2, 1), between_links(1, 1)],
            between_links(1, 1),
        ),
    ] {
        for begun in [connect_over(&proven, &config()), connect_before(&proven)] {
            assert_eq!(begun, (first, straight.clone()), "{proven:?}");
        }
    }
}

#[test]
fn paths_are_paired_through_the_proven_one_if_the_rule_has_none() {
    let crosswise = vec![between_links(1, 2), between_links(2, 1)];
    for begun in [
        connect_over(&[between_links(1, 2)], &config()),
        connect_before(&[between_links(1, 2)]),
    ] {
        assert_eq!(begun, (between_links(1, 2), crosswise.clone()));
    }
}

#[test]
fn single_path_is_a_proven_one() {
    let single = AssociationConfig {
        single_homed: true,
        ..config()
    };
    let connected = connect_over(&[between_links(2, 2)], &single);
    assert_eq!(connected, (between_links(2, 2), vec![between_links(2, 2)]));
}

#[test]
fn association_takes_messages_and_sends_nothing_until_its_channel_is_ready() {
    let mut endpoint = endpoint_of_two_links();
    let id = endpoint
        .connect_later(START, OURS, &there(), &config())
        .expect("paths to the peer");
    let mut association = endpoint.association_mut(id).expect("it was just begun");
    association
        .send(Message::new(StreamId(0), b"early".to_vec()))
        .expect("room in the send buffer");
    drop(association);
    assert_eq!(endpoint.poll_transmit(START, &mut Vec::new(), 1), None);
    assert_eq!(endpoint.poll_timeout(), None);
    // The first INIT has the whole timeout for its answer, however long the channel took.
    let ready = START + Duration::from_secs(25);
    endpoint.channel_ready(ready, id, &[between_links(2, 2)]);
    assert_eq!(begun(&mut endpoint, ready, id).0, between_links(2, 2));
    assert_eq!(endpoint.poll_transmit(ready, &mut Vec::new(), 1), None);
    assert_eq!(endpoint.poll_timeout(), Some(ready + config().rto().initial));
    // A channel is ready once.
    endpoint.channel_ready(ready, id, &[between_links(1, 1)]);
    assert_eq!(endpoint.poll_transmit(ready, &mut Vec::new(), 1), None);
}

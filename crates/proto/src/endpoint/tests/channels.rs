//! Tests of channels of the layer below SCTP: packets of one do not reach the associations of another.

use super::*;

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

#[test]
fn two_channels_may_use_the_same_addresses_and_ports() {
    let mut endpoint = endpoint();
    for channel in [OURS, OTHERS] {
        endpoint
            .connect_through(START, channel, &[peer(2)], &config())
            .expect("a path to the peer");
    }
    let again = endpoint.connect_through(START, OURS, &[peer(2)], &config());
    assert_eq!(again, Err(crate::ConnectError::InUse));
}

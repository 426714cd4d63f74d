//! Two ends over an association without loss, whose messages and resets the tests deliver.

use alloc::vec;

use super::*;
use crate::error::Violation;
use crate::options::priority;

const STREAMS: u16 = 65_535;

/// One end and what it gave to its association.
struct End {
    channels: DataChannels,
    sent: VecDeque<Outgoing>,
    weights: Vec<(StreamId, u16)>,
    resets: VecDeque<Vec<StreamId>>,
}

impl End {
    fn new(role: Role, limits: Limits) -> Self {
        let mut channels = DataChannels::new(role, limits);
        channels.set_streams(STREAMS, STREAMS);
        Self {
            channels,
            sent: VecDeque::new(),
            weights: Vec::new(),
            resets: VecDeque::new(),
        }
    }

    fn act(&mut self) {
        while let Some(action) = self.channels.action() {
            match action.clone() {
                Action::Weight { stream, weight } => self.weights.push((stream, weight.get())),
                Action::Send(message) => self.sent.push_back(message),
                Action::Reset(streams) => self.resets.push_back(streams),
            }
            self.channels.action_done();
        }
    }

    #[track_caller]
    fn send(&mut self, channel: ChannelId, payload: impl Into<Payload>) {
        self.act();
        let message = self.channels.outgoing(channel, payload.into());
        self.sent.push_back(message.expect("an open channel"));
    }

    fn receive(&mut self, stream: u16, ppid: Ppid, payload: &'static [u8]) {
        self.receive_from(Outgoing {
            stream: StreamId(stream),
            ppid,
            unordered: false,
            reliability: ChannelReliability::Reliable,
            payload: Bytes::from_static(payload),
        });
    }

    fn receive_from(&mut self, message: Outgoing) {
        self.channels.handle_message(Received {
            stream: message.stream,
            ppid: message.ppid,
            unordered: message.unordered,
            extent: Extent::Whole,
            payload: message.payload,
        });
    }

    fn events(&mut self) -> Vec<Event> {
        core::iter::from_fn(|| self.channels.poll_event()).collect()
    }
}

/// Both ends.
struct Pair {
    client: End,
    server: End,
}

impl Pair {
    fn new() -> Self {
        Self {
            client: End::new(Role::Client, Limits::default()),
            server: End::new(Role::Server, Limits::default()),
        }
    }

    /// Delivers messages until none is left.
    fn deliver(&mut self) {
        loop {
            self.client.act();
            self.server.act();
            if let Some(message) = self.client.sent.pop_front() {
                self.server.receive_from(message);
            } else if let Some(message) = self.server.sent.pop_front() {
                self.client.receive_from(message);
            } else {
                return;
            }
        }
    }

    /// Performs all resets, behind all messages.
    fn reset(&mut self) {
        loop {
            self.deliver();
            if let Some(streams) = self.client.resets.pop_front() {
                self.server.channels.handle_inbound_reset(&streams);
                self.client.channels.handle_outbound_reset(&streams, true);
            } else if let Some(streams) = self.server.resets.pop_front() {
                self.client.channels.handle_inbound_reset(&streams);
                self.server.channels.handle_outbound_reset(&streams, true);
            } else {
                return;
            }
        }
    }

    /// A channel that the client has opened, on both sides.
    fn open(&mut self, options: ChannelOptions) -> (ChannelId, ChannelId) {
        let ours = self.client.channels.open(options).expect("a free stream");
        self.deliver();
        assert_eq!(self.client.events(), [Event::Opened(ours)]);
        let theirs = incoming(&self.server.events());
        (ours, theirs)
    }
}

#[track_caller]
fn incoming(events: &[Event]) -> ChannelId {
    let channels = events.iter().find_map(|event| match event {
        Event::Incoming(channel) => Some(*channel),
        _ => None,
    });
    channels.expect("an incoming channel")
}

fn message(channel: ChannelId, payload: impl Into<Payload>) -> Event {
    Event::Message {
        channel,
        payload: payload.into(),
    }
}

fn closed(channel: ChannelId, cause: CloseCause) -> Event {
    Event::Closed { channel, cause }
}

fn closing(channel: ChannelId, cause: CloseCause) -> Event {
    Event::Closing { channel, cause }
}

//= rfc8832 4-1, 4-2, 4-3, 6-5, 6-6
#[test]
fn client_opens_even_streams_and_server_odd_ones() {
    let mut pair = Pair::new();
    let open = |end: &mut End| {
        let channel = end.channels.open(ChannelOptions::new("same"));
        channel.expect("a free stream").stream().0
    };
    assert_eq!([0; 3].map(|_| open(&mut pair.client)), [0, 2, 4]);
    assert_eq!([0; 3].map(|_| open(&mut pair.server)), [1, 3, 5]);
    pair.deliver();
    assert_eq!(pair.client.events().len(), 6, "three answers, three channels");
}

//= rfc8831 6.4-1, 6.4-2
#[test]
fn both_ends_know_the_same_options_and_set_the_weight() {
    let mut pair = Pair::new();
    let options = ChannelOptions::new("label")
        .protocol("protocol")
        .unordered()
        .reliability(ChannelReliability::Lifetime(200))
        .priority(priority::HIGH);
    let (ours, theirs) = pair.open(options.clone());
    assert_eq!(pair.client.channels.options(ours), Some(&options));
    assert_eq!(pair.server.channels.options(theirs), Some(&options));
    assert_eq!(pair.client.weights, [(StreamId(0), 512)]);
    assert_eq!(pair.server.weights, [(StreamId(0), 512)]);
}

//= rfc8831 6.6-2, 6.6-3, 6.6-4, 6.6-5
#[test]
fn text_and_binary_messages_arrive_as_such_even_empty_ones() {
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open(ChannelOptions::new(""));
    let payloads: [Payload; 4] = [
        "text".into(),
        "".into(),
        Bytes::from_static(b"\0").into(),
        Bytes::new().into(),
    ];
    for payload in payloads.clone() {
        pair.client.send(ours, payload);
    }
    let ppids: Vec<u32> = pair.client.sent.iter().map(|message| message.ppid.0).collect();
    assert_eq!(ppids, [51, 56, 53, 57]);
    assert!(pair.client.sent.iter().all(|message| !message.payload.is_empty()));
    pair.deliver();
    assert_eq!(
        pair.server.events(),
        payloads.map(|payload| message(theirs, payload))
    );
}

//= rfc8831 6.6-5
#[test]
fn content_of_an_empty_message_is_ignored() {
    let mut pair = Pair::new();
    let (_, theirs) = pair.open(ChannelOptions::new(""));
    pair.server.receive(0, ppid::STRING_EMPTY, b"content");
    assert_eq!(pair.server.events(), [message(theirs, "")]);
}

//= rfc8832 6-1, 6-2, 6-3, 6-4, 6-9, 6-10, 6-11
#[test]
fn messages_of_an_unordered_channel_are_ordered_until_it_is_acknowledged() {
    let mut pair = Pair::new();
    let options = ChannelOptions::new("").unordered();
    let options = options.reliability(ChannelReliability::Retransmissions(0));
    let ours = pair.client.channels.open(options).expect("a free stream");
    pair.client.send(ours, "early");
    let sent: Vec<_> = pair
        .client
        .sent
        .iter()
        .map(|message| (message.ppid, message.unordered))
        .collect();
    assert_eq!(sent, [(ppid::DCEP, false), (ppid::STRING, false)]);
    assert_eq!(pair.client.sent[0].reliability, ChannelReliability::Reliable);
    assert_eq!(
        pair.client.sent[1].reliability,
        ChannelReliability::Retransmissions(0)
    );
    pair.deliver();
    pair.client.send(ours, "late");
    assert!(pair.client.sent[0].unordered);
    let theirs = incoming(&pair.server.events());
    pair.server.send(theirs, "answer");
    assert!(pair.server.sent[0].unordered, "OPEN is a message of the peer too");
}

//= rfc8832 6-9
#[test]
fn user_message_that_overtakes_the_ack_opens_the_channel() {
    let mut pair = Pair::new();
    let ours = pair
        .client
        .channels
        .open(ChannelOptions::new("").unordered())
        .expect("a free stream");
    pair.client.act();
    let open = pair.client.sent.pop_front().expect("DATA_CHANNEL_OPEN");
    pair.server.receive_from(open);
    let theirs = incoming(&pair.server.events());
    pair.server.send(theirs, "fast");
    pair.server.sent.swap(0, 1);
    pair.deliver();
    assert_eq!(pair.client.events(), [Event::Opened(ours), message(ours, "fast")]);
}

//= rfc8831 6.7-1
#[test]
fn channel_closes_by_resets_of_both_streams_and_the_stream_is_reused() {
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open(ChannelOptions::new("first"));
    pair.client.send(ours, "last");
    pair.client.channels.close(ours);
    assert_eq!(
        pair.client.channels.outgoing(ours, "x".into()),
        Err(SendError::Closed)
    );
    assert_eq!(pair.client.channels.state(ours), ChannelState::Closing);
    pair.reset();
    assert_eq!(pair.client.events(), [closed(ours, CloseCause::Local)]);
    let expected = [
        message(theirs, "last"),
        closing(theirs, CloseCause::Peer),
        closed(theirs, CloseCause::Peer),
    ];
    assert_eq!(pair.server.events(), expected);
    let (again, _) = pair.open(ChannelOptions::new("second"));
    assert_eq!(again.stream(), ours.stream());
    assert_ne!(again, ours);
    assert_eq!(pair.client.channels.state(ours), ChannelState::Closed);
    assert_eq!(pair.client.channels.state(again), ChannelState::Open);
}

#[test]
fn both_ends_close_at_once_and_both_succeed() {
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open(ChannelOptions::new(""));
    pair.client.channels.close(ours);
    pair.server.channels.close(theirs);
    pair.client.act();
    pair.server.act();
    pair.reset();
    assert_eq!(pair.client.events(), [closed(ours, CloseCause::Local)]);
    assert_eq!(pair.server.events(), [closed(theirs, CloseCause::Local)]);
    assert!(pair.client.channels.is_empty() && pair.server.channels.is_empty());
}

#[test]
fn messages_that_arrive_after_close_are_discarded() {
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open(ChannelOptions::new(""));
    pair.server.send(theirs, "late");
    pair.client.channels.close(ours);
    pair.reset();
    assert_eq!(pair.client.events(), [closed(ours, CloseCause::Local)]);
}

/// An association reports one reset of outgoing streams at a time.
#[test]
fn closes_during_a_reset_share_the_next_one() {
    let mut pair = Pair::new();
    let channels = [0; 3].map(|_| pair.open(ChannelOptions::new("")).0);
    pair.client.channels.close(channels[0]);
    pair.client.act();
    pair.client.channels.close(channels[1]);
    pair.client.channels.close(channels[2]);
    pair.client.act();
    assert_eq!(pair.client.resets, [vec![StreamId(0)]]);
    pair.client.channels.handle_outbound_reset(&[StreamId(0)], true);
    pair.client.act();
    assert_eq!(pair.client.resets[1], [StreamId(2), StreamId(4)]);
}

#[test]
fn many_closes_are_listed_in_requests_of_200() {
    let mut pair = Pair::new();
    for _ in 0..450 {
        let (ours, _) = pair.open(ChannelOptions::new(""));
        pair.client.channels.close(ours);
    }
    pair.reset();
    assert_eq!(pair.client.events().len(), 450);
    assert!(pair.client.channels.is_empty() && pair.server.channels.is_empty());
}

/// The peer may use the stream again as soon as it has performed both resets, before we hear of either.
#[test]
fn stream_that_is_opened_before_the_reset_is_reported_has_a_new_channel() {
    let mut pair = Pair::new();
    let (ours, theirs) = pair.open(ChannelOptions::new("old"));
    pair.server.channels.close(theirs);
    pair.server.act();
    let streams = [ours.stream()];
    pair.client.channels.handle_inbound_reset(&streams);
    pair.server.channels.handle_outbound_reset(&streams, true);
    pair.client.act();
    pair.server.channels.handle_inbound_reset(&streams);
    assert_eq!(pair.server.events(), [closed(theirs, CloseCause::Local)]);
    pair.client.events();
    // The server has odd streams, so another client stands in for the one that opens the stream again.
    pair.client.channels.role = Role::Server;
    let mut opener = End::new(Role::Client, Limits::default());
    opener
        .channels
        .open(ChannelOptions::new("new"))
        .expect("a free stream");
    opener.act();
    pair.client.receive_from(opener.sent[0].clone());
    let events = pair.client.events();
    assert_eq!(events[0], closed(ours, CloseCause::Peer));
    let new = incoming(&events);
    pair.client.channels.handle_outbound_reset(&streams, true);
    assert_eq!(
        pair.client.channels.state(new),
        ChannelState::Open,
        "that report was of the old channel"
    );
    pair.client.channels.handle_inbound_reset(&streams);
    assert_eq!(
        pair.client.channels.state(new),
        ChannelState::Closing,
        "this one is of the new channel"
    );
}

//= rfc8832 6-7, 6-8
#[test]
fn channels_that_break_the_rules_are_reset_and_not_acknowledged() {
    let open = |stream: u16| {
        let message = DcepMessage::Open(ChannelOptions::new(""))
            .encode()
            .expect("short strings");
        (StreamId(stream), message)
    };
    let malformed = (StreamId(2), Bytes::from_static(&[3, 0, 0]));
    for (stream, payload) in [open(1), malformed] {
        let mut pair = Pair::new();
        pair.server.receive_from(Outgoing {
            stream,
            ppid: ppid::DCEP,
            unordered: false,
            reliability: ChannelReliability::Reliable,
            payload,
        });
        pair.server.act();
        assert!(pair.server.sent.is_empty() && pair.server.events().is_empty());
        assert_eq!(pair.server.resets, [vec![stream]]);
        pair.server.channels.handle_inbound_reset(&[stream]);
        pair.server.channels.handle_outbound_reset(&[stream], true);
        assert!(pair.server.channels.is_empty() && pair.server.events().is_empty());
    }
}

//= rfc8832 6-7, 6-8
#[test]
fn second_open_on_a_stream_closes_its_channel() {
    let mut pair = Pair::new();
    let (_, theirs) = pair.open(ChannelOptions::new(""));
    let again = DcepMessage::Open(ChannelOptions::new("again"))
        .encode()
        .expect("short strings");
    pair.server.receive_from(Outgoing {
        stream: theirs.stream(),
        ppid: ppid::DCEP,
        unordered: false,
        reliability: ChannelReliability::Reliable,
        payload: again,
    });
    assert_eq!(
        pair.server.events(),
        [closing(theirs, CloseCause::Violation(Violation::InUse))]
    );
    pair.server.act();
    assert!(pair.server.sent.is_empty());
    assert_eq!(pair.server.resets, [vec![theirs.stream()]]);
}

#[test]
fn reset_instead_of_an_ack_means_that_the_channel_was_refused() {
    let mut pair = Pair::new();
    let ours = pair
        .client
        .channels
        .open(ChannelOptions::new(""))
        .expect("a free stream");
    pair.client.act();
    pair.client.channels.handle_inbound_reset(&[ours.stream()]);
    assert_eq!(pair.client.events(), [closing(ours, CloseCause::Refused)]);
    pair.client.act();
    pair.client.channels.handle_outbound_reset(&[ours.stream()], true);
    assert_eq!(pair.client.events(), [closed(ours, CloseCause::Refused)]);
}

//= rfc8832 6-12
#[test]
fn user_message_on_an_unused_stream_resets_it() {
    let mut pair = Pair::new();
    pair.server.receive(4, ppid::BINARY, b"x");
    pair.server.act();
    assert_eq!(pair.server.resets, [vec![StreamId(4)]]);
    assert!(pair.server.events().is_empty());
}

//= rfc8831 6.6-6
#[test]
fn faulty_user_messages_close_the_channel() {
    let wrong: [(Ppid, &[u8], bool, Violation); 5] = [
        (Ppid(52), b"x", false, Violation::UnknownPpid(Ppid(52))),
        (Ppid(0), b"x", false, Violation::UnknownPpid(Ppid(0))),
        (ppid::STRING, b"\xff", false, Violation::InvalidText),
        (ppid::BINARY, b"x", true, Violation::Unordered),
        (ppid::DCEP, b"\x02", true, Violation::Unordered),
    ];
    for (ppid, payload, unordered, violation) in wrong {
        let mut pair = Pair::new();
        let (_, theirs) = pair.open(ChannelOptions::new(""));
        pair.server.receive_from(Outgoing {
            stream: theirs.stream(),
            ppid,
            unordered,
            reliability: ChannelReliability::Reliable,
            payload: Bytes::from_static(payload),
        });
        assert_eq!(
            pair.server.events(),
            [closing(theirs, CloseCause::Violation(violation))]
        );
    }
}

//= rfc8831 6.5-1
#[test]
fn negotiated_channel_needs_a_free_stream() {
    let mut pair = Pair::new();
    let (ours, _) = pair.open(ChannelOptions::new(""));
    let options = || ChannelOptions::new("");
    let taken = pair.client.channels.open_negotiated(ours.stream(), options());
    assert_eq!(taken, Err(OpenError::StreamInUse));
    let beyond = pair.client.channels.open_negotiated(StreamId(65_535), options());
    assert_eq!(beyond, Err(OpenError::StreamInUse));
    let here = pair
        .client
        .channels
        .open_negotiated(StreamId(2), options())
        .expect("a free stream");
    let there = pair
        .server
        .channels
        .open_negotiated(StreamId(2), options())
        .expect("a free stream");
    pair.client.send(here, "hello");
    pair.deliver();
    assert_eq!(pair.server.events(), [message(there, "hello")]);
    let next = pair.client.channels.open(options()).expect("a free stream");
    assert_eq!(
        next.stream(),
        StreamId(4),
        "the stream of the negotiated channel is in use"
    );
}

#[test]
fn all_streams_can_have_channels_and_then_none_is_free() {
    let mut pair = Pair::new();
    for _ in 0..32_768 {
        pair.client
            .channels
            .open(ChannelOptions::new(""))
            .expect("a free stream");
    }
    let more = pair.client.channels.open(ChannelOptions::new(""));
    assert_eq!(more, Err(OpenError::NoStream));
    pair.deliver();
    assert_eq!(pair.server.channels.len(), 32_768);
}

#[test]
fn labels_of_the_peer_are_limited_in_total() {
    let limits = Limits {
        max_text: 10,
        ..Limits::default()
    };
    let mut pair = Pair::new();
    pair.server = End::new(Role::Server, limits);
    let (ours, _) = pair.open(ChannelOptions::new("12345678"));
    let refused = pair
        .client
        .channels
        .open(ChannelOptions::new("123"))
        .expect("a free stream");
    pair.reset();
    assert_eq!(pair.client.events()[1], closed(refused, CloseCause::Refused));
    pair.client.channels.close(ours);
    pair.reset();
    pair.client.events();
    pair.server.events();
    pair.open(ChannelOptions::new("12345678"));
}

/// The client has reset its stream, and its next OPEN overtakes the report of that.
#[test]
fn late_reset_of_the_previous_channel_is_not_that_of_a_refused_one() {
    let limits = Limits {
        max_text: 10,
        ..Limits::default()
    };
    let mut pair = Pair::new();
    pair.server = End::new(Role::Server, limits);
    let (_, theirs) = pair.open(ChannelOptions::new("12345678"));
    pair.server.channels.close(theirs);
    pair.server.act();
    let first = pair.server.resets.pop_front().expect("a reset");
    pair.client.channels.handle_inbound_reset(&first);
    pair.server.channels.handle_outbound_reset(&first, true);
    pair.client.act();
    let answer = pair
        .client
        .resets
        .pop_front()
        .expect("a reset of the other stream");
    pair.client.channels.handle_outbound_reset(&answer, true);
    pair.client
        .channels
        .open(ChannelOptions::new("12345678901"))
        .expect("the same stream");
    pair.deliver();
    pair.server.channels.handle_inbound_reset(&answer);
    let refusal = pair.server.resets.pop_front().expect("the label is too long");
    pair.server.channels.handle_outbound_reset(&refusal, true);
    assert!(
        !pair.server.channels.is_empty(),
        "the client has not reset its stream again"
    );
    pair.client.channels.handle_inbound_reset(&refusal);
    pair.reset();
    assert!(pair.server.channels.is_empty());
}

#[test]
fn long_messages_are_joined_or_refused() {
    let mut pair = Pair::new();
    let (_, theirs) = pair.open(ChannelOptions::new(""));
    let mut part = |extent, length: usize| {
        pair.server.channels.handle_message(Received {
            stream: theirs.stream(),
            ppid: ppid::BINARY,
            unordered: false,
            extent,
            payload: vec![7; length].into(),
        });
        pair.server.events()
    };
    for extent in [Extent::Beginning, Extent::Middle] {
        assert!(part(extent, 100_000).is_empty());
    }
    let whole = Bytes::from(vec![7; 200_001]);
    assert_eq!(part(Extent::End, 1), [message(theirs, whole)]);
    part(Extent::Beginning, 100_000);
    assert!(part(Extent::Aborted, 0).is_empty());
    part(Extent::Beginning, 200_000);
    let too_long = closing(theirs, CloseCause::Violation(Violation::TooLong));
    assert_eq!(part(Extent::Middle, 100_000), [too_long]);
    assert!(part(Extent::End, 1).is_empty());
}

/// No message is too long, but all that are incomplete would take more than eight of the longest.
#[test]
fn incomplete_messages_are_limited_in_total() {
    let mut pair = Pair::new();
    let channels: Vec<ChannelId> = (0..11).map(|_| pair.open(ChannelOptions::new("")).1).collect();
    let mut begin = |channel: ChannelId| {
        pair.server.channels.handle_message(Received {
            stream: channel.stream(),
            ppid: ppid::BINARY,
            unordered: false,
            extent: Extent::Beginning,
            payload: vec![7; 200_000].into(),
        });
        pair.server.events()
    };
    for channel in &channels[..10] {
        assert!(begin(*channel).is_empty());
    }
    let too_long = closing(channels[10], CloseCause::Violation(Violation::TooLong));
    assert_eq!(begin(channels[10]), [too_long]);
}

#[test]
fn message_longer_than_the_peer_takes_is_refused() {
    let mut pair = Pair::new();
    let (ours, _) = pair.open(ChannelOptions::new(""));
    pair.client.channels.set_max_sent(3);
    let refused = pair.client.channels.outgoing(ours, "1234".into());
    assert_eq!(refused, Err(SendError::TooLong { max: 3 }));
}

#[test]
fn stream_whose_reset_is_refused_is_never_used_again() {
    let mut pair = Pair::new();
    let (ours, _) = pair.open(ChannelOptions::new(""));
    pair.client.channels.close(ours);
    pair.client.act();
    pair.client
        .channels
        .handle_outbound_reset(&[ours.stream()], false);
    assert_eq!(pair.client.events(), [closed(ours, CloseCause::Local)]);
    pair.client.receive(ours.stream().0, ppid::BINARY, b"x");
    pair.client.act();
    assert_eq!(pair.client.resets.len(), 1);
    let next = pair
        .client
        .channels
        .open(ChannelOptions::new(""))
        .expect("a free stream");
    assert_ne!(next.stream(), ours.stream());
}

//= rfc8831 6.2-2
#[test]
fn end_of_the_association_closes_all_channels() {
    let mut pair = Pair::new();
    let (open, _) = pair.open(ChannelOptions::new(""));
    let (leaving, _) = pair.open(ChannelOptions::new(""));
    pair.client.channels.close(leaving);
    pair.client.channels.handle_end();
    let expected = [
        closed(open, CloseCause::Association),
        closed(leaving, CloseCause::Local),
    ];
    assert_eq!(pair.client.events(), expected);
    assert!(pair.client.channels.is_empty() && pair.client.channels.action().is_none());
}

//! WebRTC data channels (RFC 8831, RFC 8832) over the core. Do both ends agree on every channel, whatever the network does?

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_datachannel::{
    Action, ChannelId, ChannelOptions, ChannelReliability, ChannelState, CloseCause, DataChannels, Event,
    Extent, Limits, Outgoing, Payload, Received, Role,
};
use anabranch_proto::{
    Association, AssociationConfig, Event as CoreEvent, Extent as CoreExtent, Message, Reconfiguration,
    ReconfigurationError, Reliability, SendError,
};
use anabranch_sim::app::Reading;
use anabranch_types::{Instant, Seed, StreamId};
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, PairBuilder, Peer, mbit, ms, secs};

/// An end with data channels.
struct End {
    channels: DataChannels,
    /// Number of events of the association that were handled.
    seen: usize,
    events: Vec<Event>,
}

/// Executes an action; `false` if it has to wait.
fn execute(action: &Action, association: &mut Association) -> bool {
    match action {
        Action::Weight { stream, weight } => association.set_stream_weight(*stream, *weight).is_ok(),
        Action::Send(outgoing) => send(outgoing.clone(), association),
        Action::Reset(streams) => {
            let reset = Reconfiguration::ResetOutbound(streams.clone());
            match association.reconfigure(reset) {
                Err(ReconfigurationError::InProgress) => false,
                result => {
                    result.expect("both ends support it");
                    true
                }
            }
        }
    }
}

/// Sends a message; `false` if there is no room.
fn send(outgoing: Outgoing, association: &mut Association) -> bool {
    let reliability = match outgoing.reliability {
        ChannelReliability::Reliable => Reliability::Reliable,
        ChannelReliability::Retransmissions(count) => Reliability::Retransmissions(count as u16),
        ChannelReliability::Lifetime(millis) => Reliability::Lifetime(ms(millis.into())),
    };
    let message = Message {
        unordered: outgoing.unordered,
        ..Message::new(outgoing.stream, outgoing.payload)
            .with_ppid(outgoing.ppid)
            .with_reliability(reliability)
    };
    match association.send(message) {
        Ok(_) => true,
        Err(SendError::BufferFull) => false,
        Err(error) => panic!("{error}"),
    }
}

impl End {
    fn new(role: Role) -> Self {
        Self {
            channels: DataChannels::new(role, Limits::default()),
            seen: 0,
            events: Vec::new(),
        }
    }

    /// Handles what the association has received and executes what is due.
    fn serve(&mut self, peer: Peer<'_>) {
        peer.act(|conversation, association, _| {
            let (outbound, inbound) = association.streams();
            self.channels.set_streams(outbound, inbound);
            while let Some(message) = association.receive() {
                self.channels.handle_message(Received {
                    stream: message.stream,
                    ppid: message.ppid,
                    unordered: message.unordered,
                    extent: match message.extent {
                        CoreExtent::Whole => Extent::Whole,
                        CoreExtent::Beginning => Extent::Beginning,
                        CoreExtent::Middle => Extent::Middle,
                        CoreExtent::End => Extent::End,
                        CoreExtent::Aborted => Extent::Aborted,
                    },
                    payload: message.payload,
                });
            }
            for (_, event) in &conversation.events()[self.seen..] {
                match event {
                    CoreEvent::InboundReset { streams } => self.channels.handle_inbound_reset(streams),
                    CoreEvent::Reconfigured {
                        change: Reconfiguration::ResetOutbound(streams),
                        accepted,
                    } => self.channels.handle_outbound_reset(streams, *accepted),
                    _ => {}
                }
            }
            self.seen = conversation.events().len();
            while let Some(action) = self.channels.action()
                && execute(action, association)
            {
                self.channels.action_done();
            }
        });
        while let Some(event) = self.channels.poll_event() {
            self.events.push(event);
        }
    }

    fn send(&mut self, channel: ChannelId, text: &str, peer: Peer<'_>) {
        let outgoing = self.channels.outgoing(channel, text.into());
        let outgoing = outgoing.expect("an open channel");
        peer.act(|_, association, _| assert!(send(outgoing, association), "no room"));
    }

    /// The channel that the peer has opened last.
    #[track_caller]
    fn accepted(&self) -> ChannelId {
        self.last_incoming().expect("a channel of the peer")
    }

    fn last_incoming(&self) -> Option<ChannelId> {
        self.events.iter().rev().find_map(|event| match event {
            Event::Incoming(channel) => Some(*channel),
            _ => None,
        })
    }

    /// The texts received on a channel.
    fn texts(&self, channel: ChannelId) -> Vec<&str> {
        let texts = self.events.iter().filter_map(|event| match event {
            Event::Message {
                channel: of,
                payload: Payload::Text(text),
            } if *of == channel => Some(&**text),
            _ => None,
        });
        texts.collect()
    }
}

/// Alice, the client, and Bob, the server.
struct ChannelPair {
    pair: Pair,
    alice: End,
    bob: End,
}

/// One path and the profile `webrtc`, at the port of the fixture.
fn webrtc() -> PairBuilder {
    Pair::one_path(mbit(10), ms(20)).with(|config| {
        *config = AssociationConfig {
            peer_sctp_port: config.peer_sctp_port,
            local_sctp_port: None,
            ..AssociationConfig::webrtc()
        };
    })
}

impl ChannelPair {
    fn new(builder: PairBuilder) -> Self {
        let mut pair = builder.connected();
        pair.alice().set_reading(Reading::Paused);
        pair.bob().set_reading(Reading::Paused);
        Self {
            pair,
            alice: End::new(Role::Client),
            bob: End::new(Role::Server),
        }
    }

    fn serve(&mut self) {
        self.alice.serve(self.pair.alice());
        self.bob.serve(self.pair.bob());
    }

    fn run_for(&mut self, time: Duration) {
        let end = self.now() + time;
        while self.now() < end {
            self.serve();
            self.pair.run_for(ms(1));
        }
        self.serve();
    }

    #[track_caller]
    fn run_until(&mut self, mut done: impl FnMut(&Self) -> bool, limit: Duration) {
        let end = self.now() + limit;
        self.serve();
        while !done(self) {
            assert!(self.now() < end, "not within {limit:?}");
            self.run_for(ms(1));
        }
    }

    fn now(&self) -> Instant {
        self.pair.simulation.now()
    }

    /// A channel that Alice has opened, as both ends know it.
    #[track_caller]
    fn open(&mut self, options: ChannelOptions) -> (ChannelId, ChannelId) {
        self.serve();
        let ours = self.alice.channels.open(options).expect("a free stream");
        let is_open = |pair: &Self| pair.alice.channels.state(ours) == ChannelState::Open;
        self.run_until(is_open, secs(10));
        (ours, self.bob.accepted())
    }

    /// Alice, side 0, or Bob.
    fn side(&mut self, side: usize) -> (&mut End, Peer<'_>) {
        match side {
            0 => (&mut self.alice, self.pair.alice()),
            _ => (&mut self.bob, self.pair.bob()),
        }
    }

    fn has_no_channels(&self) -> bool {
        self.alice.channels.is_empty() && self.bob.channels.is_empty()
    }

    fn send(&mut self, channel: ChannelId, text: &str) {
        self.alice.send(channel, text, self.pair.alice());
    }
}

//= rfc8831 5-1, 6.1-2, 6.1-3, 6.1-4, 6.1-5, 6.1-6, 6.1-7, 6.2-1, 6.6-7
#[test]
fn webrtc_profile_agrees_on_all_that_channels_need() {
    let mut pair = ChannelPair::new(webrtc());
    let chunks = pair.pair.record_chunks_of_bob(0);
    let association = pair.pair.alice();
    let association = association.association().expect("they are connected");
    assert!(association.is_partially_reliable());
    assert_eq!(association.streams(), (65_535, 65_535));
    let (ours, theirs) =
        pair.open(ChannelOptions::new("").reliability(ChannelReliability::Retransmissions(0)));
    pair.bob.send(theirs, "answer", pair.pair.bob());
    pair.bob.channels.close(theirs);
    pair.run_for(secs(1));
    assert_eq!(pair.alice.channels.state(ours), ChannelState::Closed);
    for kind in [kind::I_DATA, kind::RE_CONFIG] {
        assert!(chunks.kinds().contains(&kind), "chunks of type {kind}");
    }
}

/// DATA_CHANNEL_OPEN takes half a round trip, and user messages leave with it.
#[test]
fn first_message_arrives_with_the_channel() {
    let mut pair = ChannelPair::new(webrtc());
    pair.serve();
    let ours = pair
        .alice
        .channels
        .open(ChannelOptions::new("chat").unordered())
        .expect("a free stream");
    pair.serve();
    pair.send(ours, "early");
    pair.run_for(ms(25));
    let theirs = pair.bob.accepted();
    assert_eq!(pair.bob.texts(theirs), ["early"]);
    assert_eq!(pair.alice.channels.state(ours), ChannelState::Connecting);
}

//= rfc8831 6.7-1
#[test]
fn messages_before_a_close_arrive_and_the_stream_is_used_again() {
    let mut pair = ChannelPair::new(webrtc());
    for generation in 0..3 {
        let (ours, theirs) = pair.open(ChannelOptions::new(generation.to_string()));
        assert_eq!(ours.stream(), StreamId(0));
        pair.send(ours, "last");
        if generation % 2 == 0 {
            pair.alice.channels.close(ours);
        } else {
            pair.run_for(ms(50));
            pair.bob.channels.close(theirs);
        }
        pair.run_for(secs(2));
        assert_eq!(pair.bob.texts(theirs), ["last"]);
        assert_eq!(pair.alice.channels.len() + pair.bob.channels.len(), 0);
    }
}

#[test]
fn channel_closes_although_requests_and_responses_are_lost() {
    for lost in 1..=4 {
        let mut pair = ChannelPair::new(webrtc());
        let (ours, theirs) = pair.open(ChannelOptions::new(""));
        pair.pair.drop_next(lost, kind::RE_CONFIG);
        pair.alice.channels.close(ours);
        pair.run_until(ChannelPair::has_no_channels, secs(30));
        let cause = CloseCause::Peer;
        assert!(pair.bob.events.contains(&Event::Closed {
            channel: theirs,
            cause
        }));
        pair.open(ChannelOptions::new("again"));
    }
}

//= rfc8831 6.6-1, 6.1-6
#[test]
fn lost_message_of_an_unreliable_channel_is_abandoned() {
    let mut pair = ChannelPair::new(webrtc());
    let options = ChannelOptions::new("").reliability(ChannelReliability::Retransmissions(0));
    let (ours, theirs) = pair.open(options);
    pair.pair.drop_next(1, kind::I_DATA);
    pair.send(ours, "lost");
    pair.run_for(ms(5));
    for text in ["1", "2", "3", "4"] {
        pair.send(ours, text);
        pair.run_for(ms(5));
    }
    pair.run_for(secs(3));
    assert_eq!(pair.bob.texts(theirs), ["1", "2", "3", "4"]);
}

/// What a random run knows of a channel, by its label.
#[derive(Default)]
struct Known {
    sent: u32,
    received: Vec<u32>,
}

/// Both ends open, send and close at random, over a path that loses and reorders packets. No message strays to another channel, those of
/// reliable ordered channels keep their order, and in the end no channel is left.
#[test]
fn random_channels_agree_under_loss() {
    for seed in 1..=12 {
        random_run(seed);
    }
}

fn random_run(seed: u64) {
    let mut pair = ChannelPair::new(webrtc().seed(seed));
    pair.pair.set_loss(0, 0.05);
    let mut rng = Seed(seed).rng();
    let mut known: BTreeMap<String, Known> = BTreeMap::new();
    let mut open: [Vec<(ChannelId, String)>; 2] = Default::default();
    for step in 0..1_500_u32 {
        pair.serve();
        let side = rng.below(2) as usize;
        let (end, peer) = pair.side(side);
        match rng.below(8) {
            0 if open[side].len() < 5 => {
                let label = format!("{side}-{step}");
                let channel = end.channels.open(ChannelOptions::new(&*label));
                known.insert(label.clone(), Known::default());
                open[side].push((channel.expect("a free stream"), label));
            }
            1 if !open[side].is_empty() => {
                let at = rng.below(open[side].len() as u64) as usize;
                let (channel, _) = open[side].swap_remove(at);
                end.channels.close(channel);
            }
            2 if step.is_multiple_of(5) => {
                if let Some(channel) = end.last_incoming() {
                    end.channels.close(channel);
                }
            }
            _ => {
                // A channel whose DATA_CHANNEL_OPEN waits cannot send yet.
                if let Some((channel, label)) = open[side].last()
                    && end.channels.action().is_none()
                    && end.channels.outgoing(*channel, "x".into()).is_ok()
                {
                    let count = &mut known.get_mut(label).expect("it was opened").sent;
                    end.send(*channel, &format!("{label}:{count}"), peer);
                    *count += 1;
                }
            }
        }
        pair.pair.run_for(ms(3));
    }
    for (side, open) in open.into_iter().enumerate() {
        for (channel, _) in open {
            pair.side(side).0.channels.close(channel);
        }
    }
    pair.run_until(ChannelPair::has_no_channels, secs(120));
    check(&pair, &mut known);
}

#[track_caller]
fn check(pair: &ChannelPair, known: &mut BTreeMap<String, Known>) {
    for end in [&pair.alice, &pair.bob] {
        let mut label_of: BTreeMap<ChannelId, String> = BTreeMap::new();
        for event in &end.events {
            let Event::Message {
                channel,
                payload: Payload::Text(text),
            } = event
            else {
                if let Event::Closing { cause, .. } | Event::Closed { cause, .. } = event {
                    assert!(matches!(cause, CloseCause::Peer | CloseCause::Local), "{cause}");
                }
                continue;
            };
            let (label, number) = text.split_once(':').expect("a label and a number");
            let first = label_of.entry(*channel).or_insert_with(|| label.to_owned());
            assert_eq!(first, label, "a message of another channel");
            let known = known.get_mut(label).expect("it was opened");
            known.received.push(number.parse().expect("a number"));
        }
    }
    for (label, known) in known {
        // A channel that the reader closes loses what arrives later.
        let expected: Vec<u32> = (0..known.received.len() as u32).collect();
        assert_eq!(known.received, expected, "{label}");
        assert!(known.received.len() as u32 <= known.sent, "{label}");
    }
}

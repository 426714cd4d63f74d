//! Fuzz target `data_channels`. What do hostile messages and resets do to the data channels of an association?
//!
//! The bytes are messages of the peer on a few streams, resets that it reports, and steps of the application. A parsed message of DCEP has to
//! survive the wire. Each channel has one beginning and one end, and messages only in between; and memory is bounded.

use std::collections::BTreeMap;

use anabranch_datachannel::{
    Action, ChannelId, ChannelOptions, ChannelReliability, ChannelState, DataChannels, DcepMessage, Event,
    Extent, Limits, Payload, Received, Role, ppid,
};
use anabranch_types::{Ppid, StreamId};

use crate::Choices;

/// Streams that the peer uses; one more than the association has.
const STREAMS: u16 = 6;

/// Runs the test that `bytes` encode.
///
/// # Panics
///
/// If an invariant does not hold.
pub fn exercise(bytes: &[u8]) {
    survives_the_wire(bytes);
    let mut choices = Choices::new(bytes);
    let role = match choices.byte() & 1 {
        0 => Role::Client,
        _ => Role::Server,
    };
    let mut fixture = Fixture::new(role);
    while !choices.is_empty() {
        fixture.step(&mut choices);
        fixture.check_events();
    }
    fixture.channels.handle_end();
    fixture.check_events();
    assert!(fixture.channels.is_empty());
    assert!(
        fixture.known.values().all(|is_open| !is_open),
        "a channel without an end"
    );
}

fn survives_the_wire(bytes: &[u8]) {
    if let Ok(message) = DcepMessage::parse(bytes) {
        let encoded = message.encode().expect("it was parsed");
        assert_eq!(DcepMessage::parse(&encoded), Ok(message));
    }
}

struct Fixture {
    channels: DataChannels,
    /// Whether each channel that the application knows is open or closing.
    known: BTreeMap<ChannelId, bool>,
    /// Requested resets.
    resets: Vec<Vec<StreamId>>,
}

impl Fixture {
    fn new(role: Role) -> Self {
        let limits = Limits {
            max_sent: 100,
            max_received: 200,
            max_text: 100,
        };
        let mut channels = DataChannels::new(role, limits);
        channels.set_streams(STREAMS - 1, STREAMS);
        Self {
            channels,
            known: BTreeMap::new(),
            resets: Vec::new(),
        }
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.below(8) {
            0..=2 => self.receive(choices),
            3 => self.act(),
            4 => self.report(choices),
            5 => {
                let stream = StreamId(choices.byte().into());
                let streams = if stream.0 == 255 { vec![] } else { vec![stream] };
                self.channels.handle_inbound_reset(&streams);
            }
            6 => self.open(choices),
            _ => self.close_or_send(choices),
        }
    }

    fn receive(&mut self, choices: &mut Choices<'_>) {
        let shape = choices.byte();
        let extents = [
            Extent::Whole,
            Extent::Beginning,
            Extent::Middle,
            Extent::End,
            Extent::Aborted,
        ];
        let extent = extents[usize::from(shape >> 4).saturating_sub(11).min(4)];
        let stream = StreamId(choices.below(STREAMS as u8 + 1).into());
        let id = match choices.byte() {
            known @ 50..=57 => Ppid(known.into()),
            0..=127 => ppid::DCEP,
            _ => Ppid(choices.long()),
        };
        let length = usize::from(choices.byte());
        let payload = choices.slice(length);
        survives_the_wire(payload);
        self.channels.handle_message(Received {
            stream,
            ppid: id,
            unordered: shape & 1 == 1,
            extent,
            payload: payload.to_vec().into(),
        });
    }

    /// Executes what is due.
    fn act(&mut self) {
        while let Some(action) = self.channels.action() {
            match action {
                Action::Reset(streams) => {
                    assert!(!streams.is_empty() && streams.len() <= 200, "{streams:?}");
                    self.resets.push(streams.clone());
                    assert!(self.resets.len() <= 1, "one request at a time");
                }
                Action::Send(message) => {
                    assert!(!message.payload.is_empty() && !message.unordered);
                    assert_eq!(message.reliability, ChannelReliability::Reliable);
                    assert!(message.stream.0 < STREAMS - 1);
                }
                Action::Weight { .. } => {}
            }
            self.channels.action_done();
        }
    }

    /// Reports a reset, often the one that was requested.
    fn report(&mut self, choices: &mut Choices<'_>) {
        let accepted = choices.byte() < 200;
        if let Some(streams) = self.resets.pop() {
            self.channels.handle_outbound_reset(&streams, accepted);
        } else {
            self.channels
                .handle_outbound_reset(&[StreamId(choices.byte().into())], accepted);
        }
    }

    fn open(&mut self, choices: &mut Choices<'_>) {
        let options = ChannelOptions::new("x");
        let opened = match choices.byte() {
            0..=200 => self.channels.open(options).ok(),
            stream => {
                let stream = StreamId((stream % 8).into());
                self.channels.open_negotiated(stream, options).ok()
            }
        };
        if let Some(channel) = opened {
            assert_eq!(self.known.insert(channel, true), None, "a channel twice");
        }
    }

    fn close_or_send(&mut self, choices: &mut Choices<'_>) {
        let open: Vec<ChannelId> = self.known.keys().copied().collect();
        let Some(channel) = open.get(usize::from(choices.byte()) % open.len().max(1)) else {
            return;
        };
        if choices.byte() & 1 == 0 {
            self.channels.close(*channel);
        }
        let state = self.channels.state(*channel);
        let can_send = matches!(state, ChannelState::Connecting | ChannelState::Open);
        let sent = self.channels.outgoing(*channel, Payload::Text(String::new()));
        assert_eq!(sent.is_ok(), can_send);
        let length = usize::from(choices.byte());
        let sent = self
            .channels
            .outgoing(*channel, Payload::Binary(vec![0; length].into()));
        assert_eq!(sent.is_ok(), can_send && length <= 100);
    }

    fn check_events(&mut self) {
        while let Some(event) = self.channels.poll_event() {
            match event {
                Event::Incoming(channel) => {
                    assert_eq!(self.known.insert(channel, true), None, "a channel twice");
                }
                Event::Opened(channel) | Event::Message { channel, .. } | Event::Closing { channel, .. } => {
                    assert_eq!(self.known.get(&channel), Some(&true), "an event of no channel");
                }
                Event::Closed { channel, .. } => {
                    assert_eq!(self.known.insert(channel, false), Some(true), "a second end");
                }
            }
        }
        let text: usize = self
            .known
            .keys()
            .filter_map(|channel| self.channels.options(*channel))
            .map(|options| options.label.len() + options.protocol.len())
            .sum();
        // Own channels have a label of one byte.
        assert!(text <= 100 + usize::from(STREAMS));
        assert!(self.channels.len() <= usize::from(STREAMS));
    }
}

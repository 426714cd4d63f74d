//! Received messages: those of DCEP, and user messages.

use anabranch_types::{Ppid, StreamId};
use bytes::Bytes;

use super::{DataChannels, Event, Received, Role};
use crate::channel::{Channel, ChannelId, LateReports, Origin, OwnReset, Stage};
use crate::dcep::DcepMessage;
use crate::error::{CloseCause, Violation};
use crate::options::ChannelOptions;
use crate::parts::Assembled;
use crate::payload::{Payload, ppid};

impl DataChannels {
    //= rfc8831 6.6-6
    /// Handles a message, or a part of one.
    pub fn handle_message(&mut self, received: Received) {
        let (stream, id, unordered) = (received.stream, received.ppid, received.unordered);
        let bytes = match self.parts.add(received, self.limits.max_received) {
            Assembled::Whole(bytes) => bytes,
            Assembled::Incomplete => return,
            Assembled::TooLong => return self.on_violation(stream, Violation::TooLong),
        };
        let handled = match id {
            ppid::DCEP if unordered => Err(Violation::Unordered),
            ppid::DCEP => self.on_dcep(stream, &bytes),
            _ => self.on_user_message(stream, id, unordered, bytes),
        };
        if let Err(violation) = handled {
            self.on_violation(stream, violation);
        }
    }

    fn on_dcep(&mut self, stream: StreamId, bytes: &[u8]) -> Result<(), Violation> {
        match DcepMessage::parse(bytes)? {
            DcepMessage::Open(options) => self.on_open(stream, options),
            DcepMessage::Ack => {
                self.on_answer(stream)?;
                Ok(())
            }
        }
    }

    //= rfc8832 6-7, 6-8
    /// The peer opens a channel. It is acknowledged if the stream is free and belongs to the peer's role.
    fn on_open(&mut self, stream: StreamId, options: ChannelOptions) -> Result<(), Violation> {
        let mut late = LateReports::default();
        if let Some(channel) = self.channels.get(&stream) {
            match late_reports(channel) {
                Some(reports) => late = reports,
                None if channel.is_usable() => return Err(Violation::InUse),
                None => return Ok(()),
            }
        }
        let peers_parity = match self.role {
            Role::Client => 1,
            Role::Server => 0,
        };
        if stream.0 % 2 != peers_parity {
            return Err(Violation::WrongRole);
        }
        if stream.0 >= self.streams {
            // We have no stream for an answer or a reset.
            return Ok(());
        }
        self.finish(stream);
        let text = self.peer_text.saturating_add(options.text_bytes());
        if text > self.limits.max_text {
            self.insert(
                stream,
                Origin::Nobody,
                ChannelOptions::new(""),
                Stage::Opening,
                late,
            );
            return Err(Violation::TooMuchText);
        }
        self.peer_text = text;
        let id = self.insert(stream, Origin::Peer, options, Stage::Open, late);
        if let Some(ack) = DcepMessage::Ack.encode() {
            self.send_dcep(stream, ack);
        }
        self.events.push_back(Event::Incoming(id));
        Ok(())
    }

    //= rfc8832 6-12
    /// The peer has answered on a channel, so it knows it. `None` if the channel is closing.
    fn on_answer(&mut self, stream: StreamId) -> Result<Option<ChannelId>, Violation> {
        let channel = self.channels.get_mut(&stream).ok_or(Violation::NotOpen)?;
        let id = ChannelId {
            stream,
            number: channel.number,
        };
        if channel.stage == Stage::Opening {
            channel.stage = Stage::Open;
            self.events.push_back(Event::Opened(id));
        }
        Ok(channel.is_usable().then_some(id))
    }

    fn on_user_message(
        &mut self,
        stream: StreamId,
        id: Ppid,
        unordered: bool,
        bytes: Bytes,
    ) -> Result<(), Violation> {
        let channel = self.channels.get(&stream).ok_or(Violation::NotOpen)?;
        if !channel.is_usable() {
            return Ok(());
        }
        if unordered && channel.forbids_unordered() {
            return Err(Violation::Unordered);
        }
        let payload = Payload::of_message(id, bytes)?;
        if let Some(channel) = self.on_answer(stream)? {
            self.events.push_back(Event::Message { channel, payload });
        }
        Ok(())
    }

    //= rfc8832 6-7, 6-8, 6-12
    //= rfc8831 6.6-6
    /// Closes the channel on which the peer violated the protocol, and resets a stream that has none.
    fn on_violation(&mut self, stream: StreamId, violation: Violation) {
        if self.channels.contains_key(&stream) {
            self.begin_closing(stream, CloseCause::Violation(violation), false);
        } else if stream.0 < self.streams {
            let none = LateReports::default();
            self.insert(
                stream,
                Origin::Nobody,
                ChannelOptions::new(""),
                Stage::Opening,
                none,
            );
            self.begin_closing(stream, CloseCause::Violation(violation), false);
        }
    }
}

/// The reports that are missing if the channel is closed for the peer already, as it opens another one on the stream. `None` if the
/// peer cannot know that.
fn late_reports(channel: &Channel) -> Option<LateReports> {
    match channel.stage {
        Stage::Closing {
            own: own @ (OwnReset::Requested | OwnReset::Done),
            peer_done,
            ..
        } => Some(LateReports {
            inbound: !peer_done,
            outbound: own == OwnReset::Requested,
        }),
        _ => None,
    }
}

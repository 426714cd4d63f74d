//! The data channels of one association: opening them and sending on them.

mod close;
mod receive;
#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::num::NonZeroU16;

use anabranch_types::{Ppid, StreamId};
use bytes::Bytes;

use crate::channel::{Channel, ChannelId, ChannelState, LateReports, Origin, Stage};
use crate::dcep::DcepMessage;
use crate::error::{CloseCause, OpenError, SendError};
use crate::options::{ChannelOptions, ChannelReliability};
use crate::parts::Parts;
use crate::payload::{Payload, ppid};
use crate::streams::FreeStreams;

/// The role in the DTLS connection below, which decides on whose streams a channel is opened (RFC 8832 §6). Without DTLS, both ends
/// agree on it otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Opens channels on streams with even identifiers.
    Client,
    /// Opens channels on streams with odd identifiers.
    Server,
}

/// Limits of one association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Length of the longest message to send, in bytes: what the session description of the peer says, 65,536 if it says nothing (RFC
    /// 8841 §6.1).
    pub max_sent: usize,
    /// Length of the longest message to receive, in bytes, of DCEP too. The channel of a longer one is closed. Default 256 KiB.
    pub max_received: usize,
    /// Total length of the labels and protocols of all channels that the peer has opened, in bytes. Default 16 MiB.
    pub max_text: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_sent: 1 << 16,
            max_received: 1 << 18,
            max_text: 16 << 20,
        }
    }
}

/// A message for the association to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// Its stream.
    pub stream: StreamId,
    /// Its payload protocol identifier.
    pub ppid: Ppid,
    /// Whether it is unordered.
    pub unordered: bool,
    /// When it may be abandoned.
    pub reliability: ChannelReliability,
    /// The data, at least one byte.
    pub payload: Bytes,
}

/// A message that the association has received, or a part of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// Its stream.
    pub stream: StreamId,
    /// Its payload protocol identifier.
    pub ppid: Ppid,
    /// Whether it is unordered.
    pub unordered: bool,
    /// How much of the message this is.
    pub extent: Extent,
    /// The data.
    pub payload: Bytes,
}

/// How much of a message was received. Parts of messages with equal stream and order belong together.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Extent {
    /// All of it.
    Whole,
    /// The first part.
    Beginning,
    /// A later part.
    Middle,
    /// The last part.
    End,
    /// The rest will not arrive.
    Aborted,
}

/// What the driver has to do at the association, in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Set the weight of an outgoing stream for weighted fair queueing.
    Weight {
        /// The stream.
        stream: StreamId,
        /// Its weight.
        weight: NonZeroU16,
    },
    /// Send a message of DCEP.
    Send(Outgoing),
    /// Request a reset of these outgoing streams (RFC 6525), behind all messages that were sent before. At most 200. The result goes to
    /// [`DataChannels::handle_outbound_reset`].
    Reset(Vec<StreamId>),
}

/// What happened to a channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The peer has opened a channel.
    Incoming(ChannelId),
    /// The peer has answered to a channel that we opened.
    Opened(ChannelId),
    /// A message was received.
    Message {
        /// The channel.
        channel: ChannelId,
        /// The message.
        payload: Payload,
    },
    /// A channel is closing, not because the application asked for it.
    Closing {
        /// The channel.
        channel: ChannelId,
        /// The reason.
        cause: CloseCause,
    },
    /// A channel is closed, and its stream may be used again.
    Closed {
        /// The channel.
        channel: ChannelId,
        /// The reason.
        cause: CloseCause,
    },
}

/// The data channels of one association.
#[derive(Debug)]
pub struct DataChannels {
    role: Role,
    limits: Limits,
    /// Number of streams that exist in both directions.
    streams: u16,
    channels: BTreeMap<StreamId, Channel>,
    free: FreeStreams,
    next_number: u32,
    /// Total length of labels and protocols of the peer's channels.
    peer_text: usize,
    parts: Parts,
    /// Outgoing streams to be reset.
    to_reset: BTreeSet<StreamId>,
    /// The streams of the reset that is requested and not reported yet.
    resetting: Option<Vec<StreamId>>,
    actions: VecDeque<Action>,
    events: VecDeque<Event>,
}

impl DataChannels {
    /// No channels. The association has no streams before [`DataChannels::set_streams`].
    #[must_use]
    pub const fn new(role: Role, limits: Limits) -> Self {
        Self {
            role,
            limits,
            streams: 0,
            channels: BTreeMap::new(),
            free: FreeStreams::of(role),
            next_number: 0,
            peer_text: 0,
            parts: Parts::new(),
            to_reset: BTreeSet::new(),
            resetting: None,
            actions: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The association has so many streams now.
    pub fn set_streams(&mut self, outbound: u16, inbound: u16) {
        self.streams = outbound.min(inbound);
    }

    /// Opens a channel. Messages can be sent at once.
    ///
    /// # Errors
    ///
    /// [`OpenError::TooLong`], [`OpenError::NoStream`].
    pub fn open(&mut self, options: ChannelOptions) -> Result<ChannelId, OpenError> {
        let message = DcepMessage::Open(options.clone()).encode();
        let message = message.ok_or(OpenError::TooLong)?;
        let stream = self.free.take(&self.channels, self.streams);
        let stream = stream.ok_or(OpenError::NoStream)?;
        let id = self.insert(
            stream,
            Origin::Local,
            options,
            Stage::Opening,
            LateReports::default(),
        );
        self.send_dcep(stream, message);
        Ok(id)
    }

    //= rfc8831 6.5-1
    /// Opens a channel that both applications have agreed on otherwise (RFC 8831 §6.5): nothing is sent.
    ///
    /// # Errors
    ///
    /// [`OpenError::StreamInUse`].
    pub fn open_negotiated(
        &mut self,
        stream: StreamId,
        options: ChannelOptions,
    ) -> Result<ChannelId, OpenError> {
        if stream.0 >= self.streams || self.channels.contains_key(&stream) {
            return Err(OpenError::StreamInUse);
        }
        Ok(self.insert(
            stream,
            Origin::Negotiated,
            options,
            Stage::Open,
            LateReports::default(),
        ))
    }

    //= rfc8831 6.6-1, 6.6-2, 6.6-3
    /// A message as the association has to send it: behind all [`Action`]s that are due.
    ///
    /// # Errors
    ///
    /// [`SendError`].
    pub fn outgoing(&self, channel: ChannelId, payload: Payload) -> Result<Outgoing, SendError> {
        let found = self.find(channel).filter(|found| found.is_usable());
        let found = found.ok_or(SendError::Closed)?;
        if payload.len() > self.limits.max_sent {
            return Err(SendError::TooLong {
                max: self.limits.max_sent,
            });
        }
        let (ppid, payload) = payload.into_message();
        Ok(Outgoing {
            stream: channel.stream,
            ppid,
            unordered: found.sends_unordered(),
            reliability: found.options.reliability,
            payload,
        })
    }

    /// Sets [`Limits::max_sent`].
    pub fn set_max_sent(&mut self, bytes: usize) {
        self.limits.max_sent = bytes;
    }

    /// The properties of a channel; `None` if it is closed.
    #[must_use]
    pub fn options(&self, channel: ChannelId) -> Option<&ChannelOptions> {
        self.find(channel).map(|found| &found.options)
    }

    /// The state of a channel.
    #[must_use]
    pub fn state(&self, channel: ChannelId) -> ChannelState {
        self.find(channel).map_or(ChannelState::Closed, Channel::state)
    }

    /// Number of channels, closing ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.channels.len()
    }

    /// Whether there are no channels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// The next action. Call [`DataChannels::action_done`] when the association has executed it; one that has no room for a message, or
    /// another reset in progress, executes it later.
    pub fn action(&mut self) -> Option<&Action> {
        if self.actions.is_empty() {
            self.request_resets();
        }
        self.actions.front()
    }

    /// The action that [`DataChannels::action`] returned is done.
    pub fn action_done(&mut self) {
        self.actions.pop_front();
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn find(&self, id: ChannelId) -> Option<&Channel> {
        let channel = self.channels.get(&id.stream)?;
        (channel.number == id.number).then_some(channel)
    }

    /// Adds a channel and sets the weight of its stream.
    fn insert(
        &mut self,
        stream: StreamId,
        origin: Origin,
        options: ChannelOptions,
        stage: Stage,
        late: LateReports,
    ) -> ChannelId {
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        if origin != Origin::Nobody {
            let weight = options.weight();
            self.actions.push_back(Action::Weight { stream, weight });
        }
        let channel = Channel {
            number,
            origin,
            options,
            stage,
            late,
        };
        self.channels.insert(stream, channel);
        ChannelId { stream, number }
    }

    //= rfc8832 6-1, 6-2, 6-3, 6-4
    fn send_dcep(&mut self, stream: StreamId, payload: Bytes) {
        self.actions.push_back(Action::Send(Outgoing {
            stream,
            ppid: ppid::DCEP,
            unordered: false,
            reliability: ChannelReliability::Reliable,
            payload,
        }));
    }
}

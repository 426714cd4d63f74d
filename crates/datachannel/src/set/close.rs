//! Closing channels (RFC 8831 §6.7): each side resets its outgoing stream, and then the stream can be used again.

use alloc::vec::Vec;
use core::mem;

use anabranch_types::StreamId;

use super::{Action, DataChannels, Event};
use crate::channel::{Channel, ChannelId, Origin, OwnReset, Stage};
use crate::error::CloseCause;
use crate::options::ChannelOptions;
use crate::parts::Parts;
use crate::streams::FreeStreams;

/// Maximum number of streams in one request.
const MAX_LISTED: usize = 200;

impl DataChannels {
    //= rfc8831 6.7-1
    /// Closes a channel behind all messages that were sent; messages that arrive from now on are discarded. A channel that is closing or
    /// closed stays so.
    pub fn close(&mut self, channel: ChannelId) {
        if self.find(channel).is_some() {
            self.begin_closing(channel.stream, CloseCause::Local, false);
        }
    }

    //= rfc8831 6.7-1
    /// The peer has reset these outgoing streams of its own, all if there are none. All messages that it sent before were handled.
    pub fn handle_inbound_reset(&mut self, streams: &[StreamId]) {
        let all: Vec<StreamId> = match streams {
            [] => self.channels.keys().copied().collect(),
            _ => streams.to_vec(),
        };
        for stream in all {
            self.parts.forget(stream);
            self.on_inbound_reset(stream);
        }
    }

    /// The request to reset these outgoing streams was accepted and performed, or refused.
    pub fn handle_outbound_reset(&mut self, streams: &[StreamId], accepted: bool) {
        if self.resetting.as_deref() != Some(streams) {
            return;
        }
        for stream in self.resetting.take().unwrap_or_default() {
            self.on_outbound_reset(stream, accepted);
        }
    }

    //= rfc8831 6.2-2
    /// The association has ended or restarted, or was reset: all its channels are closed.
    pub fn handle_end(&mut self) {
        for (stream, channel) in mem::take(&mut self.channels) {
            let number = channel.number;
            let cause = match channel.stage {
                Stage::Retired => continue,
                Stage::Closing { cause, .. } => cause,
                Stage::Opening | Stage::Open => CloseCause::Association,
            };
            if channel.is_announced() {
                let channel = ChannelId { stream, number };
                self.events.push_back(Event::Closed { channel, cause });
            }
        }
        self.free = FreeStreams::of(self.role);
        self.peer_text = 0;
        self.parts = Parts::new();
        self.to_reset.clear();
        self.resetting = None;
        self.actions.clear();
    }

    /// Closes a usable channel, for `peer_done` after the peer has reset its stream.
    pub(super) fn begin_closing(&mut self, stream: StreamId, cause: CloseCause, peer_done: bool) {
        let channel = self.channels.get_mut(&stream);
        let Some(channel) = channel.filter(|channel| channel.is_usable()) else {
            return;
        };
        channel.stage = Stage::Closing {
            cause,
            own: OwnReset::Wanted,
            peer_done,
        };
        self.to_reset.insert(stream);
        if channel.is_announced() && cause != CloseCause::Local {
            let channel = ChannelId {
                stream,
                number: channel.number,
            };
            self.events.push_back(Event::Closing { channel, cause });
        }
    }

    fn on_inbound_reset(&mut self, stream: StreamId) {
        let Some(channel) = self.channels.get_mut(&stream) else {
            return;
        };
        if mem::take(&mut channel.late.inbound) {
            return;
        }
        match &mut channel.stage {
            Stage::Opening => self.begin_closing(stream, CloseCause::Refused, true),
            Stage::Open => self.begin_closing(stream, CloseCause::Peer, true),
            Stage::Closing { own, peer_done, .. } => {
                *peer_done = true;
                if *own == OwnReset::Done {
                    self.finish(stream);
                }
            }
            Stage::Retired => {}
        }
    }

    fn on_outbound_reset(&mut self, stream: StreamId, accepted: bool) {
        let Some(channel) = self.channels.get_mut(&stream) else {
            return;
        };
        if mem::take(&mut channel.late.outbound) {
            return;
        }
        if let Stage::Closing {
            own: own @ OwnReset::Requested,
            peer_done,
            ..
        } = &mut channel.stage
        {
            *own = OwnReset::Done;
            match (accepted, *peer_done) {
                (true, true) => self.finish(stream),
                (true, false) => {}
                (false, _) => self.retire(stream),
            }
        }
    }

    /// Forgets a channel whose streams are both reset, if there is one.
    pub(super) fn finish(&mut self, stream: StreamId) {
        if let Some(channel) = self.channels.remove(&stream) {
            self.on_closed(stream, &channel);
            self.free.release(stream);
        }
    }

    /// Keeps a closed channel, because its stream cannot be used again.
    fn retire(&mut self, stream: StreamId) {
        if let Some(mut channel) = self.channels.remove(&stream) {
            self.on_closed(stream, &channel);
            channel.options = ChannelOptions::new("");
            channel.stage = Stage::Retired;
            self.channels.insert(stream, channel);
        }
    }

    fn on_closed(&mut self, stream: StreamId, channel: &Channel) {
        if channel.origin == Origin::Peer {
            self.peer_text -= channel.options.text_bytes();
        }
        if let (Stage::Closing { cause, .. }, true) = (channel.stage, channel.is_announced()) {
            let channel = ChannelId {
                stream,
                number: channel.number,
            };
            self.events.push_back(Event::Closed { channel, cause });
        }
    }

    //= rfc8831 6.7-1
    /// Makes an action of the resets that are due, unless a request is in progress: an association has one at a time.
    pub(super) fn request_resets(&mut self) {
        if self.resetting.is_some() || self.to_reset.is_empty() {
            return;
        }
        let mut streams = Vec::new();
        while streams.len() < MAX_LISTED
            && let Some(stream) = self.to_reset.pop_first()
        {
            if let Some(Stage::Closing { own, .. }) =
                self.channels.get_mut(&stream).map(|channel| &mut channel.stage)
            {
                *own = OwnReset::Requested;
                streams.push(stream);
            }
        }
        // An empty list would reset all streams.
        if !streams.is_empty() {
            self.resetting = Some(streams.clone());
            self.actions.push_back(Action::Reset(streams));
        }
    }
}

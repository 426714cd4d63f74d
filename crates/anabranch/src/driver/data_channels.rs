//! Data channels of an association, between the core and the handles, under the lock of the state.
//!
//! All received messages of the association belong to them. The driver serves them when the core has messages or events, and handles
//! when they read or write.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use anabranch_datachannel::{
    self as datachannel, Action, ChannelId, ChannelOptions, ChannelReliability, CloseCause, DataChannels,
    Limits, Outgoing, Payload, Received, Role,
};
use anabranch_proto::{
    Association, Event, Extent, Message, ReceivedMessage, Reconfiguration, ReconfigurationError, Reliability,
    SendError,
};
use tokio::sync::Notify;

/// Bytes of unread messages beyond which messages are left in the core, where they count against the receive buffer. The strings of channels
/// that were closed before they were accepted count, too: [`Limits::max_text`] is about those of open channels.
const UNREAD_LIMIT: usize = 1 << 20;

/// What a message counts for beside its bytes.
const OVERHEAD: usize = size_of::<Payload>() + 32;

/// The data channels of one association.
#[derive(Debug)]
pub(crate) struct DataChannelController {
    channels: DataChannels,
    entries: BTreeMap<ChannelId, Entry>,
    /// Channels that the peer has opened and nobody has accepted yet.
    incoming: VecDeque<ChannelId>,
    /// A channel can be accepted, or none ever will be.
    acceptable: Arc<Notify>,
    unread: usize,
    /// The association has ended, but may hold messages that nobody has read yet.
    has_ended: bool,
    /// Nothing more will happen.
    is_over: bool,
    /// A message waits until an action is done.
    has_waiting: bool,
    /// Whom to wake when the lock is released.
    wakes: Vec<Arc<Notify>>,
}

/// A channel with a handle, or one that waits to be accepted.
#[derive(Debug)]
struct Entry {
    options: Arc<ChannelOptions>,
    unread: VecDeque<Payload>,
    /// The channel changed, or has a message.
    changed: Arc<Notify>,
    /// Why it is closing or closed.
    cause: Option<CloseCause>,
    is_closed: bool,
}

/// What a handle of a channel needs.
#[derive(Clone, Debug)]
pub(crate) struct ChannelParts {
    pub(crate) id: ChannelId,
    pub(crate) options: Arc<ChannelOptions>,
    pub(crate) changed: Arc<Notify>,
}

/// The next message of a channel.
#[derive(Debug)]
pub(crate) enum Next {
    Message(Payload),
    Wait,
    Over,
}

/// Why a message was not sent now.
#[derive(Debug)]
pub(crate) enum NotSent {
    Full,
    Channel(datachannel::SendError),
    Association(SendError),
}

impl DataChannelController {
    pub(crate) fn new(role: Role, limits: Limits) -> Self {
        Self {
            channels: DataChannels::new(role, limits),
            entries: BTreeMap::new(),
            incoming: VecDeque::new(),
            acceptable: Arc::new(Notify::new()),
            unread: 0,
            has_ended: false,
            is_over: false,
            has_waiting: false,
            wakes: Vec::new(),
        }
    }

    pub(crate) fn acceptable(&self) -> Arc<Notify> {
        Arc::clone(&self.acceptable)
    }

    pub(crate) fn take_wakes(&mut self) -> Vec<Arc<Notify>> {
        mem::take(&mut self.wakes)
    }

    /// Opens a channel by `open`.
    pub(crate) fn open<E>(
        &mut self,
        options: ChannelOptions,
        association: &mut Association,
        open: impl FnOnce(&mut DataChannels, ChannelOptions) -> Result<ChannelId, E>,
    ) -> Result<ChannelParts, E> {
        let id = open(&mut self.channels, options.clone())?;
        self.enter(id, options);
        self.serve(association);
        Ok(self.parts(id))
    }

    /// The next channel that the peer has opened; `Err` if there will be none.
    pub(crate) fn accept(&mut self, association: &mut Association) -> Result<Option<ChannelParts>, ()> {
        let was_full = self.unread >= UNREAD_LIMIT;
        let accepted = self.take_incoming();
        if accepted.is_some() && was_full {
            self.serve(association);
        }
        match accepted {
            None if self.is_over => Err(()),
            accepted => Ok(accepted),
        }
    }

    fn take_incoming(&mut self) -> Option<ChannelParts> {
        let id = self.incoming.pop_front()?;
        let entry = self.entries.get(&id).filter(|entry| entry.is_closed);
        self.unread -= entry.map_or(0, Entry::text_bytes);
        Some(self.parts(id))
    }

    /// Sends a message, unless the send buffer is full.
    pub(crate) fn send(
        &mut self,
        id: ChannelId,
        payload: &mut Option<Payload>,
        association: &mut Association,
    ) -> Result<(), NotSent> {
        self.serve(association);
        let Some(offered) = payload.take() else {
            return Ok(());
        };
        // A channel is opened before messages are sent on it.
        if self.channels.action().is_some() && self.channels.state(id) != datachannel::ChannelState::Open {
            *payload = Some(offered);
            self.has_waiting = true;
            return Err(NotSent::Full);
        }
        let outgoing = self.channels.outgoing(id, offered.clone());
        let message = to_message(outgoing.map_err(NotSent::Channel)?);
        match association.send(message) {
            Ok(_) => Ok(()),
            Err(SendError::BufferFull) => {
                *payload = Some(offered);
                Err(NotSent::Full)
            }
            Err(error) => Err(NotSent::Association(error)),
        }
    }

    /// The next message of a channel.
    pub(crate) fn receive(&mut self, id: ChannelId, association: &mut Association) -> Next {
        if self.entries.get(&id).is_some_and(|entry| entry.unread.is_empty()) {
            self.serve(association);
        }
        let Some(entry) = self.entries.get_mut(&id) else {
            return Next::Over;
        };
        match entry.unread.pop_front() {
            Some(payload) => {
                let was_full = self.unread >= UNREAD_LIMIT;
                self.unread -= payload.len() + OVERHEAD;
                if was_full {
                    self.serve(association);
                }
                Next::Message(payload)
            }
            None if entry.is_closed => Next::Over,
            None => Next::Wait,
        }
    }

    pub(crate) fn state(&self, id: ChannelId) -> datachannel::ChannelState {
        self.channels.state(id)
    }

    /// Why the channel is closing or closed.
    pub(crate) fn cause(&self, id: ChannelId) -> Option<CloseCause> {
        self.entries.get(&id)?.cause
    }

    /// Why it was closed, when it is.
    pub(crate) fn closed(&self, id: ChannelId) -> Option<CloseCause> {
        let entry = self.entries.get(&id)?;
        entry.cause.filter(|_| entry.is_closed)
    }

    pub(crate) fn set_max_sent(&mut self, bytes: usize) {
        self.channels.set_max_sent(bytes);
    }

    pub(crate) fn close(&mut self, id: ChannelId, association: &mut Association) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.cause.get_or_insert(CloseCause::Local);
        }
        self.channels.close(id);
        self.serve(association);
    }

    /// The last handle of the channel was dropped.
    pub(crate) fn release(&mut self, id: ChannelId, association: &mut Association) {
        if let Some(entry) = self.entries.remove(&id) {
            for payload in entry.unread {
                self.unread -= payload.len() + OVERHEAD;
            }
        }
        self.close(id, association);
    }

    /// Handles what the core tells about the association.
    pub(crate) fn on_event(&mut self, event: &Event, association: &mut Association) {
        match event {
            Event::Connected { .. } | Event::StreamsAdded { .. } => self.learn_streams(association),
            Event::InboundReset { streams } => self.channels.handle_inbound_reset(streams),
            Event::Reconfigured {
                change: Reconfiguration::ResetOutbound(streams),
                accepted,
            } => self.channels.handle_outbound_reset(streams, *accepted),
            Event::Restarted { .. } | Event::AssociationReset => {
                self.channels.handle_end();
                self.learn_streams(association);
            }
            Event::Closed(_) => self.has_ended = true,
            Event::Readable | Event::Writable | Event::Reconfigured { .. } => {}
            _ => return,
        }
        self.serve(association);
    }

    /// Whether messages that had to wait for an action may be sent now.
    pub(crate) fn take_unblocked(&mut self) -> bool {
        let is_unblocked = self.has_waiting && self.channels.action().is_none();
        self.has_waiting &= !is_unblocked;
        is_unblocked
    }

    pub(crate) fn learn_streams(&mut self, association: &Association) {
        let (outbound, inbound) = association.streams();
        self.channels.set_streams(outbound, inbound);
    }

    /// Handles a message that the association had received before it had channels.
    pub(crate) fn take(&mut self, message: ReceivedMessage) {
        self.channels.handle_message(to_received(message));
        self.collect();
    }

    /// Reads what the core has, and has it do what is due.
    pub(crate) fn serve(&mut self, association: &mut Association) {
        self.read(association);
        while let Some(action) = self.channels.action() {
            let done = execute(action, association);
            if done == Done::NotYet {
                break;
            }
            let refused = match action {
                Action::Reset(streams) if done == Done::Refused => Some(streams.clone()),
                _ => None,
            };
            self.channels.action_done();
            if let Some(streams) = refused {
                self.channels.handle_outbound_reset(&streams, false);
            }
        }
        if self.has_ended && !self.is_over && !association.is_readable() {
            self.channels.handle_end();
            self.is_over = true;
            self.wakes.push(Arc::clone(&self.acceptable));
        }
        self.collect();
    }

    fn read(&mut self, association: &mut Association) {
        while self.unread < UNREAD_LIMIT
            && let Some(message) = association.receive()
        {
            self.channels.handle_message(to_received(message));
            self.collect();
        }
    }

    /// Hands events over to the handles.
    fn collect(&mut self) {
        while let Some(event) = self.channels.poll_event() {
            match event {
                datachannel::Event::Incoming(id) => {
                    let options = self.channels.options(id).cloned();
                    self.enter(id, options.unwrap_or_else(|| ChannelOptions::new("")));
                    self.incoming.push_back(id);
                    self.wakes.push(Arc::clone(&self.acceptable));
                }
                datachannel::Event::Opened(id) => self.change(id, |_| ()),
                datachannel::Event::Message { channel, payload } => {
                    let bytes = payload.len() + OVERHEAD;
                    // A channel without an entry has no handle any more.
                    if self.entries.contains_key(&channel) {
                        self.unread += bytes;
                        self.change(channel, |entry| entry.unread.push_back(payload));
                    }
                }
                datachannel::Event::Closing { channel, cause } => {
                    self.change(channel, |entry| entry.cause = Some(cause));
                }
                datachannel::Event::Closed { channel, cause } => self.on_closed(channel, cause),
            }
        }
    }

    fn on_closed(&mut self, id: ChannelId, cause: CloseCause) {
        self.change(id, |entry| {
            entry.cause = Some(cause);
            entry.is_closed = true;
        });
        let Some(at) = self.incoming.iter().position(|waiting| *waiting == id) else {
            return;
        };
        let Some(entry) = self.entries.get(&id) else {
            return;
        };
        if entry.unread.is_empty() {
            // Nobody misses a channel that was closed before it was accepted, and has nothing to read.
            self.incoming.remove(at);
            self.entries.remove(&id);
        } else {
            self.unread += entry.text_bytes();
        }
    }

    fn enter(&mut self, id: ChannelId, options: ChannelOptions) {
        let entry = Entry {
            options: Arc::new(options),
            unread: VecDeque::new(),
            changed: Arc::new(Notify::new()),
            cause: None,
            is_closed: false,
        };
        self.entries.insert(id, entry);
    }

    fn change(&mut self, id: ChannelId, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.get_mut(&id) {
            change(entry);
            self.wakes.push(Arc::clone(&entry.changed));
        }
    }

    fn parts(&self, id: ChannelId) -> ChannelParts {
        let entry = self.entries.get(&id);
        let entry = entry.expect("invariant: channels that were opened or wait to be accepted have an entry");
        ChannelParts {
            id,
            options: Arc::clone(&entry.options),
            changed: Arc::clone(&entry.changed),
        }
    }
}

impl Entry {
    /// Length of label and protocol in bytes.
    fn text_bytes(&self) -> usize {
        self.options.label.len() + self.options.protocol.len()
    }
}

/// What became of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Done {
    Yes,
    NotYet,
    Refused,
}

fn execute(action: &Action, association: &mut Association) -> Done {
    match action {
        Action::Weight { stream, weight } => {
            // It fails only for streams that do not exist.
            let _ = association.set_stream_weight(*stream, *weight);
            Done::Yes
        }
        Action::Send(outgoing) => match association.send(to_message(outgoing.clone())) {
            Err(SendError::BufferFull) => Done::NotYet,
            // Otherwise the association is closing, and all channels with it.
            _ => Done::Yes,
        },
        Action::Reset(streams) => {
            let is_early = !association.is_connected() && !association.is_closed();
            match association.reconfigure(Reconfiguration::ResetOutbound(streams.clone())) {
                Ok(()) => Done::Yes,
                Err(ReconfigurationError::InProgress) => Done::NotYet,
                Err(_) if is_early => Done::NotYet,
                Err(_) => Done::Refused,
            }
        }
    }
}

fn to_message(outgoing: Outgoing) -> Message {
    let reliability = match outgoing.reliability {
        ChannelReliability::Reliable => Reliability::Reliable,
        ChannelReliability::Retransmissions(count) => {
            Reliability::Retransmissions(u16::try_from(count).unwrap_or(u16::MAX))
        }
        ChannelReliability::Lifetime(millis) => Reliability::Lifetime(Duration::from_millis(millis.into())),
    };
    Message {
        unordered: outgoing.unordered,
        ..Message::new(outgoing.stream, outgoing.payload)
            .with_ppid(outgoing.ppid)
            .with_reliability(reliability)
    }
}

fn to_received(message: ReceivedMessage) -> Received {
    Received {
        stream: message.stream,
        ppid: message.ppid,
        unordered: message.unordered,
        extent: match message.extent {
            Extent::Whole => datachannel::Extent::Whole,
            Extent::Beginning => datachannel::Extent::Beginning,
            Extent::Middle => datachannel::Extent::Middle,
            Extent::End => datachannel::Extent::End,
            Extent::Aborted => datachannel::Extent::Aborted,
        },
        payload: message.payload,
    }
}

#[cfg(test)]
mod tests {
    use anabranch_datachannel::{DcepMessage, ppid};
    use anabranch_types::{Ppid, StreamId};

    use super::*;

    fn receive(controller: &mut DataChannelController, ppid: Ppid, payload: impl Into<bytes::Bytes>) {
        controller.take(ReceivedMessage {
            stream: StreamId(1),
            ppid,
            unordered: false,
            extent: Extent::Whole,
            payload: payload.into(),
        });
    }

    /// Both ends reset the only stream.
    fn close(controller: &mut DataChannelController) {
        let streams = [StreamId(1)];
        controller.channels.handle_inbound_reset(&streams);
        while controller.channels.action().is_some() {
            controller.channels.action_done();
        }
        controller.channels.handle_outbound_reset(&streams, true);
        controller.collect();
    }

    #[test]
    fn labels_of_closed_channels_that_nobody_accepts_are_limited() {
        let mut controller = DataChannelController::new(Role::Client, Limits::default());
        controller.channels.set_streams(2, 2);
        let options = ChannelOptions::new("x".repeat(60_000));
        let open = DcepMessage::Open(options).encode().expect("a short label");
        for count in 1..=3 {
            receive(&mut controller, ppid::DCEP, open.clone());
            receive(&mut controller, ppid::STRING, "unread");
            close(&mut controller);
            assert_eq!(controller.incoming.len(), count);
            assert_eq!(controller.unread, count * (60_000 + 6 + OVERHEAD));
        }
        while controller.take_incoming().is_some() {}
        assert_eq!(
            controller.unread,
            3 * (6 + OVERHEAD),
            "the messages can still be read"
        );
    }
}

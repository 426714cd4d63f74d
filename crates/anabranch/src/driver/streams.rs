//! Streams of an association, between the core and the handles, under the lock of the state.
//!
//! All received messages of the association belong to them. They are taken from the core as soon as they arrive, so that its receive
//! window stays open whatever the readers do; the credit of each stream bounds what is unread.

use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use anabranch_proto::{Association, Event, Message, ReceivedMessage, Reliability, SendError as CoreError};
use anabranch_types::{AssociationId, MessageId};
use tokio::sync::Notify;

use super::inbox::Looked;
use super::shared::{Shared, State};
use super::signals::Wakings;
use crate::streams::frame::{ADAPTATION_LAYER, CONTROL, charge};
use crate::streams::{CreditExceeded, Key, Lost, PeerEnd, Refusal, StreamLimits, StreamSet};

/// The reason in the ABORT to a peer that does not keep to its credit.
const TOO_MUCH: &[u8] = b"more was sent on a stream than it has credit for";

/// The streams of one association.
#[derive(Debug)]
pub(crate) struct StreamController {
    pub(crate) set: StreamSet,
    /// The core has something to send, so the driver has to run.
    has_sent: bool,
}

/// What becomes of a message to send.
#[derive(Debug)]
pub(crate) enum Sending {
    Sent(MessageId),
    Refused(Refusal),
    Lost(Lost),
    Invalid(CoreError),
}

/// What a reader gets.
#[derive(Debug)]
pub(crate) enum Receiving {
    Message(ReceivedMessage),
    End(PeerEnd),
    Lost(Lost),
    /// The reader has stopped.
    Stopped,
}

impl StreamController {
    fn new(limits: &StreamLimits, association: &Association) -> Self {
        let mut controller = Self {
            set: StreamSet::new(limits),
            has_sent: false,
        };
        controller.begin(association);
        controller
    }

    /// Each end opens half of the streams. The tags tell them apart, also if both have begun the association.
    fn begin(&mut self, association: &Association) {
        let (ours, theirs) = association.verification_tags();
        let (outbound, inbound) = association.streams();
        self.set.begin(u16::from(ours > theirs), outbound.min(inbound));
    }

    /// Takes what the core has received, and sends the control messages that are due.
    fn serve(&mut self, association: &mut Association) {
        while let Some(message) = association.receive() {
            self.has_sent = true;
            self.take(message, association);
        }
        self.flush(association);
    }

    fn take(&mut self, message: ReceivedMessage, association: &mut Association) {
        if let Err(CreditExceeded) = self.set.handle_message(message) {
            association.abort(TOO_MUCH);
        }
    }

    /// Sends the control messages that are due.
    pub(crate) fn flush(&mut self, association: &mut Association) {
        while let Some((key, stream, control)) = self.set.control() {
            let message = Message::new(stream, control.encode()).with_ppid(CONTROL);
            match association.send(message) {
                // The core tells when there is room.
                Err(CoreError::BufferFull) => return,
                // Otherwise the association is closing, and all streams with it.
                Ok(_) | Err(_) => self.set.on_control_sent(key, control),
            }
            self.has_sent = true;
        }
    }

    /// Sends a message if its stream has credit and the send buffer has room.
    pub(crate) fn poll_send(
        &mut self,
        key: Key,
        offered: &mut Option<Message>,
        association: &mut Association,
        context: &Context<'_>,
    ) -> Poll<Sending> {
        let Some(stream) = self.set.stream_mut(key) else {
            return Poll::Ready(Sending::Lost(Lost::Closed));
        };
        if let Some(lost) = stream.lost {
            return Poll::Ready(Sending::Lost(lost));
        }
        match stream.outbound.check() {
            Err(Refusal::NoCredit) => {
                self.set.await_credit(key, context.waker().clone());
                self.flush(association);
                return Poll::Pending;
            }
            Err(refusal) => return Poll::Ready(Sending::Refused(refusal)),
            Ok(()) => {}
        }
        let Some(message) = offered.take() else {
            return Poll::Ready(Sending::Refused(Refusal::Ended));
        };
        let message = Message {
            stream: stream.id,
            ..message
        };
        let (used, unordered) = (charge(message.payload.len()), message.unordered);
        // An association without partial reliability abandons nothing.
        let is_reliable =
            message.reliability == Reliability::Reliable || !association.is_partially_reliable();
        if message.payload.len() as u64 > association.send_room() {
            // It will be refused, perhaps only for now, and is offered again then.
            *offered = Some(message.clone());
        }
        match association.send(message) {
            Ok(id) => {
                stream.outbound.on_sent(used, unordered, is_reliable);
                *offered = None;
                self.has_sent = true;
                Poll::Ready(Sending::Sent(id))
            }
            Err(CoreError::BufferFull) => {
                self.set.block(key, used, context.waker().clone());
                Poll::Pending
            }
            Err(CoreError::NotConnected | CoreError::Closing) => Poll::Ready(Sending::Lost(Lost::Closed)),
            Err(error) => Poll::Ready(Sending::Invalid(error)),
        }
    }

    /// The next message of a stream, or how it has ended.
    pub(crate) fn poll_receive(
        &mut self,
        key: Key,
        association: &mut Association,
        context: &Context<'_>,
    ) -> Poll<Receiving> {
        if let Some(message) = self.set.receive(key) {
            self.flush(association);
            return Poll::Ready(Receiving::Message(message));
        }
        let Some(stream) = self.set.stream_mut(key) else {
            return Poll::Ready(Receiving::Lost(Lost::Closed));
        };
        if let Some(end) = stream.inbound.ended() {
            return Poll::Ready(Receiving::End(end));
        }
        if let Some(lost) = stream.lost {
            return Poll::Ready(Receiving::Lost(lost));
        }
        if stream.inbound.is_stopped {
            return Poll::Ready(Receiving::Stopped);
        }
        stream.inbound.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Wakes writers that wait for the send buffer, which has `room` bytes; `true` if others still wait.
    pub(super) fn unblock(&mut self, room: u64, wakings: &mut Wakings) -> bool {
        let others_wait = self.set.unblock(room);
        self.hand_over(wakings);
        others_wait
    }

    /// All streams end with the association.
    pub(super) fn lose_all(&mut self, wakings: &mut Wakings) {
        self.set.lose_all(Lost::Closed);
        self.hand_over(wakings);
    }

    fn on_event(&mut self, event: &Event, association: &mut Association) {
        match event {
            Event::Readable | Event::Writable | Event::Connected { .. } => {}
            Event::Restarted { .. } | Event::AssociationReset => {
                self.set.lose_all(Lost::Restarted);
                self.begin(association);
            }
            Event::Closed(_) => {
                self.serve(association);
                self.set.lose_all(Lost::Closed);
            }
            _ => return,
        }
        self.serve(association);
    }

    fn hand_over(&mut self, wakings: &mut Wakings) {
        let (wakers, notifies) = self.set.take_wakes();
        wakings.add_wakers(wakers);
        wakings.add_notifies(notifies);
    }
}

impl State {
    /// Gives the association streams, unless it has some. `None` if both ends have not agreed on them.
    pub(crate) fn attach_streams(&mut self, id: AssociationId, limits: &StreamLimits) -> Option<()> {
        let tracked = self.associations.get_mut(&id)?;
        let mut association = self.core.association_mut(id)?;
        if tracked.streams.is_some() {
            return Some(());
        }
        let is_agreed = association.peer_adaptation_layer() == Some(ADAPTATION_LAYER);
        if !is_agreed || tracked.controller.is_some() {
            return None;
        }
        let mut controller = Box::new(StreamController::new(limits, &association));
        while let Looked::Message(message) = tracked.signals.inbox.look(true) {
            controller.take(message, &mut association);
        }
        controller.serve(&mut association);
        if tracked.signals.ended().is_some() {
            controller.set.lose_all(Lost::Closed);
        }
        tracked.streams = Some(controller);
        Some(())
    }

    /// Lets the streams of the association handle an event.
    pub(super) fn tell_streams(&mut self, id: AssociationId, event: &Event, wakings: &mut Wakings) {
        let Some(streams) = self.associations.get_mut(&id).and_then(|t| t.streams.as_mut()) else {
            return;
        };
        if let Some(mut association) = self.core.association_mut(id) {
            streams.on_event(event, &mut association);
        }
        streams.hand_over(wakings);
        self.work |= mem::take(&mut streams.has_sent);
    }

    /// The streams of the association end with it.
    pub(super) fn lose_streams(&mut self, id: AssociationId, wakings: &mut Wakings) {
        if let Some(streams) = self.associations.get_mut(&id).and_then(|t| t.streams.as_mut()) {
            streams.lose_all(wakings);
        }
    }
}

impl Shared {
    /// Acts on the streams of an association, and wakes those that wait for what comes of it. `None` if it has none.
    pub(crate) fn with_streams<T>(
        &self,
        id: AssociationId,
        act: impl FnOnce(&mut StreamController, &mut Association) -> T,
    ) -> Option<T> {
        let mut state = self.lock();
        let State {
            core, associations, ..
        } = &mut *state;
        let controller = associations.get_mut(&id)?.streams.as_mut()?;
        let mut association = core.association_mut(id)?;
        let result = act(controller, &mut association);
        let (wakers, notifies) = controller.set.take_wakes();
        let has_sent = mem::take(&mut controller.has_sent);
        drop(association);
        state.work |= has_sent;
        let driver = if has_sent { state.driver.take() } else { None };
        drop(state);
        notifies
            .iter()
            .for_each(|notify: &Arc<Notify>| notify.notify_waiters());
        wakers.into_iter().chain(driver).for_each(Waker::wake);
        Some(result)
    }
}

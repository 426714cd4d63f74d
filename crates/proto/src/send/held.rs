//! Streams whose messages wait for a reconfiguration (RFC 6525 §5.1.2 A1).

use alloc::vec::Vec;

use anabranch_policy::StreamScheduler;
use anabranch_types::{MessageId, Mid, StreamId};

use super::streams::Streams;
use crate::on_demand::{Idle, OnDemand};

/// Messages that are held back.
pub(super) type Held = OnDemand<Holds>;

/// The holds, at most one for each request that waits or is in flight.
#[derive(Debug, Default)]
pub(super) struct Holds {
    list: Vec<Hold>,
    next: HoldId,
}

impl Idle for Holds {
    const IDLE: &'static Self = &Self {
        list: Vec::new(),
        next: HoldId(0),
    };

    fn is_idle(&self) -> bool {
        self.list.is_empty()
    }
}

/// Names a hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct HoldId(u32);

#[derive(Debug)]
struct Hold {
    id: HoldId,
    /// The streams; all if there are none.
    streams: Vec<StreamId>,
    /// The first message that is held back.
    from: MessageId,
}

impl Holds {
    /// Whether the message is held back.
    #[inline]
    pub(super) fn has(&self, stream: StreamId, message: MessageId) -> bool {
        self.list.iter().any(|hold| hold.has(stream, message))
    }

    fn add(&mut self, streams: Vec<StreamId>, from: MessageId) -> HoldId {
        let id = self.next;
        self.next.0 = id.0.wrapping_add(1);
        self.list.push(Hold { id, streams, from });
        id
    }

    fn remove(&mut self, id: HoldId) -> Option<Hold> {
        let at = self.list.iter().position(|hold| hold.id == id)?;
        Some(self.list.swap_remove(at))
    }
}

impl Hold {
    fn has(&self, stream: StreamId, message: MessageId) -> bool {
        message >= self.from && (self.streams.is_empty() || self.streams.contains(&stream))
    }
}

impl Streams {
    //= rfc6525 5.1.2-1
    /// Holds messages back that are queued on `streams` from now on, or on all if none is listed. What waits for the acknowledgement of
    /// earlier ones need not wait for a delayed SACK: the last of each stream asks for one at once (RFC 7053 §5.1).
    pub(super) fn hold(&mut self, streams: &[StreamId]) -> HoldId {
        if streams.is_empty() {
            (0..self.used()).for_each(|stream| self.hurry_last(StreamId(stream)));
        } else {
            streams.iter().for_each(|stream| self.hurry_last(*stream));
        }
        let from = self.next_message();
        self.held.make_mut().add(streams.to_vec(), from)
    }

    /// Whether all messages on `streams`, or on all if none is listed, have begun, except those that are held back.
    pub(super) fn has_begun_all_on(&self, streams: &[StreamId]) -> bool {
        let has_begun = |stream| {
            self.head(stream)
                .is_none_or(|head| self.held.has(stream, head.id))
        };
        let has_ended = |stream| {
            let open = self.open.on(stream);
            open.is_none_or(|open| self.held.has(stream, open))
        };
        let is_done = |stream| has_begun(stream) && has_ended(stream);
        if streams.is_empty() {
            (0..self.used()).all(|stream| is_done(StreamId(stream)))
        } else {
            streams.iter().all(|stream| is_done(*stream))
        }
    }

    /// Whether no message was sent on `streams`, or on any if none is listed, since they began.
    pub(super) fn is_unused(&self, streams: &[StreamId]) -> bool {
        let begins = |stream: StreamId| self.next_mids(stream) == [Mid(0); 2];
        if streams.is_empty() {
            (0..self.used()).all(|stream| begins(StreamId(stream)))
        } else {
            streams.iter().all(|stream| begins(*stream))
        }
    }

    //= rfc6525 5.2.7-5
    /// Ends a hold. If the streams of `reset` were reset, or all for an empty list, they restart.
    pub(super) fn end_hold(
        &mut self,
        hold: HoldId,
        reset: Option<&[StreamId]>,
        scheduler: &mut dyn StreamScheduler,
    ) {
        let used = self.used();
        let all = (0..used).map(StreamId);
        match reset {
            Some([]) => all.clone().for_each(|stream| self.begin_anew(stream)),
            Some(streams) => streams.iter().for_each(|stream| self.begin_anew(*stream)),
            None => {}
        }
        let Some(hold) = self.held.active_mut().and_then(|held| held.remove(hold)) else {
            return;
        };
        self.held.release_if_idle();
        let is_meant = |stream: &StreamId| hold.streams.is_empty() || hold.streams.contains(stream);
        all.filter(is_meant)
            .for_each(|stream| self.tell_if_ready(stream, scheduler));
    }
}

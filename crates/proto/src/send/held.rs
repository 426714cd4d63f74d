//! Streams whose messages wait for a reconfiguration (RFC 6525 §5.1.2 A1).

use alloc::boxed::Box;
use alloc::vec::Vec;

use anabranch_policy::StreamScheduler;
use anabranch_types::{MessageId, Mid, StreamId};

use super::queue::Waiting;
use super::streams::Streams;

/// Messages that are held back. Takes no memory while there are none.
#[derive(Debug, Default)]
pub(super) struct Held(Option<Box<Hold>>);

#[derive(Debug)]
struct Hold {
    /// The streams; all if there are none.
    streams: Vec<StreamId>,
    /// The first message that is held back.
    from: MessageId,
}

impl Held {
    /// Whether the message is held back.
    #[inline]
    pub(super) fn has(&self, stream: StreamId, waiting: &Waiting) -> bool {
        self.0.as_deref().is_some_and(|hold| hold.has(stream, waiting.id))
    }
}

impl Hold {
    fn has(&self, stream: StreamId, message: MessageId) -> bool {
        message >= self.from && (self.streams.is_empty() || self.streams.contains(&stream))
    }
}

impl Streams {
    //= rfc6525 5.1.2-1
    /// Holds messages back that are queued on `streams` from now on, or on all if none is listed.
    pub(super) fn hold(&mut self, streams: &[StreamId]) {
        let hold = Hold {
            streams: streams.to_vec(),
            from: self.next_message(),
        };
        self.held = Held(Some(Box::new(hold)));
    }

    /// Whether all messages on `streams`, or on all if none is listed, have begun, except those that are held back.
    pub(super) fn has_begun_all_on(&self, streams: &[StreamId]) -> bool {
        let is_done = |stream| self.head(stream).is_none_or(|head| self.held.has(stream, head));
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
    /// Ends the hold. If the streams of `reset` were reset, or all for an empty list, they restart.
    pub(super) fn end_hold(&mut self, reset: Option<&[StreamId]>, scheduler: &mut dyn StreamScheduler) {
        let used = self.used();
        let all = (0..used).map(StreamId);
        match reset {
            Some([]) => all.clone().for_each(|stream| self.begin_anew(stream)),
            Some(streams) => streams.iter().for_each(|stream| self.begin_anew(*stream)),
            None => {}
        }
        let Some(hold) = self.held.0.take() else { return };
        let is_meant = |stream: &StreamId| hold.streams.is_empty() || hold.streams.contains(stream);
        all.filter(is_meant)
            .for_each(|stream| self.tell_if_ready(stream, scheduler));
    }
}

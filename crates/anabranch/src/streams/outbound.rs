//! Sending half of a stream. May a message be sent now, and what does the peer still have to be told?

use std::task::Waker;

use super::frame::{Control, INITIAL_WINDOW, UNKNOWN};

/// How this end has ended its direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    Finished,
    Reset(u32),
}

/// Why no message may be sent now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// The peer has to grant credit first.
    NoCredit,
    /// The peer's reader has stopped, with this code.
    Stopped(u32),
    /// The stream was finished or reset by this end.
    Ended,
}

/// The sending half of a stream.
#[derive(Debug)]
pub(crate) struct Outbound {
    /// Credit that all messages have used.
    position: u64,
    limit: u64,
    ended: Option<Ended>,
    /// The peer's reader has stopped.
    stopped: Option<u32>,
    /// The end was sent.
    pub(crate) is_told: bool,
    /// Messages may have been abandoned since the peer was told the position.
    is_lossy: bool,
    unordered: u32,
    pub(crate) waker: Option<Waker>,
}

impl Outbound {
    pub(crate) const fn new() -> Self {
        Self {
            position: 0,
            limit: INITIAL_WINDOW,
            ended: None,
            stopped: None,
            is_told: false,
            is_lossy: false,
            unordered: 0,
            waker: None,
        }
    }

    /// Whether a message may be sent.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        match (self.stopped, self.ended) {
            (Some(code), _) => Err(Refusal::Stopped(code)),
            (None, Some(_)) => Err(Refusal::Ended),
            (None, None) if self.position < self.limit => Ok(()),
            (None, None) => Err(Refusal::NoCredit),
        }
    }

    /// Whether the peer has to learn the position, because messages may have been abandoned and credit has run out.
    pub(crate) fn wants_position(&self) -> bool {
        self.is_lossy && self.check() == Err(Refusal::NoCredit)
    }

    /// Counts a message that was sent.
    pub(crate) fn on_sent(&mut self, charge: u64, is_unordered: bool, is_reliable: bool) {
        self.position += charge;
        self.is_lossy |= !is_reliable;
        if is_unordered && is_reliable {
            // Never quite `UNKNOWN`.
            self.unordered = self
                .unordered
                .saturating_add(u32::from(self.unordered < UNKNOWN - 1));
        } else if is_unordered {
            self.unordered = UNKNOWN;
        }
    }

    /// Takes credit; `true` if that lets a writer go on.
    pub(crate) fn grant(&mut self, limit: u64) -> bool {
        let was_blocked = self.position >= self.limit;
        self.limit = self.limit.max(limit);
        was_blocked && self.position < self.limit
    }

    /// The peer's reader has stopped, so the stream ends here.
    pub(crate) fn stop(&mut self, code: u32) {
        if self.ended.is_none() {
            self.stopped = Some(code);
            self.ended = Some(Ended::Reset(code));
        }
    }

    /// Ends the stream in order; `false` if it has ended already.
    pub(crate) fn finish(&mut self) -> bool {
        let was_open = self.ended.is_none();
        self.ended.get_or_insert(Ended::Finished);
        was_open
    }

    /// Gives the stream up; `false` if it has ended already.
    pub(crate) fn reset(&mut self, code: u32) -> bool {
        let was_open = self.ended.is_none();
        self.ended.get_or_insert(Ended::Reset(code));
        was_open
    }

    /// With what code the peer's reader has stopped, if it has.
    pub(crate) const fn stopped(&self) -> Option<u32> {
        self.stopped
    }

    /// Whether messages of this life of the stream may still arrive when another one has begun.
    pub(crate) const fn leaves_stragglers(&self) -> bool {
        self.unordered == UNKNOWN
    }

    /// What the peer has to be told now.
    pub(crate) fn control(&self) -> Option<Control> {
        let (position, unordered) = (self.position, self.unordered);
        match self.ended {
            Some(_) if self.is_told => None,
            Some(Ended::Finished) => Some(Control::Finished { position, unordered }),
            Some(Ended::Reset(code)) => Some(Control::Reset {
                position,
                code,
                unordered,
            }),
            None => self.wants_position().then_some(Control::Position(position)),
        }
    }

    /// What the peer was told.
    pub(crate) fn on_told(&mut self, control: Control) {
        match control {
            Control::Position(_) => self.is_lossy = false,
            Control::Finished { .. } | Control::Reset { .. } => self.is_told = true,
            Control::Credit(_) | Control::Stop(_) | Control::Closed => {}
        }
    }
}

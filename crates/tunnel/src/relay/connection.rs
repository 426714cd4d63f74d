//! One connection of the relay: both directions, and how it has ended.

use bytes::Bytes;

use super::Violation;
use super::unread::Unread;
use crate::credit::{Credit, Window};
use crate::frame::{Frame, Reason};

/// Data that may wait to be transmitted: the next frame is read while one waits.
const MAX_QUEUED: u64 = 128 << 10;

/// A connection, from its OPEN until this end gives it up.
#[derive(Debug)]
pub(super) struct Connection {
    /// Distinguishes it from earlier ones of the same stream.
    pub(super) serial: u64,
    /// This end has opened it.
    pub(super) is_ours: bool,
    /// The target has accepted it.
    pub(super) is_open: bool,
    pub(super) credit: Credit,
    /// Bytes in the queue of the stream.
    pub(super) queued: u64,
    /// This end has finished its direction.
    pub(super) has_finished: bool,
    pub(super) window: Window,
    pub(super) unread: Unread,
    /// The peer has finished its direction.
    pub(super) peer_has_finished: bool,
    /// How the peer has ended the connection.
    pub(super) ended: Option<Ended>,
}

/// How the peer has ended a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    /// By CLOSED, after everything.
    Closed,
    /// By RESET.
    Reset(Reason),
}

/// What can be received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inbound {
    /// Bytes, which [`Relay::read`](super::Relay::read) must be told of when they were read.
    Data(Bytes),
    /// The peer has finished, and everything was received.
    Finished,
    /// The connection was reset, and everything that came before was received.
    Reset(Reason),
    /// Nothing yet.
    Nothing,
}

/// What can be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outbound {
    /// So many bytes, at least one.
    Room(u64),
    /// Nothing until the peer gives credit or the queue empties.
    Full,
    /// The connection was reset.
    Reset(Reason),
}

impl Connection {
    pub(super) fn new(serial: u64, is_ours: bool) -> Self {
        Self {
            serial,
            is_ours,
            is_open: false,
            credit: Credit::initial(),
            queued: 0,
            has_finished: false,
            window: Window::initial(),
            unread: Unread::default(),
            peer_has_finished: false,
            ended: None,
        }
    }

    /// Whether nothing is left to do for this end but to give it up.
    pub(super) fn is_done(&self) -> bool {
        self.has_finished && self.peer_has_finished && self.window.unread() == 0
    }

    pub(super) fn outbound(&self, longest: u64) -> Outbound {
        match self.ended {
            Some(Ended::Reset(reason)) => Outbound::Reset(reason),
            _ if self.queued >= MAX_QUEUED => Outbound::Full,
            _ => match self.credit.bytes().min(longest) {
                0 => Outbound::Full,
                room => Outbound::Room(room),
            },
        }
    }

    pub(super) fn inbound(&mut self) -> Inbound {
        match (self.unread.pop(), self.ended) {
            (Some(data), _) => Inbound::Data(data),
            // What came before a reset is received, as Linux does with TCP.
            (None, _) if self.peer_has_finished => Inbound::Finished,
            (None, Some(Ended::Reset(reason))) => Inbound::Reset(reason),
            (None, _) => Inbound::Nothing,
        }
    }

    /// A frame of the peer on the stream of this connection, other than OPEN.
    pub(super) fn on_frame(&mut self, frame: Frame) -> Result<(), Violation> {
        if self.ended.is_some() {
            return Err(Violation::AfterEnd);
        }
        let is_answer = matches!(frame, Frame::Opened | Frame::Closed);
        if is_answer && !self.is_ours {
            return Err(Violation::WrongEnd);
        }
        let needs_answer = !matches!(frame, Frame::Opened | Frame::Reset(_));
        if needs_answer && self.is_ours && !self.is_open {
            return Err(Violation::BeforeOpened);
        }
        match frame {
            Frame::Open(..) => return Err(Violation::InUse),
            Frame::Opened if self.is_open => return Err(Violation::OpenedTwice),
            Frame::Opened => self.is_open = true,
            Frame::Data(_) | Frame::Finished if self.peer_has_finished => {
                return Err(Violation::AfterFinished);
            }
            Frame::Data(data) => {
                if !self.window.arrive(data.len() as u64) {
                    return Err(Violation::BeyondCredit);
                }
                self.unread.push(data);
            }
            Frame::Finished => self.peer_has_finished = true,
            Frame::Credit(bytes) => {
                if !self.credit.add(bytes) {
                    return Err(Violation::TooMuchCredit);
                }
            }
            Frame::Reset(reason) => self.ended = Some(Ended::Reset(reason)),
            Frame::Closed if self.has_finished && self.peer_has_finished => self.ended = Some(Ended::Closed),
            Frame::Closed => return Err(Violation::ClosedEarly),
        }
        Ok(())
    }
}

//! Reassembly. How do chunks become messages? Fragments join, then ordered messages wait for their turn.
//!
//! An association uses DATA or I-DATA, never both (RFC 8260 §2.2.1): [`data`] and [`i_data`] know how to tell a chunk's
//! place in its message. [`fragments`] joins fragments by their places; [`ordered`] concerns ordered messages only,
//! unordered ones pass it by.

mod data;
mod fragments;
mod i_data;
mod ordered;

use anabranch_types::{Mid, Ssn, StreamId, UnwrappedTsn};

use self::data::DataReassembly;
use self::i_data::IDataReassembly;
use self::ordered::Count as _;
use super::ReceiverConfig;
use super::arrivals::Turn;
use super::delivery::Delivery;
use super::tracker::Tracker;
use super::window::Window;
use crate::user_data::UserData;
use crate::violation::Violation;

/// RFC 8260 §2.2.1: once I-DATA is agreed on, DATA is forbidden, and the other way round; who gets the wrong one aborts.
const WRONG_KIND: Violation = Violation::Protocol("DATA and I-DATA do not mix");

/// What is to be done with a new chunk that the window has room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Take,
    /// Acknowledge it and throw its payload away (RFC 9260 §6.5).
    InvalidStream,
    /// Its SSN cannot be placed before more of the missing TSNs arrive: it must come again.
    NotYet,
}

/// Fragments that wait for others, and ordered messages that wait for earlier ones.
#[derive(Debug)]
pub(super) enum Reassembly {
    Data(DataReassembly),
    IData(IDataReassembly),
}

impl Reassembly {
    pub(super) fn new(config: &ReceiverConfig) -> Self {
        let ReceiverConfig {
            max_message,
            inbound_streams,
            ..
        } = *config;
        if config.interleaving {
            Self::IData(IDataReassembly::new(max_message, inbound_streams))
        } else {
            Self::Data(DataReassembly::new(max_message, inbound_streams))
        }
    }

    /// Messages may be so long from now on.
    pub(super) const fn allow(&mut self, max_message: usize) {
        match self {
            Self::Data(reassembly) => reassembly.allow(max_message),
            Self::IData(reassembly) => reassembly.allow(max_message),
        }
    }

    /// Whether data comes in chunks of this kind.
    ///
    /// # Errors
    /// [`WRONG_KIND`].
    pub(super) const fn check_kind(&self, data: &UserData<'_>) -> Result<(), Violation> {
        match (self, data) {
            (Self::Data(_), UserData::Data(_)) | (Self::IData(_), UserData::IData(_)) => Ok(()),
            _ => Err(WRONG_KIND),
        }
    }

    /// Judges a new chunk; changes nothing.
    pub(super) fn judge(
        &self,
        data: &UserData<'_>,
        tsn: UnwrappedTsn,
        tracker: &Tracker,
    ) -> Result<Verdict, Violation> {
        match (self, data) {
            (Self::Data(reassembly), UserData::Data(data)) => reassembly.judge(data, tsn, tracker),
            (Self::IData(reassembly), UserData::IData(data)) => reassembly.judge(data),
            _ => Err(WRONG_KIND),
        }
    }

    /// Whose turn it is in a stream: all messages before it were handed on.
    pub(super) fn next_turn(&self, stream: StreamId) -> Turn {
        let number = match self {
            Self::Data(reassembly) => reassembly.expected(stream).raw(),
            Self::IData(reassembly) => reassembly.expected(stream).raw(),
        };
        Turn { stream, number }
    }

    pub(super) fn turn_after(&self, turn: Turn) -> Turn {
        let number = match self {
            // The number was one of these 16 bits.
            Self::Data(_) => Ssn(turn.number as u16).following().raw(),
            Self::IData(_) => Mid(turn.number).following().raw(),
        };
        Turn { number, ..turn }
    }

    /// Takes the chunk in, and hands on every message that becomes deliverable by it.
    pub(super) fn take(
        &mut self,
        data: &UserData<'_>,
        tsn: UnwrappedTsn,
        window: &mut Window,
        delivery: &mut Delivery,
    ) -> Result<(), Violation> {
        match (self, data) {
            (Self::Data(reassembly), UserData::Data(data)) => reassembly.take(data, tsn, window, delivery),
            (Self::IData(reassembly), UserData::IData(data)) => reassembly.take(data, window, delivery),
            _ => Err(WRONG_KIND),
        }
    }
}

//! Reassembly of messages from chunks. Fragments are joined, then ordered messages wait for earlier ones.
//!
//! An association uses DATA or I-DATA, never both (RFC 8260 §2.2.1): [`data`] and [`i_data`] determine a chunk's place in its
//! message. [`fragments`] joins fragments by their places; [`ordered`] keeps ordered messages in order, and unordered ones bypass
//! it.

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
use super::forward::Skips;
use super::tracker::Tracker;
use super::window::Window;
use crate::user_data::UserData;
use crate::violation::Violation;

//= rfc8260 2.2.3-3, 2.3.1-10
/// RFC 8260 §2.2.1: if I-DATA is negotiated, DATA is forbidden, and the reverse; the wrong type ends the association.
const WRONG_KIND: Violation = Violation::Protocol("DATA and I-DATA do not mix");

/// Incomplete messages that are considered when one has to be delivered in parts. A peer may have begun very many.
const MAX_LOOKED_AT: usize = 1_024;

/// Limits of message lengths, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::recv) struct Limits {
    /// A longer message ends the association.
    pub(in crate::recv) longest: usize,
    /// A longer message is delivered in parts.
    pub(in crate::recv) whole: usize,
}

/// Treatment of a new chunk for which the window has room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Take,
    /// Acknowledge it and discard its payload (RFC 9260 §6.5).
    InvalidStream,
    /// Drop it: its SSN is ambiguous before more of the missing TSNs arrive.
    NotYet,
    /// Acknowledge it and discard its payload: its message was abandoned.
    Skipped,
}

/// Incomplete messages, and ordered messages that wait for earlier ones.
#[derive(Debug)]
pub(super) enum Reassembly {
    Data(DataReassembly),
    IData(IDataReassembly),
}

impl Reassembly {
    pub(super) fn new(config: &ReceiverConfig) -> Self {
        let limits = Limits {
            longest: config.max_message,
            whole: config.whole,
        };
        if config.interleaving {
            Self::IData(IDataReassembly::new(limits, config.inbound_streams))
        } else {
            Self::Data(DataReassembly::new(limits, config.inbound_streams))
        }
    }

    /// Removes all that waits for more. Messages that are being delivered in parts are aborted.
    pub(super) fn clear(&mut self, window: &mut Window, delivery: &mut Delivery) {
        match self {
            Self::Data(reassembly) => reassembly.clear(window, delivery),
            Self::IData(reassembly) => reassembly.clear(window, delivery),
        }
    }

    /// Begins to deliver an incomplete message in parts, if there is one whose turn it is.
    #[cold]
    pub(super) fn begin_partial(&mut self, window: &mut Window, delivery: &mut Delivery) {
        match self {
            Self::Data(reassembly) => reassembly.begin_partial(window, delivery),
            Self::IData(reassembly) => reassembly.begin_partial(window, delivery),
        }
    }

    /// Whether a chunk continues a message that is being delivered in parts.
    pub(super) fn continues(&self, data: &UserData<'_>, tsn: UnwrappedTsn) -> bool {
        match (self, data) {
            (Self::Data(reassembly), UserData::Data(_)) => reassembly.continues(tsn),
            (Self::IData(reassembly), UserData::IData(data)) => reassembly.continues(data),
            _ => false,
        }
    }

    /// Checks that the FORWARD TSN is the one for the type of chunks that the association uses (RFC 8260 §2.3.1).
    ///
    /// # Errors
    /// [`WRONG_KIND`].
    pub(super) const fn check_skips(&self, skips: &Skips<'_>) -> Result<(), Violation> {
        match (self, skips) {
            (Self::Data(_), Skips::Data(_)) | (Self::IData(_), Skips::IData(_)) => Ok(()),
            _ => Err(WRONG_KIND),
        }
    }

    /// Drops what is incomplete up to `cumulative`, and delivers what waited only for abandoned messages.
    pub(super) fn skip(
        &mut self,
        cumulative: UnwrappedTsn,
        skips: &Skips<'_>,
        window: &mut Window,
        delivery: &mut Delivery,
    ) -> Result<(), Violation> {
        match (self, skips) {
            (Self::Data(reassembly), Skips::Data(chunk)) => {
                reassembly.skip(cumulative, chunk, window, delivery);
            }
            (Self::IData(reassembly), Skips::IData(chunk)) => reassembly.skip(chunk, window, delivery),
            _ => return Err(WRONG_KIND),
        }
        Ok(())
    }

    /// Number of inbound streams.
    pub(super) const fn stream_count(&self) -> u16 {
        match self {
            Self::Data(reassembly) => reassembly.inbound_streams,
            Self::IData(reassembly) => reassembly.inbound_streams,
        }
    }

    /// Sets the number of inbound streams.
    pub(super) const fn set_stream_count(&mut self, count: u16) {
        match self {
            Self::Data(reassembly) => reassembly.inbound_streams = count,
            Self::IData(reassembly) => reassembly.inbound_streams = count,
        }
    }

    /// Expects number 0 next on `streams`, or on all if none is listed, and delivers what waited.
    pub(super) fn reset_streams(
        &mut self,
        streams: &[StreamId],
        window: &mut Window,
        delivery: &mut Delivery,
    ) {
        match self {
            Self::Data(reassembly) => reassembly.reset_streams(streams, window, delivery),
            Self::IData(reassembly) => reassembly.reset_streams(streams, window, delivery),
        }
    }

    /// Sets the limits of message lengths.
    pub(super) const fn allow(&mut self, limits: Limits) {
        match self {
            Self::Data(reassembly) => reassembly.allow(limits),
            Self::IData(reassembly) => reassembly.allow(limits),
        }
    }

    /// Checks that the chunk is of the type that the association uses.
    ///
    /// # Errors
    /// [`WRONG_KIND`].
    pub(super) const fn check_kind(&self, data: &UserData<'_>) -> Result<(), Violation> {
        match (self, data) {
            (Self::Data(_), UserData::Data(_)) | (Self::IData(_), UserData::IData(_)) => Ok(()),
            _ => Err(WRONG_KIND),
        }
    }

    /// Checks a new chunk without changing anything.
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

    /// The position of the next message of a stream; all before it were delivered.
    pub(super) fn next_turn(&self, stream: StreamId) -> Turn {
        let number = match self {
            Self::Data(reassembly) => reassembly.expected(stream).raw(),
            Self::IData(reassembly) => reassembly.expected(stream).raw(),
        };
        Turn { stream, number }
    }

    pub(super) fn turn_after(&self, turn: Turn) -> Turn {
        let number = match self {
            // The number is an SSN of 16 bits.
            Self::Data(_) => Ssn(turn.number as u16).following().raw(),
            Self::IData(_) => Mid(turn.number).following().raw(),
        };
        Turn { number, ..turn }
    }

    /// Adds the chunk, and delivers all messages that become deliverable by it.
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

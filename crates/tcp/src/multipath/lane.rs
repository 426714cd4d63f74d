//! One flow of several: what belongs to it beside the flow itself.

use alloc::collections::VecDeque;

use anabranch_types::Instant;

use super::mappings::Mappings;
use crate::endpoint::FourTuple;
use crate::flow::{Flow, State};
use crate::sequence::Position;
use crate::wire::{AddressId, DataSignal, Lead, Nonce, Notice, Segment};

/// A flow and its part in the connection.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) tuple: FourTuple,
    pub(super) flow: Flow,
    pub(super) role: Role,
    pub(super) stage: Stage,
    /// By what the two ends call the addresses.
    pub(super) local_id: AddressId,
    pub(super) remote_id: AddressId,
    pub(super) mappings: Mappings,
    /// The next acknowledgement says where the data ends.
    pub(super) tells_end: bool,
    /// To be told with acknowledgements.
    pub(super) notices: VecDeque<Notice>,
    /// The peer is told of the flow's end at once, and why.
    pub(super) reset: Option<Notice>,
    /// Nothing new is sent, and the flow ends as soon as may be.
    pub(super) closing: bool,
    /// To be used only when nothing else works, as one of the ends said.
    pub(super) backup: bool,
    /// Data before this was duplicated onto it as far as it is to be, where duplicates are sent.
    pub(super) duplicated_before: Position,
    pub(super) duplicates: u64,
    pub(super) duplicated_bytes: u64,
    /// It carries nothing until then, for it has blocked the buffers.
    pub(super) paused_until: Option<Instant>,
    /// Its end was told, and its addresses may be those of another flow.
    pub(super) gone: bool,
    /// Bytes that other flows had carried before.
    pub(super) reinjected_bytes: u64,
    pub(super) reinjections: u64,
}

/// How the flow came to the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// It opened it; this end began.
    Opens,
    /// It opened it; the peer began.
    Opened,
    /// It joined; this end began.
    Joins { own: Nonce },
    /// It joined; the peer began.
    Joined { own: Nonce, peer: Nonce },
}

/// How far its handshake is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Our SYN is not answered.
    Asking,
    /// The peer's SYN is answered; the third segment, which proves who it is, is not here.
    Answering,
    /// The third segment has left; it is repeated until there is a sign that it has arrived, since nothing else would
    /// (RFC 8684 §3.1 and §3.2). `peer` is the nonce of a flow that joins.
    Confirming {
        peer: Nonce,
        again: Option<Instant>,
        times: u32,
    },
    /// Both ends know.
    Open,
}

impl Lane {
    pub(super) fn new(tuple: FourTuple, flow: Flow, role: Role) -> Self {
        Self {
            tuple,
            flow,
            role,
            stage: match role {
                Role::Opens | Role::Joins { .. } => Stage::Asking,
                Role::Opened | Role::Joined { .. } => Stage::Answering,
            },
            local_id: AddressId(0),
            remote_id: AddressId(0),
            mappings: Mappings::new(),
            tells_end: false,
            notices: VecDeque::new(),
            reset: None,
            closing: false,
            backup: false,
            duplicated_before: 1,
            duplicates: 0,
            duplicated_bytes: 0,
            paused_until: None,
            gone: false,
            reinjected_bytes: 0,
            reinjections: 0,
        }
    }

    /// Whether data may be put on it.
    pub(super) fn carries(&self) -> bool {
        let confirmed = match self.stage {
            Stage::Open => true,
            // The first data carries what has to be confirmed; a flow that joins has to wait (RFC 8684 §3.2).
            Stage::Confirming { .. } => self.role == Role::Opens,
            Stage::Asking | Stage::Answering => false,
        };
        confirmed && !self.closing && self.paused_until.is_none() && self.flow.state().sends_data()
    }

    /// Whether acknowledgements leave on it.
    pub(super) fn speaks(&self) -> bool {
        self.flow.state().is_synchronized()
    }

    /// The position of a number of the flow, counted from its SYN; `None` for one before it.
    pub(super) fn position(&self, number: u32) -> Option<Position> {
        let expected = self.flow.expected();
        let ahead = number.wrapping_sub(expected as u32).cast_signed();
        expected.checked_add_signed(ahead.into())
    }

    /// Where the mapping begins that `segment` has for its payload.
    pub(super) fn mapped_at(&self, segment: &Segment<'_>) -> Option<Position> {
        match &segment.options.multipath.lead {
            Some(Lead::Data(DataSignal {
                mapping: Some(mapping),
                ..
            })) if mapping.payload() > 0 => self.position(mapping.flow),
            _ => None,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.flow.state() == State::Closed
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let again = match self.stage {
            Stage::Confirming { again, .. } if !self.is_closed() => again,
            _ => None,
        };
        let moments = [self.flow.deadline(), again, self.paused_until];
        moments.into_iter().flatten().min()
    }

    /// Ends the flow here and now; the peer is told why, if it knows of the flow.
    pub(super) fn abort(&mut self, why: Notice) {
        let is_known = match self.flow.state() {
            // It has answered, or we would not know what is wrong.
            State::SynSent => matches!(why, Notice::Reset { .. }),
            State::TimeWait | State::Closed => false,
            _ => true,
        };
        if is_known {
            self.reset = Some(why);
        }
        self.flow.forget();
    }
}

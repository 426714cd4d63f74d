//! Subflow: a control block and its part in the MPTCP connection.

use alloc::collections::VecDeque;

use anabranch_types::Instant;

use super::mappings::Mappings;
use crate::endpoint::FourTuple;
use crate::sequence::Position;
use crate::tcb::{ControlBlock, State};
use crate::wire::{AddressId, Dss, MptcpOption, Nonce, PrimaryOption, Segment};

/// A subflow and its part in the connection.
#[derive(Debug)]
pub(super) struct Subflow {
    pub(super) tuple: FourTuple,
    pub(super) tcb: ControlBlock,
    pub(super) role: Role,
    pub(super) stage: Stage,
    /// By what the two ends call the addresses.
    pub(super) local_id: AddressId,
    pub(super) remote_id: AddressId,
    pub(super) mappings: Mappings,
    /// The next acknowledgement says where the data ends.
    pub(super) tells_end: bool,
    /// To be told with acknowledgements.
    pub(super) pending_options: VecDeque<MptcpOption>,
    /// The peer is told of the subflow's end at once, and why.
    pub(super) reset: Option<MptcpOption>,
    /// Nothing new is sent, and the subflow ends as soon as may be.
    pub(super) closing: bool,
    /// To be used only when nothing else works, as one of the ends said.
    pub(super) backup: bool,
    /// Data before this was copied onto it as far as it is to be, where copies are made.
    pub(super) duplicated_before: Position,
    pub(super) duplicates: u64,
    pub(super) duplicated_bytes: u64,
    /// It carries nothing until then, for it has blocked the buffers.
    pub(super) paused_until: Option<Instant>,
    /// Its end was told, and its addresses may be those of another subflow.
    pub(super) gone: bool,
    /// Bytes that other subflows had carried before.
    pub(super) reinjected_bytes: u64,
    pub(super) reinjections: u64,
}

/// How the subflow came to the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// It opened it; this end began.
    CapableInitiator,
    /// It opened it; the peer began.
    CapableResponder,
    /// It joined; this end began.
    JoinInitiator { own: Nonce },
    /// It joined; the peer began.
    JoinResponder { own: Nonce, peer: Nonce },
}

/// How far its handshake is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Our SYN is not answered.
    SynSent,
    /// The peer's SYN is answered; the third segment, which proves who it is, is not here.
    SynReceived,
    /// The third segment has left; it is repeated until there is a sign that it has arrived, since nothing else would
    /// (RFC 8684 §3.1 and §3.2). `peer` is the nonce of a subflow that joins.
    PreEstablished {
        peer: Nonce,
        again: Option<Instant>,
        times: u32,
    },
    /// Both ends know.
    Established,
}

impl Subflow {
    pub(super) fn new(tuple: FourTuple, tcb: ControlBlock, role: Role) -> Self {
        Self {
            tuple,
            tcb,
            role,
            stage: match role {
                Role::CapableInitiator | Role::JoinInitiator { .. } => Stage::SynSent,
                Role::CapableResponder | Role::JoinResponder { .. } => Stage::SynReceived,
            },
            local_id: AddressId(0),
            remote_id: AddressId(0),
            mappings: Mappings::new(),
            tells_end: false,
            pending_options: VecDeque::new(),
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
    pub(super) fn can_carry_data(&self) -> bool {
        let confirmed = match self.stage {
            Stage::Established => true,
            // The first data carries what has to be confirmed; a subflow that joins has to wait (RFC 8684 §3.2).
            Stage::PreEstablished { .. } => self.role == Role::CapableInitiator,
            Stage::SynSent | Stage::SynReceived => false,
        };
        confirmed && !self.closing && self.paused_until.is_none() && self.tcb.state().sends_data()
    }

    /// Whether acknowledgements leave on it.
    pub(super) fn can_acknowledge(&self) -> bool {
        self.tcb.state().is_synchronized()
    }

    /// The position of a number of the subflow, counted from its SYN; `None` for one before it.
    pub(super) fn position(&self, number: u32) -> Option<Position> {
        let expected = self.tcb.expected();
        let ahead = number.wrapping_sub(expected as u32).cast_signed();
        expected.checked_add_signed(ahead.into())
    }

    /// Where the mapping begins that `segment` has for its payload.
    pub(super) fn mapped_at(&self, segment: &Segment<'_>) -> Option<Position> {
        match &segment.options.mptcp.primary {
            Some(PrimaryOption::Dss(Dss {
                mapping: Some(mapping),
                ..
            })) if mapping.payload() > 0 => self.position(mapping.ssn),
            _ => None,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.tcb.state() == State::Closed
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let again = match self.stage {
            Stage::PreEstablished { again, .. } if !self.is_closed() => again,
            _ => None,
        };
        let moments = [self.tcb.deadline(), again, self.paused_until];
        moments.into_iter().flatten().min()
    }

    /// Ends the subflow here and now; the peer is told why, if it knows of the subflow.
    pub(super) fn abort(&mut self, why: MptcpOption) {
        let is_known = match self.tcb.state() {
            // It has answered, or we would not know what is wrong.
            State::SynSent => matches!(why, MptcpOption::Reset { .. }),
            State::TimeWait | State::Closed => false,
            _ => true,
        };
        if is_known {
            self.reset = Some(why);
        }
        self.tcb.forget();
    }
}

//! Subflow: a control block and its state in the MPTCP connection.

use alloc::collections::VecDeque;

use anabranch_types::Instant;

use super::mappings::Mappings;
use crate::endpoint::FourTuple;
use crate::sequence::Position;
use crate::tcb::{ControlBlock, State};
use crate::wire::{AddressId, Dss, MptcpOption, Nonce, PrimaryOption, Segment};

/// A subflow and its state in the connection.
#[derive(Debug)]
pub(super) struct Subflow {
    pub(super) tuple: FourTuple,
    pub(super) tcb: ControlBlock,
    pub(super) role: Role,
    pub(super) stage: Stage,
    /// Its address IDs at both ends.
    pub(super) local_id: AddressId,
    pub(super) remote_id: AddressId,
    pub(super) mappings: Mappings,
    /// The next acknowledgement carries DATA_FIN.
    pub(super) tells_end: bool,
    /// Notices to be sent with acknowledgements.
    pub(super) pending_options: VecDeque<MptcpOption>,
    /// A reset with this reason is to be sent at once.
    pub(super) reset: Option<MptcpOption>,
    /// No new data is sent, and the subflow closes as soon as possible.
    pub(super) closing: bool,
    /// Backup subflow, as requested by one of the ends.
    pub(super) backup: bool,
    /// Data before this position was already considered for duplication onto this subflow.
    pub(super) duplicated_before: Position,
    pub(super) duplicates: u64,
    pub(super) duplicated_bytes: u64,
    /// Sends nothing until this time, because it has blocked the buffers.
    pub(super) paused_until: Option<Instant>,
    /// Its end was reported, and its addresses may belong to another subflow.
    pub(super) gone: bool,
    /// Bytes sent on it that other subflows had carried before.
    pub(super) reinjected_bytes: u64,
    pub(super) reinjections: u64,
}

/// Origin of a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Initial subflow, opened by this end (MP_CAPABLE).
    CapableInitiator,
    /// Initial subflow, opened by the peer (MP_CAPABLE).
    CapableResponder,
    /// Further subflow, opened by this end (MP_JOIN).
    JoinInitiator { own: Nonce },
    /// Further subflow, opened by the peer (MP_JOIN).
    JoinResponder { own: Nonce, peer: Nonce },
}

/// Handshake state of a subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Our SYN is not answered yet.
    SynSent,
    /// The SYN-ACK was sent; the third segment, which authenticates the peer, has not arrived.
    SynReceived,
    /// The third segment was sent. It is repeated until there is evidence of its arrival, since nothing else would repeat it (RFC
    /// 8684 §3.1 and §3.2). `peer` is the nonce of a subflow that joins.
    PreEstablished {
        peer: Nonce,
        again: Option<Instant>,
        times: u32,
    },
    /// Established at both ends.
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

    /// Whether data may be sent on it.
    pub(super) fn can_carry_data(&self) -> bool {
        let confirmed = match self.stage {
            Stage::Established => true,
            // The first data carries the options to be confirmed; a subflow that joins has to wait (RFC 8684 §3.2).
            Stage::PreEstablished { .. } => self.role == Role::CapableInitiator,
            Stage::SynSent | Stage::SynReceived => false,
        };
        confirmed && !self.closing && self.paused_until.is_none() && self.tcb.state().sends_data()
    }

    /// Whether it sends acknowledgements.
    pub(super) fn can_acknowledge(&self) -> bool {
        self.tcb.state().is_synchronized()
    }

    /// The position of a sequence number of the subflow, counted from its SYN; `None` for one before the SYN.
    pub(super) fn position(&self, number: u32) -> Option<Position> {
        let expected = self.tcb.expected();
        let ahead = number.wrapping_sub(expected as u32).cast_signed();
        expected.checked_add_signed(ahead.into())
    }

    /// Subflow position of the start of the mapping that `segment` has for its payload.
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

    /// Aborts the subflow; the peer receives a reset if it knows the subflow.
    pub(super) fn abort(&mut self, why: MptcpOption) {
        let is_known = match self.tcb.state() {
            // The peer has answered, otherwise the error could not have been detected.
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

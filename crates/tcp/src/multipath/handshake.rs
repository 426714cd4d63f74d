//! Who may open a connection, and who may join it? The handshakes of MP_CAPABLE and MP_JOIN (RFC 8684 §3.1 and §3.2).

use super::lane::{Lane, Role, Stage};
use super::origin::DataOrigin;
use crate::wire::{Capable, CapableForm, Join, JoinCode, Key, Kind, Lead, NrSackForm, ResetReason, Segment};

/// What the two ends drew, and what they agreed on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) own: Key,
    pub(super) peer: Option<Key>,
    /// Data carries checksums.
    pub(super) checksum: bool,
    /// What is offered, and after the handshake what was agreed on.
    pub(super) nr_sack: Option<NrSackForm>,
}

/// What becomes of a segment because of its options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Admission {
    /// The flow may look at it.
    Admitted,
    /// It is as if it had been lost.
    Ignored,
    /// The flow ends: this is not the peer, or it does not do what it should.
    Refused(ResetReason),
}

impl Terms {
    pub(super) fn origin(&self) -> DataOrigin {
        DataOrigin::of(self.own)
    }

    /// Whether a segment may belong to a flow of this connection. Changes nothing.
    ///
    /// Whoever forges a segment must know a number of the flow before it can end it.
    pub(super) fn admit(&self, lane: &Lane, segment: &Segment<'_>) -> Admission {
        if segment.kind == Kind::Reset {
            return Admission::Admitted;
        }
        let verdict = match lane.stage {
            Stage::Asking => self.judge_answer(lane, segment),
            Stage::Answering => self.judge_proof(lane, segment),
            Stage::Confirming { .. } | Stage::Open => return Admission::Admitted,
        };
        match verdict {
            Admission::Refused(_) if !lane.flow.is_answered_by(segment) => Admission::Ignored,
            verdict => verdict,
        }
    }

    /// Is this the answer to our SYN?
    fn judge_answer(&self, lane: &Lane, segment: &Segment<'_>) -> Admission {
        if segment.kind != Kind::Syn {
            return Admission::Admitted;
        }
        match (lane.role, &segment.options.multipath.lead) {
            // Both ends have connected to each other at once: then each is asked, and nobody answers.
            _ if segment.acknowledgement.is_none() => Admission::Ignored,
            (Role::Opens, Some(Lead::Capable(_))) => Admission::Admitted,
            (Role::Joins { own }, Some(Lead::Join(Join::SynAck { code, nonce, .. }))) => {
                let peers = self.peer.map(|peer| JoinCode::new(peer, self.own, *nonce, own));
                match peers.is_some_and(|peers| peers.is(code)) {
                    true => Admission::Admitted,
                    false => Admission::Refused(ResetReason::PROTOCOL),
                }
            }
            _ => Admission::Refused(ResetReason::MIDDLEBOX),
        }
    }

    /// Is this the third segment, which proves whose flow it is?
    fn judge_proof(&self, lane: &Lane, segment: &Segment<'_>) -> Admission {
        if segment.kind == Kind::Syn {
            return Admission::Admitted;
        }
        match (lane.role, &segment.options.multipath.lead) {
            (Role::Opened, Some(Lead::Capable(capable))) => match capable.form {
                CapableForm::Ack { receiver, .. } if receiver == self.own => Admission::Admitted,
                _ => Admission::Refused(ResetReason::PROTOCOL),
            },
            (Role::Joined { own, peer }, Some(Lead::Join(Join::Ack { code }))) => {
                match self.peer.map(|key| JoinCode::new(key, self.own, peer, own)) {
                    Some(peers) if peers.is(code) => Admission::Admitted,
                    _ => Admission::Refused(ResetReason::PROTOCOL),
                }
            }
            // Data has overtaken the third segment.
            (_, Some(Lead::Data(_))) => Admission::Ignored,
            _ => Admission::Refused(ResetReason::MIDDLEBOX),
        }
    }

    /// The peer's SYN, its answer or the third segment tells what it wants.
    pub(super) fn learn(&mut self, capable: &Capable) {
        self.checksum |= capable.checksum;
        match capable.form {
            CapableForm::Syn => self.nr_sack = NrSackForm::agreed(self.nr_sack, capable.nr_sack),
            CapableForm::SynAck(key) => {
                self.nr_sack = NrSackForm::agreed(self.nr_sack, capable.nr_sack);
                self.peer = Some(key);
            }
            CapableForm::Ack { sender, .. } => {
                self.nr_sack = capable.nr_sack.and(self.nr_sack);
                self.peer = Some(sender);
            }
        }
    }

    /// What a SYN or SYN-ACK of `lane` says.
    pub(super) fn syn_lead(&self, lane: &Lane) -> Option<Lead> {
        Some(match lane.role {
            Role::Opens => self.capable(CapableForm::Syn),
            Role::Opened => self.capable(CapableForm::SynAck(self.own)),
            Role::Joins { own } => Lead::Join(Join::Syn {
                backup: lane.backup,
                address: lane.local_id,
                token: self.peer?.token(),
                nonce: own,
            }),
            Role::Joined { own, peer } => Lead::Join(Join::SynAck {
                backup: lane.backup,
                address: lane.local_id,
                code: JoinCode::new(self.own, self.peer?, own, peer).short(),
                nonce: own,
            }),
        })
    }

    /// What the third segment of `lane` says.
    pub(super) fn proof(&self, lane: &Lane) -> Option<Lead> {
        let receiver = self.peer?;
        Some(match (lane.role, lane.stage) {
            (Role::Joins { own }, Stage::Confirming { peer, .. }) => Lead::Join(Join::Ack {
                code: JoinCode::new(self.own, receiver, own, peer).long(),
            }),
            _ => self.capable(CapableForm::Ack {
                sender: self.own,
                receiver,
                data: None,
            }),
        })
    }

    pub(super) fn capable(&self, form: CapableForm) -> Lead {
        Lead::Capable(Capable {
            checksum: self.checksum,
            one_flow_here: false,
            nr_sack: self.nr_sack,
            form,
        })
    }
}

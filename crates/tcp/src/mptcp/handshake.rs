//! Handshakes of MP_CAPABLE and MP_JOIN (RFC 8684 §3.1 and §3.2).

use super::initial_dsn::InitialDsn;
use super::subflow::{Role, Stage, Subflow};
use crate::wire::{
    JoinCode, Key, Kind, MpCapable, MpCapableForm, MpJoin, NrSackForm, PrimaryOption, ResetReason, Segment,
};

/// Keys of the two ends and negotiated options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    pub(super) own: Key,
    pub(super) peer: Option<Key>,
    /// DSS checksums are used.
    pub(super) checksum: bool,
    /// The NR-SACK form offered, and after the handshake the one negotiated.
    pub(super) nr_sack: Option<NrSackForm>,
}

/// Verdict on a segment after its MPTCP options were checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Admission {
    /// The subflow may process it.
    Admitted,
    /// It is dropped.
    Ignored,
    /// The subflow ends: the sender is not the peer, or violates the protocol.
    Refused(ResetReason),
}

impl Handshake {
    pub(super) fn idsn(&self) -> InitialDsn {
        InitialDsn::of(self.own)
    }

    /// Checks whether a segment may belong to a subflow of this connection. Changes nothing.
    ///
    /// An attacker that forges a segment must know a sequence number of the subflow before it can end it.
    pub(super) fn admit(&self, subflow: &Subflow, segment: &Segment<'_>) -> Admission {
        if segment.kind == Kind::Reset {
            return Admission::Admitted;
        }
        let verdict = match subflow.stage {
            Stage::SynSent => self.judge_answer(subflow, segment),
            Stage::SynReceived => self.judge_proof(subflow, segment),
            Stage::PreEstablished { .. } | Stage::Established => return Admission::Admitted,
        };
        match verdict {
            Admission::Refused(_) if !subflow.tcb.is_answered_by(segment) => Admission::Ignored,
            verdict => verdict,
        }
    }

    /// Checks the SYN-ACK for our SYN.
    fn judge_answer(&self, subflow: &Subflow, segment: &Segment<'_>) -> Admission {
        if segment.kind != Kind::Syn {
            return Admission::Admitted;
        }
        match (subflow.role, &segment.options.mptcp.primary) {
            // Simultaneous open: both ends have sent a SYN with MP_CAPABLE, so neither acts as the responder.
            _ if segment.acknowledgement.is_none() => Admission::Ignored,
            (Role::CapableInitiator, Some(PrimaryOption::MpCapable(_))) => Admission::Admitted,
            (
                Role::JoinInitiator { own },
                Some(PrimaryOption::MpJoin(MpJoin::SynAck { code, nonce, .. })),
            ) => {
                let peers = self.peer.map(|peer| JoinCode::new(peer, self.own, *nonce, own));
                match peers.is_some_and(|peers| peers.is(code)) {
                    true => Admission::Admitted,
                    false => Admission::Refused(ResetReason::PROTOCOL),
                }
            }
            _ => Admission::Refused(ResetReason::MIDDLEBOX),
        }
    }

    /// Checks the third segment, which authenticates the peer.
    fn judge_proof(&self, subflow: &Subflow, segment: &Segment<'_>) -> Admission {
        if segment.kind == Kind::Syn {
            return Admission::Admitted;
        }
        match (subflow.role, &segment.options.mptcp.primary) {
            (Role::CapableResponder, Some(PrimaryOption::MpCapable(capable))) => match capable.form {
                MpCapableForm::Ack { receiver, .. } if receiver == self.own => Admission::Admitted,
                _ => Admission::Refused(ResetReason::PROTOCOL),
            },
            (Role::JoinResponder { own, peer }, Some(PrimaryOption::MpJoin(MpJoin::Ack { code }))) => {
                match self.peer.map(|key| JoinCode::new(key, self.own, peer, own)) {
                    Some(peers) if peers.is(code) => Admission::Admitted,
                    _ => Admission::Refused(ResetReason::PROTOCOL),
                }
            }
            // Data was received before the third segment.
            (_, Some(PrimaryOption::Dss(_))) => Admission::Ignored,
            _ => Admission::Refused(ResetReason::MIDDLEBOX),
        }
    }

    /// Processes the handshake options of the peer's SYN, SYN-ACK or third segment.
    pub(super) fn learn(&mut self, capable: &MpCapable) {
        self.checksum |= capable.checksum;
        match capable.form {
            MpCapableForm::Syn => self.nr_sack = NrSackForm::agreed(self.nr_sack, capable.nr_sack),
            MpCapableForm::SynAck(key) => {
                self.nr_sack = NrSackForm::agreed(self.nr_sack, capable.nr_sack);
                self.peer = Some(key);
            }
            MpCapableForm::Ack { sender, .. } => {
                self.nr_sack = capable.nr_sack.and(self.nr_sack);
                self.peer = Some(sender);
            }
        }
    }

    /// Processes the options of a SYN or SYN-ACK of `subflow`.
    pub(super) fn syn_option(&self, subflow: &Subflow) -> Option<PrimaryOption> {
        Some(match subflow.role {
            Role::CapableInitiator => self.capable(MpCapableForm::Syn),
            Role::CapableResponder => self.capable(MpCapableForm::SynAck(self.own)),
            Role::JoinInitiator { own } => PrimaryOption::MpJoin(MpJoin::Syn {
                backup: subflow.backup,
                address: subflow.local_id,
                token: self.peer?.token(),
                nonce: own,
            }),
            Role::JoinResponder { own, peer } => PrimaryOption::MpJoin(MpJoin::SynAck {
                backup: subflow.backup,
                address: subflow.local_id,
                code: JoinCode::new(self.own, self.peer?, own, peer).short(),
                nonce: own,
            }),
        })
    }

    /// Processes the options of the third segment of `subflow`.
    pub(super) fn proof(&self, subflow: &Subflow) -> Option<PrimaryOption> {
        let receiver = self.peer?;
        Some(match (subflow.role, subflow.stage) {
            (Role::JoinInitiator { own }, Stage::PreEstablished { peer, .. }) => {
                PrimaryOption::MpJoin(MpJoin::Ack {
                    code: JoinCode::new(self.own, receiver, own, peer).long(),
                })
            }
            _ => self.capable(MpCapableForm::Ack {
                sender: self.own,
                receiver,
                data: None,
            }),
        })
    }

    pub(super) fn capable(&self, form: MpCapableForm) -> PrimaryOption {
        PrimaryOption::MpCapable(MpCapable {
            checksum: self.checksum,
            no_joins_to_this_address: false,
            nr_sack: self.nr_sack,
            form,
        })
    }
}

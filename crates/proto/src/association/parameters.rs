//! Protocol parameters: what can the application change while an association runs?

use alloc::sync::Arc;

use anabranch_policy::catalog::{AckChoice, BurstChoice, FailoverChoice, PolicyChoice as _, RtoChoice};
use anabranch_policy::options::RtoParameters;

use super::Association;
use crate::config::AssociationConfig;
use crate::endpoint::AssociationMut;
use crate::transfer::Transfer;

/// Protocol parameters that may change while an association runs (SETPROTOCOLPARAMETERS, RFC 9260 §11.1.13). They apply to all paths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProtocolParameters {
    /// Bounds of the RTO (`SCTP_RTOINFO`).
    pub rto: RtoParameters,
    /// Association.Max.Retrans (`SCTP_ASSOCINFO`).
    pub max_retransmits: u16,
    /// Path.Max.Retrans, HB.interval and the threshold of potentially failed paths (`SCTP_PEER_ADDR_PARAMS`, `SCTP_PEER_ADDR_THLDS`).
    pub failover: FailoverChoice,
    /// When SACKs are sent (`SCTP_DELAYED_SACK`).
    pub ack: AckChoice,
    /// How many packets may be sent at once (`SCTP_MAX_BURST`).
    pub burst: BurstChoice,
}

impl ProtocolParameters {
    /// Those of a configuration.
    #[must_use]
    pub const fn of(config: &AssociationConfig) -> Self {
        Self {
            rto: config.rto(),
            max_retransmits: config.max_retransmits,
            failover: config.policies.failover,
            ack: config.policies.ack,
            burst: config.policies.burst,
        }
    }
}

impl Association {
    /// The protocol parameters in use.
    #[must_use]
    pub fn protocol_parameters(&self) -> ProtocolParameters {
        ProtocolParameters::of(&self.config)
    }
}

impl AssociationMut<'_> {
    /// Changes protocol parameters. Timers that run keep their time: a new heartbeat interval holds after the next heartbeat, new
    /// bounds of the RTO for the next timeout. A policy whose choice changes is replaced, one of
    /// [`AssociationConfig::own_policies`] too.
    pub fn set_protocol_parameters(&mut self, parameters: &ProtocolParameters) {
        let Association { config, transfer, .. } = &mut **self;
        if *parameters != ProtocolParameters::of(config) {
            change(config, transfer, parameters);
        }
    }
}

fn change(config: &mut Arc<AssociationConfig>, transfer: &mut Transfer, parameters: &ProtocolParameters) {
    let before = ProtocolParameters::of(config);
    let mut changed = AssociationConfig::clone(config);
    changed.policies.rto = RtoChoice::Rfc9260(parameters.rto);
    changed.max_retransmits = parameters.max_retransmits;
    changed.policies.failover = parameters.failover;
    changed.policies.ack = parameters.ack;
    changed.policies.burst = parameters.burst;
    *config = Arc::new(changed);
    let policies = &mut transfer.policies;
    if parameters.failover != before.failover {
        policies.failover = parameters.failover.build();
    }
    if parameters.ack != before.ack {
        policies.ack = parameters.ack.build();
    }
    // A congestion control that measures rates needs pacing.
    if parameters.burst != before.burst && !policies.congestion.may_measure_rates() {
        policies.burst = parameters.burst.build();
    }
    transfer.configure(Arc::clone(config));
}

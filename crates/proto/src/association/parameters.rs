//! Protocol parameters: what can the application change while an association runs?

use alloc::sync::Arc;
use core::net::IpAddr;

use anabranch_policy::catalog::{
    AckChoice, BurstChoice, FailoverChoice, PolicyChoice as _, RtoChoice, StreamSchedulerChoice,
};
use anabranch_policy::options::RtoParameters;

use super::Association;
use crate::config::AssociationConfig;
use crate::endpoint::AssociationMut;
use crate::path::PathPreference;
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
    /// Which stream sends next (`SCTP_STREAM_SCHEDULER`).
    pub stream_scheduler: StreamSchedulerChoice,
    /// [`AssociationConfig::max_fragment`] (`SCTP_MAXSEG`).
    pub max_fragment: Option<u16>,
    /// [`AssociationConfig::partial_delivery_point`] (`SCTP_PARTIAL_DELIVERY_POINT`).
    pub partial_delivery_point: usize,
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
            stream_scheduler: config.policies.stream_scheduler,
            max_fragment: config.max_fragment,
            partial_delivery_point: config.partial_delivery_point,
        }
    }

    /// Whether a configuration becomes another one by these parameters alone.
    #[must_use]
    pub fn explain(&self, before: &AssociationConfig, after: &AssociationConfig) -> bool {
        let mut changed = before.clone();
        self.apply(&mut changed);
        changed == *after
    }

    fn apply(&self, config: &mut AssociationConfig) {
        config.policies.rto = RtoChoice::Rfc9260(self.rto);
        config.max_retransmits = self.max_retransmits;
        config.policies.failover = self.failover;
        config.policies.ack = self.ack;
        config.policies.burst = self.burst;
        config.policies.stream_scheduler = self.stream_scheduler;
        config.max_fragment = self.max_fragment;
        config.partial_delivery_point = self.partial_delivery_point;
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
    /// bounds of the RTO for the next timeout. Queued messages are sent by the new stream scheduler, in new fragments; what was sent is not
    /// cut anew. A message of which parts arrived is delivered by the new point from its next part on. A policy whose choice changes is replaced, one of
    /// [`AssociationConfig::own_policies`] too.
    pub fn set_protocol_parameters(&mut self, parameters: &ProtocolParameters) {
        let Association { config, transfer, .. } = &mut **self;
        if *parameters != ProtocolParameters::of(config) {
            change(config, transfer, parameters);
        }
    }
}

impl AssociationMut<'_> {
    /// Sets how paths from `local` are to be used, also those that do not exist yet, and tells the peer
    /// ([`AssociationConfig::path_preferences`]).
    pub fn set_path_preference(&mut self, local: IpAddr, preference: PathPreference) {
        let Association { config, transfer, .. } = &mut **self;
        let mut changed = AssociationConfig::clone(config);
        changed.path_preferences.retain(|(known, _)| *known != local);
        changed.path_preferences.push((local, preference));
        *config = Arc::new(changed);
        transfer.configure(Arc::clone(config));
        transfer.apply_preferences();
    }
}

fn change(config: &mut Arc<AssociationConfig>, transfer: &mut Transfer, parameters: &ProtocolParameters) {
    let before = ProtocolParameters::of(config);
    let mut changed = AssociationConfig::clone(config);
    parameters.apply(&mut changed);
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
    if parameters.stream_scheduler != before.stream_scheduler {
        policies.stream_scheduler = parameters.stream_scheduler.build();
        transfer.sender.tell_ready(&mut *policies.stream_scheduler);
    }
    if parameters.partial_delivery_point != before.partial_delivery_point {
        let whole = config.longest_whole();
        let size = transfer.receiver.size_for_config(config.receive_buffer);
        transfer.receiver.resize(size, config.max_message, whole);
    }
    transfer.configure(Arc::clone(config));
}

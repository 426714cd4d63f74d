//! Settings of a socket, which associations to come take over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anabranch::policy::catalog::{BurstChoice, FailoverChoice, RtoChoice};
use anabranch::policy::options::RtoParameters;
use anabranch::{AssociationConfig, BufferSize, PolicyRecipe};

use crate::encryption::Encryption;
use crate::environment::Environment;
use crate::errno::Errno;
use crate::layout::{Build, EVENTS, Fields, Info, SN_TYPE_BASE};

/// `struct sctp_initmsg`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Init([u16; 4]);

impl Init {
    /// # Errors
    ///
    /// `EINVAL` if too short.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Errno> {
        let mut fields = Fields::new(bytes);
        let mut all = [0; 4];
        for field in &mut all {
            *field = fields.u16()?;
        }
        Ok(Self(all))
    }

    /// A value of 0 leaves a field as it is.
    pub(crate) fn replace(&mut self, new: Self) {
        for (field, value) in self.0.iter_mut().zip(new.0) {
            if value != 0 {
                *field = value;
            }
        }
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0.map(u16::to_ne_bytes).concat()
    }
}

/// Parameters of paths (`SCTP_PEER_ADDR_PARAMS`, `SCTP_PEER_ADDR_THLDS`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PathSettings {
    pub(crate) has_heartbeats: bool,
    /// Milliseconds.
    pub(crate) heartbeat_interval: u32,
    pub(crate) max_retransmissions: u16,
    pub(crate) pf_threshold: u16,
    /// Bytes of packets if path MTU discovery is off.
    pub(crate) fixed_mtu: Option<u16>,
}

impl PathSettings {
    /// Those of a failover policy.
    fn of(failover: &FailoverChoice) -> Self {
        let (limits, pf_threshold) = match failover {
            FailoverChoice::Rfc9260(limits) => (limits, 0),
            FailoverChoice::PotentiallyFailed(parameters) => {
                (&parameters.limits, parameters.unsuspicious_errors)
            }
            FailoverChoice::FastFailover(parameters) => {
                (&parameters.errors.limits, parameters.errors.unsuspicious_errors)
            }
        };
        Self {
            has_heartbeats: true,
            heartbeat_interval: milliseconds(limits.heartbeat_interval),
            max_retransmissions: limits.max_retransmissions,
            pf_threshold,
            fixed_mtu: None,
        }
    }
}

/// SACK.Delay in milliseconds and packets, if the program has not set them.
pub(super) const SACK: (u32, u32) = (200, 2);

/// The policies that the environment selects. Sockets exist only in a valid environment.
fn selected_policies() -> PolicyRecipe {
    Environment::current().map_or_else(|_| PolicyRecipe::default(), |environment| environment.policies)
}

/// Options of a socket, which its associations take over when they are set up.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The policies that the environment selects, or the program by `SCTP_ANABRANCH_POLICIES`. Other options change what they select.
    base: PolicyRecipe,
    pub(crate) only_v6: bool,
    /// `l_onoff` and `l_linger`.
    pub(crate) linger: (u32, u32),
    pub(crate) init: Init,
    pub(super) nodelay: u32,
    pub(super) maxseg: u32,
    pub(crate) mapped_v4: u32,
    pub(super) events: [u8; EVENTS],
    pub(crate) receives_rcvinfo: bool,
    pub(crate) receives_nxtinfo: bool,
    /// Defaults of messages.
    pub(crate) send: Info,
    /// `SCTP_DEFAULT_PRINFO`: policy and value.
    pub(crate) reliability: (u16, u32),
    /// Received messages have it.
    pub(crate) context: u32,
    pub(crate) send_buffer: u32,
    pub(super) receive_buffer: u32,
    pub(super) rto: RtoParameters,
    pub(super) max_retransmissions: u16,
    pub(crate) cookie_life: Duration,
    /// Seconds; 0 for never.
    pub(crate) autoclose: u32,
    pub(super) adaptation: Option<u32>,
    pub(crate) disable_fragments: bool,
    /// `SCTP_FRAGMENT_INTERLEAVE`.
    pub(crate) interleave: u32,
    pub(super) partial_delivery_point: Option<u32>,
    /// `SCTP_MAX_BURST`; 0 for no limit.
    max_burst: Option<u32>,
    /// Milliseconds and packets.
    pub(super) sack: Option<(u32, u32)>,
    pub(super) path: PathSettings,
    pub(crate) exposes_pf: bool,
    pub(crate) peer_udp_port: Option<u16>,
    pub(super) authenticated_chunks: Vec<u8>,
    /// Shared keys by number.
    pub(crate) keys: BTreeMap<u16, Vec<u8>>,
    pub(crate) active_key: u16,
    /// Those that no new message uses (`SCTP_AUTH_DEACTIVATE_KEY`).
    pub(crate) deactivated_keys: BTreeSet<u16>,
    pub(super) partial_reliability: bool,
    pub(super) reconfiguration: bool,
    /// `SCTP_ENABLE_STREAM_RESET`.
    pub(super) enabled_resets: u32,
    pub(super) scheduler: Option<&'static str>,
    pub(super) interleaving: bool,
    pub(super) changes_addresses: bool,
    /// `SCTP_AUTO_ASCONF`.
    pub(super) auto_asconf: bool,
    pub(super) ecn: bool,
    /// `None` in the clear.
    pub(crate) encryption: Option<Arc<Encryption>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self::of(selected_policies())
    }
}

impl Settings {
    fn of(policies: PolicyRecipe) -> Self {
        let RtoChoice::Rfc9260(rto) = policies.rto;
        let selected = policies.assignments();
        let is_on = |name: &str| selected.iter().any(|(key, value)| key == name && value == "on");
        Self {
            base: policies,
            only_v6: false,
            linger: (0, 0),
            init: Init([10, u16::MAX, 8, 60_000]),
            nodelay: 0,
            maxseg: 0,
            mapped_v4: 1,
            events: [0; EVENTS],
            receives_rcvinfo: false,
            receives_nxtinfo: false,
            send: Info::default(),
            reliability: (0, 0),
            context: 0,
            send_buffer: 4 << 20,
            receive_buffer: 4 << 20,
            rto,
            max_retransmissions: 10,
            cookie_life: Duration::from_secs(60),
            autoclose: 0,
            adaptation: None,
            disable_fragments: false,
            interleave: 1,
            partial_delivery_point: None,
            max_burst: None,
            sack: None,
            path: PathSettings::of(&policies.failover),
            exposes_pf: true,
            peer_udp_port: None,
            authenticated_chunks: Vec::new(),
            keys: BTreeMap::new(),
            active_key: 0,
            deactivated_keys: BTreeSet::new(),
            partial_reliability: true,
            reconfiguration: true,
            enabled_resets: 7,
            scheduler: None,
            interleaving: is_on("interleaving"),
            changes_addresses: is_on("add-ip"),
            auto_asconf: false,
            ecn: is_on("ecn"),
            encryption: Environment::current().map_or(None, |environment| environment.encryption.clone()),
        }
    }

    /// Changes policies by assignments such as `cc=lia`, separated by white space; `profile=NAME` replaces all. What other options have
    /// changed stays.
    ///
    /// # Errors
    ///
    /// `EINVAL` for what the catalogue of policies does not have.
    pub(super) fn set_policies(&mut self, assignments: &str) -> Result<(), Errno> {
        let invalid = |_| Errno(libc::EINVAL);
        let mut policies = self.base;
        for assignment in assignments.split_whitespace() {
            let (key, value) = assignment.split_once('=').ok_or(Errno(libc::EINVAL))?;
            if key == "profile" {
                policies = PolicyRecipe::profile(value).map_err(invalid)?;
            } else {
                policies.set(key, value).map_err(invalid)?;
            }
        }
        let (before, after) = (Self::of(self.base), Self::of(policies));
        self.base = policies;
        replace(&mut self.rto, before.rto, after.rto);
        replace(&mut self.path, before.path, after.path);
        replace(&mut self.interleaving, before.interleaving, after.interleaving);
        replace(
            &mut self.changes_addresses,
            before.changes_addresses,
            after.changes_addresses,
        );
        replace(&mut self.ecn, before.ecn, after.ecn);
        Ok(())
    }

    /// The policies of associations to come, as assignments.
    pub(super) fn policy_assignments(&self) -> String {
        let all = self.policies().assignments();
        let all: Vec<String> = all.iter().map(|(key, value)| format!("{key}={value}")).collect();
        all.join(" ")
    }
    /// Whether the program wants notifications of this type.
    pub(crate) fn subscribes(&self, kind: u16) -> bool {
        self.events[usize::from(kind - SN_TYPE_BASE)] != 0
    }

    /// Whether paths that are confirmed get heartbeats (`SPP_HB_DISABLE`).
    pub(crate) const fn has_heartbeats(&self) -> bool {
        self.path.has_heartbeats
    }

    pub(crate) const fn receive_buffer(&self) -> u32 {
        self.receive_buffer
    }

    /// Whether received messages come with `struct sctp_sndrcvinfo`.
    pub(crate) const fn receives_sndrcvinfo(&self) -> bool {
        self.events[0] != 0
    }

    pub(crate) fn association_config(&self) -> AssociationConfig {
        let Init([outbound, inbound, attempts, _]) = self.init;
        let default = AssociationConfig::default();
        let mtu = self.path.fixed_mtu.unwrap_or(default.mtu);
        let partial_delivery_point = self
            .partial_delivery_point
            .map_or(default.partial_delivery_point, |bytes| bytes as usize);
        AssociationConfig {
            outbound_streams: outbound,
            max_inbound_streams: inbound,
            max_init_retransmits: attempts,
            max_retransmits: self.max_retransmissions,
            send_buffer: BufferSize::Fixed(self.send_buffer.into()),
            receive_buffer: BufferSize::Fixed(self.receive_buffer.into()),
            partial_delivery_point,
            max_fragment: self.max_fragment(),
            partial_reliability: self.partial_reliability,
            reconfiguration: self.reconfiguration,
            adaptation_layer: self.adaptation,
            authentication_key: self.keys.get(&0).cloned().unwrap_or_default(),
            authenticated_chunks: self.authenticated_chunks.clone(),
            mtu: mtu.min(default.mtu),
            policies: self.policies(),
            ..default
        }
    }

    /// The most bytes of a message in one chunk (`SCTP_MAXSEG`).
    pub(crate) fn max_fragment(&self) -> Option<u16> {
        let bytes = u16::try_from(self.maxseg).unwrap_or(u16::MAX);
        (bytes != 0).then_some(bytes)
    }

    /// # Errors
    ///
    /// `EINVAL` for what Linux refuses: fragments that are smaller than in packets of 512 bytes, or do not fit into a chunk.
    pub(super) fn set_maxseg(&mut self, bytes: u32) -> Result<(), Errno> {
        let least = 512 - 20 - 12 - 16;
        if bytes != 0 && !(least..=u32::from(u16::MAX) - 16).contains(&bytes) {
            return Err(Errno(libc::EINVAL));
        }
        self.maxseg = bytes;
        Ok(())
    }

    /// The policies that the environment selects, changed by what the program has set.
    fn policies(&self) -> PolicyRecipe {
        let mut recipe = PolicyRecipe {
            rto: RtoChoice::Rfc9260(self.rto),
            ..self.base
        };
        let on = |is_on| if is_on { "on" } else { "off" };
        let mut wanted = vec![
            ("interleaving", on(self.interleaving).to_owned()),
            ("add-ip", on(self.changes_addresses).to_owned()),
            ("ecn", on(self.ecn).to_owned()),
        ];
        let (path, new) = (self.path, PathSettings::of(&recipe.failover));
        if path.max_retransmissions != new.max_retransmissions {
            wanted.push(("failover.max-retrans", path.max_retransmissions.to_string()));
        }
        if path.pf_threshold != new.pf_threshold {
            wanted.push(("failover.pfmr", path.pf_threshold.to_string()));
        }
        if path.heartbeat_interval != new.heartbeat_interval {
            wanted.push(("failover.heartbeat", format!("{}ms", path.heartbeat_interval)));
        }
        match self.max_burst {
            None => {}
            Some(0) => wanted.push(("burst", "unlimited".to_owned())),
            Some(packets) => {
                wanted.push(("burst", "max-burst".to_owned()));
                wanted.push(("burst.packets", packets.to_string()));
            }
        }
        if let Some((delay, packets)) = self.sack {
            wanted.push(("ack-policy.delay", format!("{delay}ms")));
            wanted.push(("ack-policy.packets", packets.to_string()));
        }
        if let Some(scheduler) = self.scheduler {
            wanted.push(("stream-scheduler", scheduler.to_owned()));
        }
        if self.path.fixed_mtu.is_some() {
            wanted.push(("pmtu", "fixed".to_owned()));
        }
        for (key, value) in wanted {
            // All values were checked when they were set.
            let _ = recipe.set(key, &value);
        }
        recipe
    }

    /// Packets that may be sent at once; 0 without such a limit, also if packets are paced instead.
    pub(super) fn max_burst(&self) -> u32 {
        let limit = |policies: &PolicyRecipe| match &policies.burst {
            BurstChoice::MaxBurst(limit) | BurstChoice::WindowLimiting(limit) => limit.packets.into(),
            BurstChoice::Unlimited(_) | BurstChoice::Paced(_) => 0,
        };
        self.max_burst.unwrap_or_else(|| limit(&self.base))
    }

    pub(super) fn set_max_burst(&mut self, packets: u32) -> Result<(), Errno> {
        let mut recipe = PolicyRecipe::default();
        let is_valid = packets == 0
            || recipe.set("burst", "max-burst").is_ok()
                && recipe.set("burst.packets", &packets.to_string()).is_ok();
        if !is_valid {
            return Err(Errno(libc::EINVAL));
        }
        self.max_burst = Some(packets);
        Ok(())
    }

    /// `struct sctp_event_subscribe`, or as much of it as has `length` bytes.
    pub(super) fn subscriptions(&self, length: usize) -> Vec<u8> {
        self.events[..length.min(EVENTS)].to_vec()
    }

    /// Subscribes to as many notifications as the program's header has.
    pub(super) fn subscribe(&mut self, wanted: &[u8]) -> Result<(), Errno> {
        let known = self.events.get_mut(..wanted.len()).ok_or(Errno(libc::EINVAL))?;
        known.copy_from_slice(wanted);
        Ok(())
    }

    /// `struct sctp_rtoinfo`.
    pub(super) fn rto_info(&self, id: i32) -> Vec<u8> {
        let times = [self.rto.initial, self.rto.max, self.rto.min].map(milliseconds);
        let build = Build::new().i32(id);
        times.into_iter().fold(build, Build::u32).done()
    }

    pub(super) fn set_rto(&mut self, fields: &mut Fields<'_>) -> Result<(), Errno> {
        let mut time = |before: Duration| {
            let given = fields.u32()?;
            let is_kept = given == 0;
            Ok::<_, Errno>(if is_kept {
                before
            } else {
                Duration::from_millis(given.into())
            })
        };
        let (initial, max, min) = (time(self.rto.initial)?, time(self.rto.max)?, time(self.rto.min)?);
        // RFC 9260 §6.3.1.
        if min > max || initial > max || initial < min {
            return Err(Errno(libc::EINVAL));
        }
        let margin = self.rto.margin;
        self.rto = RtoParameters {
            initial,
            min,
            max,
            margin,
        };
        Ok(())
    }
}

/// Replaces a value that no option has changed.
fn replace<T: PartialEq>(value: &mut T, before: T, after: T) {
    if *value == before {
        *value = after;
    }
}

pub(super) fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_settings_are_those_of_the_failover_policy() {
        let mut recipe = PolicyRecipe::default();
        for (failover, pf_threshold) in [("rfc9260", 0), ("potentially-failed", 1), ("fast-failover", 1)] {
            recipe.set("failover", failover).unwrap();
            recipe.set("failover.max-retrans", "2").unwrap();
            recipe.set("failover.heartbeat", "5s").unwrap();
            if pf_threshold > 0 {
                recipe.set("failover.pfmr", "1").unwrap();
            }
            let path = PathSettings::of(&recipe.failover);
            let wanted = (2, 5_000, pf_threshold);
            assert_eq!(
                (
                    path.max_retransmissions,
                    path.heartbeat_interval,
                    path.pf_threshold
                ),
                wanted
            );
        }
    }

    #[test]
    fn all_policies_of_settings_exist() {
        let mut settings = Settings {
            max_burst: Some(7),
            sack: Some((100, 1)),
            scheduler: Some("wfq"),
            interleaving: true,
            ecn: true,
            changes_addresses: false,
            ..Settings::default()
        };
        settings.path = PathSettings {
            has_heartbeats: true,
            heartbeat_interval: 5_000,
            max_retransmissions: 2,
            pf_threshold: 1,
            fixed_mtu: Some(1_400),
        };
        let all = settings.association_config().policies.assignments();
        for (key, value) in [
            ("failover.max-retrans", "2"),
            ("failover.pfmr", "1"),
            ("failover.heartbeat", "5s"),
            ("burst.packets", "7"),
            ("ack-policy.delay", "100ms"),
            ("ack-policy.packets", "1"),
            ("stream-scheduler", "wfq"),
            ("interleaving", "on"),
            ("add-ip", "off"),
            ("ecn", "on"),
            ("pmtu", "fixed"),
        ] {
            assert!(
                all.iter().any(|(k, v)| k == key && v == value),
                "{key} = {value}: {all:?}"
            );
        }
    }
}

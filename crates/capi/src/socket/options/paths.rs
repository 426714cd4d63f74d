//! Options of paths and addresses.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anabranch::{PathStatistics, ProtocolParameters, Reachability};

use super::number as n;
use super::settings::{PathSettings, SACK, Settings, milliseconds};
use super::{Asked, assoc_value, with_id};
use crate::address;
use crate::errno::Errno;
use crate::layout::{Build, Fields};
use crate::lock;
use crate::socket::{Member, Socket};

/// `spp_flags`.
mod spp {
    pub(super) const HB_ENABLE: u32 = 1;
    pub(super) const HB_DISABLE: u32 = 1 << 1;
    pub(super) const HB_DEMAND: u32 = 1 << 2;
    pub(super) const PMTUD_ENABLE: u32 = 1 << 3;
    pub(super) const PMTUD_DISABLE: u32 = 1 << 4;
    pub(super) const SACKDELAY_ENABLE: u32 = 1 << 5;
    pub(super) const SACKDELAY_DISABLE: u32 = 1 << 6;
    pub(super) const HB_TIME_IS_ZERO: u32 = 1 << 7;
    pub(super) const ALL: u32 = 0xff;
}

/// Longest time between heartbeats that the core takes, in milliseconds: a day.
const LONGEST_INTERVAL: u32 = 86_400_000;

/// `struct sctp_paddrparams`.
#[derive(Clone, Copy, Debug)]
struct PathParameters {
    id: i32,
    address: Option<SocketAddr>,
    interval: u32,
    max_retransmissions: u16,
    mtu: u32,
    sack_delay: u32,
    flags: u32,
}

impl PathParameters {
    fn read(value: &[u8]) -> Result<Self, Errno> {
        let mut fields = Fields::new(value);
        let read = Self {
            id: fields.i32()?,
            address: fields.storage()?,
            interval: fields.u32()?,
            max_retransmissions: fields.u16()?,
            mtu: fields.u32()?,
            sack_delay: fields.u32()?,
            flags: fields.u32()?,
        };
        let both = |one: u32, other: u32| read.flags & one != 0 && read.flags & other != 0;
        let is_contradictory = both(spp::HB_ENABLE, spp::HB_DISABLE)
            || both(spp::PMTUD_ENABLE, spp::PMTUD_DISABLE)
            || both(spp::SACKDELAY_ENABLE, spp::SACKDELAY_DISABLE);
        if is_contradictory || read.flags & !spp::ALL != 0 || read.interval > LONGEST_INTERVAL {
            return Err(Errno(libc::EINVAL));
        }
        Ok(read)
    }

    const fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// What it changes for an association that exists. Heartbeats of one of several paths are enabled apart from this.
    ///
    /// # Errors
    ///
    /// `ENOPROTOOPT`: the path MTU is determined in one way for the life of an association, and all paths have the other parameters in
    /// common.
    fn changed(&self, settings: &Settings, is_for_one_of_several: bool) -> Result<Settings, Errno> {
        let mut changed = settings.clone();
        self.change(&mut changed.path, &mut changed.sack);
        if is_for_one_of_several {
            changed.path.has_heartbeats = settings.path.has_heartbeats;
        }
        let is_kept =
            changed.path == settings.path && changed.sack.unwrap_or(SACK) == settings.sack.unwrap_or(SACK);
        if changed.path.fixed_mtu != settings.path.fixed_mtu || is_for_one_of_several && !is_kept {
            return Err(Errno(libc::ENOPROTOOPT));
        }
        Ok(changed)
    }

    fn change(&self, path: &mut PathSettings, sack: &mut Option<(u32, u32)>) {
        if self.interval != 0 || self.has(spp::HB_TIME_IS_ZERO) {
            path.heartbeat_interval = self.interval;
        }
        if self.max_retransmissions != 0 {
            path.max_retransmissions = self.max_retransmissions.min(1_000);
        }
        if self.has(spp::HB_ENABLE) || self.has(spp::HB_DISABLE) {
            path.has_heartbeats = self.has(spp::HB_ENABLE);
        }
        if self.has(spp::PMTUD_DISABLE) && self.mtu != 0 {
            path.fixed_mtu = Some(u16::try_from(self.mtu).unwrap_or(u16::MAX));
        } else if self.has(spp::PMTUD_ENABLE) {
            path.fixed_mtu = None;
        }
        if self.has(spp::SACKDELAY_DISABLE) {
            *sack = Some((sack.unwrap_or(SACK).0, 1));
        } else if self.has(spp::SACKDELAY_ENABLE) && self.sack_delay != 0 {
            *sack = Some((self.sack_delay.min(500), 2));
        }
    }
}

impl Socket {
    pub(super) fn path_option(&self, name: i32, given: &[u8]) -> Asked<Vec<u8>> {
        Some(match name {
            n::PEER_ADDR_PARAMS => self.path_parameters(given),
            n::PRIMARY_ADDR => self.primary(given),
            n::GET_PEER_ADDR_INFO => self.path_info(given),
            n::PEER_ADDR_THLDS => self.thresholds(given, false),
            n::PEER_ADDR_THLDS_V2 => self.thresholds(given, true),
            n::REMOTE_UDP_ENCAPS_PORT => self.udp_port(given),
            n::EXPOSE_PF_STATE => with_id(given, |id| {
                Ok(if self.settings_of(id)?.exposes_pf { 2 } else { 1 })
            }),
            n::ASCONF_SUPPORTED => with_id(given, |id| Ok(self.settings_of(id)?.changes_addresses.into())),
            n::AUTO_ASCONF => Ok(u32::from(lock(&self.settings).auto_asconf).to_ne_bytes().to_vec()),
            _ => return None,
        })
    }

    pub(super) fn set_path_option(self: &Arc<Self>, name: i32, value: &[u8]) -> Asked<()> {
        Some(match name {
            n::PEER_ADDR_PARAMS => self.set_path_parameters(value),
            n::PRIMARY_ADDR => self.set_primary(value),
            n::SET_PEER_PRIMARY_ADDR => self.request_peer_primary(value),
            n::PEER_ADDR_THLDS | n::PEER_ADDR_THLDS_V2 => self.set_thresholds(value),
            n::REMOTE_UDP_ENCAPS_PORT => self.set_udp_port(value),
            n::EXPOSE_PF_STATE => assoc_value(value).and_then(|(id, state)| {
                if state > 2 {
                    return Err(Errno(libc::EINVAL));
                }
                self.set_each(id, |settings| {
                    settings.exposes_pf = state != 1;
                    Ok(())
                })
            }),
            n::ASCONF_SUPPORTED => assoc_value(value).and_then(|(id, on)| {
                self.set_future(id, |settings| {
                    settings.changes_addresses = on != 0;
                    Ok(())
                })
            }),
            n::AUTO_ASCONF => super::int(value).and_then(|on| self.set_auto_asconf(on != 0)),
            _ => return None,
        })
    }

    /// Kept, for programs to which a refusal is fatal. As on Linux, only sockets at all addresses can have it.
    fn set_auto_asconf(&self, is_on: bool) -> Result<(), Errno> {
        let bound = match self.hub() {
            Some(hub) => lock(&hub.locals).clone(),
            None => self.locals(),
        };
        if is_on && !bound.iter().all(|local| local.ip().is_unspecified()) {
            return Err(Errno(libc::EINVAL));
        }
        lock(&self.settings).auto_asconf = is_on;
        Ok(())
    }

    /// An address as the program reads it.
    fn written(&self, address: SocketAddr) -> Vec<u8> {
        address::write(address, self.maps_v4())
    }

    fn path_parameters(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut fields = Fields::new(given);
        let (id, address) = (fields.i32()?, fields.bytes(128)?);
        let settings = self.settings_of(id)?;
        let mtu = match self.member(id) {
            Ok(member) if address[..2] != [0, 0] => path_to(&member, address::read(address)?)?.mtu.into(),
            _ => settings.path.fixed_mtu.map_or(0, u32::from),
        };
        let (delay, packets) = settings.sack.unwrap_or(SACK);
        let heartbeats = if settings.path.has_heartbeats {
            spp::HB_ENABLE
        } else {
            spp::HB_DISABLE
        };
        let pmtud = if settings.path.fixed_mtu.is_none() {
            spp::PMTUD_ENABLE
        } else {
            spp::PMTUD_DISABLE
        };
        let sacks = if packets == 1 {
            spp::SACKDELAY_DISABLE
        } else {
            spp::SACKDELAY_ENABLE
        };
        let build = Build::new()
            .i32(id)
            .bytes(address)
            .u32(settings.path.heartbeat_interval);
        let build = build.u16(settings.path.max_retransmissions).u32(mtu).u32(delay);
        let whole = build.u32(heartbeats | pmtud | sacks).pad(156).done();
        // Older headers end before the flow label.
        Ok(whole[..given.len().clamp(150, 156)].to_vec())
    }

    fn set_path_parameters(&self, value: &[u8]) -> Result<(), Errno> {
        let wanted = PathParameters::read(value)?;
        let members = self.present(wanted.id)?;
        if members.is_empty() {
            return self.set_future(wanted.id, |settings| {
                wanted.change(&mut settings.path, &mut settings.sack);
                Ok(())
            });
        }
        for member in &members {
            let is_for_one_of_several =
                wanted.address.is_some() && member.association.statistics().paths.len() > 1;
            let changed = wanted.changed(&lock(&member.settings), is_for_one_of_several)?;
            let parameters = ProtocolParameters::of(&changed.association_config());
            *lock(&member.settings) = changed;
            member.association.set_protocol_parameters(&parameters);
        }
        for member in members {
            for path in member.association.statistics().paths {
                if wanted
                    .address
                    .is_some_and(|address| address.ip() != path.addr.remote.ip())
                {
                    continue;
                }
                if wanted.has(spp::HB_ENABLE) || wanted.has(spp::HB_DISABLE) {
                    member
                        .association
                        .set_heartbeats(path.id, wanted.has(spp::HB_ENABLE));
                }
                if wanted.has(spp::HB_DEMAND) {
                    member.association.request_heartbeat(path.id);
                }
            }
        }
        Ok(())
    }

    /// `struct sctp_prim`.
    fn primary(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let id = Fields::new(given).i32()?;
        let member = self.member(id)?;
        let paths = member.association.statistics().paths;
        let primary = paths
            .iter()
            .find(|path| path.primary)
            .ok_or(Errno(libc::EINVAL))?;
        let address = SocketAddr::new(primary.addr.remote.ip(), member.peer().port());
        Ok(Build::new().i32(id).storage(&self.written(address)).done())
    }

    fn set_primary(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let (id, address) = (fields.i32()?, fields.storage()?);
        let member = self.member(id)?;
        let path = path_to(&member, address.ok_or(Errno(libc::EINVAL))?)?;
        member.association.set_primary(path.id);
        Ok(())
    }

    /// `struct sctp_setpeerprim`: one of our addresses.
    fn request_peer_primary(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let (id, address) = (fields.i32()?, fields.storage()?);
        let member = self.member(id)?;
        let local = member.hub.address(address.ok_or(Errno(libc::EINVAL))?)?;
        let asked = member.association.request_peer_primary(local);
        asked.map_err(Errno::of_address)
    }

    /// `struct sctp_paddrinfo` of one address.
    fn path_info(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let mut fields = Fields::new(given);
        let (id, address) = (fields.i32()?, fields.storage()?);
        let address = address.ok_or(Errno(libc::EINVAL))?;
        let by_address = || {
            self.all_members()
                .into_iter()
                .find(|member| path_to(member, address).is_ok())
        };
        let member = self
            .member(id)
            .ok()
            .or_else(by_address)
            .ok_or(Errno(libc::EINVAL))?;
        let path = path_to(&member, address)?;
        Ok(self.describe(&member, Some(&path)))
    }

    /// `struct sctp_paddrinfo`; of the peer's address if there is no path.
    pub(super) fn describe(&self, member: &Member, path: Option<&PathStatistics>) -> Vec<u8> {
        let ip = path.map_or_else(|| member.peer().ip(), |path| path.addr.remote.ip());
        let address = self.written(SocketAddr::new(ip, member.peer().port()));
        let state: u32 = match path.map(|path| path.reachability) {
            Some(Reachability::Inactive) => 0,
            Some(Reachability::PotentiallyFailed) => 1,
            Some(Reachability::Active) => 2,
            Some(Reachability::Unconfirmed) => 3,
            None => 0xffff,
        };
        let build = Build::new().i32(member.id).storage(&address).u32(state);
        let build = build.u32(path.map_or(0, |path| u32::try_from(path.cwnd).unwrap_or(u32::MAX)));
        let build = build.u32(path.and_then(|path| path.srtt).map_or(0, milliseconds));
        let build = build.u32(path.map_or(0, |path| milliseconds(path.rto)));
        build.u32(path.map_or(0, |path| path.mtu.into())).done()
    }

    /// `struct sctp_paddrthlds`, and its successor with one more field (RFC 7829 §7.2).
    fn thresholds(&self, given: &[u8], has_switch: bool) -> Result<Vec<u8>, Errno> {
        let mut fields = Fields::new(given);
        let (id, head) = (fields.i32()?, Fields::new(given).bytes(136)?);
        let path = self.settings_of(id)?.path;
        let build = Build::new()
            .bytes(head)
            .u16(path.max_retransmissions)
            .u16(path.pf_threshold);
        // PSMR: the primary path is never switched for good.
        let build = if has_switch { build.u16(u16::MAX) } else { build };
        Ok(build.pad(144).done())
    }

    fn set_thresholds(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let id = fields.i32()?;
        fields.bytes(132)?;
        let (max_retransmissions, pf_threshold) = (fields.u16()?, fields.u16()?);
        self.set_parameters(id, |settings| {
            if max_retransmissions != 0 {
                settings.path.max_retransmissions = max_retransmissions.min(1_000);
            }
            settings.path.pf_threshold = pf_threshold.min(1_000);
            Ok(())
        })
    }

    /// `struct sctp_udpencaps` (RFC 6951 §6.1), with the port in the byte order of the network. 0 stands for our assignment of ports.
    fn udp_port(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let id = Fields::new(given).i32()?;
        let head = Fields::new(given).bytes(136)?;
        let port = self.settings_of(id)?.peer_udp_port.unwrap_or(0);
        Ok(Build::new().bytes(head).u16(port.to_be()).pad(144).done())
    }

    fn set_udp_port(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let id = fields.i32()?;
        fields.bytes(132)?;
        let port = u16::from_be(fields.u16()?);
        self.set_future(id, |settings| {
            settings.peer_udp_port = Some(port).filter(|port| *port != 0);
            Ok(())
        })
    }
}

/// The best path to an address of the peer.
fn path_to(member: &Member, address: SocketAddr) -> Result<PathStatistics, Errno> {
    let paths = member.association.statistics().paths;
    let of_address = paths
        .into_iter()
        .filter(|path| path.addr.remote.ip() == address.ip());
    let found = of_address.min_by_key(|path| {
        let is_active = path.reachability == Reachability::Active;
        (!path.primary, !is_active, path.srtt.unwrap_or(Duration::MAX))
    });
    found.ok_or(Errno(libc::EINVAL))
}

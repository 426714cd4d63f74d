//! Keys of a TUN device. Which packets of this host are to go through the tunnel?

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use anabranch::PublicKey;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::lines::{ConfigError, Entry};
use super::{Peer, PeerSection};

/// Length of packets that programs send, unless told. Those of TCP are longer inside this host.
const MTU: u16 = 1_500;

/// Smallest MTU with IPv6 (RFC 8200 §5).
const SMALLEST_MTU: u16 = 1_280;

/// Longest name of a device (`IFNAMSIZ`, with its end).
const LONGEST_NAME: usize = 15;

/// A device, and what goes into it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tun {
    pub(crate) name: String,
    /// One for each IP version at most.
    pub(crate) addresses: Vec<IpNet>,
    pub(crate) mtu: u16,
    /// Networks that are reached through the tunnel.
    pub(crate) routes: Vec<IpNet>,
    /// Name servers of programs, asked by the far side; none leaves them as they are.
    pub(crate) dns: Vec<IpAddr>,
    /// Nothing to these networks passes by without the tunnel.
    pub(crate) has_kill_switch: bool,
    /// The key of the peer that packets go to.
    pub(crate) peer: PublicKey,
}

/// The keys, as they are read.
#[derive(Debug, Default)]
pub(super) struct TunKeys {
    name: Option<String>,
    /// Line of `Tun`, or else of the first other key.
    line: usize,
    addresses: Vec<IpNet>,
    mtu: Option<u16>,
    routes: Option<Vec<IpNet>>,
    dns: Vec<IpAddr>,
    has_kill_switch: Option<bool>,
}

impl TunKeys {
    /// Takes a key of a device. `Ok(false)` if it is another one.
    pub(super) fn take(&mut self, entry: &Entry) -> Result<bool, String> {
        let text = entry.value.as_str();
        match entry.key.to_ascii_lowercase().as_str() {
            "tun" => once(&mut self.name, parse_name(text)?)?,
            "address" => {
                for address in list(text, parse_address)? {
                    let is_same = |other: &IpNet| other.addr().is_ipv4() == address.addr().is_ipv4();
                    if self.addresses.iter().any(is_same) {
                        return Err("there is an address of this IP version already; write one".to_owned());
                    }
                    self.addresses.push(address);
                }
            }
            "mtu" => once(&mut self.mtu, parse_mtu(text)?)?,
            "route" => {
                let routes = match text {
                    "none" => Vec::new(),
                    _ => list(text, parse_network)?,
                };
                self.routes.get_or_insert_default().extend(routes);
            }
            "dns" => self.dns.extend(list(text, parse_ip)?),
            "killswitch" => once(&mut self.has_kill_switch, parse_switch(text)?)?,
            _ => return Ok(false),
        }
        let is_tun = entry.key.eq_ignore_ascii_case("tun");
        if is_tun || self.line == 0 {
            self.line = entry.line;
        }
        Ok(true)
    }

    /// The device, if there is to be one.
    pub(super) fn finish(self, file: &Path, peers: &[PeerSection]) -> Result<Option<Tun>, ConfigError> {
        if self.line == 0 {
            return Ok(None);
        }
        let line = self.line;
        self.check(peers)
            .map(Some)
            .map_err(|text| ConfigError::new(file, Some(line), text))
    }

    fn check(self, peers: &[PeerSection]) -> Result<Tun, String> {
        let name = self
            .name
            .ok_or("this key belongs to a TUN device; write Tun = anabranch0 beside it")?;
        if !cfg!(target_os = "linux") {
            return Err("Tun: only Linux has these devices; use Socks and Http".to_owned());
        }
        let has = |is_ipv4: bool| self.addresses.iter().any(|own| own.addr().is_ipv4() == is_ipv4);
        if self.addresses.is_empty() {
            return Err(
                "Tun: the device needs an address; write Address = 10.9.0.1/24, fd09::1/64".to_owned(),
            );
        }
        let everything = || {
            [every_v4(), every_v6()]
                .into_iter()
                .filter(|all| has(all.addr().is_ipv4()))
        };
        let routes = self.routes.unwrap_or_else(|| everything().collect());
        if let Some(route) = routes.iter().find(|route| !has(route.addr().is_ipv4())) {
            return Err(format!(
                "Tun: Route = {route} needs an Address of the same IP version"
            ));
        }
        let called = |section: &&PeerSection| !section.peer.endpoints.is_empty();
        let peer = match peers.iter().filter(called).count() {
            1 => peers.iter().find(called),
            _ => None,
        };
        let peer = peer.ok_or_else(|| {
            let found = peers.iter().filter(called).count();
            format!(
                "Tun: it leads to the [Peer] with an Endpoint, of which there must be one; there are {found}"
            )
        })?;
        let has_kill_switch = self.has_kill_switch.unwrap_or(false);
        if has_kill_switch {
            check_kill_switch(&routes, &peer.peer)?;
        }
        Ok(Tun {
            name,
            addresses: self.addresses,
            mtu: self.mtu.unwrap_or(MTU),
            routes,
            dns: self.dns,
            has_kill_switch,
            peer: peer.peer.key,
        })
    }
}

impl Tun {
    /// What the user should know.
    pub(super) fn warnings(&self, peer: &Peer) -> Vec<String> {
        let mut warnings = Vec::new();
        let has = |all: IpNet| self.routes.contains(&all);
        if has(every_v4()) != has(every_v6()) {
            let (inside, outside) = if has(every_v4()) {
                ("IPv4", "IPv6")
            } else {
                ("IPv6", "IPv4")
            };
            warnings.push(format!(
                "{inside} goes through the tunnel and {outside} does not: write an Address and a Route of both, or programs with {outside} pass by"
            ));
        }
        if has(every_v4()) || has(every_v6()) {
            let names = peer
                .endpoints
                .iter()
                .filter(|endpoint| endpoint.host.parse::<IpAddr>().is_err());
            warnings.extend(names.map(|endpoint| {
                format!(
                    "Endpoint = {endpoint}: once the device is up, this name may have to be resolved through the tunnel that it is for; write the address"
                )
            }));
        }
        warnings
    }
}

fn check_kill_switch(routes: &[IpNet], peer: &Peer) -> Result<(), String> {
    if let Some(endpoint) = peer
        .endpoints
        .iter()
        .find(|endpoint| endpoint.host.parse::<IpAddr>().is_err())
    {
        return Err(format!(
            "KillSwitch: Endpoint = {endpoint} is a name, which could not be resolved while it is on; write addresses"
        ));
    }
    if routes.is_empty() {
        return Err(
            "KillSwitch: nothing is routed through the tunnel, so there is nothing to stop".to_owned(),
        );
    }
    if routes.contains(&every_v4()) != routes.contains(&every_v6()) {
        return Err(
            "KillSwitch: one IP version goes through the tunnel and the other one does not; write Route = 0.0.0.0/0, ::/0 and an Address of both"
                .to_owned(),
        );
    }
    Ok(())
}

fn every_v4() -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0))
}

fn every_v6() -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0))
}

fn once<T>(place: &mut Option<T>, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err("it is written twice; leave one out".to_owned()),
    }
}

fn list<T>(text: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    text.split(',').map(|part| parse(part.trim())).collect()
}

fn parse_name(text: &str) -> Result<String, String> {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let is_name =
        (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(is_fit) && !text.starts_with(['.', '-']);
    is_name.then(|| text.to_owned()).ok_or_else(|| {
        format!("{text:?} is no name of a device: expected 1 to {LONGEST_NAME} letters, digits, hyphens and underscores, such as anabranch0")
    })
}

fn parse_address(text: &str) -> Result<IpNet, String> {
    let network: IpNet = text.parse().map_err(|_| {
        format!("{text:?} is no address of a device: expected one with a prefix length, such as 10.9.0.1/24 or fd09::1/64")
    })?;
    #[cfg(target_os = "linux")]
    if anabranch_tunnel::door(&network).is_none() {
        return Err(format!(
            "{text}: its network has no second address, which the tunnel needs for itself; expected at most /30, or /126 with IPv6"
        ));
    }
    let ip = network.addr();
    if ip.is_unspecified() || ip.is_multicast() || ip.is_loopback() || ip == network.network() {
        return Err(format!(
            "{text}: expected the address of a host in its network, such as 10.9.0.1/24"
        ));
    }
    Ok(network)
}

fn parse_mtu(text: &str) -> Result<u16, String> {
    let mtu = text.parse().ok().filter(|mtu| *mtu >= SMALLEST_MTU);
    mtu.ok_or_else(|| format!("{text:?} is no MTU: expected {SMALLEST_MTU} to 65535"))
}

fn parse_network(text: &str) -> Result<IpNet, String> {
    let host = text.parse::<IpAddr>().map(IpNet::from);
    let network = host.or_else(|_| text.parse::<IpNet>()).map_err(|_| {
        format!("{text:?} is no network: expected such as 10.0.0.0/8, 0.0.0.0/0 or ::/0, or `none` alone")
    })?;
    Ok(network.trunc())
}

fn parse_ip(text: &str) -> Result<IpAddr, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is no address of a name server, such as 192.0.2.53"))
}

fn parse_switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{text:?}: expected `on` or `off`")),
    }
}

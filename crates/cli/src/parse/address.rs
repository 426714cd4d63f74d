//! Parser of address lists: `198.51.100.1,[2001:db8::1]:9900,server.example`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};

use anabranch::PublicKey;

/// Default port: the UDP port of SCTP (RFC 6951 §5.1).
pub(crate) const DEFAULT_PORT: u16 = 9899;

/// An address or host name with a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PeerAddress {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.host.parse::<Ipv6Addr>(), split_zone(&self.host)) {
            (Ok(address), _) => write!(f, "[{address}]:{}", self.port),
            (Err(_), Some((address, zone))) => write!(f, "[{address}%{zone}]:{}", self.port),
            (Err(_), None) => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Addresses of the peer: at least one, without duplicates; and its public key, if packets are encrypted.
#[derive(Clone, Debug)]
pub(crate) struct PeerAddresses {
    pub(crate) key: Option<PublicKey>,
    pub(crate) hosts: Vec<PeerAddress>,
}

/// Local addresses: at least one, without duplicates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LocalAddresses(pub(crate) Vec<SocketAddr>);

/// Where packets are sent from: at least one address or device, none twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Origins(pub(crate) Vec<Origin>);

/// An address of this host, or a device with all addresses that it has at the time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// With port 0 for any free one.
    Address(SocketAddr),
    Device(String),
}

/// Addresses of the peer, separated by commas, with its key before them or not: `KEY@HOST,HOST`.
pub(crate) fn parse_to(text: &str) -> Result<PeerAddresses, String> {
    let (key, text) = match text.split_once('@') {
        Some((key, hosts)) => {
            let key = parse_key(key).map_err(|error| format!("{error}; the form is KEY@HOST"))?;
            (Some(key), hosts)
        }
        None => (None, text),
    };
    let mut hosts: Vec<PeerAddress> = Vec::new();
    for part in text.split(',') {
        let (host, port) = split(part.trim(), DEFAULT_PORT)?;
        if hosts.iter().any(|known| known.host == host) {
            return Err(format!("{host} is given twice; give each address once"));
        }
        hosts.push(PeerAddress { host, port });
    }
    Ok(PeerAddresses { key, hosts })
}

/// A public key as `anabranch pubkey` prints it.
pub(crate) fn parse_key(text: &str) -> Result<PublicKey, String> {
    text.parse()
        .map_err(|error: anabranch::KeyParseError| error.to_string())
}

/// Addresses and devices to send from.
pub(crate) fn parse_from(text: &str) -> Result<Origins, String> {
    let mut origins: Vec<Origin> = Vec::new();
    for part in text.split(',') {
        let part = part.trim();
        let origin = match locals(part, 0) {
            Ok(LocalAddresses(addresses)) => Origin::Address(addresses[0]),
            Err(_) if is_device_name(part) => Origin::Device(part.to_owned()),
            Err(_) => {
                return Err(format!(
                    "{part:?} is neither an address of this host, such as 192.0.2.1, nor a device, such as wwan0"
                ));
            }
        };
        let is_known = |known: &Origin| match (known, &origin) {
            (Origin::Address(known), Origin::Address(new)) => is_same_host(known, new),
            (Origin::Device(known), Origin::Device(new)) => known == new,
            (Origin::Address(_), Origin::Device(_)) | (Origin::Device(_), Origin::Address(_)) => false,
        };
        if origins.iter().any(is_known) {
            return Err(format!("{part} is given twice"));
        }
        origins.push(origin);
    }
    Ok(Origins(origins))
}

/// Whether Linux takes it for the name of a device: 1 to 15 bytes without a slash, a colon or a space.
fn is_device_name(text: &str) -> bool {
    let is_fit = |letter: char| !letter.is_whitespace() && letter != '/' && letter != ':';
    (1..=15).contains(&text.len()) && text.chars().all(is_fit)
}

/// Addresses to listen on; default port 9899.
pub(crate) fn parse_listen(text: &str) -> Result<LocalAddresses, String> {
    locals(text, DEFAULT_PORT)
}

fn locals(text: &str, default_port: u16) -> Result<LocalAddresses, String> {
    let mut locals: Vec<SocketAddr> = Vec::new();
    for part in text.split(',') {
        let (host, port) = split(part.trim(), default_port)?;
        let local = local(&host, port)?;
        if locals.iter().any(|known| is_same_host(known, &local)) {
            return Err(format!("{host} is given twice; give each address once"));
        }
        locals.push(local);
    }
    Ok(LocalAddresses(locals))
}

fn local(host: &str, port: u16) -> Result<SocketAddr, String> {
    if split_zone(host).is_some() {
        // The system knows the number of the device; it asks no server for a numeric address.
        let found = (host, port)
            .to_socket_addrs()
            .ok()
            .and_then(|mut found| found.next());
        return found.ok_or_else(|| no_device(host));
    }
    let address: IpAddr = host
        .parse()
        .map_err(|_| format!("{host} is not an IP address; expected a local address such as 192.0.2.1"))?;
    Ok(SocketAddr::new(address, port))
}

/// Says that there is no device as a link-local address has it.
pub(crate) fn no_device(host: &str) -> String {
    format!("{host} names no device of this host; `ip link` lists them")
}

/// Whether both are one address, whatever their ports. Link-local addresses of different devices are different.
pub(crate) fn is_same_host(one: &SocketAddr, other: &SocketAddr) -> bool {
    let zone = |address: &SocketAddr| match address {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(address) => address.scope_id(),
    };
    one.ip() == other.ip() && zone(one) == zone(other)
}

/// The parts of a link-local address with its device, `fe80::1%eth0` (RFC 4007 §11).
fn split_zone(text: &str) -> Option<(Ipv6Addr, &str)> {
    let (address, zone) = text.split_once('%')?;
    let address: Ipv6Addr = address.parse().ok()?;
    is_device_name(zone).then_some((address, zone))
}

fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok() || split_zone(text).is_some()
}

/// `host`, `host:port`, `v6`, `[v6]` and `[v6]:port`; a `v6` may end with `%` and a device.
fn split(part: &str, default_port: u16) -> Result<(String, u16), String> {
    if part.is_empty() {
        return Err("expected an address such as 192.0.2.1 or [2001:db8::1]:9899".into());
    }
    if let Some(rest) = part.strip_prefix('[') {
        let (host, port) = rest
            .split_once(']')
            .ok_or_else(|| format!("{part} has no closing bracket"))?;
        if !is_ipv6(host) {
            return Err(format!("{host} is not an IPv6 address"));
        }
        let port = match port {
            "" => default_port,
            _ => parse_port(
                port.strip_prefix(':')
                    .ok_or_else(|| format!("expected a port after ] in {part}"))?,
            )?,
        };
        return Ok((host.to_owned(), port));
    }
    if is_ipv6(part) {
        return Ok((part.to_owned(), default_port));
    }
    let (host, port) = match part.split_once(':') {
        Some((host, port)) => (host, parse_port(port)?),
        None => (part, default_port),
    };
    let is_name = |letter: char| letter.is_alphanumeric() || "-._".contains(letter);
    if host.is_empty() || !host.chars().all(is_name) {
        return Err(format!("{part} is neither an address nor a host name"));
    }
    Ok((host.to_owned(), port))
}

fn parse_port(text: &str) -> Result<u16, String> {
    text.parse()
        .map_err(|_| format!("{text} is not a port; expected a number up to 65535"))
}

/// Where the live view is: an address, a port of 127.0.0.1, or both. Without a port, a free one.
pub(crate) fn parse_dashboard(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let address = bare
        .unwrap_or(text)
        .parse()
        .map(|ip: IpAddr| SocketAddr::new(ip, 0));
    let address = address.or_else(|_| text.parse());
    address.map_err(|_| {
        format!("{text:?} is neither a port nor an address, such as 9898, 192.0.2.1:9898 or [::1]:9898")
    })
}

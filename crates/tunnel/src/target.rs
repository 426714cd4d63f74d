//! Target of a connection: a name or an address with a port, as a proxy was asked for it. The far side resolves names.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;

/// Longest name: that of a domain name in text (RFC 1035 §2.3.4), and of a name in SOCKS5.
const LONGEST_NAME: usize = 255;

/// Where a connection is to lead.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The TCP port, not 0.
    pub port: u16,
}

/// A host by its address or its name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Host {
    /// Its address.
    Address(IpAddr),
    /// Its name, which the far side resolves.
    Name(HostName),
}

/// A name that a resolver may be asked for: 1 to 255 ASCII letters, digits, hyphens, underscores and dots.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HostName(String);

/// Why something is no target.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum TargetError {
    /// A name with other letters, or of another length.
    #[error(
        "{0:?} is no host name: expected 1 to 255 letters, digits, hyphens, underscores and dots (names in other scripts have a form with xn--)"
    )]
    Name(String),
    /// No port, or one that is not from 1 to 65,535.
    #[error("{0:?} has no port from 1 to 65535; the form is HOST:PORT, or [ADDRESS]:PORT with IPv6")]
    Port(String),
    /// It begins with a bracket, and is no IPv6 address in brackets.
    #[error("{0:?} is no IPv6 address in brackets")]
    Address(String),
}

impl HostName {
    /// The name in text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HostName {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(is_fit) {
            Ok(Self(text.to_owned()))
        } else {
            Err(TargetError::Name(text.to_owned()))
        }
    }
}

impl FromStr for Host {
    type Err = TargetError;

    /// An address, IPv6 in brackets or without, or else a name.
    fn from_str(text: &str) -> Result<Self, TargetError> {
        if let Some(inner) = text.strip_prefix('[') {
            let address = inner
                .strip_suffix(']')
                .and_then(|inner| inner.parse::<Ipv6Addr>().ok());
            return address
                .map(Self::from)
                .ok_or_else(|| TargetError::Address(text.to_owned()));
        }
        match text.parse::<IpAddr>() {
            Ok(address) => Ok(Self::Address(address)),
            Err(_) => text.parse().map(Self::Name),
        }
    }
}

impl Target {
    /// A target; `None` for port 0, which no connection has.
    #[must_use]
    pub fn new(host: Host, port: u16) -> Option<Self> {
        (port != 0).then_some(Self { host, port })
    }
}

impl FromStr for Target {
    type Err = TargetError;

    /// `HOST:PORT` or `[ADDRESS]:PORT`, as HTTP CONNECT has it (RFC 9110 §9.3.6).
    fn from_str(text: &str) -> Result<Self, TargetError> {
        let no_port = || TargetError::Port(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(no_port)?;
        // An IPv6 address without brackets would lose its last group to the port.
        if host.contains(':') && !host.starts_with('[') {
            return Err(no_port());
        }
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|_| is_number).ok_or_else(no_port)?;
        Self::new(host.parse()?, port).ok_or_else(no_port)
    }
}

impl From<Ipv4Addr> for Host {
    fn from(address: Ipv4Addr) -> Self {
        Self::Address(address.into())
    }
}

impl From<Ipv6Addr> for Host {
    fn from(address: Ipv6Addr) -> Self {
        Self::Address(address.into())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
            Self::Name(name) => f.write_str(name.as_str()),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_told_apart() {
        for text in [
            "example.org:443",
            "192.0.2.1:80",
            "[2001:db8::1]:8080",
            "xn--bcher-kva.example:1",
        ] {
            let target: Target = text.parse().unwrap();
            assert_eq!(target.to_string(), text);
            assert_eq!(matches!(target.host, Host::Name(_)), text.contains("example"));
        }
    }

    #[test]
    fn what_is_no_target_is_refused_with_its_reason() {
        for text in [
            "",
            "example.org",
            "example.org:0",
            "example.org:65536",
            "example.org:+80",
            "2001:db8::1:80",
        ] {
            assert_eq!(
                text.parse::<Target>(),
                Err(TargetError::Port(text.into())),
                "{text}"
            );
        }
        for text in [":80", "a b:80", "bücher.example:80", "a\0b:80"] {
            assert!(
                matches!(text.parse::<Target>(), Err(TargetError::Name(_))),
                "{text}"
            );
        }
        for text in ["[example]:80", "[::1:80", "[]:80"] {
            assert!(
                matches!(text.parse::<Target>(), Err(TargetError::Address(_))),
                "{text}"
            );
        }
        assert!("a".repeat(255).parse::<HostName>().is_ok());
        assert!("a".repeat(256).parse::<HostName>().is_err());
    }
}

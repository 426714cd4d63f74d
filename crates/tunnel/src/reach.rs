//! Reach: what a peer may connect to through this host. Decided for addresses, after names are resolved.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use thiserror::Error;

/// Addresses at which clouds tell each host about itself, credentials included; 169.254.169.254 is link-local.
const METADATA: [IpAddr; 8] = [
    // Alibaba Cloud, Azure, Oracle Cloud Classic, EC2 and EKS Pod Identity, Google Cloud, Oracle Cloud, Scaleway.
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42)),
];

/// What a peer may connect to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Everything but this host itself, what is only on its links, and metadata services of clouds.
    Others,
    /// What the rules say, whatever it is; nothing without rules.
    Only(Vec<Rule>),
}

/// A network whose hosts may be reached, at one port or all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    network: IpNet,
    port: Option<u16>,
}

/// Why something is no rule.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "{0:?} is no network: expected an address with a prefix length or without, and a port or none, such as 10.0.0.0/8, 127.0.0.1:8080 or [2001:db8::/32]:443"
)]
pub struct RuleError(String);

impl Reach {
    /// Whether nothing is permitted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Only(rules) if rules.is_empty())
    }

    /// Whether a peer may connect to `address`. `is_own` tells whether an address is one of this host.
    pub fn permits(&self, address: SocketAddr, is_own: impl Fn(IpAddr) -> bool) -> bool {
        let ip = address.ip().to_canonical();
        match self {
            Self::Others => [Some(ip), embedded(ip)]
                .into_iter()
                .flatten()
                .all(|ip| !is_special(ip) && !is_own(ip)),
            Self::Only(rules) => rules.iter().any(|rule| rule.covers(ip, address.port())),
        }
    }
}

/// The IPv4 address to which a translator of NAT64 (RFC 6052 §2.1) or a relay of 6to4 (RFC 3056 §2) passes packets for `ip`.
fn embedded(ip: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(ip) = ip else { return None };
    let ([0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..]) = ip.segments() else {
        return None;
    };
    Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)).into())
}

/// Whether an address means this host, one of its links, many hosts, or a metadata service.
fn is_special(ip: IpAddr) -> bool {
    let is_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_broadcast() || ip.octets()[0] == 0,
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    is_local || ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() || METADATA.contains(&ip)
}

impl Rule {
    fn covers(self, ip: IpAddr, port: u16) -> bool {
        self.network.contains(&ip) && self.port.is_none_or(|only| only == port)
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let error = || RuleError(text.to_owned());
        let (network, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (network, port) = rest.split_once(']').ok_or_else(error)?;
                (
                    network,
                    if port.is_empty() {
                        None
                    } else {
                        Some(port.strip_prefix(':').ok_or_else(error)?)
                    },
                )
            }
            // IPv6 without brackets has no port.
            None if text.matches(':').count() == 1 => {
                let (network, port) = text.split_once(':').ok_or_else(error)?;
                (network, Some(port))
            }
            None => (text, None),
        };
        let port = port.map(str::parse).transpose().map_err(|_| error())?;
        if port == Some(0) {
            return Err(error());
        }
        let host = network.parse::<IpAddr>().map(|ip| match ip {
            IpAddr::V4(ip) => IpNet::V4(Ipv4Net::from(ip)),
            IpAddr::V6(ip) => IpNet::V6(Ipv6Net::from(ip)),
        });
        let network = host.or_else(|_| network.parse::<IpNet>()).map_err(|_| error())?;
        Ok(Self {
            network: network.trunc(),
            port,
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.network, self.port) {
            (IpNet::V6(network), Some(port)) => write!(f, "[{network}]:{port}"),
            (IpNet::V4(network), Some(port)) => write!(f, "{network}:{port}"),
            (network, None) => network.fmt(f),
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Others => f.write_str("everything but this host, its links and metadata services"),
            Self::Only(rules) if rules.is_empty() => f.write_str("nothing"),
            Self::Only(rules) => {
                let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
                f.write_str(&rules.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(reach: &Reach, address: &str) -> bool {
        let own: IpAddr = "198.51.100.7".parse().unwrap();
        reach.permits(address.parse().unwrap(), |ip| ip == own)
    }

    #[test]
    fn host_itself_links_and_metadata_are_out_of_reach_by_default() {
        for address in [
            "192.0.2.1:80",
            "10.0.0.1:22",
            "[2001:db8::1]:443",
            "[fd00::1]:80",
            "[64:ff9b::192.0.2.1]:80",
            "[2002:c000:201::1]:80",
        ] {
            assert!(permits(&Reach::Others, address), "{address}");
        }
        for address in [
            "127.0.0.1:80",
            "127.8.8.8:80",
            "0.0.0.0:80",
            "0.1.2.3:80",
            "198.51.100.7:80",
            "169.254.169.254:80",
            "224.0.0.1:80",
            "255.255.255.255:80",
            "168.63.129.16:80",
            "[::1]:80",
            "[::]:80",
            "[fe80::1]:80",
            "[ff02::1]:80",
            "[fd00:ec2::254]:80",
            "[fd00:ec2::23]:80",
            "[fd20:ce::254]:80",
            "[fd00:c1::a9fe:a9fe]:80",
            "[fd00:42::42]:80",
            "[64:ff9b::127.0.0.1]:80",
            "[64:ff9b::a9fe:a9fe]:80",
            "[64:ff9b::198.51.100.7]:80",
            "[2002:7f00:1::1]:80",
            "[2002:c633:6407::1]:80",
            "[::ffff:127.0.0.1]:80",
            "[::ffff:169.254.169.254]:80",
            "[::ffff:198.51.100.7]:80",
        ] {
            assert!(!permits(&Reach::Others, address), "{address}");
        }
    }

    #[test]
    fn rules_replace_the_default() {
        let reach = |rules: &[&str]| Reach::Only(rules.iter().map(|rule| rule.parse().unwrap()).collect());
        let narrow = reach(&[
            "127.0.0.1:8080",
            "10.1.2.3/8",
            "[2001:db8::/32]:443",
            "2001:db8:1::1",
        ]);
        for address in [
            "127.0.0.1:8080",
            "[::ffff:127.0.0.1]:8080",
            "10.9.9.9:1",
            "[2001:db8::5]:443",
            "[2001:db8:1::1]:9",
        ] {
            assert!(permits(&narrow, address), "{address}");
        }
        for address in [
            "127.0.0.1:8081",
            "127.0.0.2:8080",
            "192.0.2.1:80",
            "[2001:db8::5]:80",
        ] {
            assert!(!permits(&narrow, address), "{address}");
        }
        assert!(reach(&[]).is_empty() && !permits(&reach(&[]), "192.0.2.1:80"));
        assert!(permits(&reach(&["0.0.0.0/0"]), "127.0.0.1:1"));
    }

    #[test]
    fn rules_are_shown_as_they_are_written() {
        for text in ["10.0.0.0/8", "127.0.0.1/32:80", "[2001:db8::/32]:443", "::/0"] {
            assert_eq!(text.parse::<Rule>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "example.org",
            "10.0.0.0/33",
            "10.0.0.0:x",
            "10.0.0.1:70000",
            "10.0.0.1:0",
            "[::1",
            "[::1]443",
            "10.0.0.1:",
        ] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }
}

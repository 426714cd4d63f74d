//! Path addresses: address pairs, and the scope of an address.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

/// The two addresses of a path.
///
/// The ports are those of the UDP encapsulation (RFC 6951), not SCTP's; 0 means SCTP directly over IP. The
/// local address may be unspecified (`0.0.0.0`, `::`): then the system chooses the source address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathAddr {
    /// Our address and encapsulation port.
    pub local: SocketAddr,
    /// The peer's address and encapsulation port.
    pub remote: SocketAddr,
}

impl PathAddr {
    /// The same pair as the peer sees it.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self {
            local: self.remote,
            remote: self.local,
        }
    }

    /// Whether both addresses are of the same IP version.
    #[must_use]
    pub const fn is_consistent(&self) -> bool {
        self.local.is_ipv4() == self.remote.is_ipv4()
    }
}

impl fmt::Debug for PathAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for PathAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.local, self.remote)
    }
}

/// The scope of an address. RFC 9260 §5.1.2 leaves it to the sender which addresses to list; a loopback address
/// listed to a peer on another host would make that peer send to itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AddressScope {
    /// Not a valid address of a path: unspecified, multicast or broadcast.
    Unusable,
    /// Within this host.
    Loopback,
    /// Within this link.
    Link,
    /// Within this site: private ranges of RFC 1918 and unique local addresses of RFC 4193.
    Site,
    /// Global.
    Global,
}

impl AddressScope {
    /// The scope of `address`.
    #[must_use]
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) if v4.is_unspecified() || v4.is_multicast() || v4.is_broadcast() => Self::Unusable,
            IpAddr::V4(v4) if v4.is_loopback() => Self::Loopback,
            IpAddr::V4(v4) if v4.is_link_local() => Self::Link,
            IpAddr::V4(v4) if v4.is_private() => Self::Site,
            IpAddr::V6(v6) if v6.is_unspecified() || v6.is_multicast() => Self::Unusable,
            IpAddr::V6(v6) if v6.is_loopback() => Self::Loopback,
            IpAddr::V6(v6) if v6.is_unicast_link_local() => Self::Link,
            IpAddr::V6(v6) if v6.is_unique_local() => Self::Site,
            IpAddr::V4(_) | IpAddr::V6(_) => Self::Global,
        }
    }
}

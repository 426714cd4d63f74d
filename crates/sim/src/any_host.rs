//! Host of any transport, so that SCTP and TCP can share a network.

use anabranch_netsim::{Datagram, Host};
use anabranch_types::Instant;

use crate::SctpHost;
use crate::tcp::TcpHost;

/// A host of either transport. It drops packets of the other transport.
pub enum AnyHost {
    /// An SCTP host.
    Sctp(Box<SctpHost>),
    /// A TCP host.
    Tcp(Box<TcpHost>),
}

impl AnyHost {
    /// The SCTP host, if it is one.
    #[must_use]
    pub const fn as_sctp(&self) -> Option<&SctpHost> {
        match self {
            Self::Sctp(host) => Some(host),
            Self::Tcp(_) => None,
        }
    }

    /// The TCP host, if it is one.
    #[must_use]
    pub const fn as_tcp(&self) -> Option<&TcpHost> {
        match self {
            Self::Tcp(host) => Some(host),
            Self::Sctp(_) => None,
        }
    }

    /// Like [`Self::as_sctp`], mutable.
    pub(crate) const fn as_sctp_mut(&mut self) -> Option<&mut SctpHost> {
        match self {
            Self::Sctp(host) => Some(host),
            Self::Tcp(_) => None,
        }
    }

    /// Like [`Self::as_tcp`], mutable.
    pub(crate) const fn as_tcp_mut(&mut self) -> Option<&mut TcpHost> {
        match self {
            Self::Tcp(host) => Some(host),
            Self::Sctp(_) => None,
        }
    }
}

impl From<SctpHost> for AnyHost {
    fn from(host: SctpHost) -> Self {
        Self::Sctp(Box::new(host))
    }
}

impl From<TcpHost> for AnyHost {
    fn from(host: TcpHost) -> Self {
        Self::Tcp(Box::new(host))
    }
}

impl Host for AnyHost {
    fn on_datagram(&mut self, now: Instant, datagram: Datagram) {
        match self {
            Self::Sctp(host) => host.on_datagram(now, datagram),
            Self::Tcp(host) => host.on_datagram(now, datagram),
        }
    }

    fn on_deadline(&mut self, now: Instant) {
        match self {
            Self::Sctp(host) => host.on_deadline(now),
            Self::Tcp(host) => host.on_deadline(now),
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        match self {
            Self::Sctp(host) => host.poll_transmit(now),
            Self::Tcp(host) => host.poll_transmit(now),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Sctp(host) => host.deadline(),
            Self::Tcp(host) => host.deadline(),
        }
    }
}

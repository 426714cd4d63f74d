//! Scheduled changes and packet filters. What can a script change at a given time?

use core::fmt;
use core::net::SocketAddr;

use anabranch_types::Instant;

use super::Network;
use crate::{Datagram, LinkChange, LinkId};

/// A change that [`Network::schedule`] applies at a given time.
pub enum Change<H> {
    /// A link changes.
    Link(LinkId, LinkChange),
    /// The NAT in front of a host rebinds: packets from `inside` appear to come from `outside`, and packets to
    /// `outside` go to `inside`. The previous outside address stops working.
    Rebind {
        /// Address and port that the host uses.
        inside: SocketAddr,
        /// Address and port that other hosts see.
        outside: SocketAddr,
    },
    /// Any other change. To change a host, use [`Network::act`].
    Do(Action<H>),
}

/// Closure of a [`Change::Do`].
pub type Action<H> = Box<dyn FnOnce(&mut Network<H>) + Send>;

impl<H> Change<H> {
    /// Boxes `action` as a [`Change::Do`].
    pub fn act(action: impl FnOnce(&mut Network<H>) + Send + 'static) -> Self {
        Self::Do(Box::new(action))
    }
}

impl<H> fmt::Debug for Change<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(link, change) => write!(f, "{link:?}: {change:?}"),
            Self::Rebind { inside, outside } => write!(f, "rebind {inside} to {outside}"),
            Self::Do(_) => write!(f, "an action"),
        }
    }
}

/// Treatment of a datagram, decided by a [`Filter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FilterAction {
    /// Forward it, possibly changed.
    Pass,
    /// Drop it in front of the link, which counts it.
    Drop,
}

/// Inspects every datagram before a link takes it, and may change it.
pub type Filter = Box<dyn FnMut(Instant, &mut Datagram) -> FilterAction + Send>;

//! What can be made to happen at a given moment?

use core::fmt;
use core::net::SocketAddr;

use anabranch_types::Instant;

use super::World;
use crate::{Datagram, LinkChange, LinkId};

/// Something that [`World::schedule`] makes happen.
pub enum Change<H> {
    /// A link changes.
    Link(LinkId, LinkChange),
    /// A translator before the host rebinds: packets from `inside` are seen as coming from `outside` and answers to
    /// it go to `inside`; whatever the address was seen as before leads nowhere.
    Rebind {
        /// Address and port that the host itself uses.
        inside: SocketAddr,
        /// Address and port that the others see.
        outside: SocketAddr,
    },
    /// Anything else. Hosts are best changed by [`World::act`].
    Do(Action<H>),
}

/// What [`Change::Do`] does.
pub type Action<H> = Box<dyn FnOnce(&mut World<H>) + Send>;

impl<H> Change<H> {
    /// [`Change::Do`] without the box.
    pub fn act(action: impl FnOnce(&mut World<H>) + Send + 'static) -> Self {
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

/// What a [`Filter`] decides about a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It goes on its way, changed or not.
    Pass,
    /// It is dropped before the link, and counted there.
    Drop,
}

/// Looks at every datagram before a link takes it, and may change it.
pub type Filter = Box<dyn FnMut(Instant, &mut Datagram) -> Fate + Send>;

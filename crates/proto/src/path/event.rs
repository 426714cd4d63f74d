//! Changes of a path. What is the application told of it?

use anabranch_policy::Reachability;
use anabranch_types::{PathAddr, PathId};

/// A change of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathEvent {
    /// Which path.
    pub id: PathId,
    /// Its two ends.
    pub addr: PathAddr,
    /// What changed.
    pub change: PathChange,
}

/// What changed on a path. This is its whole life, as an application sees it:
///
/// ```text
///  Added ─▶ (unconfirmed) ─▶ Active ─▶ Primary, once and again
///                             │  ▲
///           error, or silence ▼  │ a proof: an answered heartbeat, or data that was sent once
///                    PotentiallyFailed ─▶ Inactive, after more errors; a heartbeat that is answered brings it back
/// ```
///
/// `Mtu` follows when the association carries data, and whenever the size changes; `Rebound` and `Removed` may come at any time. The
/// paths of the handshake exist without being `Added`, and begin unconfirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathChange {
    /// It can be used or not, from now on.
    Reachability(Reachability),
    /// It became the primary path.
    Primary,
    /// There is a new one, to be confirmed before it carries data: an end got an address (RFC 5061).
    Added,
    /// It is no more, because an address is not (RFC 5061).
    Removed,
    /// Its packets may be so large from now on: the size of IP packets in bytes (RFC 8899).
    Mtu(u16),
    /// The peer's encapsulation port is another one now: a NAT has a new binding (RFC 6951 §5.4).
    Rebound,
}

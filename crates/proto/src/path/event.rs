//! Path events: changes of a path that the application is notified of.

use anabranch_policy::Reachability;
use anabranch_types::{PathAddr, PathId};

/// A change of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathEvent {
    /// Id of the path.
    pub id: PathId,
    /// Local and remote address of the path.
    pub addr: PathAddr,
    /// The change.
    pub change: PathChange,
}

/// A change of a path. The life cycle of a path, as an application sees it:
///
/// ```text
///  Added ─▶ (unconfirmed) ─▶ Active ─▶ Primary, once and again
///                             │  ▲
///           error, or silence ▼  │ HEARTBEAT ACK, or acknowledgement of data that was sent once
///                    PotentiallyFailed ─▶ Inactive, after more errors; a HEARTBEAT ACK makes it Active
/// ```
///
/// `Mtu` follows when the association carries data, and whenever the size changes. `Rebound` and `Removed` may occur at any time.
/// The paths of the handshake exist without `Added`, and are unconfirmed at first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PathChange {
    /// The reachability changed.
    Reachability(Reachability),
    /// The path became the primary path.
    Primary,
    /// The path is new, because an address was added (RFC 5061). It carries data after it is confirmed. Paths to addresses that the
    /// peer listed in the handshake are reported when they are confirmed.
    Added,
    /// The path was removed, because an address was deleted (RFC 5061).
    Removed,
    /// The path MTU changed: the maximum size of IP packets in bytes (RFC 8899).
    Mtu(u16),
    /// The peer's encapsulation port changed: a NAT has a new binding (RFC 6951 §5.4).
    Rebound,
}

//! Bonding tunnel without root: TCP connections, taken by proxies, on the streams of one multipath association.
//!
//! ```text
//! program ─▶ proxy ─▶ Tunnel { Relay } ═ association over all paths ═ Tunnel { Relay } ─▶ exit ─▶ target
//! ```
//!
//! | file | question |
//! |---|---|
//! | `target.rs` | where is a connection to lead? |
//! | `class.rs` | what comes first when the paths are full? |
//! | `frame.rs` | what do both ends tell each other? |
//! | `datagram.rs`, `flows.rs` | how are UDP and ICMP echo carried? |
//! | `credit.rs` | how much may be under way or unread? |
//! | `relay` | which frame is sent next, and what does a received one mean? (sans-IO) |
//! | `tunnel` | who passes the frames of a relay on? |
//! | `splice.rs` | how do bytes get from a socket into a connection, and back? |
//! | `proxy` | how does a program say where it wants to? |
//! | `tun` | how do programs use the tunnel that know no proxy? |
//! | `reach.rs`, `exit` | what may the peer connect to, and who does it? |
//!
//! docs/tunnel.md specifies the protocol.

mod class;
mod config;
mod credit;
mod datagram;
mod exit;
mod flows;
mod frame;
mod proxy;
mod reach;
mod relay;
mod splice;
mod target;
#[cfg(target_os = "linux")]
mod tun;
mod tunnel;

pub use class::{BURST, Class, ClassRule, ClassRuleError, Classes, SMALL};
pub use config::association_config;
pub use credit::{BUDGET, INITIAL_WINDOW, LARGEST_WINDOW};
pub use datagram::{DATAGRAM, DATAGRAM_STREAMS, Datagram, DatagramKind};
pub use exit::{Exit, ExitFlows};
pub use flows::{Flow, Flows};
pub use frame::{ADAPTATION_LAYER, CONTROL, DATA, Frame, FrameError, LONGEST_DATA, Reason};
pub use proxy::{Proxy, Route, serve};
pub use reach::{Reach, Rule, RuleError};
pub use relay::{ConnectionId, Inbound, Outbound, Relay, Role, STREAMS, Violation};
pub use splice::splice;
pub use target::{Host, HostName, Target, TargetError};
#[cfg(target_os = "linux")]
pub use tun::{IsOwn, NameServers, TunConfig, TunDevice, carry, door};
pub use tunnel::{Connection, End, Incoming, Tunnel};

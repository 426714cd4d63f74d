//! Sockets for SCTP packets: non-blocking, many packets per system call.
//!
//! Two kinds of socket carry SCTP: [`UdpSocket`] wraps every packet in UDP (RFC 6951), which needs no
//! privilege and passes NATs and firewalls; [`RawSocket`] speaks SCTP directly over IP (protocol 132), which
//! needs `CAP_NET_RAW`. Both are a [`Transport`]: a file descriptor with "try" operations, for any event loop.
//! A [`Socket`] is the same with readiness built in, for asynchronous programs and for middleware that shapes
//! or loses packets on the way.
//!
//! There is no asynchronous runtime in this crate and no SCTP either: it moves bytes with their
//! [`PathAddr`](anabranch_types::PathAddr) and their ECN bits.
//!
//! ```
//! use anabranch_io::{Incoming, Outgoing, Transport, UdpSocket};
//! use anabranch_types::{Ecn, PathAddr};
//!
//! let alice = UdpSocket::bind("127.0.0.1:0".parse()?)?;
//! let bob = UdpSocket::bind("127.0.0.1:0".parse()?)?;
//! let path = PathAddr { local: alice.local_addr(), remote: bob.local_addr() };
//! alice.try_send(&Outgoing { path, ecn: Ecn::NotCapable, bytes: b"hello", segment_size: None, may_fragment: false })?;
//!
//! let mut incoming = [Incoming::new()];
//! assert_eq!(bob.try_receive(&mut incoming)?, 1);
//! assert_eq!(incoming[0].path(), path.reversed());
//! assert!(incoming[0].datagrams().eq([b"hello"]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod datagram;
mod errors;
mod fragmentation;
mod icmp;
mod interfaces;
mod kernel;
mod raw;
#[cfg(target_os = "linux")]
mod routing;
mod socket;
mod udp;
mod uplinks;
#[cfg(target_os = "linux")]
mod watch;

pub use datagram::{Incoming, LARGEST_BATCH, Outgoing};
pub use errors::{ErrorClass, broken, classify};
pub use icmp::{IcmpKind, IcmpMessage};
pub use interfaces::{expand_wildcard, is_host_address, mtus, usable_addresses};
pub use raw::{PROTOCOL_NUMBER, RawSocket};
pub use socket::{Socket, Transport};
pub use udp::UdpSocket;
pub use uplinks::{Egress, Uplink, device_of, uplinks, uplinks_of_device};
#[cfg(target_os = "linux")]
pub use watch::InterfaceWatch;

#[cfg(test)]
mod tests;

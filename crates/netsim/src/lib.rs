//! Discrete-event network simulator. How long do packets wait, which are lost, and when do they arrive?
//!
//! The simulator is independent of the protocol: it carries [`Datagram`]s between [`Host`]s over [`Link`]s. Hosts
//! learn nothing about lost packets; statistics and captures do. Time is virtual and all random numbers come from one
//! [`Seed`](anabranch_types::Seed), so the same program with the same seed produces the same packets, bit by bit.
//!
//! A [`Network`] runs hosts and links in virtual time. A [`Link`] also works on its own, driven by another clock.
//!
//! ```
//! use anabranch_netsim::{Datagram, Host, LinkConfig, Protocol, Network, topology};
//! use anabranch_types::{Ecn, Instant, PathAddr, Rate, Seed};
//! use std::time::Duration;
//!
//! #[derive(Default)]
//! struct Mailbox { outgoing: Vec<Datagram>, arrived: Vec<(Instant, Vec<u8>)> }
//!
//! impl Host for Mailbox {
//!     fn on_datagram(&mut self, now: Instant, datagram: Datagram) {
//!         self.arrived.push((now, datagram.payload));
//!     }
//!     fn on_deadline(&mut self, _now: Instant) {}
//!     fn poll_transmit(&mut self, _now: Instant) -> Option<Datagram> { self.outgoing.pop() }
//!     fn deadline(&self) -> Option<Instant> { None }
//! }
//!
//! let mut network = Network::new(Seed(7));
//! let alice = network.add_host(Mailbox::default());
//! let bob = network.add_host(Mailbox::default());
//! let dsl = LinkConfig::new(Rate::mbit(8), Duration::from_millis(20));
//! let path = topology::one_path(&mut network, (alice, bob), &dsl);
//!
//! // 1,000 bytes at 8 Mbit/s take 1 ms: 972 of payload, 20 of IPv4, 8 of UDP.
//! let (path, protocol) = (path.addr(9_899), Protocol::SCTP);
//! let letter = Datagram { path, protocol, ecn: Ecn::NotCapable, may_fragment: false, payload: vec![0; 972] };
//! network.act(alice, |mailbox, _now| mailbox.outgoing.push(letter));
//! network.run_until(Instant::ZERO + Duration::from_secs(1));
//! assert_eq!(network.host(bob).arrived[0].0, Instant::ZERO + Duration::from_millis(21));
//! ```

pub mod capture;
mod datagram;
mod histogram;
mod host;
mod line_error;
pub mod link;
mod network;
mod random;
pub mod topology;
pub mod trace;
pub mod traffic;

pub use datagram::{Datagram, Protocol};
pub use histogram::{Bucket, Histogram};
pub use host::{Host, HostId};
pub use line_error::LineError;
pub use link::{Link, LinkChange, LinkConfig, LinkId};
pub use network::{Action, Change, Filter, FilterAction, Network, Unroutable};
pub use random::{Probability, exponential};
pub use topology::{Path, Side};
pub use trace::{RateTrace, TraceModel};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod test_host;

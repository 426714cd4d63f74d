//! What happens to a packet on its way? Queues, losses and delays of a network in virtual time.
//!
//! The network knows no protocol: it carries [`Datagram`]s between [`Host`]s over [`Link`]s and tells nobody what
//! became of them, except its statistics and captures. All time is virtual and all randomness comes from one
//! [`Seed`](anabranch_types::Seed), so the same program with the same seed gives the same packets, bit by bit.
//!
//! A [`World`] runs hosts and links in virtual time. A [`Link`] works without a world too, for whoever drives
//! it from another clock.
//!
//! ```
//! use anabranch_netsim::{Datagram, Host, LinkConfig, Protocol, World, topology};
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
//! let mut world = World::new(Seed(7));
//! let alice = world.add_host(Mailbox::default());
//! let bob = world.add_host(Mailbox::default());
//! let dsl = LinkConfig::new(Rate::mbit(8), Duration::from_millis(20));
//! let path = topology::one_path(&mut world, (alice, bob), &dsl);
//!
//! // 1,000 bytes at 8 Mbit/s take 1 ms: 972 of payload, 20 of IPv4, 8 of UDP.
//! let (path, protocol) = (path.addr(9_899), Protocol::SCTP);
//! let letter = Datagram { path, protocol, ecn: Ecn::NotCapable, may_fragment: false, payload: vec![0; 972] };
//! world.act(alice, |mailbox, _now| mailbox.outgoing.push(letter));
//! world.run_until(Instant::ZERO + Duration::from_secs(1));
//! assert_eq!(world.host(bob).arrived[0].0, Instant::ZERO + Duration::from_millis(21));
//! ```

pub mod capture;
mod datagram;
mod histogram;
mod host;
pub mod link;
mod random;
pub mod topology;
pub mod traffic;
mod world;

pub use datagram::{Datagram, Protocol};
pub use histogram::{Class, Histogram};
pub use host::{Host, HostId};
pub use link::{Link, LinkChange, LinkConfig, LinkId};
pub use random::{Probability, exponential};
pub use topology::Path;
pub use world::{Action, Change, Fate, Filter, Lost, World};

#[cfg(test)]
mod laws;
#[cfg(test)]
mod test_host;

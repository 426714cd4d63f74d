//! How does a real transfer behave on a network that we do not have? Links of the simulator, in real time,
//! around the sockets of this process.
//!
//! An [`Emulator`] runs any number of unidirectional links: the same [`Link`](anabranch_netsim::Link) with rate,
//! queue, loss and delay that the simulator uses, against the clock on the wall. A [`ShapedSocket`] sends
//! through such a link, and a [`LinkHandle`] cuts, heals and changes it while it runs. No privilege is needed,
//! and nothing outside this process is touched.
//!
//! A link behaves like the bottleneck of a router along the way, not like the sender's own interface: it never
//! pushes back, it drops.
//!
//! ```
//! use anabranch_emu::{Emulator, ShapedSocket};
//! use anabranch_io::Socket;
//! use anabranch_netsim::LinkConfig;
//! use anabranch_types::{Rate, Seed};
//! use std::{sync::Arc, time::Duration};
//!
//! # fn example(real: Arc<dyn Socket>) -> std::io::Result<()> {
//! let emulator = Emulator::start(Seed(7))?;
//! let dsl = emulator.link(LinkConfig::new(Rate::mbit(10), Duration::from_millis(20)));
//! let socket: Arc<dyn Socket> = Arc::new(ShapedSocket::new(real, dsl.clone()));
//! // Give the socket to an endpoint; some time later:
//! dsl.cut();
//! dsl.heal();
//! println!("{:?}", dsl.statistics());
//! # Ok(())
//! # }
//! ```
//!
//! Endpoints that are not ours have sockets that are not ours either: for them there is [`bed`], two hosts made of network
//! namespaces with such links between them. That needs root.
//!
//! # Precision and cost
//!
//! One thread serves all links of an emulator. It sleeps until the next packet is due and does not spin; a
//! packet is late by what the system takes to wake a thread, see [`Emulator::punctuality`]. At 50 Mbit/s in
//! packets of 1,500 bytes that was 0.17 ms on average for 14 % of a core, on a virtual machine of two cores with
//! other work to do.

#[cfg(target_os = "linux")]
pub mod bed;
mod control;
mod emulator;
mod parcel;
mod socket;

pub use anabranch_netsim as netsim;
pub use control::LinkHandle;
pub use emulator::{Emulator, Punctuality};
pub use socket::ShapedSocket;

#[cfg(test)]
mod tests;

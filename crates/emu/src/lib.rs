//! Network emulator: links of the simulator in real time, around the sockets of this process or between network
//! namespaces. How does a real stack behave on an emulated network?
//!
//! An [`Emulator`] runs any number of unidirectional links: the same [`Link`](anabranch_netsim::Link) with rate,
//! queue, loss and delay that the simulator uses, against the clock on the wall. A [`ShapedSocket`] sends
//! through such a link, and a [`LinkHandle`] cuts, heals and changes it while it runs. This needs no privileges and
//! changes nothing outside the process.
//!
//! A link behaves like a router's interface along the path, not like the sender's own: it never blocks the sender, it
//! drops.
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
//! For stacks in other processes there is [`bed`], a test bed of two network namespaces with such links between them.
//! It needs root.
//!
//! # Precision and cost
//!
//! One thread serves all links of an emulator. It sleeps until the next packet is due and does not spin; a packet is
//! late by the time that the system takes to wake the thread, see [`Emulator::timing`]. At 50 Mbit/s in packets of
//! 1,500 bytes this was 0.17 ms on average, at 14 % of a core, on a virtual machine of two cores with other load.

#[cfg(target_os = "linux")]
pub mod bed;
mod control;
mod emulator;
mod packet;
mod socket;

pub use anabranch_netsim as netsim;
pub use control::LinkHandle;
pub use emulator::{Emulator, TimingStats};
pub use socket::ShapedSocket;

#[cfg(test)]
mod tests;

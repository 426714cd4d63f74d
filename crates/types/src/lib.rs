//! Types that all crates of anabranch share.
//!
//! Protocol numbers, addresses, time, intervals and seeds. No type depends on a packet, a clock or a socket: [`Instant`]
//! is a number that the driver passes in, and all randomness comes from a [`Seed`].
#![no_std]

extern crate alloc;

mod addr;
mod ecn;
mod ids;
mod interval;
mod numbers;
mod rate;
mod rng;
mod serial;
mod time;

pub use addr::{AddressScope, PathAddr};
pub use ecn::Ecn;
pub use ids::{AssociationId, ChannelId, MessageId, PathId, Ppid, StreamId, VerificationTag};
pub use interval::IntervalSet;
pub use numbers::{AsconfNumber, Fsn, Mid, ReConfigNumber, SendNumber, Ssn, Tsn, UnwrappedTsn};
pub use rate::Rate;
pub use rng::{Rng, Seed};
pub use serial::Serial;
pub use time::{Instant, earliest};

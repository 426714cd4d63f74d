//! What does the core do on a given network? The very same core, on simulated paths, in virtual time.
//!
//! A [`Scenario`] says who talks to whom, over which paths and about what; [`Scenario::build`] makes a
//! [`Simulation`] of it, whose [`Outcome`] says what became of it. The same scenario with the same seed gives the
//! same packets, bit by bit. The [`adversary`] makes up scenarios of its own, as unpleasant as it can.

pub mod adversary;
pub mod app;
pub mod replay;
pub mod tcp;

mod any_host;
mod census;
mod host;
mod log;
mod network;
mod outcome;
mod overhead;
mod probe;
mod processor;
mod rival;
mod scenario;
mod simulation;

pub use anabranch_netsim::{Bucket, Histogram, Side};
pub use anabranch_proto::{
    Association, AssociationConfig, AssociationStatistics, DEFAULT_PORT, PathCounters, PathStatistics,
    SackWalks,
};
pub use any_host::AnyHost;
pub use census::SackCensus;
pub use host::{Observer, SctpHost};
pub use log::{Direction, LoggedPacket, PacketLog};
pub use outcome::{Delivery, Outcome, Tally};
pub use overhead::Overhead;
pub use probe::{Probe, Sample};
pub use processor::{ProcessorModel, ProcessorTally};
pub use rival::Rival;
pub use scenario::{Scenario, Step};
pub use simulation::Simulation;

#[cfg(test)]
mod tests;

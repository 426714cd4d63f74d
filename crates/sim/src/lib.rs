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
mod cross_traffic;
mod host;
mod log;
mod measurement;
mod network;
mod outcome;
mod overhead;
mod probe;
mod processor;
mod sack_statistics;
mod scenario;
mod sctp;
mod simulation;
mod transport;

pub use anabranch_netsim::{Bucket, Histogram, Side};
pub use anabranch_proto::{
    Association, AssociationConfig, AssociationStatistics, DEFAULT_PORT, PathCounters, PathStatistics,
    SackWalks,
};
pub use any_host::AnyHost;
pub use cross_traffic::CrossTraffic;
pub use host::{Observer, SctpHost};
pub use log::{Direction, LoggedPacket, PacketLog};
pub use measurement::{
    DataCounters, Duplicates, HostCounters, HostState, PathState, SackCounters, SendBufferState,
};
pub use outcome::{Delivery, Outcome, Tally};
pub use overhead::Overhead;
pub use probe::{Probe, Sample};
pub use processor::{ProcessorModel, ProcessorTally};
pub use sack_statistics::SackStatistics;
pub use scenario::{Scenario, Step};
pub use sctp::Sctp;
pub use simulation::Simulation;
pub use transport::{HostSetup, Transport};

#[cfg(test)]
mod tests;

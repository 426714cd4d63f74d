//! Simulator of SCTP and TCP endpoints in virtual time.
//!
//! A [`Scenario`] has two hosts with their applications, the paths between them and a script; [`Scenario::build`] creates a
//! [`Simulation`] from it, whose results are its [`Outcome`]. Both are generic over the [`Transport`]. The same scenario with the
//! same seed gives identical packets, bit by bit. [`randomized`] generates its own hostile scenarios.

pub mod app;
pub mod randomized;
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
mod spare_buffers;
mod transport;

pub use anabranch_netsim::{Bucket, Histogram, Side};
pub use anabranch_proto::{
    Association, AssociationConfig, AssociationStatistics, DEFAULT_PORT, OwnPolicies, PacketCounts,
    PathCounters, PathStatistics, SackWalks,
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

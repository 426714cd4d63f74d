//! TCP and Multipath TCP to compare SCTP with. What would TCP have done? Sans-IO like the core, on the same policies.
//!
//! An [`Endpoint`] takes segments and moments and gives segments and events; it knows no clock, no socket and no
//! simulator. Congestion control, path schedulers and acknowledgement policies are the very code that SCTP uses.
//!
//! | where | what |
//! |---|---|
//! | [`wire`] | segments and options |
//! | `endpoint` | all connections of a host |
//! | `connection` | socket buffers, and the protocol behind them |
//! | `tcb` | one sequence space: scoreboard, recovery, timers, windows |
//! | `mptcp` | several subflows under one data sequence space |
//! | `buffer` | bytes between application and network |
#![no_std]

extern crate alloc;

mod buffer;
mod config;
mod connection;
mod endpoint;
mod mptcp;
mod sequence;
mod tcb;
pub mod wire;

pub use config::TcpConfig;
pub use connection::{Connection, ConnectionStatistics, Event};
pub use endpoint::{AddressPair, ConnectError, ConnectionId, Endpoint, FourTuple};
pub use mptcp::{AddressPairing, DataStatistics, MptcpConfig, PathStatistics};
pub use sequence::SequenceNumber;
pub use tcb::{CloseReason, State, TcpCounters};

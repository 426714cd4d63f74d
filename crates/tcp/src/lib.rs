//! TCP and Multipath TCP for comparison with SCTP: sans-IO like the core, with the same policies.
//!
//! An [`Endpoint`] is given segments and timer expiries and produces segments and events; it does not depend on a clock, a socket
//! or a simulator. Congestion control, path schedulers and acknowledgement policies are the same code that SCTP uses.
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

//! Simulation of TCP: hosts with TCP endpoints, their applications, and scenarios, for comparison on the same network.
//!
//! ```
//! use anabranch_netsim::LinkConfig;
//! use anabranch_sim::tcp::{TcpApp, TcpScenario};
//! use anabranch_types::{Rate, Seed};
//! use std::time::Duration;
//! let dsl = LinkConfig::new(Rate::mbit(10), Duration::from_millis(20));
//! let mut simulation = TcpScenario::over(Seed(7), dsl)
//!     .near_app(TcpApp::sender(100_000))
//!     .build();
//! simulation.connect();
//! simulation.run_for(Duration::from_secs(2));
//! assert_eq!(simulation.app(anabranch_sim::Side::Far, 0).unwrap().bytes_read(), 100_000);
//! ```

mod app;
mod host;
mod meter;
mod transport;

pub use anabranch_tcp::{
    AddressPairing, CloseReason, Connection, ConnectionId, ConnectionStatistics, DataStatistics, Event,
    MptcpConfig, PathStatistics, State, TcpConfig, TcpCounters, wire::NrSackForm,
};
pub use app::TcpApp;
pub use host::{TCP_PORT, TcpHost};
pub use meter::TcpMeter;
pub use transport::{Tcp, TcpScenario, TcpSimulation};

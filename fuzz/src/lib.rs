//! Fuzz targets as plain functions. Which invariants hold for any input?
//!
//! The fuzzer's bytes are read as decisions ([`Choices`]). After every step the targets check that each endpoint comes
//! to rest, keeps its buffers within their limits and sends only well-formed packets ([`Host`]).

pub mod association;
pub mod capture;
pub mod data_channels;
pub mod plan;
pub mod reassembly;
pub mod sealed;
pub mod sockets;
pub mod tcp;
pub mod two_associations;

mod choices;
mod forge;
mod host;

pub use choices::Choices;
pub use host::{Host, InFlight};

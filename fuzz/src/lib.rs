//! What must hold for any input? What the fuzz targets do with their bytes, as plain functions.
//!
//! A fuzzer's bytes are read as decisions ([`Choices`]): whose turn it is, what happens, how much. The targets
//! check after every step that each endpoint comes to rest, keeps its buffers within their limits and writes
//! nothing but well-formed packets ([`Host`]).

pub mod association;
pub mod capture;
pub mod plan;
pub mod reassembly;
pub mod tcp;
pub mod two_associations;

mod choices;
mod forge;
mod host;

pub use choices::Choices;
pub use host::{Flying, Host};

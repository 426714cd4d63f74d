//! Buffers between application and network.

mod reassembly;
mod send;

pub(crate) use reassembly::Reassembly;
pub(crate) use send::{Piece, SendBuffer};

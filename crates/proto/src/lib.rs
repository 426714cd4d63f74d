//! A sans-IO SCTP core (RFC 9260) with Concurrent Multipath Transfer.
//!
//! Bytes and the time go in, bytes, deadlines and events come out. The core knows no clock, socket, thread or
//! global; the same code runs under real sockets, under tests and inside a simulator.
#![no_std]

extern crate alloc;

mod message;
mod recv;
mod send;
mod violation;

pub use message::{Message, ReceivedMessage};
pub use send::SendError;

//! A sans-IO SCTP core (RFC 9260) with Concurrent Multipath Transfer.
//!
//! Bytes and the time go in; bytes, deadlines and events come out. The core knows no clock, socket, thread or
//! global: the same code runs under real sockets, under tests and inside a simulator. The folders, in the order
//! in which a packet meets them:
//!
//! | folder | question |
//! |---|---|
//! | `endpoint` | who is this packet for? |
//! | `handshake` | how do two ends become associated? |
//! | `auth` | does this chunk come from the peer that shook hands with us? |
//! | `address` | how do addresses come and go while the association lives? |
//! | `association` | what is one conversation? |
//! | `input` | what happens when a packet arrives? |
//! | `recv` | how do DATA chunks become messages, and when is a SACK sent? |
//! | `output` | how does a packet leave? |
//! | `send` | how does a message become acknowledged chunks? |
//! | `path` | what is kept for one path? |
//!
//! [`Endpoint`] is the front door.
#![no_std]

extern crate alloc;

mod address;
mod association;
mod auth;
mod config;
mod endpoint;
mod extensions;
mod handshake;
mod input;
mod message;
mod output;
mod own_policies;
mod path;
mod recv;
mod secrets;
mod send;
mod transfer;
mod user_data;
mod violation;

pub use address::AddressError;
pub use association::{
    Association, AssociationStatistics, BufferError, CloseReason, Event, SackWork, SendQueue,
};
pub use config::{AssociationConfig, DEFAULT_PORT, EndpointConfig, SackWalks};
pub use endpoint::{AssociationMut, ConnectError, Endpoint, EndpointCounters};
pub use message::{Message, ReceivedMessage};
pub use output::Transmit;
pub use own_policies::OwnPolicies;
pub use path::{PathChange, PathCounters, PathEvent, PathStatistics};
pub use secrets::Entropy;
pub use send::SendError;

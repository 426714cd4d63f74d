//! A sans-IO SCTP core (RFC 9260) with Concurrent Multipath Transfer.
//!
//! The core takes packets and the time, and returns packets, deadlines and events. It uses no clock, socket, thread or global, so
//! the same code runs under real sockets, in tests and in a simulator. The folders, in the order in which a packet passes them:
//!
//! | folder | question |
//! |---|---|
//! | `endpoint` | to which association does a packet belong? |
//! | `handshake` | how is an association set up? |
//! | `auth` | does a chunk come from the peer of the handshake? |
//! | `address` | how are addresses added and removed during an association? |
//! | `association` | which state does an association consist of? |
//! | `input` | how is a received packet handled? |
//! | `recv` | how do DATA chunks become messages, and when is a SACK sent? |
//! | `output` | how is a packet planned and written? |
//! | `send` | how does a message become acknowledged chunks? |
//! | `path` | which state belongs to one path? |
//!
//! [`Endpoint`] is the entry point.
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
mod on_demand;
mod output;
mod own_policies;
mod path;
mod reconfig;
mod recv;
mod secrets;
mod send;
mod transfer;
mod user_data;
mod violation;

pub use address::AddressError;
pub use anabranch_policy::{BufferSize, PathUse, SizeRange};
pub use association::{
    Association, AssociationStatistics, AuthenticationKeys, BufferError, CloseReason, DeliverySettings,
    Event, ProtocolParameters, ReportedError, SackWork, SendQueue,
};
pub use auth::KeyError;
pub use config::{
    AssociationConfig, DEFAULT_PORT, EndpointConfig, ErrorDetection, PacketCounts, SackWalks, SourcePrefix,
};
pub use endpoint::{
    AssociationMut, Channel, ConnectError, Endpoint, EndpointCounters, IcmpKind, IcmpMessage, check_remotes,
};
pub use message::{Extent, Message, MessagePart, ReceivedMessage, Reliability};
pub use output::Transmit;
pub use own_policies::OwnPolicies;
pub use path::{PathChange, PathCounters, PathEvent, PathPreference, PathStatistics, pair_addresses};
pub use reconfig::{Reconfiguration, ReconfigurationError};
pub use secrets::Entropy;
pub use send::{Abandonments, SendError};

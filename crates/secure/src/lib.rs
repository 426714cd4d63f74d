//! Sealed datagrams: TLS 1.3 handshake and packet protection below SCTP.
//!
//! An [`Endpoint`] seals the whole payload of UDP datagrams, so that chunk headers, tags and addresses of the protocol inside
//! are hidden. The handshake is TLS 1.3 through the QUIC interface of rustls; packets are protected as in RFC 9001, with a
//! nonce for each path. `docs/sealed-datagrams.md` describes the packets.
//!
//! Sans-IO: time is an argument, and all randomness comes from rustls' provider. A packet grows by [`OVERHEAD`] bytes.

mod balancer;
mod config;
mod cookie;
mod endpoint;
mod error;
mod handshake;
mod identity;
mod index;
mod key_log;
mod keys;
mod number;
mod packet;
mod parameters;
mod replay;
mod reset;
mod version;

pub use balancer::{Destination, destination};
pub use config::Config;
pub use endpoint::{Endpoint, Event, Received};
pub use error::{Dropped, HandshakeError};
pub use handshake::{ExporterSecret, PeerInfo, Transmit};
pub use identity::{
    KeyList, KeyParseError, PrivateKey, PublicKey, Trust, UntrustedKey, raw_key_configs, raw_key_name,
};
pub use index::Index;
pub use key_log::{KeyLog, KeyLogError};
pub use keys::SealError;
pub use number::SpaceId;
pub use packet::{DATA_HEADER_LEN, OVERHEAD, ParseError, TAG_LEN};
pub use rustls;
pub use version::Version;

#[cfg(test)]
mod tests;

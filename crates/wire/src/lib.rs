//! Wire format of SCTP (RFC 9260 §3): bytes to valid types and back.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+ -.
//! |          source port          |        destination port       |  |
//! +-------------------------------+-------------------------------+  |
//! |                        verification tag                       |  | CommonHeader
//! +---------------------------------------------------------------+  |
//! |                  CRC32c, least byte first                     |  |
//! +---------------+---------------+-------------------------------+ -'
//! |  chunk type   |     flags     |   length (without padding)    | -. RawChunk, decoded to
//! +---------------+---------------+-------------------------------+  | a Chunk; its value may
//! |                 value, padded to 4 bytes ...                  |  | hold Parameters or Causes
//! +---------------------------------------------------------------+ -'
//! |                        further chunks ...                     |
//! ```
//!
//! Inbound, everything borrows from the received bytes: [`Packet::parse`] checks length and checksum,
//! [`Packet::chunks`] iterates over the chunks, [`RawChunk::decode`] returns a [`Chunk`]. Each step either returns a
//! type that needs no further checking or a [`DecodeError`] with the offset of the error. Outbound,
//! [`PacketBuilder`] writes any [`WriteChunk`] in place.
//!
//! This crate checks the form only; what a field *means* in a state of the association (a zero initiate tag, a DATA
//! chunk without data) is not decided here.
#![no_std]

extern crate alloc;

pub mod cause;
pub mod checksum;
pub mod chunk;
pub mod dissect;
pub mod parameter;

mod builder;
#[cfg(test)]
mod captures;
mod error;
mod list;
mod packet;
mod reader;
mod tlv;
mod valid_sack;
mod writer;

pub use builder::{NoRoom, PacketBuilder};
pub use cause::{Cause, CauseIter, CauseWriter, Causes, MissingParameters, RawCause};
pub use chunk::{
    Abort, Asconf, AsconfAck, Auth, Chunk, ChunkHead, CookieAck, CookieEcho, Cwr, Data, DataFlags, Ecne,
    ErrorChunk, ForwardTsn, FragmentPlace, GapBlock, Heartbeat, HeartbeatAck, IData, IForwardTsn, Init,
    InitAck, NrSack, OutboundAbort, OutboundAsconf, OutboundAsconfAck, OutboundError, OutboundForwardTsn,
    OutboundHeartbeat, OutboundHeartbeatAck, OutboundIForwardTsn, OutboundInit, OutboundNrSack,
    OutboundReConfig, OutboundSack, Pad, Part, RawChunk, ReConfig, Sack, Shutdown, ShutdownAck,
    ShutdownComplete, SkippedMid, WirePreference,
};
pub use error::{DecodeError, DecodeErrorKind};
pub use list::{Frame, Frames, List};
pub use packet::{ChunkHeads, Chunks, CommonHeader, Packet};
pub use parameter::{
    AddressRequest, CorrelationId, DetectionMethod, HmacId, HmacIds, Parameter, ParameterIter,
    ParameterWriter, Parameters, RawParameter, ReConfigParameter, ReConfigResponse, ReConfigResult,
    StreamIds,
};
pub use tlv::{UnknownAction, parameter_header};
pub use valid_sack::{SackError, ValidSack};
pub use writer::{WriteChunk, Writer};

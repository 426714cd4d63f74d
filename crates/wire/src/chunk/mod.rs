//! Chunks (RFC 9260 §3.3): one file per chunk or pair of chunks, and the enum of all here.

mod abort;
mod asconf;
mod auth;
mod cookie;
mod data;
mod ecn;
mod error;
mod forward_tsn;
mod heartbeat;
mod i_data;
mod init;
mod nr_sack;
mod pad;
mod part;
mod reconfig;
mod sack;
mod shutdown;

use core::fmt;

pub use abort::{Abort, OutboundAbort};
pub use asconf::{Asconf, AsconfAck, OutboundAsconf, OutboundAsconfAck};
pub use auth::Auth;
pub use cookie::{CookieAck, CookieEcho};
pub use data::{Data, DataFlags};
pub use ecn::{Cwr, Ecne};
pub use error::{ErrorChunk, OutboundError};
pub use forward_tsn::{ForwardTsn, IForwardTsn, OutboundForwardTsn, OutboundIForwardTsn, SkippedMid};
pub use heartbeat::{Heartbeat, HeartbeatAck, OutboundHeartbeat, OutboundHeartbeatAck, WirePreference};
pub use i_data::{FragmentPlace, IData};
pub use init::{Init, InitAck, OutboundInit};
pub use nr_sack::{NrSack, OutboundNrSack};
pub use pad::Pad;
pub use part::Part;
pub use reconfig::{OutboundReConfig, ReConfig};
pub use sack::{GapBlock, OutboundSack, Sack};
pub use shutdown::{Shutdown, ShutdownAck, ShutdownComplete};

use crate::reader::Reader;
use crate::tlv::Hex;
use crate::{DecodeError, WriteChunk, Writer};

/// The numbers of the chunk types.
pub mod kind {
    /// Payload Data (RFC 9260 §3.3.1).
    pub const DATA: u8 = 0;
    /// Initiation (RFC 9260 §3.3.2).
    pub const INIT: u8 = 1;
    /// Initiation Acknowledgement (RFC 9260 §3.3.3).
    pub const INIT_ACK: u8 = 2;
    /// Selective Acknowledgement (RFC 9260 §3.3.4).
    pub const SACK: u8 = 3;
    /// Heartbeat Request (RFC 9260 §3.3.5).
    pub const HEARTBEAT: u8 = 4;
    /// Heartbeat Acknowledgement (RFC 9260 §3.3.6).
    pub const HEARTBEAT_ACK: u8 = 5;
    /// Abort Association (RFC 9260 §3.3.7).
    pub const ABORT: u8 = 6;
    /// Shutdown Association (RFC 9260 §3.3.8).
    pub const SHUTDOWN: u8 = 7;
    /// Shutdown Acknowledgement (RFC 9260 §3.3.9).
    pub const SHUTDOWN_ACK: u8 = 8;
    /// Operation Error (RFC 9260 §3.3.10).
    pub const ERROR: u8 = 9;
    /// Cookie Echo (RFC 9260 §3.3.11).
    pub const COOKIE_ECHO: u8 = 10;
    /// Cookie Acknowledgement (RFC 9260 §3.3.12).
    pub const COOKIE_ACK: u8 = 11;
    /// Explicit Congestion Notification Echo (RFC 4960 Appendix A).
    pub const ECNE: u8 = 12;
    /// Congestion Window Reduced (RFC 4960 Appendix A).
    pub const CWR: u8 = 13;
    /// Shutdown Complete (RFC 9260 §3.3.13).
    pub const SHUTDOWN_COMPLETE: u8 = 14;
    //= rfc4895 5.1-1
    /// Authentication (RFC 4895 §5.1).
    pub const AUTH: u8 = 0x0f;
    /// Non-Renegable Selective Acknowledgement (draft-natarajan-tsvwg-sctp-nrsack).
    pub const NR_SACK: u8 = 0x10;
    /// Payload Data that may be interleaved (RFC 8260 §2.1).
    pub const I_DATA: u8 = 0x40;
    /// Address Configuration Acknowledgment (RFC 5061 §4.1.2).
    pub const ASCONF_ACK: u8 = 0x80;
    /// Re-configuration (RFC 6525 §3.1).
    pub const RE_CONFIG: u8 = 0x82;
    //= rfc4820 3-1
    /// Padding (RFC 4820 §3).
    pub const PAD: u8 = 0x84;
    /// Part of a DATA or I-DATA chunk; an extension of this project, with a number that IANA has not assigned.
    pub const PART: u8 = 0xbe;
    /// Forward Cumulative TSN (RFC 3758 §3.2).
    pub const FORWARD_TSN: u8 = 0xc0;
    /// Address Configuration Change (RFC 5061 §4.1.1).
    pub const ASCONF: u8 = 0xc1;
    /// Forward Cumulative TSN for I-DATA (RFC 8260 §2.3.1).
    pub const I_FORWARD_TSN: u8 = 0xc2;
}

/// Type and flags of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkHead {
    /// The type; see [`kind`].
    pub kind: u8,
    /// Eight bits whose meaning depends on the type.
    pub flags: u8,
}

impl ChunkHead {
    /// Whether it is an ABORT or a SHUTDOWN COMPLETE with the T bit: the verification tag is reflected, that is the tag
    /// of the receiver's own packets (RFC 9260 §8.5.1 B, C).
    #[must_use]
    pub const fn reflects_tag(self) -> bool {
        matches!(self.kind, kind::ABORT | kind::SHUTDOWN_COMPLETE) && self.flags & abort::TAG_REFLECTED != 0
    }
}

/// One chunk of a packet, its value not decoded yet.
///
/// ```text
/// +---------------+---------------+-------------------------------+
/// |     type      |     flags     |   length (without padding)    |
/// +---------------+---------------+-------------------------------+
/// |                 value, then 0 to 3 zero bytes                 |
/// +---------------------------------------------------------------+
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawChunk<'a> {
    /// The type; see [`kind`].
    pub kind: u8,
    /// Eight bits whose meaning depends on the type.
    pub flags: u8,
    /// What follows the length field, without padding.
    pub value: &'a [u8],
    /// The whole chunk without padding, as an error cause must report it.
    pub bytes: &'a [u8],
    /// Where the chunk begins in its packet.
    pub at: usize,
}

impl<'a> RawChunk<'a> {
    /// Bytes of type, flags and length.
    pub const HEADER_LEN: usize = 4;

    /// Decodes the value. Unknown types become [`Chunk::Unknown`].
    ///
    /// # Errors
    /// If the value does not have the form that the type prescribes. Lists inside (parameters, causes) are
    /// decoded when they are walked.
    pub fn decode(self) -> Result<Chunk<'a>, DecodeError> {
        let reader = Reader::new(self.value, self.at + Self::HEADER_LEN);
        match self.kind {
            kind::DATA => Data::decode(self.flags, reader).map(Chunk::Data),
            kind::I_DATA => IData::decode(self.flags, reader).map(Chunk::IData),
            kind::INIT => Init::decode(reader).map(Chunk::Init),
            kind::INIT_ACK => InitAck::decode(reader).map(Chunk::InitAck),
            kind::SACK => Sack::decode(self.flags, reader).map(Chunk::Sack),
            kind::NR_SACK => NrSack::decode(self.flags, reader).map(Chunk::NrSack),
            kind::HEARTBEAT => Heartbeat::decode(reader).map(Chunk::Heartbeat),
            kind::HEARTBEAT_ACK => HeartbeatAck::decode(reader).map(Chunk::HeartbeatAck),
            kind::ABORT => Ok(Chunk::Abort(Abort::decode(self.flags, reader))),
            kind::SHUTDOWN => Shutdown::decode(reader).map(Chunk::Shutdown),
            kind::SHUTDOWN_ACK => reader.end().map(|()| Chunk::ShutdownAck),
            kind::ERROR => Ok(Chunk::Error(ErrorChunk::decode(reader))),
            kind::COOKIE_ECHO => Ok(Chunk::CookieEcho(CookieEcho { cookie: self.value })),
            kind::COOKIE_ACK => reader.end().map(|()| Chunk::CookieAck),
            kind::ECNE => Ecne::decode(reader).map(Chunk::Ecne),
            kind::CWR => Cwr::decode(self.flags, reader).map(Chunk::Cwr),
            kind::SHUTDOWN_COMPLETE => {
                ShutdownComplete::decode(self.flags, reader).map(Chunk::ShutdownComplete)
            }
            kind::AUTH => Auth::decode(reader).map(Chunk::Auth),
            kind::ASCONF => Asconf::decode(reader).map(Chunk::Asconf),
            kind::ASCONF_ACK => AsconfAck::decode(reader).map(Chunk::AsconfAck),
            kind::FORWARD_TSN => ForwardTsn::decode(reader).map(Chunk::ForwardTsn),
            kind::I_FORWARD_TSN => IForwardTsn::decode(reader).map(Chunk::IForwardTsn),
            kind::RE_CONFIG => Ok(Chunk::ReConfig(ReConfig::decode(reader))),
            kind::PART => Part::decode(reader).map(Chunk::Part),
            kind::PAD => Ok(Chunk::Pad(Pad::of_value(self.value))),
            _ => Ok(Chunk::Unknown(self)),
        }
    }
}

/// Writes the chunk unchanged.
impl WriteChunk for RawChunk<'_> {
    fn wire_len(&self) -> usize {
        Self::HEADER_LEN + self.value.len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(self.kind, self.flags, self);
        writer.bytes(self.value);
    }
}

/// `type 0x40 flags=3 len=16 00112233`
impl fmt::Display for RawChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "type {:#04x} flags={} len={}",
            self.kind,
            self.flags,
            self.value.len()
        )?;
        if self.value.is_empty() {
            Ok(())
        } else {
            write!(f, " {}", Hex(self.value))
        }
    }
}

/// A well-formed chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chunk<'a> {
    /// A message or a fragment of one.
    Data(Data<'a>),
    /// A message or a fragment of one, which may be interleaved.
    IData(IData<'a>),
    /// Opens an association.
    Init(Init<'a>),
    /// Answers an INIT, with a state cookie.
    InitAck(InitAck<'a>),
    /// Acknowledges data.
    Sack(Sack<'a>),
    /// Acknowledges data and tells which of it the receiver keeps.
    NrSack(NrSack<'a>),
    /// Probes whether a path works.
    Heartbeat(Heartbeat<'a>),
    /// Answers a HEARTBEAT.
    HeartbeatAck(HeartbeatAck<'a>),
    /// Ends the association at once.
    Abort(Abort<'a>),
    /// Starts the shutdown: the sender has nothing more to send.
    Shutdown(Shutdown),
    /// Answers a SHUTDOWN.
    ShutdownAck,
    /// Reports an error that does not end the association.
    Error(ErrorChunk<'a>),
    /// Returns the state cookie.
    CookieEcho(CookieEcho<'a>),
    /// Completes the handshake.
    CookieAck,
    /// Reports a packet marked as congestion experienced.
    Ecne(Ecne),
    /// Answers an ECNE: the cwnd was reduced.
    Cwr(Cwr),
    /// Completes the shutdown.
    ShutdownComplete(ShutdownComplete),
    /// Authenticates the chunks behind it.
    Auth(Auth<'a>),
    /// Adds or removes addresses.
    Asconf(Asconf<'a>),
    /// Answers an ASCONF.
    AsconfAck(AsconfAck<'a>),
    /// Reports abandoned chunks.
    ForwardTsn(ForwardTsn<'a>),
    /// Reports abandoned chunks of an association with I-DATA.
    IForwardTsn(IForwardTsn<'a>),
    /// Requests a change of streams, or answers one.
    ReConfig(ReConfig<'a>),
    /// Padding.
    Pad(Pad),
    /// A part of a chunk of user data.
    Part(Part<'a>),
    /// An unknown type; [`crate::UnknownAction::of_chunk`] tells what to do.
    Unknown(RawChunk<'a>),
}

/// Runs `$body` with `$chunk` bound to the variant's struct, whichever it is.
macro_rules! for_each_variant {
    ($self:expr, $chunk:ident => $body:expr, init($init:ident, $kind:ident) => $init_body:expr) => {
        match $self {
            Chunk::Init($init) => {
                let $kind = kind::INIT;
                $init_body
            }
            Chunk::InitAck($init) => {
                let $kind = kind::INIT_ACK;
                $init_body
            }
            Chunk::Data($chunk) => $body,
            Chunk::IData($chunk) => $body,
            Chunk::Sack($chunk) => $body,
            Chunk::NrSack($chunk) => $body,
            Chunk::Heartbeat($chunk) => $body,
            Chunk::HeartbeatAck($chunk) => $body,
            Chunk::Abort($chunk) => $body,
            Chunk::Shutdown($chunk) => $body,
            Chunk::ShutdownAck => {
                let $chunk = &ShutdownAck;
                $body
            }
            Chunk::Error($chunk) => $body,
            Chunk::CookieEcho($chunk) => $body,
            Chunk::CookieAck => {
                let $chunk = &CookieAck;
                $body
            }
            Chunk::Ecne($chunk) => $body,
            Chunk::Cwr($chunk) => $body,
            Chunk::ShutdownComplete($chunk) => $body,
            Chunk::Auth($chunk) => $body,
            Chunk::Asconf($chunk) => $body,
            Chunk::AsconfAck($chunk) => $body,
            Chunk::ForwardTsn($chunk) => $body,
            Chunk::IForwardTsn($chunk) => $body,
            Chunk::ReConfig($chunk) => $body,
            Chunk::Pad($chunk) => $body,
            Chunk::Part($chunk) => $body,
            Chunk::Unknown($chunk) => $body,
        }
    };
}

/// Writes a received chunk again.
impl WriteChunk for Chunk<'_> {
    fn wire_len(&self) -> usize {
        for_each_variant!(self, chunk => chunk.wire_len(), init(init, _kind) => init.wire_len())
    }

    fn write(&self, writer: &mut Writer<'_>) {
        for_each_variant!(self, chunk => chunk.write(writer), init(init, kind) => {
            writer.chunk_header(kind, 0, self);
            init.write_value(writer);
        });
    }
}

impl fmt::Display for Chunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for_each_variant!(self, chunk => chunk.fmt(f), init(init, kind) => {
            f.write_str(if kind == kind::INIT { "INIT " } else { "INIT-ACK " })?;
            init.fmt(f)
        })
    }
}

#[cfg(test)]
mod tests;

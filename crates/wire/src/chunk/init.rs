//! INIT and INIT ACK chunks, of the same form (RFC 9260 §3.3.2, §3.3.3).
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! | type = 1 or 2 |       0       |            length             |
//! +---------------+---------------+-------------------------------+
//! |                         initiate tag                          |
//! +---------------------------------------------------------------+
//! |             advertised receiver window credit                 |
//! +-------------------------------+-------------------------------+
//! |       outbound streams        |        inbound streams        |
//! +-------------------------------+-------------------------------+
//! |                          initial TSN                          |
//! +---------------------------------------------------------------+
//! |                        parameters ...                         |
//! +---------------------------------------------------------------+
//! ```

use alloc::vec::Vec;
use core::fmt;

use anabranch_types::{Tsn, VerificationTag};

use super::{RawChunk, kind};
use crate::reader::Reader;
use crate::{DecodeError, Parameters, WriteChunk, Writer};

/// Bytes of the fields before the parameters, without the chunk header.
const FIXED_LEN: usize = 16;

/// An INIT chunk. All values are as received: the receiver decides which are acceptable, because each has its own
/// response. RFC 9260 §3.3.2: a tag of zero is discarded silently, zero streams are answered with an ABORT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Init<'a> {
    /// The tag that packets to the sender of this chunk must carry.
    pub initiate_tag: VerificationTag,
    /// Advertised receiver window (a_rwnd), in bytes.
    pub a_rwnd: u32,
    /// Number of outbound streams that the sender requests.
    pub outbound_streams: u16,
    /// Number of inbound streams that the sender supports.
    pub inbound_streams: u16,
    /// Initial TSN of the sender.
    pub initial_tsn: Tsn,
    /// Addresses, cookie, extensions and other parameters.
    pub parameters: Parameters<'a>,
}

/// An INIT ACK chunk: the same fields, of the responder.
pub type InitAck<'a> = Init<'a>;

impl<'a> Init<'a> {
    pub(crate) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            initiate_tag: VerificationTag(reader.u32()?),
            a_rwnd: reader.u32()?,
            outbound_streams: reader.u16()?,
            inbound_streams: reader.u16()?,
            initial_tsn: Tsn(reader.u32()?),
            parameters: Parameters::at(reader),
        })
    }

    pub(super) fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + FIXED_LEN + self.parameters.bytes().len()
    }

    pub(super) fn write_value(&self, writer: &mut Writer<'_>) {
        writer.u32(self.initiate_tag.0);
        writer.u32(self.a_rwnd);
        writer.u16(self.outbound_streams);
        writer.u16(self.inbound_streams);
        writer.u32(self.initial_tsn.0);
        writer.bytes(self.parameters.bytes());
    }
}

/// `itag=0a1b2c3d rwnd=65536 os=10 is=10 tsn=1 [ipv4 10.0.0.1, ipv4 10.1.0.1]`
impl fmt::Display for Init<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "itag={:?} rwnd={} os={} is={} tsn={} {}",
            self.initiate_tag,
            self.a_rwnd,
            self.outbound_streams,
            self.inbound_streams,
            self.initial_tsn,
            self.parameters
        )
    }
}

/// An INIT or INIT ACK chunk to be sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OutboundInit {
    /// Whether it is an INIT ACK instead of an INIT.
    pub acknowledges: bool,
    /// The tag that packets to us must carry; not zero.
    pub initiate_tag: VerificationTag,
    /// Our advertised receiver window (a_rwnd), in bytes.
    pub a_rwnd: u32,
    /// Number of outbound streams that we request; not zero.
    pub outbound_streams: u16,
    /// Number of inbound streams that we support; not zero.
    pub inbound_streams: u16,
    /// Our initial TSN.
    pub initial_tsn: Tsn,
    /// Parameters made by a [`crate::ParameterWriter`].
    pub parameters: Vec<u8>,
}

impl OutboundInit {
    fn fields(&self) -> Init<'_> {
        Init {
            initiate_tag: self.initiate_tag,
            a_rwnd: self.a_rwnd,
            outbound_streams: self.outbound_streams,
            inbound_streams: self.inbound_streams,
            initial_tsn: self.initial_tsn,
            parameters: Parameters::new(&self.parameters),
        }
    }
}

impl WriteChunk for OutboundInit {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + FIXED_LEN + self.parameters.len()
    }

    //= rfc9260 3.3.2-5, 3.3.2.1-1, 3.3.3-3, 3.3.3.1-2
    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(
            if self.acknowledges {
                kind::INIT_ACK
            } else {
                kind::INIT
            },
            0,
            self,
        );
        self.fields().write_value(writer);
    }
}

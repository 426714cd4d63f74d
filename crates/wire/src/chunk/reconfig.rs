//! RE-CONFIG (RFC 6525 §3.1): requests to reset or add streams, and their responses.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |  type = 130   |       0       |            length             |
//! +---------------+---------------+-------------------------------+
//! |           one or two parameters: request or response          |
//! +---------------------------------------------------------------+
//! ```

use alloc::vec::Vec;
use core::fmt;

use anabranch_types::{ReConfigNumber, StreamId, Tsn};

use super::{RawChunk, kind};
use crate::parameter::{ReConfigParameter, ReConfigResult, kind as parameter};
use crate::reader::Reader;
use crate::{Parameters, WriteChunk, Writer, tlv};

/// A received RE-CONFIG chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReConfig<'a> {
    /// Its parameters; [`ReConfigParameter::decode`] decodes each.
    pub parameters: Parameters<'a>,
}

/// A RE-CONFIG chunk to be sent.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OutboundReConfig {
    parameters: Vec<u8>,
}

impl<'a> ReConfig<'a> {
    pub(crate) const fn decode(reader: Reader<'a>) -> Self {
        Self {
            parameters: Parameters::at(reader),
        }
    }
}

//= rfc6525 4.1-1, 4.1-2, 4.2-1, 4.2-2, 4.3-1, 4.3-2, 4.4-1, 4.4-3, 4.5-1, 4.5-2, 4.5-3, 4.6-1, 4.6-2, 4.6-3
impl OutboundReConfig {
    /// Whether it has no parameter.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.parameters.is_empty()
    }

    /// Outgoing SSN Reset Request (RFC 6525 §4.1) of these streams, or of all if there are none.
    pub fn push_reset_outgoing(
        &mut self,
        number: ReConfigNumber,
        response: ReConfigNumber,
        last: Tsn,
        streams: &[StreamId],
    ) {
        let numbers = [number.0, response.0, last.0];
        self.push(parameter::RESET_OUTGOING, &numbers, &bytes_of(streams));
    }

    /// Incoming SSN Reset Request (RFC 6525 §4.2) of these streams, or of all if there are none.
    pub fn push_reset_incoming(&mut self, number: ReConfigNumber, streams: &[StreamId]) {
        self.push(parameter::RESET_INCOMING, &[number.0], &bytes_of(streams));
    }

    /// SSN/TSN Reset Request (RFC 6525 §4.3).
    pub fn push_reset_association(&mut self, number: ReConfigNumber) {
        self.push(parameter::RESET_ASSOCIATION, &[number.0], &[]);
    }

    /// Add Outgoing Streams Request (RFC 6525 §4.5).
    pub fn push_add_outgoing(&mut self, number: ReConfigNumber, count: u16) {
        self.push(parameter::ADD_OUTGOING, &[number.0, u32::from(count) << 16], &[]);
    }

    /// Add Incoming Streams Request (RFC 6525 §4.6).
    pub fn push_add_incoming(&mut self, number: ReConfigNumber, count: u16) {
        self.push(parameter::ADD_INCOMING, &[number.0, u32::from(count) << 16], &[]);
    }

    //= rfc6525 4.4-2
    /// Re-configuration Response (RFC 6525 §4.4); `next` holds the sender's and the receiver's next TSN, in the response to an SSN/TSN
    /// Reset Request.
    pub fn push_response(
        &mut self,
        number: ReConfigNumber,
        result: ReConfigResult,
        next: Option<(Tsn, Tsn)>,
    ) {
        let both = next.map(|(sender, receiver)| [sender.0, receiver.0]);
        let mut numbers = alloc::vec![number.0, result.code()];
        numbers.extend(both.into_iter().flatten());
        self.push(parameter::RE_CONFIG_RESPONSE, &numbers, &[]);
    }

    fn push(&mut self, kind: u16, numbers: &[u32], rest: &[u8]) {
        let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        tlv::push(&mut self.parameters, kind, &[&numbers, rest]);
    }
}

fn bytes_of(streams: &[StreamId]) -> Vec<u8> {
    streams.iter().flat_map(|stream| stream.0.to_be_bytes()).collect()
}

impl WriteChunk for ReConfig<'_> {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + self.parameters.bytes().len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::RE_CONFIG, 0, self);
        writer.bytes(self.parameters.bytes());
    }
}

impl WriteChunk for OutboundReConfig {
    fn wire_len(&self) -> usize {
        RawChunk::HEADER_LEN + self.parameters.len()
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.chunk_header(kind::RE_CONFIG, 0, self);
        writer.bytes(&self.parameters);
    }
}

/// `RE-CONFIG [reset-outgoing seq=1 resp=0 last=41 streams=3,4]`
impl fmt::Display for ReConfig<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RE-CONFIG ")?;
        tlv::write_list(
            f,
            self.parameters.iter().map(|raw| ReConfigParameter::decode(raw?)),
        )
    }
}

//! I-DATA chunk (RFC 8260 §2.1): a DATA chunk whose fragments are numbered within their message, so that messages may be
//! interleaved.
//!
//! ```text
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |  type = 0x40  |  res  |I|U|B|E|       length = 20 + n         |
//! +---------------+-------+-+-+-+-+-------------------------------+
//! |                              TSN                              |
//! +-------------------------------+-------------------------------+
//! |       stream identifier       |           reserved            |
//! +-------------------------------+-------------------------------+
//! |                      message identifier                       |
//! +---------------------------------------------------------------+
//! |  payload protocol identifier (B) or fragment sequence number  |
//! +---------------------------------------------------------------+
//! |                       n bytes of user data                    |
//! +---------------------------------------------------------------+
//! ```
//!
//! Both ends announce the chunk in Supported Extensions; from then on neither sends DATA (RFC 8260 §2.2.1).

use core::fmt;

use anabranch_types::{Fsn, Mid, Ppid, StreamId, Tsn};

use super::{DataFlags, RawChunk, kind};
use crate::reader::Reader;
use crate::{DecodeError, WriteChunk, Writer};

/// An I-DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IData<'a> {
    /// Transmission sequence number.
    pub tsn: Tsn,
    /// Stream identifier.
    pub stream: StreamId,
    /// Message identifier: ordered and unordered messages of a stream are counted separately.
    pub mid: Mid,
    /// The fragment's position in the message.
    pub place: FragmentPlace,
    /// E: the last fragment of its message.
    pub ending: bool,
    /// U: the message is unordered.
    pub unordered: bool,
    /// I: the receiver is to acknowledge immediately.
    pub immediate: bool,
    /// The user data; not empty in a chunk that is acceptable, as with [`super::Data`].
    pub payload: &'a [u8],
}

/// The position of a fragment: the B bit and the field whose meaning depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FragmentPlace {
    /// B: the first fragment, whose number is implicitly zero. It carries the payload protocol identifier.
    First(Ppid),
    /// A later fragment with its fragment sequence number.
    Later(Fsn),
}

impl<'a> IData<'a> {
    /// Bytes before the payload.
    pub const HEADER_LEN: usize = 20;

    //= rfc8260 2.1-2, 2.1-5
    pub(crate) fn decode(flags: u8, mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let flags = DataFlags::from_bits(flags);
        let tsn = Tsn(reader.u32()?);
        let stream = StreamId(reader.u16()?);
        let _reserved = reader.u16()?;
        let mid = Mid(reader.u32()?);
        let label = reader.u32()?;
        let place = if flags.beginning {
            FragmentPlace::First(Ppid(label))
        } else {
            FragmentPlace::Later(Fsn(label))
        };
        Ok(Self {
            tsn,
            stream,
            mid,
            place,
            ending: flags.ending,
            unordered: flags.unordered,
            immediate: flags.immediate,
            payload: reader.rest(),
        })
    }

    /// The flags as in a DATA chunk.
    #[must_use]
    pub const fn flags(&self) -> DataFlags {
        DataFlags {
            beginning: matches!(self.place, FragmentPlace::First(_)),
            ending: self.ending,
            unordered: self.unordered,
            immediate: self.immediate,
        }
    }

    /// The number of the fragment in its message; zero for the first.
    #[must_use]
    pub const fn fsn(&self) -> Fsn {
        match self.place {
            FragmentPlace::First(_) => Fsn(0),
            FragmentPlace::Later(fsn) => fsn,
        }
    }
}

impl WriteChunk for IData<'_> {
    #[inline]
    fn wire_len(&self) -> usize {
        Self::HEADER_LEN + self.payload.len()
    }

    //= rfc8260 2.1-1, 2.1-4
    #[inline]
    fn write(&self, writer: &mut Writer<'_>) {
        let label = match self.place {
            FragmentPlace::First(ppid) => ppid.0,
            FragmentPlace::Later(fsn) => fsn.0,
        };
        // One append for the header, as in DATA.
        let mut header = [0; Self::HEADER_LEN - RawChunk::HEADER_LEN];
        header[..4].copy_from_slice(&self.tsn.0.to_be_bytes());
        header[4..6].copy_from_slice(&self.stream.0.to_be_bytes());
        header[8..12].copy_from_slice(&self.mid.0.to_be_bytes());
        header[12..].copy_from_slice(&label.to_be_bytes());
        writer.chunk_header(kind::I_DATA, self.flags().bits(), self);
        writer.bytes(&header);
        writer.bytes(self.payload);
    }
}

/// `I-DATA tsn=17 sid=0 mid=3 fsn=2 len=1400 E`, with `ppid=` only on a first fragment and if it is not zero.
impl fmt::Display for IData<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "I-DATA tsn={} sid={} mid={} fsn={}",
            self.tsn,
            self.stream,
            self.mid,
            self.fsn()
        )?;
        if let FragmentPlace::First(Ppid(ppid @ 1..)) = self.place {
            write!(f, " ppid={ppid}")?;
        }
        write!(f, " len={} {}", self.payload.len(), self.flags())
    }
}

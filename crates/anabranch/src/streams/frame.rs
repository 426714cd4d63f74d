//! Control messages of streams. What do both ends tell each other beside the messages of the application?
//!
//! A control message travels on the stream that it is about, ordered, and has the payload protocol identifier [`CONTROL`]: one byte of
//! type, a position or limit of 8 bytes, a code of 4 bytes and a number of messages of 4 bytes, in network byte order.

use anabranch_types::Ppid;
use bytes::{BufMut as _, Bytes, BytesMut};

/// Code point of the adaptation layer (RFC 5061 §4.2.6) by which both ends agree on streams with credit: `ANs1`.
pub(crate) const ADAPTATION_LAYER: u32 = 0x414e_7331;

/// Payload protocol identifier of control messages: `ANsc`. Applications use others.
pub(crate) const CONTROL: Ppid = Ppid(0x414e_7363);

/// Credit, in bytes, of a stream that nobody has granted more.
pub(crate) const INITIAL_WINDOW: u64 = 16 << 10;

/// What each message counts for beside its bytes: otherwise, tiny messages would take much more memory than credit.
const OVERHEAD: u64 = 64;

/// Number of unordered messages that is not known, because some of them may be abandoned.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// Credit that a message of `length` bytes uses.
pub(crate) const fn charge(length: usize) -> u64 {
    length as u64 + OVERHEAD
}

/// A control message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Control {
    /// The receiver grants credit: messages may begin below this position of the stream.
    Credit(u64),
    /// The position of the sender, which waits for credit. Messages that were abandoned count, too.
    Position(u64),
    /// The sender has ended the stream at `position`, after this number of unordered messages, which may arrive later.
    Finished { position: u64, unordered: u32 },
    /// The sender has given the stream up at `position`; as [`Control::Finished`] otherwise.
    Reset {
        position: u64,
        code: u32,
        unordered: u32,
    },
    /// The receiver discards what arrives, and asks the sender to reset the stream.
    Stop(u32),
    /// Both directions have ended, and the end that accepted the stream has read everything. The other one may use its id again.
    Closed,
}

impl Control {
    pub(crate) fn encode(self) -> Bytes {
        let (kind, position, code, unordered) = match self {
            Self::Credit(limit) => (0, limit, 0, 0),
            Self::Position(position) => (1, position, 0, 0),
            Self::Finished { position, unordered } => (2, position, 0, unordered),
            Self::Reset {
                position,
                code,
                unordered,
            } => (3, position, code, unordered),
            Self::Stop(code) => (4, 0, code, 0),
            Self::Closed => (5, 0, 0, 0),
        };
        let mut bytes = BytesMut::with_capacity(17);
        bytes.put_u8(kind);
        bytes.put_u64(position);
        bytes.put_u32(code);
        bytes.put_u32(unordered);
        bytes.freeze()
    }

    /// `None` if `bytes` are no control message.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; 17] = bytes.try_into().ok()?;
        let (kind, rest) = bytes.split_first()?;
        let (position, rest) = rest.split_first_chunk()?;
        let (code, rest) = rest.split_first_chunk()?;
        let position = u64::from_be_bytes(*position);
        let code = u32::from_be_bytes(*code);
        let unordered = u32::from_be_bytes(*rest.first_chunk()?);
        match kind {
            0 => Some(Self::Credit(position)),
            1 => Some(Self::Position(position)),
            2 => Some(Self::Finished { position, unordered }),
            3 => Some(Self::Reset {
                position,
                code,
                unordered,
            }),
            4 => Some(Self::Stop(code)),
            5 => Some(Self::Closed),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Control;

    #[test]
    fn control_messages_are_decoded_as_they_were_encoded() {
        let reset = Control::Reset {
            position: 1 << 40,
            code: 7,
            unordered: 3,
        };
        let finished = Control::Finished {
            position: 2,
            unordered: 1,
        };
        for control in [
            Control::Credit(u64::MAX),
            Control::Position(9),
            finished,
            reset,
            Control::Stop(5),
            Control::Closed,
        ] {
            assert_eq!(Control::decode(&control.encode()), Some(control));
        }
        assert_eq!(Control::decode(&[6; 17]), None);
        assert_eq!(Control::decode(&[0; 16]), None);
    }
}

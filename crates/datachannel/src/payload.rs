//! User messages of data channels (RFC 8831 §6.6): text and binary data, empty ones included, and their PPIDs.

use alloc::string::String;

use anabranch_types::Ppid;
use bytes::Bytes;

use crate::error::Violation;

/// Payload protocol identifiers of data channels (RFC 8831 §8, RFC 8832 §8.1).
pub mod ppid {
    use anabranch_types::Ppid;

    /// WebRTC DCEP: messages that open channels.
    pub const DCEP: Ppid = Ppid(50);
    /// WebRTC String: text that is not empty.
    pub const STRING: Ppid = Ppid(51);
    /// WebRTC Binary: binary data that is not empty.
    pub const BINARY: Ppid = Ppid(53);
    /// WebRTC String Empty.
    pub const STRING_EMPTY: Ppid = Ppid(56);
    /// WebRTC Binary Empty.
    pub const BINARY_EMPTY: Ppid = Ppid(57);
}

/// A user message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Payload {
    /// Text.
    Text(String),
    /// Binary data.
    Binary(Bytes),
}

impl Payload {
    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    //= rfc8831 6.6-2, 6.6-3, 6.6-4
    /// The SCTP message: SCTP has no empty ones, so an empty one has one zero byte and a PPID that says so.
    pub(crate) fn into_message(self) -> (Ppid, Bytes) {
        let zero = Bytes::from_static(&[0]);
        match self {
            Self::Text(text) if text.is_empty() => (ppid::STRING_EMPTY, zero),
            Self::Binary(bytes) if bytes.is_empty() => (ppid::BINARY_EMPTY, zero),
            Self::Text(text) => (ppid::STRING, text.into()),
            Self::Binary(bytes) => (ppid::BINARY, bytes),
        }
    }

    //= rfc8831 6.6-5, 6.6-6
    /// The user message in an SCTP message. The PPIDs 52 and 54 of partial messages are deprecated and not supported.
    pub(crate) fn of_message(id: Ppid, bytes: Bytes) -> Result<Self, Violation> {
        match id {
            ppid::STRING => {
                let text = String::from_utf8(bytes.into()).map_err(|_| Violation::InvalidText)?;
                Ok(Self::Text(text))
            }
            ppid::BINARY => Ok(Self::Binary(bytes)),
            ppid::STRING_EMPTY => Ok(Self::Text(String::new())),
            ppid::BINARY_EMPTY => Ok(Self::Binary(Bytes::new())),
            other => Err(Violation::UnknownPpid(other)),
        }
    }
}

impl From<String> for Payload {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Payload {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self::Binary(bytes)
    }
}

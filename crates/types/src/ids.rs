//! Identifiers: one type for each kind of thing that has a number.

use core::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $raw);

        impl $name {
            /// The number as an index into a dense array.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id! {
    /// A path of one association: a small, dense slot number.
    PathId(u8)
}
id! {
    /// Stream Identifier (RFC 9260 §1.3).
    StreamId(u16)
}
id! {
    /// A message that the application submitted, in order of submission.
    MessageId(u64)
}
id! {
    /// An association of one endpoint.
    AssociationId(u32)
}

/// The channel below SCTP through which a packet comes or goes, if the layer below distinguishes channels, as DTLS distinguishes
/// connections (RFC 8261). The layer below chooses the bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct ChannelId(pub [u8; 8]);

impl ChannelId {
    /// No layer below distinguishes channels: packets are in UDP or IP.
    pub const NONE: Self = Self([0; 8]);
}

/// Payload Protocol Identifier: set by the application, carried unchanged (RFC 9260 §3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Ppid(pub u32);

/// Verification Tag: which incarnation of an association a packet belongs to (RFC 9260 §8.5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VerificationTag(pub u32);

impl VerificationTag {
    /// The tag of packets that carry an INIT (RFC 9260 §8.5.1 A).
    pub const ZERO: Self = Self(0);
}

impl fmt::Debug for VerificationTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

//! Order of AUTH chunks (RFC 4895 §6.3). Which chunks have to be authenticated, and are they?

use anabranch_wire::chunk::kind;
use anabranch_wire::{Chunk, HmacId, Packet, RawChunk};

use crate::auth::{Authentication, Verdict};
use crate::extensions::Extensions;

/// Walks along a packet with its chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Guard {
    /// No AUTH chunk so far.
    #[default]
    Unauthenticated,
    /// A genuine AUTH chunk stands before what comes.
    Authenticated,
}

/// Whether a chunk may be handled. If not, what follows it may not either: an AUTH chunk that is not genuine makes
/// the rest of its packet void, and so does a chunk about addresses that is not authenticated (RFC 5061 §5.2 D5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Admission {
    Granted,
    Denied,
    /// An AUTH chunk that somebody made up, or damaged.
    Forged,
    /// An AUTH chunk with a code of this kind, which we did not offer: the peer should know (RFC 4895 §6.3).
    UnsupportedHmac(HmacId),
}

impl Guard {
    //= rfc4895 5.1-7, 6.3-1, 6.3-3, 6.3-4, 6.3-8, 6.3-15
    //= rfc5061 4.1.1-3, 4.1.2-2, 5.2-2, 5.2-3
    /// Looks at the next chunk, decoded and as it came.
    pub(super) fn admit(
        &mut self,
        extensions: &Extensions,
        authentication: Option<&Authentication>,
        (raw, chunk): (&RawChunk<'_>, &Chunk<'_>),
        packet: &Packet<'_>,
    ) -> Admission {
        let agreed = extensions.agreed(kind::AUTH);
        let Some(authentication) = authentication.filter(|_| agreed) else {
            return Admission::Granted;
        };
        let Chunk::Auth(auth) = chunk else {
            let is_admitted = *self == Self::Authenticated || !Authentication::we_demand(raw.kind);
            return if is_admitted {
                Admission::Granted
            } else {
                Admission::Denied
            };
        };
        // A packet has one AUTH chunk at most (RFC 4895 §5.1).
        if *self == Self::Authenticated {
            return Admission::Denied;
        }
        let covered = packet.bytes().get(raw.at..).unwrap_or_default();
        match authentication.judge(auth, covered) {
            Verdict::Genuine => {
                *self = Self::Authenticated;
                Admission::Granted
            }
            Verdict::Forged => Admission::Forged,
            Verdict::UnsupportedHmac => Admission::UnsupportedHmac(auth.hmac),
        }
    }
}

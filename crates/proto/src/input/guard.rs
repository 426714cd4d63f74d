//! Authentication guard (RFC 4895 §6.3): verifies AUTH chunks, and that chunks which require authentication follow one.

use anabranch_wire::chunk::kind;
use anabranch_wire::{Chunk, HmacId, Packet, RawChunk};

use crate::auth::{Authentication, Verdict, changes_addresses};
use crate::extensions::Extensions;

/// State of the guard while the chunks of a packet are handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Guard {
    /// No AUTH chunk so far.
    #[default]
    Unauthenticated,
    /// A valid AUTH chunk precedes the next chunks.
    Authenticated,
}

/// Whether a chunk may be handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Admission {
    Granted,
    /// The chunk is discarded, because it is not authenticated; the next one is handled.
    Skipped,
    /// The chunk and all later ones are discarded, after an ASCONF or ASCONF ACK that is not authenticated (RFC 5061 §5.2 D5).
    Denied,
    /// An AUTH chunk with an invalid HMAC.
    Forged,
    /// An AUTH chunk with this HMAC identifier, which was not offered and is reported to the peer (RFC 4895 §6.3).
    UnsupportedHmac(HmacId),
}

impl Guard {
    //= rfc4895 5.1-7, 6.3-1, 6.3-3, 6.3-4, 6.3-8, 6.3-15
    //= rfc5061 4.1.1-3, 4.1.2-2, 5.2-2, 5.2-3
    /// Checks the next chunk, given decoded and raw.
    pub(super) fn admit(
        &mut self,
        extensions: &Extensions,
        authentication: Option<&Authentication>,
        (raw, chunk): (&RawChunk<'_>, &Chunk<'_>),
        packet: &Packet<'_>,
    ) -> Admission {
        let Some(authentication) = authentication.filter(|_| extensions.agreed(kind::AUTH)) else {
            return Admission::Granted;
        };
        let Chunk::Auth(auth) = chunk else {
            return if *self == Self::Authenticated || !authentication.we_demand(raw.kind) {
                Admission::Granted
            } else if changes_addresses(raw.kind) {
                Admission::Denied
            } else {
                Admission::Skipped
            };
        };
        // A packet has at most one AUTH chunk (RFC 4895 §5.1).
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

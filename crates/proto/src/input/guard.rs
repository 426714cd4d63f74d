//! Which chunks need somebody to vouch for them, and does anybody? The order of AUTH and the rest (RFC 4895 §6.3).

use anabranch_wire::chunk::kind;
use anabranch_wire::{Cause, CauseWriter, Chunk, Packet, RawChunk};

use crate::Association;
use crate::auth::{Authentication, Verdict};

/// Walks along a packet with its chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Guard {
    /// No AUTH chunk so far.
    #[default]
    Nobody,
    /// A genuine AUTH chunk stands before what comes.
    Vouched,
}

impl Guard {
    /// Whether `chunk` may be handled. If not, what follows it may not either: an AUTH chunk that is not genuine makes
    /// the rest of its packet void, and so does a chunk about addresses that nobody vouches for (RFC 5061 §5.2 D5).
    pub(super) fn admits(
        &mut self,
        association: &mut Association,
        raw: &RawChunk<'_>,
        chunk: &Chunk<'_>,
        packet: &Packet<'_>,
    ) -> bool {
        let agreed = association.extensions.agreed(kind::AUTH);
        let Some(authentication) = association.authentication.as_ref().filter(|_| agreed) else {
            return true;
        };
        let Chunk::Auth(auth) = chunk else {
            return *self == Self::Vouched || !Authentication::we_demand(raw.kind);
        };
        // RFC 4895 §5.1: "MUST NOT appear more than once in an SCTP packet".
        if *self == Self::Vouched {
            return false;
        }
        let covered = packet.bytes().get(raw.at..).unwrap_or_default();
        match authentication.judge(auth, covered) {
            Verdict::Genuine => *self = Self::Vouched,
            Verdict::Forged => association.counters.packets_dropped += 1,
            Verdict::UnsupportedHmac => {
                association.counters.packets_dropped += 1;
                let cause = Cause::UnsupportedHmac(auth.hmac);
                association.control.report(CauseWriter::one(cause));
            }
        }
        *self == Self::Vouched
    }
}

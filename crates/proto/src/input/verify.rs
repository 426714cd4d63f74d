//! Verification of tags (RFC 9260 §8.5): does the packet belong to this association?

use anabranch_types::{PathAddr, VerificationTag};
use anabranch_wire::chunk::kind;
use anabranch_wire::{ChunkHead, Packet};

use crate::association::Association;

//= rfc5061 5.3.1-1, 5.3-13
//= rfc9260 8.5-3, 8.5-4
/// Whether the packet may be handled.
pub(super) fn admits(association: &Association, arrival: &PathAddr, packet: &Packet<'_>) -> bool {
    // An ABORT to an address that is being deleted is ignored: the peer may have deleted the address already, and treated our
    // packet as out of the blue (RFC 5061 §5.3.1).
    let may_be_late = association.addresses.is_leaving(arrival.local);
    tag(association, packet) && !(may_be_late && contains_abort(packet))
}

/// Whether the packet contains an ABORT.
pub(crate) fn contains_abort(packet: &Packet<'_>) -> bool {
    packet.chunks().flatten().any(|raw| raw.kind == kind::ABORT)
}

/// Whether the packet contains a SHUTDOWN ACK or a SHUTDOWN COMPLETE.
pub(super) fn completes_shutdown(packet: &Packet<'_>) -> bool {
    let mut chunks = packet.chunks().flatten();
    chunks.any(|raw| [kind::SHUTDOWN_ACK, kind::SHUTDOWN_COMPLETE].contains(&raw.kind))
}

//= rfc9260 6.10-8, 8.5.1-6, 8.5.1-7, 8.5.1-12
/// Whether a chunk that must be alone in its packet is alone: INIT, INIT ACK and SHUTDOWN COMPLETE (RFC 9260 §6.10), and an ABORT
/// with the T bit (§8.4 rule 8 bundles nothing with it). Such a packet has another tag than other chunks require; if they were
/// accepted in it, an attacker who observes one direction of an association could forge packets of the other.
pub(crate) fn is_lawful_bundle(packet: &Packet<'_>) -> bool {
    let mut chunks = packet.chunk_heads();
    match chunks.next() {
        Some(first) if must_be_alone(first) => chunks.is_at_end(),
        _ => !chunks.any(must_be_alone),
    }
}

const fn must_be_alone(chunk: ChunkHead) -> bool {
    matches!(chunk.kind, kind::INIT | kind::INIT_ACK | kind::SHUTDOWN_COMPLETE) || chunk.reflects_tag()
}

//= rfc9260 8.5.1-6, 8.5.1-7, 8.5.1-12, 8.5-2, 9.1-6
/// Whether the packet has the tag that its first chunk requires; all others require the same ([`is_lawful_bundle`]).
fn tag(association: &Association, packet: &Packet<'_>) -> bool {
    let tag = packet.header().tag;
    match packet.chunk_heads().next() {
        Some(first) if first.reflects_tag() => is_reflected(association, tag),
        Some(_) => tag == association.local.tag,
        None => false,
    }
}

/// Whether the tag is reflected (RFC 9260 §8.5.1 B, C): with the T bit it is the tag of our packets. In COOKIE-WAIT there is none
/// yet, except the zero of our INIT, which could be guessed.
fn is_reflected(association: &Association, tag: VerificationTag) -> bool {
    tag != VerificationTag::ZERO && tag == association.peer.tag
}

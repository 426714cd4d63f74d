//! Verification tags (RFC 9260 §8.5). Is the packet meant for this incarnation of the association?

use anabranch_types::{PathAddr, VerificationTag};
use anabranch_wire::Packet;
use anabranch_wire::chunk::kind;

use crate::association::Association;

//= rfc5061 5.3.1-1, 5.3-13
//= rfc9260 8.5-3, 8.5-4
/// Whether the packet may be looked at.
pub(super) fn admits(association: &Association, arrival: &PathAddr, packet: &Packet<'_>) -> bool {
    // The sender of an ABORT to an address that is being deleted may have deleted it already, and taken us for somebody else
    // (RFC 5061 §5.3.1).
    let may_be_late = association.addresses.is_leaving(arrival.local);
    tag(association, packet) && !(may_be_late && contains_abort(packet))
}

/// Whether an ABORT is anywhere in the packet.
pub(crate) fn contains_abort(packet: &Packet<'_>) -> bool {
    packet.chunks().flatten().any(|raw| raw.kind == kind::ABORT)
}

//= rfc9260 6.10-8, 8.5.1-6, 8.5.1-7, 8.5.1-12
/// Whether a chunk that must be alone in its packet is alone: INIT, INIT ACK and SHUTDOWN COMPLETE (RFC 9260 §6.10), and an ABORT with
/// the T bit (§8.4 rule 8 bundles nothing with it). The tag of such a packet is not the one that other chunks demand: beside them,
/// whoever sees only one direction of an association could write into the other.
pub(crate) fn is_lawful_bundle(packet: &Packet<'_>) -> bool {
    let mut chunks = packet.chunks().flatten();
    let lone = [kind::INIT, kind::INIT_ACK, kind::SHUTDOWN_COMPLETE];
    !chunks.any(|chunk| lone.contains(&chunk.kind) || chunk.reflects_tag()) || packet.chunks().count() == 1
}

//= rfc9260 8.5.1-6, 8.5.1-7, 8.5.1-12, 8.5-2, 9.1-6
/// Whether the tag is the one that the first chunk demands; all others demand the same ([`is_lawful_bundle`]).
fn tag(association: &Association, packet: &Packet<'_>) -> bool {
    let tag = packet.header().tag;
    match packet.chunks().next() {
        Some(Ok(first)) if first.reflects_tag() => is_reflected(association, tag),
        Some(Ok(_)) => tag == association.local.tag,
        Some(Err(_)) | None => false,
    }
}

/// §8.5.1 B and C: with the T bit the tag is the one that we put into our packets. In COOKIE-WAIT that is nobody's
/// yet but the zero of our INIT, which anyone could guess.
fn is_reflected(association: &Association, tag: VerificationTag) -> bool {
    tag != VerificationTag::ZERO && tag == association.peer.tag
}

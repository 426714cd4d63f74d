//! Is the packet meant for this incarnation of the association? Verification tags (RFC 9260 §8.5).

use anabranch_types::{PathAddr, VerificationTag};
use anabranch_wire::Packet;
use anabranch_wire::chunk::kind;

use crate::Association;

/// Whether the packet may be looked at.
pub(crate) fn admits(association: &Association, arrival: PathAddr, packet: &Packet<'_>) -> bool {
    // RFC 5061 §5.3.1: "an Abort MUST be ignored if the destination address of the Abort message is that of a
    // destination being deleted", for its sender may have deleted it already.
    let may_be_late = association.addresses.is_leaving(arrival.local);
    tag(association, packet) && !(may_be_late && contains_abort(packet))
}

/// Whether an ABORT is anywhere in the packet.
pub(crate) fn contains_abort(packet: &Packet<'_>) -> bool {
    packet.chunks().flatten().any(|raw| raw.kind == kind::ABORT)
}

/// Whether the tag is the one that the first chunk demands.
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

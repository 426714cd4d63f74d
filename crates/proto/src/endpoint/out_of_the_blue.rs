//! Out-of-the-blue packets (RFC 9260 §8.4): replies to packets that belong to no association.

use anabranch_types::VerificationTag;
use anabranch_wire::{Cause, Chunk, ErrorChunk, OutboundAbort, Packet, RawChunk, ShutdownComplete};

use super::inbound::Inbound;
use super::replies::Replies;

//= rfc4895 6.3-13
//= rfc9260 6-3, 6-6, 8.4-6, 8.4-7, 8.4-10, 8.4-11, 8.4-12, 8.4-13, 8.5.1-2, 8.5.1-3, 8.5.1-5, 8.5.1-10
//= rfc9260 8.5.1-11
/// Applies the rules in their order; addresses, INIT and COOKIE ECHO (rules 1, 3 and 4) have been handled before.
pub(crate) fn handle(replies: &mut Replies, inbound: &Inbound<'_>) {
    let tag = inbound.packet.header().tag;
    // RFC 9260 §8.5.1 A: a packet with tag zero that is not a single INIT is discarded, because a reply would have no valid tag.
    if tag == VerificationTag::ZERO {
        return;
    }
    let packet = inbound.packet;
    if !begins_well(packet) || contains(packet, is_final) {
        return;
    }
    // Rule 5: the sender of a SHUTDOWN ACK waits for the end of an association that was removed here.
    if contains(packet, |chunk| matches!(chunk, Chunk::ShutdownAck)) {
        //= rfc9260 3.1-5, 3.3.13-2
        replies.push(inbound, tag, &ShutdownComplete { tag_reflected: true });
        return;
    }
    if contains(packet, is_an_end) {
        return;
    }
    //= rfc9260 3.3.7-5
    // Rule 8.
    let abort = OutboundAbort {
        tag_reflected: true,
        causes: alloc::vec::Vec::new(),
    };
    replies.push(inbound, tag, &abort);
}

//= rfc4895 6.3-14
/// Whether the packet contains a chunk for which `is_meant` returns true, at any position.
fn contains(packet: &Packet<'_>, is_meant: impl Fn(&Chunk<'_>) -> bool) -> bool {
    let mut chunks = packet.chunks().flatten().flat_map(RawChunk::decode);
    chunks.any(|chunk| is_meant(&chunk))
}

/// Whether the packet starts with a well-formed chunk.
fn begins_well(packet: &Packet<'_>) -> bool {
    let first = packet.chunks().next().and_then(Result::ok);
    first.is_some_and(|chunk| chunk.decode().is_ok())
}

//= rfc9260 3.3.7-3, 3.3.7-4, 8.4-2
/// ABORT (rule 2), or an INIT that is bundled with other chunks (RFC 9260 §6.10): the packet gets no reply.
const fn is_final(chunk: &Chunk<'_>) -> bool {
    matches!(chunk, Chunk::Abort(_) | Chunk::Init(_))
}

//= rfc9260 8.4-8, 8.4-9
/// Chunks of rules 6 and 7, whose sender expects no reply.
fn is_an_end(chunk: &Chunk<'_>) -> bool {
    match chunk {
        Chunk::ShutdownComplete(_) | Chunk::CookieAck => true,
        Chunk::Error(error) => says_stale_cookie(error),
        _ => false,
    }
}

fn says_stale_cookie(chunk: &ErrorChunk<'_>) -> bool {
    let first = chunk
        .causes
        .iter()
        .next()
        .and_then(Result::ok)
        .and_then(|cause| cause.decode().ok());
    matches!(first, Some(Cause::StaleCookie { .. }))
}

//! What is done with a packet that belongs to no association (RFC 9260 §8.4)?

use anabranch_types::AddressScope;
use anabranch_wire::{Cause, Chunk, ErrorChunk, OutboundAbort, Packet, ShutdownComplete};

use super::Inbound;
use super::replies::Replies;

/// Applies the rules in their order; INIT and COOKIE ECHO (rules 3 and 4) were looked at before.
pub(crate) fn handle(replies: &mut Replies, inbound: &Inbound<'_>) {
    // Rule 1: "not a unicast address: silently discard".
    if AddressScope::of(inbound.arrival.remote.ip()) == AddressScope::Unusable {
        return;
    }
    let tag = inbound.packet.header().tag;
    let first = inbound
        .packet
        .chunks()
        .next()
        .and_then(Result::ok)
        .and_then(|chunk| chunk.decode().ok());
    match first {
        // Rule 5: the sender of a SHUTDOWN ACK waits for the end of an association that we forgot.
        Some(Chunk::ShutdownAck) => {
            replies.push(inbound, tag, &ShutdownComplete { tag_reflected: true });
        }
        // Rules 2, 6 and 7; an INIT that comes here broke the rule of standing alone (§8.5.1 A).
        Some(Chunk::ShutdownComplete(_) | Chunk::CookieAck | Chunk::Init(_) | Chunk::CookieEcho(_))
        | None => {}
        Some(Chunk::Error(chunk)) if says_stale_cookie(&chunk) => {}
        // Rule 2 holds for an ABORT anywhere in the packet.
        Some(_) if contains_abort(inbound.packet) => {}
        // Rule 8.
        Some(_) => {
            let abort = OutboundAbort {
                tag_reflected: true,
                causes: alloc::vec::Vec::new(),
            };
            replies.push(inbound, tag, &abort);
        }
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

fn contains_abort(packet: &Packet<'_>) -> bool {
    packet
        .chunks()
        .flatten()
        .any(|raw| matches!(raw.decode(), Ok(Chunk::Abort(_))))
}

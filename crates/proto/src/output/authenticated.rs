//! Authentication of sent packets (RFC 4895 §6.2): an AUTH chunk before all other chunks, if the peer requires it for any chunk type.
//!
//! Packets are planned and written as if they were shorter by the AUTH chunk ([`Transfer::reserve`](crate::transfer::Transfer::reserve)),
//! and get it here.

use alloc::vec::Vec;

use anabranch_wire::chunk::kind;
use anabranch_wire::{CommonHeader, Packet};

use super::Transmit;
use crate::association::Association;
use crate::auth::Authentication;
use crate::transfer::Transfer;

/// Adds AUTH chunks to the packets of `association` that begin at `start`, if its peer requires them.
#[inline]
pub(crate) fn authenticate(
    association: &Association,
    transmit: &mut Transmit,
    start: usize,
    buffer: &mut Vec<u8>,
) {
    if let Some(authentication) = &association.authentication
        && authentication.seals_packets()
    {
        add_auth((authentication, &association.transfer), transmit, start, buffer);
    }
}

#[cold]
fn add_auth(
    (authentication, transfer): (&Authentication, &Transfer),
    transmit: &mut Transmit,
    start: usize,
    buffer: &mut Vec<u8>,
) {
    let packets = buffer.split_off(start);
    let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
    let mut first = None;
    for packet in packets.chunks(segment) {
        let begun = buffer.len();
        let (header, chunks) = packet.split_at(packet.len().min(CommonHeader::LEN));
        buffer.extend_from_slice(header);
        match Packet::parse_unverified(packet) {
            Ok(packet) if is_wanted(authentication, &packet) => {
                let named = transfer.sender.key_of(&packet);
                authentication.push_before(named, chunks, buffer);
            }
            _ => buffer.extend_from_slice(chunks),
        }
        first.get_or_insert(buffer.len() - begun);
    }
    transmit.size = buffer.len() - start;
    transmit.segment_size = transmit.segment_size.and(first);
}

//= rfc4895 3.2-7, 5.1-7, 6.2-1
/// Whether the packet gets an AUTH chunk.
///
/// Packets of a batch have to be of equal length, so all packets get one. Exceptions are packets with a chunk that is never authenticated and
/// those with an AUTH chunk already. A COOKIE ECHO gets one only if the peer requires that: its receiver has no association yet.
fn is_wanted(authentication: &Authentication, packet: &Packet<'_>) -> bool {
    let mut kinds = packet.chunks().flatten().map(|chunk| chunk.kind);
    let Some(first) = kinds.next() else {
        return false;
    };
    match first {
        kind::INIT | kind::INIT_ACK | kind::SHUTDOWN_COMPLETE | kind::AUTH => false,
        kind::COOKIE_ECHO => {
            authentication.peer_demands(first) || kinds.any(|kind| authentication.peer_demands(kind))
        }
        _ => true,
    }
}

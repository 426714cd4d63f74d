//! Reset for a segment that belongs to no connection (RFC 9293 §3.10.7.1); for an MP_JOIN, with the reason (RFC 8684 §3.6).

use alloc::vec::Vec;

use super::AddressPair;
use crate::sequence::SequenceNumber;
use crate::wire::{Kind, MptcpOption, Options, PrimaryOption, ResetReason, Segment};

/// The reset that answers `segment`, without checksum; `None` if `segment` is itself a reset.
pub(super) fn reply_to(addresses: AddressPair, segment: &Segment<'_>) -> Option<(AddressPair, Vec<u8>)> {
    if segment.kind == Kind::Reset {
        return None;
    }
    let behind = segment.sequence + segment.length();
    let (sequence, acknowledgement) = match segment.acknowledgement {
        Some(acknowledgement) => (acknowledgement, None),
        None => (SequenceNumber::default(), Some(behind)),
    };
    let mut options = Options::default();
    if let Some(PrimaryOption::MpJoin(_)) = segment.options.mptcp.primary {
        options.mptcp.others.push(MptcpOption::Reset {
            transient: false,
            reason: ResetReason::PROTOCOL,
        });
    }
    let reset = Segment {
        options,
        source_port: segment.destination_port,
        destination_port: segment.source_port,
        sequence,
        acknowledgement,
        kind: Kind::Reset,
        ..Segment::default()
    };
    let back = AddressPair {
        source: addresses.destination,
        destination: addresses.source,
    };
    let mut bytes = Vec::new();
    reset.write_unsealed(&mut bytes);
    Some((back, bytes))
}

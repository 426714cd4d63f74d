//! What is a segment answered that belongs to no connection? A reset (RFC 9293 §3.10.7.1).

use alloc::vec::Vec;

use super::Envelope;
use crate::sequence::SequenceNumber;
use crate::wire::{Kind, Segment};

/// The reset that answers `segment`; `None` for a reset, which nobody answers.
pub(super) fn answer(envelope: Envelope, segment: &Segment<'_>) -> Option<(Envelope, Vec<u8>)> {
    if segment.kind == Kind::Reset {
        return None;
    }
    let behind = segment.sequence + segment.length();
    let (sequence, acknowledgement) = match segment.acknowledgement {
        Some(acknowledgement) => (acknowledgement, None),
        None => (SequenceNumber::default(), Some(behind)),
    };
    let reset = Segment {
        source_port: segment.destination_port,
        destination_port: segment.source_port,
        sequence,
        acknowledgement,
        kind: Kind::Reset,
        ..Segment::default()
    };
    let back = Envelope {
        source: envelope.destination,
        destination: envelope.source,
    };
    let mut bytes = Vec::new();
    reset.write(back.source, back.destination, &mut bytes);
    Some((back, bytes))
}

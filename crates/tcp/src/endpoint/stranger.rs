//! What is a segment answered that belongs to no connection? A reset (RFC 9293 §3.10.7.1); to who would join one, with the
//! reason (RFC 8684 §3.6).

use alloc::vec::Vec;

use super::Envelope;
use crate::sequence::SequenceNumber;
use crate::wire::{Kind, Lead, Notice, Options, ResetReason, Segment};

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
    let mut options = Options::default();
    if let Some(Lead::Join(_)) = segment.options.multipath.lead {
        options.multipath.notices.push(Notice::Reset {
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
    let back = Envelope {
        source: envelope.destination,
        destination: envelope.source,
    };
    let mut bytes = Vec::new();
    reset.write(back.source, back.destination, &mut bytes);
    Some((back, bytes))
}

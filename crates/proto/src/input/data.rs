//! What becomes of a DATA chunk?

use anabranch_types::PathId;
use anabranch_wire::{Cause, CauseWriter, Data};

use crate::Association;
use crate::association::{Event, State};
use crate::recv::DataOutcome;
use crate::violation::Violation;

pub(crate) fn on_data(
    association: &mut Association,
    path: PathId,
    chunk: &Data<'_>,
) -> Result<(), Violation> {
    if !association.state.takes_data() {
        return Ok(());
    }
    association.paths.path_mut(path).counters.payload_received += chunk.payload.len() as u64;
    match association.receiver.on_data(chunk)? {
        DataOutcome::Accepted => tell_readable(association),
        DataOutcome::InvalidStream => {
            association
                .control
                .report(CauseWriter::one(Cause::InvalidStream(chunk.stream)));
        }
        DataOutcome::Duplicate | DataOutcome::NoRoom => {}
    }
    if let State::ShutdownSent(..) = association.state {
        // RFC 9260 §9.2: "in SHUTDOWN-SENT, the receiver of DATA MUST immediately respond with a SACK and a
        // SHUTDOWN".
        association.receiver.force_sack();
        association.control.send_shutdown();
    }
    Ok(())
}

fn tell_readable(association: &mut Association) {
    if !association.owed.readable_told && association.receiver.readable() {
        association.owed.readable_told = true;
        association.events.push(Event::Readable);
    }
}

//! What becomes of a chunk of user data?

use anabranch_types::{Instant, PathId};
use anabranch_wire::{Cause, CauseWriter};

use crate::Association;
use crate::association::{Event, State, way_back};
use crate::recv::DataOutcome;
use crate::user_data::UserData;
use crate::violation::Violation;

pub(crate) fn on_data(
    association: &mut Association,
    now: Instant,
    path: PathId,
    chunk: UserData<'_>,
) -> Result<(), Violation> {
    if !association.state.takes_data() {
        return Ok(());
    }
    association.paths.path_mut(path).counters.payload_received += chunk.payload().len() as u64;
    match association.receiver.on_user_data(&chunk)? {
        DataOutcome::Accepted => tell_readable(association),
        DataOutcome::InvalidStream => {
            association
                .control
                .report(CauseWriter::one(Cause::InvalidStream(chunk.stream())));
        }
        DataOutcome::Duplicate => way_back::duplicate_came(association, now),
        DataOutcome::NoRoom => {}
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

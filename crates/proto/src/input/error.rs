//! What does the peer complain about?

use anabranch_types::Instant;
use anabranch_wire::{Cause, ErrorChunk};

use crate::association::complaint::Complaint;
use crate::association::{Event, State};
use crate::{Association, address, handshake};

/// Complaints beyond this number in one chunk are not read.
const MOST: usize = 4;

pub(crate) fn on_error(association: &mut Association, now: Instant, chunk: &ErrorChunk<'_>) {
    for cause in chunk.causes.iter().flatten().take(MOST) {
        let Ok(cause) = cause.decode() else { return };
        let waiting = matches!(association.state, State::CookieEchoed(..));
        if matches!(cause, Cause::StaleCookie { .. }) && waiting {
            handshake::on_stale_cookie(association, now);
            return;
        }
        if let Cause::UnrecognizedChunk(chunk) = cause {
            address::peer_knows_no_asconf(association, chunk);
        }
        association.events.push(Event::PeerError(Complaint::of(&cause)));
    }
}

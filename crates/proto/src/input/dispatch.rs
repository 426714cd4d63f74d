//! Which handler gets which chunk?

use anabranch_types::{Instant, PathId};
use anabranch_wire::{Cause, CauseWriter, Chunk, Packet, RawChunk, UnknownAction};

use super::guard::Guard;
use super::{data, error, heartbeat, sack, shutdown};
use crate::association::{State, close};
use crate::handshake::{self, Extensions};
use crate::user_data::UserData;
use crate::violation::Violation;
use crate::{Association, address};

/// Handles all chunks in order; tells whether there was DATA among them.
pub(crate) fn chunks(
    association: &mut Association,
    now: Instant,
    path: PathId,
    packet: &Packet<'_>,
) -> Result<bool, Violation> {
    let mut carried_data = false;
    let mut guard = Guard::default();
    for raw in packet.chunks() {
        let Some(raw) = raw.ok().filter(|_| !association.state.is_closed()) else {
            break;
        };
        let Ok(chunk) = raw.decode() else {
            // A chunk that does not parse says that the rest cannot be trusted either.
            association.counters.packets_dropped += 1;
            break;
        };
        if !guard.admits(association, &raw, &chunk, packet) {
            break;
        }
        carried_data |= matches!(chunk, Chunk::Data(_) | Chunk::IData(_)) && association.state.takes_data();
        if !one(association, now, path, raw, chunk)? {
            break;
        }
    }
    Ok(carried_data)
}

/// Handles one chunk; tells whether the next one may follow.
fn one(
    association: &mut Association,
    now: Instant,
    path: PathId,
    raw: RawChunk<'_>,
    chunk: Chunk<'_>,
) -> Result<bool, Violation> {
    if Extensions::governs(raw.kind) && !association.extensions.agreed(raw.kind) {
        return Ok(unknown(association, raw));
    }
    match chunk {
        Chunk::Data(chunk) => data::on_data(association, now, path, UserData::Data(chunk))?,
        Chunk::IData(chunk) => data::on_data(association, now, path, UserData::IData(chunk))?,
        Chunk::Sack(chunk) => sack::on_sack(association, now, path, &chunk)?,
        Chunk::NrSack(chunk) => sack::on_nr_sack(association, now, path, &chunk)?,
        Chunk::InitAck(chunk) => {
            handshake::on_init_ack(association, now, path, &chunk)?;
            // It "MUST NOT" be bundled with others (RFC 9260 §6.10), and `path` may be no more.
            return Ok(false);
        }
        Chunk::CookieAck => handshake::on_cookie_ack(association, now),
        Chunk::Heartbeat(_) => heartbeat::on_heartbeat(association, path, raw.value),
        Chunk::HeartbeatAck(chunk) => heartbeat::on_heartbeat_ack(association, now, chunk.info),
        Chunk::Abort(chunk) => close::aborted_by_peer(association, &chunk),
        Chunk::Error(chunk) => error::on_error(association, now, &chunk),
        Chunk::Shutdown(chunk) => shutdown::on_shutdown(association, now, path, chunk),
        Chunk::ShutdownAck => shutdown::on_shutdown_ack(association),
        Chunk::ShutdownComplete(_) => shutdown::on_shutdown_complete(association),
        // INIT and COOKIE ECHO are the endpoint's business; it has seen them before us. Congestion marks are
        // not negotiated, padding says nothing.
        Chunk::Init(_) | Chunk::CookieEcho(_) | Chunk::Ecne(_) | Chunk::Cwr(_) | Chunk::Pad(_) => {}
        Chunk::Asconf(chunk) => address::on_asconf(association, now, path, &chunk),
        Chunk::AsconfAck(chunk) => address::on_asconf_ack(association, now, &chunk)?,
        // The guard has seen to it.
        Chunk::Auth(_) => {}
        Chunk::Unknown(_) => return Ok(unknown(association, raw)),
    }
    Ok(true)
}

/// What the upper two bits of an unknown chunk type demand (RFC 9260 §3.2).
fn unknown(association: &mut Association, raw: RawChunk<'_>) -> bool {
    let action = UnknownAction::of_chunk(raw.kind);
    let handshaking = matches!(association.state, State::CookieWait(_));
    if action.reports() && !handshaking {
        association
            .control
            .report(CauseWriter::one(Cause::UnrecognizedChunk(raw.bytes)));
    }
    action.goes_on()
}

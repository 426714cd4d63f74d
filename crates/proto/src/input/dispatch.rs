//! Dispatch of the chunks of a packet to their handlers.

use alloc::vec::Vec;

use anabranch_types::{Instant, PathId};
use anabranch_wire::chunk::kind;
use anabranch_wire::{Cause, CauseWriter, Chunk, Chunks, ErrorChunk, Packet, RawChunk, UnknownAction};

use super::guard::{Admission, Guard};
use crate::association::{
    Association, CloseReason, Control, Event, Events, Introduced, ReportedError, State, close,
};
use crate::auth::Authentication;
use crate::extensions::Extensions;
use crate::handshake;
use crate::reconfig::{Limits, Reconfig};
use crate::recv::{DataOutcome, Skips};
use crate::user_data::UserData;
use crate::violation::Violation;

/// Further error causes in one ERROR chunk are ignored.
const MAX_CAUSES: usize = 4;

//= rfc9260 6.10-6
/// Handles all chunks in order; returns whether there was DATA among them.
#[inline(always)] // once for each packet
pub(super) fn chunks(
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
            // After a malformed chunk the rest of the packet is not trusted either.
            association.counters.packets_dropped += 1;
            break;
        };
        if let Some(authentication) = &mut association.authentication {
            let reports = Reports {
                packets_dropped: &mut association.counters.packets_dropped,
                control: &mut association.control,
                events: &mut association.events,
            };
            let extensions = &association.extensions;
            match admit(
                &mut guard,
                (extensions, authentication),
                (&raw, &chunk),
                packet,
                reports,
            ) {
                Admission::Granted => {}
                Admission::Skipped => continue,
                _ => break,
            }
        }
        match chunk {
            Chunk::Data(data) => carried_data |= on_data(association, now, path, &UserData::Data(data))?,
            Chunk::IData(data) => carried_data |= on_data(association, now, path, &UserData::IData(data))?,
            Chunk::Part(part)
                if association.extensions.agreed(raw.kind) && association.state.takes_data() =>
            {
                // A restored chunk that is not user data is ignored.
                let whole = association.transfer.take_part(&part).unwrap_or_default();
                if let Some(data) = restored(&whole) {
                    carried_data |= on_data(association, now, path, &data)?;
                }
            }
            chunk => {
                carried_data |=
                    is_forward_tsn(&association.extensions, &chunk) && association.state.takes_data();
                if !one(association, now, path, raw, chunk)? {
                    break;
                }
            }
        }
    }
    Ok(carried_data)
}

/// Where the check of authentication reports to.
struct Reports<'a> {
    packets_dropped: &'a mut u64,
    control: &'a mut Control,
    events: &'a mut Events,
}

/// Checks whether the next chunk may be handled where chunks may have to be authenticated. Reports what is wrong with an AUTH chunk, and
/// a new key of the peer.
fn admit(
    guard: &mut Guard,
    (extensions, authentication): (&Extensions, &mut Authentication),
    (raw, chunk): (&RawChunk<'_>, &Chunk<'_>),
    packet: &Packet<'_>,
    reports: Reports<'_>,
) -> Admission {
    let admission = guard.admit(extensions, Some(authentication), (raw, chunk), packet);
    match admission {
        Admission::Granted => {
            if let Chunk::Auth(auth) = chunk
                && authentication.peer_uses(auth.key)
            {
                reports.events.push(Event::PeerAuthenticationKey(auth.key));
            }
        }
        Admission::Skipped | Admission::Denied => {}
        Admission::Forged => *reports.packets_dropped += 1,
        Admission::UnsupportedHmac(hmac) => {
            *reports.packets_dropped += 1;
            let cause = Cause::UnsupportedHmac(hmac);
            reports.control.report(CauseWriter::one(cause));
        }
    }
    admission
}

/// Handles one chunk without user data; returns whether the next one is handled.
fn one(
    association: &mut Association,
    now: Instant,
    path: PathId,
    raw: RawChunk<'_>,
    chunk: Chunk<'_>,
) -> Result<bool, Violation> {
    if matches!(chunk, Chunk::Unknown(_)) || association.extensions.exclude(raw.kind) {
        return Ok(unknown(&mut association.control, &association.state, raw));
    }
    let state = &association.state;
    match chunk {
        Chunk::Sack(sack) if state.is_connected() => {
            let effects = association.transfer.on_sack(now, path, &sack)?;
            association.apply(effects);
        }
        Chunk::NrSack(sack) if state.is_connected() => {
            let effects = association.transfer.on_nr_sack(now, path, &sack)?;
            association.apply(effects);
        }
        Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_) | Chunk::ReConfig(_) => {
            on_stream_change(association, now, path, &chunk)?;
        }
        // The INIT ACK is the only chunk of its packet (RFC 9260 §6.10), and `path` may no longer exist.
        Chunk::InitAck(chunk) => {
            return handshake::on_init_ack(association, now, path, &chunk).map(|()| false);
        }
        //= rfc9260 5.2.5-1
        Chunk::CookieAck if matches!(state, State::CookieEchoed(..)) => {
            let peer = Introduced::of(association);
            association.events.push_connected(false, peer);
            let state = (&mut association.state, association.owed.shutdown);
            let parts = (&mut association.addresses, &mut association.control);
            handshake::establish(state, parts, &mut association.transfer, now);
        }
        Chunk::Ecne(chunk) if state.is_connected() => association.transfer.on_ecne(now, path, chunk),
        Chunk::Cwr(chunk) if state.is_connected() => association.transfer.on_cwr(path, chunk),
        //= rfc9260 3.3.6-1, 3.3.6-2, 8.3-2, 8.3-10
        // The HEARTBEAT ACK is sent over the path of the HEARTBEAT with unchanged information (RFC 9260 §8.3).
        Chunk::Heartbeat(_) if !matches!(state, State::CookieWait(_)) => {
            association.control.answer_heartbeat(path, raw.value);
            association.transfer.on_heartbeat(path, raw.value, now);
        }
        Chunk::HeartbeatAck(chunk) => {
            let effects = association.transfer.on_heartbeat_ack(chunk.info, now);
            association.apply(effects);
        }
        Chunk::Abort(chunk) => {
            if let Some(reason) = close::aborted_by_peer(state, &chunk) {
                association.end(reason, None);
            }
        }
        Chunk::Error(chunk) => on_error(association, now, &chunk),
        Chunk::Shutdown(chunk) => association.on_shutdown(now, path, chunk),
        //= rfc9260 3.3.13-1, 9.2-21, 9.2-30
        // All data of the peer is acknowledged, too: SHUTDOWN COMPLETE is sent and the association ends.
        Chunk::ShutdownAck if state.is_finishing() => {
            association.end(CloseReason::Finished, None);
            association.control.send_shutdown_complete();
        }
        //= rfc9260 8.5.1-13, 9.2-22, 9.2-23
        Chunk::ShutdownComplete(_) if matches!(state, State::ShutdownAckSent(..)) => {
            association.end(CloseReason::Finished, None);
        }
        Chunk::Asconf(chunk) if state.accepts_address_changes() && association.may_change_addresses() => {
            let effects = association
                .addresses
                .on_asconf(&mut association.transfer, now, path, &chunk);
            association.apply(effects);
        }
        Chunk::AsconfAck(chunk) => association.on_asconf_ack(now, &chunk)?,
        //= rfc4820 3-5
        // The endpoint handles INIT and COOKIE ECHO, the guard handles AUTH. PAD has no meaning. Other chunks are ignored in a state
        // that they are not for.
        _ => {}
    }
    Ok(true)
}

//= rfc3758 3.6-7
/// Whether the chunk is a FORWARD TSN that was agreed on, which is acknowledged like DATA (RFC 3758 §3.6).
fn is_forward_tsn(extensions: &Extensions, chunk: &Chunk<'_>) -> bool {
    match chunk {
        Chunk::ForwardTsn(_) => extensions.agreed(kind::FORWARD_TSN),
        Chunk::IForwardTsn(_) => extensions.agreed(kind::I_FORWARD_TSN),
        _ => false,
    }
}

/// Handles a chunk that changes what is expected on streams.
fn on_stream_change(
    association: &mut Association,
    now: Instant,
    path: PathId,
    chunk: &Chunk<'_>,
) -> Result<(), Violation> {
    let state = &association.state;
    match chunk {
        Chunk::ForwardTsn(chunk) if state.takes_data() => {
            association.transfer.on_forward_tsn(&Skips::Data(*chunk))?;
        }
        Chunk::IForwardTsn(chunk) if state.takes_data() => {
            association.transfer.on_forward_tsn(&Skips::IData(*chunk))?;
        }
        Chunk::ReConfig(chunk) if state.changes_streams() => {
            let initial = (association.local.initial_tsn, association.peer.initial_tsn);
            let reconfig = Reconfig::of(&mut association.reconfig, initial);
            let parts = (&mut association.transfer, &mut association.events);
            let limits = Limits::of(&association.config);
            if !reconfig.on_chunk(chunk, parts, limits, (path, now)) {
                let cause = Cause::ProtocolViolation(b"parameters of RE-CONFIG");
                association.control.report(CauseWriter::one(cause));
            }
        }
        _ => return Ok(()),
    }
    association
        .owed
        .tell_readable(&association.transfer.receiver, &mut association.events);
    Ok(())
}

/// The chunk of user data that `bytes` of several PART chunks are.
fn restored(bytes: &[u8]) -> Option<UserData<'_>> {
    match Chunks::of(bytes).next()?.ok()?.decode() {
        Ok(Chunk::Data(data)) => Some(UserData::Data(data)),
        Ok(Chunk::IData(data)) => Some(UserData::IData(data)),
        _ => None,
    }
}

//= rfc9260 9.2-12, 9.2-13
/// Handles a chunk of user data; returns whether the state permits any.
fn on_data(
    association: &mut Association,
    now: Instant,
    path: PathId,
    chunk: &UserData<'_>,
) -> Result<bool, Violation> {
    let Association {
        state,
        transfer,
        control,
        events,
        owed,
        ..
    } = association;
    if !state.takes_data() {
        return Ok(false);
    }
    match transfer.on_data(now, path, chunk)? {
        // A chunk without room may begin a partial delivery, which makes room.
        DataOutcome::Accepted | DataOutcome::NoRoom => owed.tell_readable(&transfer.receiver, events),
        DataOutcome::InvalidStream => {
            control.report(CauseWriter::one(Cause::InvalidStream(chunk.stream())));
        }
        DataOutcome::Duplicate => {}
    }
    //= rfc9260 4-9, 6.2-19
    if let State::ShutdownSent(..) = state {
        // Data in SHUTDOWN-SENT means that the SHUTDOWN may be lost: it gets a SACK and another SHUTDOWN at once (RFC 9260 §9.2).
        transfer.receiver.force_sack();
        control.send_shutdown();
    }
    Ok(true)
}

//= rfc9260 5.2.6-1, 5.2.6-2
/// Handles an ERROR chunk (RFC 9260 §3.3.10).
fn on_error(association: &mut Association, now: Instant, chunk: &ErrorChunk<'_>) {
    for raw in chunk.causes.iter().flatten().take(MAX_CAUSES) {
        let Ok(cause) = raw.decode() else { return };
        let waiting = matches!(association.state, State::CookieEchoed(..));
        if matches!(cause, Cause::StaleCookie { .. }) && waiting {
            if handshake::on_stale_cookie(&mut association.state, &association.config, now) {
                association.transfer.take_back_early(now);
                association.owed.another_tag = true;
                association
                    .control
                    .send_handshake(association.transfer.paths.best());
            } else {
                association.end(CloseReason::NoAnswer, Some(Vec::new()));
            }
            return;
        }
        if let Cause::UnrecognizedChunk(chunk) = cause {
            association.addresses.on_unrecognized(chunk);
        }
        let error = ReportedError::of(raw.kind, raw.value, &cause);
        association.events.push(Event::PeerError(error));
    }
}

//= rfc3758 3.3.1-1, 3.3.2-3
//= rfc5061 4.1.1-8
/// Handles an unknown chunk by the upper two bits of its type (RFC 9260 §3.2); returns whether the next chunk is handled.
fn unknown(control: &mut Control, state: &State, raw: RawChunk<'_>) -> bool {
    let action = UnknownAction::of_chunk(raw.kind);
    if action.reports() && !matches!(state, State::CookieWait(_)) {
        control.report(CauseWriter::one(Cause::UnrecognizedChunk(raw.bytes)));
    }
    action.goes_on()
}

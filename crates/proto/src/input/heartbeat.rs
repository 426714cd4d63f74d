//! What becomes of a heartbeat, and of its answer?

use anabranch_types::{Instant, PathId};

use crate::Association;
use crate::association::{State, liveness, packet_size, way_back};
use crate::path::HeartbeatInfo;

/// A HEARTBEAT goes back over the path that it came by, all that it holds untouched (RFC 9260 §8.3).
pub(crate) fn on_heartbeat(association: &mut Association, path: PathId, value: &[u8]) {
    if !matches!(association.state, State::CookieWait(_)) {
        association.control.answer_heartbeat(path, value);
    }
}

/// An answer proves that the peer is at the far end of the path that the heartbeat was sent on, whichever path
/// the answer took (RFC 9260 §5.4, §8.3).
pub(crate) fn on_heartbeat_ack(association: &mut Association, now: Instant, info: &[u8]) {
    let Some(info) = HeartbeatInfo::decode(info).filter(|info| association.paths.contains(info.path)) else {
        return;
    };
    if packet_size::answered(association, info.path, info.nonce, now) {
        way_back::proved(association, info.path, now);
        liveness::answered_at_some_time(association, info.path, now);
        return;
    }
    let machinery = association.paths.path_mut(info.path);
    let Some(round_trip) = machinery.heartbeat.answered(&info, now) else {
        return;
    };
    let sent_at = now - round_trip;
    association.paths.rtt_sample(info.path, sent_at, now);
    way_back::proved(association, info.path, now);
    liveness::heartbeat_answered(association, info.path, sent_at, now);
    liveness::schedule_heartbeat(association, info.path, now);
}

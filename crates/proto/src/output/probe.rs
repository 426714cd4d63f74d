//! The peer's window is shut: when is it probed (RFC 9260 §6.1 A)?

use anabranch_types::Instant;

use crate::Association;
use crate::association::liveness;

/// The probing of a window that is shut, or too small to be worth a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum WindowProbe {
    /// The window is open, as far as we know.
    #[default]
    Idle,
    /// "The first zero window probe SHOULD be sent after 1 RTO."
    At(Instant),
    /// It leaves with the next packet of new data.
    Due,
    /// A chunk is out as a probe, or chunks are out that found the window shut when they came. Their T3 timers repeat them
    /// with exponential back-off.
    Out {
        /// When the peer last sent a SACK since: it is there, only full.
        answered: Option<Instant>,
    },
}

impl WindowProbe {
    pub(crate) const fn deadline(self) -> Option<Instant> {
        match self {
            Self::At(at) => Some(at),
            Self::Idle | Self::Due | Self::Out { .. } => None,
        }
    }

    /// Whether the peer may be there and have no room for what is out.
    pub(crate) const fn is_out(self) -> bool {
        matches!(self, Self::Out { .. })
    }

    /// The clock shows `now`.
    pub(crate) fn expire(&mut self, now: Instant) {
        if matches!(self, Self::At(at) if *at <= now) {
            *self = Self::Due;
        }
    }

    /// The window is shut: whether a probe may leave. If none is under way, one is due at `first`.
    ///
    /// A probe stays due until it is written, for this plan may have to stand back behind what is urgent on another path.
    fn permits(&mut self, first: Instant) -> bool {
        if matches!(self, Self::Idle | Self::Out { .. }) {
            *self = Self::At(first);
        }
        *self == Self::Due
    }

    /// New data leaves although the window is shut.
    pub(crate) fn leave(&mut self) {
        *self = Self::Out { answered: None };
    }
}

/// Whether new data may leave now as far as the peer's window goes; schedules the probe if it may not.
pub(crate) fn permits(association: &mut Association, now: Instant) -> bool {
    if !association.sender.window_is_shut() {
        return true;
    }
    let rto = association.paths.fact(association.paths.best()).rto;
    association.window_probe.permits(now + rto)
}

/// A SACK came; `acknowledged` tells whether it acknowledged anything new.
pub(crate) fn answered(association: &mut Association, acknowledged: bool, now: Instant) {
    // The window of a peer counts user data only, and what it holds costs more than that: it may have to refuse what it
    // had a window for. Each refusal is answered by such a SACK (RFC 9260 §6.2).
    let is_refused = !acknowledged && association.sender.finds_no_room();
    association.window_probe = match association.window_probe {
        WindowProbe::Out { answered: Some(at) } if is_open(association) || takes_refused(association) => {
            repeat_refused(association, at, now);
            WindowProbe::Idle
        }
        _ if is_open(association) => WindowProbe::Idle,
        WindowProbe::Out { .. } => WindowProbe::Out { answered: Some(now) },
        _ if is_refused => WindowProbe::Out { answered: Some(now) },
        unchanged => unchanged,
    };
}

/// Whether the peer's window lets go what there is; if there is nothing, whether it would let go anything.
fn is_open(association: &Association) -> bool {
    let sender = &association.sender;
    if sender.has_unsent() {
        sender.may_send_new() && !sender.window_is_shut()
    } else {
        sender.peer_window() > 0
    }
}

/// Whether the peer has room now for the first chunk that it had none for.
fn takes_refused(association: &Association) -> bool {
    let sender = &association.sender;
    let oldest = sender.oldest_outstanding();
    oldest.is_some_and(|chunk| sender.finds_room(chunk.bytes))
}

/// The peer had no room for what was out when it said so at `refused_at`, and has now: it leaves again at once. Its
/// timers, which have backed off, would take up to RTO.Max. Of what left a round trip ago a refusal may have been lost.
fn repeat_refused(association: &mut Association, refused_at: Instant, now: Instant) {
    for path in association.paths.ids() {
        let round_trip = association.paths.fact(path).srtt;
        let a_round_trip_ago = round_trip.map_or(refused_at, |round_trip| now - round_trip);
        let silent_since = refused_at.max(a_round_trip_ago);
        let was_silent = association.paths.path(path).was_silent_since(silent_since);
        if association.sender.in_flight(path) > 0 && was_silent {
            liveness::send_again(association, path, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_due_until_it_leaves() {
        let (soon, later) = (Instant::from_nanos(5), Instant::from_nanos(9));
        let mut probe = WindowProbe::default();
        assert!(!probe.permits(soon), "the first one waits");
        probe.expire(Instant::ZERO);
        assert!(!probe.permits(later), "too early");
        assert_eq!(probe.deadline(), Some(soon));
        probe.expire(soon);
        assert!(probe.permits(later));
        assert!(probe.permits(later), "to ask is not to send");
        probe.leave();
        assert!(!probe.permits(later), "the peer took it and is full again");
        assert_eq!(probe.deadline(), Some(later));
    }
}

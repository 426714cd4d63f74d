//! Zero window probes (RFC 9260 §6.1 A). The peer's window is shut: when is it probed, and what if it opens?

use anabranch_types::Instant;

use super::Transfer;

/// The probing of a window that is shut, or too small to be worth a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum WindowProbe {
    /// The window is open, as far as we know.
    #[default]
    Idle,
    /// A probe leaves then: the first one after an RTO (RFC 9260 §6.1 A).
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
    pub(super) const fn deadline(self) -> Option<Instant> {
        match self {
            Self::At(at) => Some(at),
            Self::Idle | Self::Due | Self::Out { .. } => None,
        }
    }

    /// Whether the peer may be there and have no room for what is out.
    pub(super) const fn is_out(self) -> bool {
        matches!(self, Self::Out { .. })
    }

    /// The clock shows `now`.
    pub(super) fn expire(&mut self, now: Instant) {
        if matches!(self, Self::At(at) if *at <= now) {
            *self = Self::Due;
        }
    }

    /// Whether a probe may leave now. It stays due until it is written.
    fn permits(self) -> bool {
        self == Self::Due
    }

    /// The window is shut. If no probe is under way, one is due at `first`.
    pub(super) fn schedule(&mut self, first: Instant) {
        if matches!(self, Self::Idle | Self::Out { .. }) {
            *self = Self::At(first);
        }
    }

    /// New data leaves although the window is shut.
    pub(super) fn leave(&mut self) {
        *self = Self::Out { answered: None };
    }
}

impl Transfer {
    //= rfc9260 6.1-3, 6.1-7, 6.1-8
    /// Whether new data may leave now as far as the peer's window goes: it is open, or a probe of it is due.
    pub(super) fn window_permits(&self) -> bool {
        !self.sender.window_is_shut() || self.window_probe.permits()
    }

    /// A SACK came; `acknowledged` tells whether it acknowledged anything new.
    pub(super) fn window_probe_answered(&mut self, acknowledged: bool, now: Instant) {
        // The window of a peer counts user data only, and what it holds costs more than that: it may have to refuse what it
        // had a window for. Each refusal is answered by such a SACK (RFC 9260 §6.2).
        let is_refused = !acknowledged && self.sender.finds_no_room();
        self.window_probe = match self.window_probe {
            WindowProbe::Out { answered: Some(at) } if self.window_is_open() || self.takes_refused() => {
                self.repeat_refused(at, now);
                WindowProbe::Idle
            }
            _ if self.window_is_open() => WindowProbe::Idle,
            WindowProbe::Out { .. } => WindowProbe::Out { answered: Some(now) },
            _ if is_refused => WindowProbe::Out { answered: Some(now) },
            unchanged => unchanged,
        };
    }

    /// Whether the peer's window lets go what there is; if there is nothing, whether it would let go anything.
    fn window_is_open(&self) -> bool {
        let sender = &self.sender;
        if sender.has_unsent() {
            sender.may_send_new() && !sender.window_is_shut()
        } else {
            sender.peer_window() > 0
        }
    }

    /// Whether the peer has room now for the first chunk that it had none for.
    fn takes_refused(&self) -> bool {
        let sender = &self.sender;
        let oldest = sender.oldest_outstanding();
        oldest.is_some_and(|chunk| sender.finds_room(chunk.bytes))
    }

    /// The peer had no room for what was out when it said so at `refused_at`, and has now: it leaves again at once. Its
    /// timers, which have backed off, would take up to RTO.Max. Of what left a round trip ago a refusal may have been lost.
    fn repeat_refused(&mut self, refused_at: Instant, now: Instant) {
        for path in self.paths.ids() {
            let round_trip = self.paths.fact(path).srtt;
            let a_round_trip_ago = round_trip.map_or(refused_at, |round_trip| now - round_trip);
            let silent_since = refused_at.max(a_round_trip_ago);
            let was_silent = self.paths.path(path).was_silent_since(silent_since);
            if self.sender.in_flight(path) > 0 && was_silent {
                self.send_again(path, now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= rfc9260 6.1-3
    #[test]
    fn zero_window_probe_is_due_until_sent() {
        let (soon, later) = (Instant::from_nanos(5), Instant::from_nanos(9));
        let mut probe = WindowProbe::default();
        assert!(!probe.permits(), "the first one waits");
        probe.schedule(soon);
        probe.expire(Instant::ZERO);
        assert!(!probe.permits(), "too early");
        probe.schedule(later);
        assert_eq!(probe.deadline(), Some(soon));
        probe.expire(soon);
        assert!(probe.permits());
        assert!(probe.permits(), "to ask is not to send");
        probe.leave();
        assert!(!probe.permits(), "the peer took it and is full again");
        probe.schedule(later);
        assert_eq!(probe.deadline(), Some(later));
    }
}

//! Zero window probes (RFC 9260 §6.1 A). When is a closed window of the peer probed, and what happens when it opens?

use anabranch_types::Instant;

use super::Transfer;

/// State of probing a window that is closed or too small to be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum WindowProbe {
    /// The window is open, as far as known.
    #[default]
    Idle,
    /// A probe is due at this time: the first one after one RTO (RFC 9260 §6.1 A).
    At(Instant),
    /// A probe is sent with the next packet of new data.
    Due,
    /// A probe is outstanding, or chunks are outstanding that arrived when the window was closed. T3 retransmits them with
    /// exponential back-off.
    Out {
        /// Time of the last SACK since, which shows that the peer is reachable but full.
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

    /// Whether outstanding data may lack room at a reachable peer.
    pub(super) const fn is_out(self) -> bool {
        matches!(self, Self::Out { .. })
    }

    /// Makes the probe due if its time has come.
    pub(super) fn expire(&mut self, now: Instant) {
        if matches!(self, Self::At(at) if *at <= now) {
            *self = Self::Due;
        }
    }

    /// Whether a probe is due. It stays due until it is written.
    fn permits(self) -> bool {
        self == Self::Due
    }

    /// Schedules a probe at `first` for a closed window, unless there is one already.
    pub(super) fn schedule(&mut self, first: Instant) {
        if matches!(self, Self::Idle | Self::Out { .. }) {
            *self = Self::At(first);
        }
    }

    /// Notes that new data is sent although the window is closed.
    pub(super) fn leave(&mut self) {
        *self = Self::Out { answered: None };
    }
}

impl Transfer {
    //= rfc9260 6.1-3, 6.1-7, 6.1-8
    /// Whether the peer's window permits new data now: it is open, or a probe is due.
    pub(super) fn window_permits(&self) -> bool {
        !self.sender.window_is_shut() || self.window_probe.permits()
    }

    /// Updates the probing after a SACK; `acknowledged` tells whether it acknowledged new data.
    pub(super) fn window_probe_answered(&mut self, acknowledged: bool, now: Instant) {
        // A peer's window counts only user data, while its memory holds more than that, so it may drop data for which it had
        // advertised room. It answers each dropped chunk with such a SACK (RFC 9260 §6.2).
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

    /// Whether the peer's window permits the queued data; without queued data, whether it would permit any.
    fn window_is_open(&self) -> bool {
        let sender = &self.sender;
        if sender.has_unsent() {
            sender.may_send_new() && !sender.window_is_shut()
        } else {
            sender.peer_window() > 0
        }
    }

    /// Whether the peer has room now for the first chunk that it dropped.
    fn takes_refused(&self) -> bool {
        let sender = &self.sender;
        let oldest = sender.oldest_outstanding();
        oldest.is_some_and(|chunk| sender.finds_room(chunk.bytes))
    }

    /// Retransmits data that the peer dropped for lack of room, as it reported at `refused_at`, because it has room now. T3 has
    /// backed off and would take up to RTO.Max. Paths on which data was sent since are left out, unless that was a round trip ago:
    /// then its SACK may have been lost.
    fn repeat_refused(&mut self, refused_at: Instant, now: Instant) {
        for path in self.paths.ids() {
            let round_trip = self.paths.fact(path).srtt();
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

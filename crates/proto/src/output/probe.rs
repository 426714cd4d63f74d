//! The peer's window is shut: when is it probed (RFC 9260 §6.1 A)?

use anabranch_types::Instant;

use crate::Association;

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
    /// A chunk is out as a probe. Its T3 timer repeats it with exponential back-off.
    Out {
        /// The peer sent a SACK since: it is there, only full.
        answered: bool,
    },
}

impl WindowProbe {
    pub(crate) const fn deadline(self) -> Option<Instant> {
        match self {
            Self::At(at) => Some(at),
            Self::Idle | Self::Due | Self::Out { .. } => None,
        }
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
        *self = Self::Out { answered: false };
    }
}

/// Whether new data may leave now as far as the peer's window goes; schedules the probe if it may not.
pub(crate) fn permits(association: &mut Association, now: Instant) -> bool {
    if !association.sender.window_is_shut() {
        return true;
    }
    let rto = association.paths.fact(association.paths.primary()).rto;
    association.window_probe.permits(now + rto)
}

/// A SACK came.
pub(crate) fn answered(association: &mut Association) {
    association.window_probe = match association.window_probe {
        probe if is_open(association) => {
            if probe == (WindowProbe::Out { answered: true }) {
                repeat_refused(association);
            }
            WindowProbe::Idle
        }
        WindowProbe::Out { .. } => WindowProbe::Out { answered: true },
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

/// The peer had no room for the probe when it came, and has now: it leaves again at once. Its timer, which has
/// backed off, would take up to RTO.Max.
fn repeat_refused(association: &mut Association) {
    if let Some(probe) = association.sender.oldest_outstanding() {
        association.sender.lose_all(probe.path);
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

//! Tail loss probe timer of a path (RFC 8985 §7).

use anabranch_types::Instant;

/// State of the tail loss probe of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum TailProbe {
    /// No probe is needed: no data is outstanding, or another mechanism detects its loss.
    #[default]
    Idle,
    /// A probe is due at this time unless data is sent or acknowledged before.
    At(Instant),
    /// A probe is sent with the next packet.
    Due,
    /// A probe has been sent and no data acknowledged since, so no second one follows.
    Out,
}

impl TailProbe {
    pub(crate) fn deadline(self) -> Option<Instant> {
        match self {
            Self::At(at) => Some(at),
            Self::Idle | Self::Due | Self::Out => None,
        }
    }

    /// Sets the time of the probe, after data was sent or acknowledged.
    pub(crate) fn follow(&mut self, at: Option<Instant>) {
        if matches!(self, Self::Idle | Self::At(_)) {
            *self = at.map_or(Self::Idle, Self::At);
        }
    }

    /// Ends the probing, because data was acknowledged or all of it is lost.
    pub(crate) fn settle(&mut self) {
        *self = Self::Idle;
    }

    /// Makes the probe due if its time has come.
    pub(crate) fn expire(&mut self, now: Instant) {
        if matches!(self, Self::At(at) if *at <= now) {
            *self = Self::Due;
        }
    }

    /// Whether a probe is due.
    pub(crate) fn is_due(self) -> bool {
        self == Self::Due
    }

    /// Notes that the probe is sent, or that there is nothing left to probe.
    pub(crate) fn leave(&mut self) {
        *self = Self::Out;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tail_loss_probe_is_sent_until_an_acknowledgement() {
        let (soon, later) = (Instant::from_nanos(5), Instant::from_nanos(9));
        let mut probe = TailProbe::default();
        probe.follow(Some(soon));
        probe.expire(Instant::ZERO);
        assert!(!probe.is_due(), "too early");
        probe.expire(soon);
        assert!(probe.is_due());
        assert!(probe.is_due(), "to ask is not to send");
        probe.leave();
        probe.follow(Some(later));
        probe.expire(later);
        assert!(!probe.is_due(), "the first one is out");
        probe.settle();
        probe.follow(Some(later));
        assert_eq!(probe.deadline(), Some(later));
    }
}

//! Tail loss probe. When is the tail of a path's data probed? The timer of a tail-loss probe (RFC 8985 §7), one for each
//! path.

use anabranch_types::Instant;

/// Where the probing of one path stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum TailProbe {
    /// There is nothing to probe, or somebody else will find it.
    #[default]
    Idle,
    /// A probe is due if nothing is sent or acknowledged before this moment.
    At(Instant),
    /// A probe leaves with the next packet.
    Due,
    /// A probe has left, and nothing was acknowledged since: there is no second one.
    Out,
}

impl TailProbe {
    pub(crate) fn deadline(self) -> Option<Instant> {
        match self {
            Self::At(at) => Some(at),
            Self::Idle | Self::Due | Self::Out => None,
        }
    }

    /// Something was sent or acknowledged, so that a probe would be due at `at`.
    pub(crate) fn follow(&mut self, at: Option<Instant>) {
        if matches!(self, Self::Idle | Self::At(_)) {
            *self = at.map_or(Self::Idle, Self::At);
        }
    }

    /// Something was acknowledged, or all is lost.
    pub(crate) fn settle(&mut self) {
        *self = Self::Idle;
    }

    /// The clock shows `now`.
    pub(crate) fn expire(&mut self, now: Instant) {
        if matches!(self, Self::At(at) if *at <= now) {
            *self = Self::Due;
        }
    }

    /// Whether a probe is to leave now.
    pub(crate) fn is_due(self) -> bool {
        self == Self::Due
    }

    /// The probe that was due leaves, or there is nothing any more that it could probe.
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

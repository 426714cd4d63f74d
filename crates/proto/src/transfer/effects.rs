//! Effects. What did a step of data transfer change that is the association's affair?

use alloc::vec::Vec;

use crate::path::PathEvent;

/// What the association has to do after a step of data transfer. It is returned and never queued below, so that each caller
/// sees what it causes. Nearly always there is nothing, which allocates nothing.
#[derive(Debug, Default)]
#[must_use = "the association has to apply it"]
pub(crate) struct Effects {
    /// The application is told of these, in this order.
    pub(crate) path_events: Vec<PathEvent>,
    /// The peer was found at the far end of an unconfirmed path (RFC 9260 §5.4): which paths are needed may be another question
    /// now, and which one the peer prefers.
    pub(crate) is_confirmed: bool,
    /// The peer acknowledged something, so the send buffer may have space again.
    pub(crate) is_acknowledged: bool,
    /// More errors in a row than the configuration allows: the association ends (RFC 9260 §8.1).
    pub(crate) peer_is_unreachable: bool,
}

impl Effects {
    /// One change of one path.
    pub(crate) fn of(event: PathEvent) -> Self {
        Self {
            path_events: alloc::vec![event],
            ..Self::default()
        }
    }

    /// These, and after them those of a later step.
    pub(crate) fn then(mut self, later: Self) -> Self {
        self.append(later);
        self
    }

    /// What a later step changed comes behind.
    pub(crate) fn append(&mut self, later: Self) {
        if self.path_events.is_empty() {
            self.path_events = later.path_events;
        } else {
            self.path_events.extend(later.path_events);
        }
        self.is_confirmed |= later.is_confirmed;
        self.is_acknowledged |= later.is_acknowledged;
        self.peer_is_unreachable |= later.peer_is_unreachable;
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        let is_nothing_else = !self.is_confirmed && !self.is_acknowledged && !self.peer_is_unreachable;
        self.path_events.is_empty() && is_nothing_else
    }
}

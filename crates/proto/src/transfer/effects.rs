//! Effects. What did a step of data transfer change that is the association's affair?

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::path::PathEvent;

/// What the association has to do after a step of data transfer. It is returned and never queued below, so that each caller
/// sees what it causes. Nearly always there is nothing, which allocates nothing.
#[derive(Debug, Default)]
#[must_use = "the association has to apply it"]
pub(crate) struct Effects {
    /// The application is told of these, in this order. Each packet returns effects and hardly one changes a path, so the
    /// list is behind a pointer: two words return in registers, a list would go through memory.
    path_events: Option<Box<PathEvents>>,
    /// The peer was found at the far end of an unconfirmed path (RFC 9260 §5.4): which paths are needed may be another question
    /// now, and which one the peer prefers.
    pub(crate) is_confirmed: bool,
    /// The peer acknowledged something, so the send buffer may have space again.
    pub(crate) is_acknowledged: bool,
    /// More errors in a row than the configuration allows: the association ends (RFC 9260 §8.1).
    pub(crate) peer_is_unreachable: bool,
}

/// Changes of paths, in order.
#[derive(Debug)]
struct PathEvents(Vec<PathEvent>);

impl Effects {
    /// One change of one path.
    pub(crate) fn of(event: PathEvent) -> Self {
        Self {
            path_events: Some(Box::new(PathEvents(alloc::vec![event]))),
            ..Self::default()
        }
    }

    /// These, and after them those of a later step.
    #[inline]
    pub(crate) fn then(mut self, later: Self) -> Self {
        self.append(later);
        self
    }

    /// What a later step changed comes behind.
    #[inline]
    pub(crate) fn append(&mut self, later: Self) {
        self.is_confirmed |= later.is_confirmed;
        self.is_acknowledged |= later.is_acknowledged;
        self.peer_is_unreachable |= later.peer_is_unreachable;
        if let Some(events) = later.path_events {
            self.append_events(events);
        }
    }

    #[cold]
    fn append_events(&mut self, later: Box<PathEvents>) {
        match &mut self.path_events {
            Some(events) => events.0.extend(later.0),
            None => self.path_events = Some(later),
        }
    }

    /// Whether a path changed.
    #[inline]
    pub(crate) const fn has_path_events(&self) -> bool {
        self.path_events.is_some()
    }

    /// The changes of paths, in order.
    pub(crate) fn into_path_events(self) -> impl Iterator<Item = PathEvent> {
        self.path_events.into_iter().flat_map(|events| events.0)
    }
}

//! Effects: changes by a step of data transfer that the association has to apply.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::path::PathEvent;

/// Actions for the association after a step of data transfer. Effects are returned and not queued in shared state, so that each
/// caller sees what it causes. They are nearly always empty, which allocates nothing.
#[derive(Debug, Default)]
#[must_use = "the association has to apply it"]
pub(crate) struct Effects {
    /// Path events for the application, in order. Each packet returns effects, and few change a path, so the list is behind a
    /// pointer: two words are returned in registers, a list would be returned through memory.
    path_events: Option<Box<PathEvents>>,
    /// A path was confirmed (RFC 9260 §5.4) or works again, which may change which paths are needed and which one the peer prefers.
    pub(crate) is_usable_again: bool,
    /// Data was acknowledged, so the send buffer may have room again.
    pub(crate) is_acknowledged: bool,
    /// The limit of consecutive errors is exceeded: the association ends (RFC 9260 §8.1).
    pub(crate) peer_is_unreachable: bool,
    /// The peer answers, and data has not got through for longer than the configuration allows: the association ends.
    pub(crate) is_stalled: bool,
}

/// Changes of paths, in order.
#[derive(Debug)]
struct PathEvents(Vec<PathEvent>);

impl Effects {
    /// The effects of one path event.
    pub(crate) fn of(event: PathEvent) -> Self {
        Self {
            path_events: Some(Box::new(PathEvents(alloc::vec![event]))),
            ..Self::default()
        }
    }

    /// These effects, followed by those of a later step.
    #[inline]
    pub(crate) fn then(mut self, later: Self) -> Self {
        self.append(later);
        self
    }

    /// Appends the effects of a later step.
    #[inline]
    pub(crate) fn append(&mut self, later: Self) {
        self.is_usable_again |= later.is_usable_again;
        self.is_acknowledged |= later.is_acknowledged;
        self.peer_is_unreachable |= later.peer_is_unreachable;
        self.is_stalled |= later.is_stalled;
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

    /// Whether more than `is_acknowledged` is set.
    #[inline]
    pub(crate) const fn changes_association(&self) -> bool {
        self.path_events.is_some() | self.is_usable_again | self.peer_is_unreachable | self.is_stalled
    }

    /// The changes of paths, in order; `None` if there are none.
    #[inline]
    pub(crate) fn into_path_events(self) -> Option<Vec<PathEvent>> {
        self.path_events.map(|events| events.0)
    }
}

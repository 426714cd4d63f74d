//! Fixed stream map. Which stream sends next on a path, if each stream is mapped to a path by a table?
//!
//! Source: T. Dreibholz et al., "Transmission Scheduling Optimizations for Concurrent Multipath Transfer", PFLDNeT 2010
//! (fixed stream mapping).
//!
//! Idea: all messages of a stream take one path, so they do not overtake each other and hardly any waits at the
//! receiver for earlier ones. Streams on a fast path do not wait for a slow one, and buffers may be smaller.
//!
//! ```text
//! path of stream s = map[s], if that path is usable
//!                  = the usable path number (s modulo usable paths) otherwise
//! no path is usable: any path takes any stream
//! next on d = the stream of path d that has waited longest
//! ```
//!
//! The application should keep the queue of each stream filled by itself ([`crate::StreamFacts::queued_bytes`] tells how
//! full it is); if it submits messages to the streams in turn, the slowest path sets the pace for all.
//!
//! A message of several chunks keeps to its path only with interleaving: without it the core finishes the message on any
//! path, or all others would wait for it.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use anabranch_types::{Instant, PathId, StreamId};

use super::path_queues::PathQueues;
use crate::parameters::{Parameter, Parameters, Refused, Slot, Text};
use crate::{PathFacts, Policy, StreamFacts, StreamScheduler};

/// Largest number of streams in the list.
const LISTED: usize = 16;

/// The word for an empty list.
const MODULO: &str = "modulo";

/// The paths of the first streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamMap {
    paths: [PathId; LISTED],
    listed: u8,
}

impl StreamMap {
    /// The empty list.
    pub const EMPTY: Self = Self {
        paths: [PathId(0); LISTED],
        listed: 0,
    };

    /// The path of `stream`; `None` if it is not listed.
    #[must_use]
    pub fn path_of(&self, stream: StreamId) -> Option<PathId> {
        self.listed().get(stream.index()).copied()
    }

    fn listed(&self) -> &[PathId] {
        &self.paths[..usize::from(self.listed)]
    }
}

impl Default for StreamMap {
    fn default() -> Self {
        Self::EMPTY
    }
}

/// A list as users type it: `0,1,1`; `modulo` if it is empty.
impl Text for StreamMap {
    fn read(&mut self, text: &str) -> Result<(), Refused> {
        let mut map = Self::EMPTY;
        if text != MODULO {
            for number in text.split(',') {
                let slot = map.paths.get_mut(usize::from(map.listed)).ok_or(Refused::Value)?;
                *slot = PathId(number.parse().map_err(|_| Refused::Value)?);
                map.listed += 1;
            }
        }
        *self = map;
        Ok(())
    }

    fn write(&self) -> String {
        if self.listed == 0 {
            return MODULO.to_string();
        }
        let numbers = self.listed().iter().map(|path| path.0.to_string());
        numbers.collect::<Vec<_>>().join(",")
    }
}

/// Parameters of [`FixedMap`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FixedMapParameters {
    /// The paths of the first streams.
    pub map: StreamMap,
}

impl FixedMapParameters {
    /// The empty list.
    pub const DEFAULT: Self = Self {
        map: StreamMap::EMPTY,
    };
}

impl Parameters for FixedMapParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "map",
        default: MODULO,
        meaning: "the paths of streams 0, 1, 2 …, such as 0,1,1; streams beyond the list, or all of them if it is \
                  `modulo`: the stream's number modulo the number of usable paths",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "map" => Slot::text(&mut self.map),
            _ => return None,
        })
    }
}

/// Fixed stream map.
#[derive(Debug, Default)]
pub struct FixedMap {
    map: StreamMap,
    usable: Vec<PathId>,
    path_queues: PathQueues,
}

impl FixedMap {
    /// Creates a scheduler without ready streams.
    #[must_use]
    pub fn new(parameters: FixedMapParameters) -> Self {
        Self {
            map: parameters.map,
            ..Self::default()
        }
    }
}

/// The path of `stream`; `None` if it may use any.
fn home(map: &StreamMap, usable: &[PathId], stream: StreamId) -> Option<PathId> {
    let listed = map.path_of(stream).filter(|path| usable.contains(path));
    let in_turn = || usable.get(stream.index() % usable.len().max(1)).copied();
    listed.or_else(in_turn)
}

impl Policy for FixedMap {
    fn name(&self) -> &'static str {
        "fixed-map"
    }
}

impl StreamScheduler for FixedMap {
    fn binds_streams(&self) -> bool {
        true
    }

    fn admits(&self, stream: StreamId, path: PathId) -> bool {
        self.path_queues.admit(stream, path)
    }

    fn observe(&mut self, paths: &[PathFacts], _now: Instant) {
        let usable = || paths.iter().filter(|path| path.is_usable()).map(|path| path.id);
        if usable().eq(self.usable.iter().copied()) {
            return;
        }
        self.usable.clear();
        self.usable.extend(usable());
        self.path_queues
            .rebind(|stream| home(&self.map, &self.usable, stream));
    }

    fn on_ready(&mut self, stream: &StreamFacts) {
        let home = home(&self.map, &self.usable, stream.id);
        self.path_queues.ready(stream.id, home);
    }

    fn on_idle(&mut self, stream: StreamId) {
        self.path_queues.idle(stream);
    }

    fn on_taken(&mut self, stream: StreamId, _bytes: u32, _message_done: bool) {
        self.path_queues.served(stream);
    }

    fn next(&self, path: PathId) -> Option<StreamId> {
        self.path_queues.next(path)
    }
}

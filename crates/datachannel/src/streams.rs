//! Streams for our channels. Which is free?

use alloc::collections::{BTreeMap, BTreeSet};

use anabranch_types::StreamId;

use crate::channel::Channel;
use crate::set::Role;

/// The streams of our role that are not in use. Lower ones are preferred.
#[derive(Debug)]
pub(crate) struct FreeStreams {
    /// Released ones below `next`.
    released: BTreeSet<StreamId>,
    /// The first one that was never used. Wider than a stream identifier, as it may be behind the last one.
    next: u32,
}

impl FreeStreams {
    //= rfc8832 4-1, 4-2, 4-3, 6-5, 6-6
    /// The client has even identifiers, the server odd ones (RFC 8832 §6).
    pub(crate) const fn of(role: Role) -> Self {
        Self {
            released: BTreeSet::new(),
            next: match role {
                Role::Client => 0,
                Role::Server => 1,
            },
        }
    }

    /// Takes the lowest free stream below `count`.
    pub(crate) fn take(&mut self, used: &BTreeMap<StreamId, Channel>, count: u16) -> Option<StreamId> {
        while let Some(stream) = self.released.pop_first() {
            if stream.0 < count && !used.contains_key(&stream) {
                return Some(stream);
            }
        }
        while self.next < u32::from(count) {
            let stream = StreamId(u16::try_from(self.next).ok()?);
            self.next += 2;
            if !used.contains_key(&stream) {
                return Some(stream);
            }
        }
        None
    }

    /// The channel on `stream` is closed.
    pub(crate) fn release(&mut self, stream: StreamId) {
        let is_of_role = u32::from(stream.0) % 2 == self.next % 2;
        if is_of_role && u32::from(stream.0) < self.next {
            self.released.insert(stream);
        }
    }
}

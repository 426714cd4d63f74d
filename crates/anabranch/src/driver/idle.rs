//! Idle timeout: which associations have sent and received no message for so long that they end?

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_proto::CloseReason;
use anabranch_types::{AssociationId, Instant};

use super::State;
use super::signals::{Wake, Wakings};

/// The reason in the ABORT to the peer.
const IDLE: &[u8] = b"idle";

/// Looks at all associations a few times within the timeout, which costs nothing for each message.
#[derive(Debug)]
pub(super) struct IdleWatch {
    timeout: Duration,
    /// When to look again; `None` without associations.
    next: Option<Instant>,
    seen: BTreeMap<AssociationId, Seen>,
}

/// How many messages an association had sent and received, and when that was first seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    messages: (u64, u64),
    since: Instant,
}

impl IdleWatch {
    pub(super) const fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            next: None,
            seen: BTreeMap::new(),
        }
    }

    /// The associations that are idle, of those that live, with how many messages each has sent and received.
    fn look(
        &mut self,
        now: Instant,
        living: impl Iterator<Item = (AssociationId, (u64, u64))>,
    ) -> Vec<AssociationId> {
        let before = std::mem::take(&mut self.seen);
        let mut idle = Vec::new();
        for (id, messages) in living {
            let seen = before.get(&id).filter(|seen| seen.messages == messages);
            let seen = seen.copied().unwrap_or(Seen { messages, since: now });
            if now >= seen.since + self.timeout {
                idle.push(id);
            } else {
                self.seen.insert(id, seen);
            }
        }
        self.next = (!self.seen.is_empty()).then(|| now + self.timeout / 4);
        idle
    }
}

impl State {
    /// Ends associations that are idle; returns when to call again.
    pub(super) fn end_idle(&mut self, now: Instant, wakings: &mut Wakings) -> Option<Instant> {
        let watch = self.idle.as_mut()?;
        if watch.next.is_some_and(|next| now < next) {
            return watch.next;
        }
        let core = &self.core;
        let living = self.associations.iter().filter_map(|(id, tracked)| {
            let association = core.association(*id)?;
            let lives = association.is_connected() && tracked.signals.ended().is_none();
            lives.then(|| (*id, association.message_counts()))
        });
        let (idle, next) = (watch.look(now, living), watch.next);
        for id in idle {
            let Some(signals) = self.signals(id) else { continue };
            // The first reason is reported.
            signals.end(CloseReason::Idle);
            wakings.add(&signals, Wake::Everybody);
            self.lose_streams(id, wakings);
            if let Some(mut association) = self.core.association_mut(id) {
                association.abort(IDLE);
                self.work = true;
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anabranch_types::{AssociationId, Instant};

    use super::IdleWatch;

    const TIMEOUT: Duration = Duration::from_secs(20);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn association_without_messages_is_idle_after_the_timeout() {
        let mut watch = IdleWatch::new(TIMEOUT);
        let [quiet, busy] = [1, 2].map(AssociationId);
        for second in (0..20).step_by(5) {
            let living = [(quiet, (1, 1)), (busy, (second, 0))];
            assert!(watch.look(at(second), living.into_iter()).is_empty(), "{second}");
        }
        let living = [(quiet, (1, 1)), (busy, (15, 0))];
        assert_eq!(watch.look(at(20), living.into_iter()), [quiet]);
        assert_eq!(watch.next, Some(at(25)));
        let living = [(busy, (15, 1))];
        assert!(watch.look(at(25), living.into_iter()).is_empty());
        let living = [(busy, (15, 1))];
        assert_eq!(watch.look(at(45), living.into_iter()), [busy]);
        assert_eq!(watch.next, None);
    }
}

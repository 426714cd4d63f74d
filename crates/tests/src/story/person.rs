//! What can Alice and Bob do, and what do they see?

use std::time::Duration;

use anabranch_policy::Reachability;
use anabranch_proto::{Association, AssociationStatistics, CloseReason, Event, PathChange, PathStatistics};
use anabranch_sim::app::{Bulk, Conversation, Draft, Inbox, Paced, Reading, Streams, Workload};
use anabranch_sim::{Side, Tally};
use anabranch_types::{Instant, PathId, Rate, StreamId};

use super::World;

/// A message size that leaves many packets almost full and needs no fragmentation.
const USUAL_MESSAGE: usize = 1_400;

/// One of the two, in the world as it is now.
pub(crate) struct Person<'w> {
    world: &'w mut World,
    side: Side,
}

/// What they do.
impl<'w> Person<'w> {
    pub(crate) fn new(world: &'w mut World, side: Side) -> Self {
        Self { world, side }
    }

    pub(crate) fn connects(self) {
        if self.side == Side::Near {
            self.world.simulation.connect();
        } else {
            self.connects_with(|_| {});
        }
    }

    pub(crate) fn connects_with(self, change: impl FnOnce(&mut anabranch_proto::AssociationConfig)) {
        let mut config = anabranch_proto::AssociationConfig::default();
        change(&mut config);
        self.world
            .simulation
            .connect_from(self.side, &config, Conversation::default());
    }

    #[track_caller]
    pub(crate) fn talks<R>(self, act: impl FnOnce(&mut Conversation, &mut Association, Instant) -> R) -> R {
        let talked = self.world.simulation.talk(self.side, act);
        talked.expect("an association to talk on")
    }

    /// One message; it is taken at once.
    #[track_caller]
    pub(crate) fn sends(self, draft: Draft) {
        self.talks(|conversation, association, now| {
            let sent = conversation.send(draft, association, now);
            sent.expect("room for a message");
        });
    }

    /// Messages of `bytes` bytes on one stream, as fast as they are taken.
    #[track_caller]
    pub(crate) fn sends_messages(self, count: u64, bytes: usize, streams: Streams) {
        self.works_at(Bulk::new(bytes, streams).messages(count));
    }

    #[track_caller]
    pub(crate) fn sends_forever(self) {
        self.works_at(Bulk::new(USUAL_MESSAGE, Streams::in_turn(4)));
    }

    #[track_caller]
    pub(crate) fn works_at(self, bulk: Bulk) {
        self.also_works_at(Workload::Bulk(bulk));
    }

    #[track_caller]
    pub(crate) fn also_works_at(self, workload: Workload) {
        self.talks(|conversation, association, now| conversation.also(now, workload, association));
    }

    /// One message of a usual size after the other, at `rate`, on one stream.
    #[track_caller]
    pub(crate) fn sends_at(self, rate: Rate) {
        let every = rate.time_for(USUAL_MESSAGE as u64);
        self.talks(|conversation, association, now| {
            let paced = Paced::new(USUAL_MESSAGE, every, Streams::One(StreamId(0)));
            conversation.also(now, Workload::Paced(paced), association);
        });
    }

    pub(crate) fn falls_silent(self) {
        self.talks(|conversation, _, _| conversation.fall_silent());
    }

    pub(crate) fn reads(self, reading: Reading) {
        self.talks(|conversation, association, now| conversation.read_otherwise(now, reading, association));
    }

    #[track_caller]
    pub(crate) fn shuts_down(self) {
        self.talks(|_, association, _| association.shutdown());
    }

    #[track_caller]
    pub(crate) fn aborts(self) {
        self.talks(|_, association, _| association.abort(b"no more"));
    }

    /// As if the machine had been switched off and on: nothing is known, nothing is said.
    pub(crate) fn forgets_everything(self) {
        let side = self.side;
        self.world.simulation.act(side, |host, _| {
            let all: Vec<_> = host.associations().collect();
            all.into_iter().for_each(|id| host.forget(id));
        });
    }
}

/// What they see.
impl Person<'_> {
    pub(crate) fn association(&self) -> Option<&Association> {
        self.world.simulation.association(self.side)
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.association().is_some_and(Association::is_connected)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.association().is_none_or(Association::is_closed)
    }

    pub(crate) fn has_flushed(&self) -> bool {
        self.association().is_none_or(Association::is_flushed)
    }

    pub(crate) fn associations(&self) -> usize {
        self.world.simulation.host(self.side).associations().len()
    }

    pub(crate) fn statistics(&self) -> AssociationStatistics {
        self.association().expect("an association").statistics()
    }

    pub(crate) fn path(&self, path: u8) -> PathStatistics {
        let paths = self.statistics().paths;
        let found = paths.into_iter().find(|known| known.id == PathId(path));
        found.expect("a path of that number")
    }

    /// User data sent for the first time on each path, by path id.
    pub(crate) fn payload_sent_by_path(&self) -> Vec<u64> {
        let paths = self.statistics().paths;
        paths.iter().map(|path| path.counters.payload_sent).collect()
    }

    pub(crate) fn reachability(&self, path: u8) -> Reachability {
        self.path(path).reachability
    }

    pub(crate) fn conversation(&self) -> &Conversation {
        self.world
            .simulation
            .conversation(self.side)
            .expect("a conversation")
    }

    pub(crate) fn inbox(&self) -> &Inbox {
        self.conversation().inbox()
    }

    /// Messages that were accepted for sending.
    pub(crate) fn sent(&self) -> u64 {
        self.conversation().outbox().sent().len() as u64
    }

    pub(crate) fn tally(&self) -> Tally {
        *self.world.simulation.host(self.side).tally()
    }

    pub(crate) fn saw(&self, event: impl Fn(&Event) -> bool) -> bool {
        self.conversation().events().iter().any(|(_, seen)| event(seen))
    }

    pub(crate) fn saw_path(&self, path: u8, change: PathChange) -> bool {
        self.saw(
            |event| matches!(event, Event::Path(seen) if seen.id == PathId(path) && seen.change == change),
        )
    }

    /// Why the association ended; `None` while it has not.
    pub(crate) fn closed_because(&self) -> Option<CloseReason> {
        let events = self.conversation().events().iter();
        events.rev().find_map(|(_, event)| match event {
            Event::Closed(reason) => Some(reason.clone()),
            _ => None,
        })
    }

    /// What was read in the last `time`, as a rate.
    pub(crate) fn goodput_of_last(&self, time: Duration) -> Rate {
        let now = self.world.simulation.now();
        let bytes = self.inbox().bytes_between(now - time, now);
        Rate::of(bytes, time).expect("some time")
    }
}

//! Dynamic stream map. Which stream sends next on a path, if streams are mapped to paths by measurement?
//!
//! Source: the future work named by T. Dreibholz et al., "Transmission Scheduling Optimizations for Concurrent Multipath
//! Transfer", PFLDNeT 2010 §7: mapping streams to paths dynamically. The paper gives no algorithm; this one is ours.
//!
//! Idea: as `fixed-map`, but the map is not given. A stream is first mapped to a path without streams, or where its
//! share is largest. Periodically the rates of the paths and the demands of the streams are compared, and if a stream
//! is clearly better off on another path, it moves. A *busy* stream uses what it gets; a *light* one sends little, and
//! its delay matters.
//!
//! ```text
//! busy              = data waited at least half of the epoch
//! rate of path d    = what it carried; if no busy stream was on it, cwnd_d / srtt_d if that is more, and the best of
//!                     all paths' while its slow start has not ended
//! share on d        = (rate_d − rate of light streams) / busy streams on d
//! every 8 · largest srtt, at least 400 ms, the first that applies:
//!   a usable path has no busy stream, another two or more:  the one with the smallest share gives one up to it,
//!                                                           unless it would get less than 1/8 of that there
//!   a busy stream would get 5/4 of its share elsewhere:     it moves there
//!   the srtt of a light stream is 3/2 of another path's:    it moves there
//! usable paths change: streams of failed paths are mapped again, then busy streams move until neither rule applies
//! ```
//!
//! No path is left empty for the sake of fairness: all paths together carry more than some of them. A stream moves
//! between two messages only, unless its path failed. It is never on two paths at once, so with fewer busy streams than
//! paths some paths carry little.

use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::time::Duration;

use anabranch_types::{Instant, PathId, StreamId};

use super::path_queues::PathQueues;
use crate::math::mul_div;
use crate::parameters::NoParameters;
use crate::{PathFacts, Policy, StreamFacts, StreamScheduler};

/// Shortest epoch between two measurements.
const SHORTEST_EPOCH: Duration = Duration::from_millis(400);
/// Length of an epoch in round trips of the slowest path.
const EPOCH_ROUND_TRIPS: u32 = 8;
/// An empty path gets a stream if it offers at least this fraction (1/8) of the stream's share.
const WORTH_A_STREAM: u64 = 8;

/// A stream that has data to send, or had in the last epoch.
#[derive(Clone, Copy, Debug)]
struct Stream {
    /// `None` while no path is usable: then it may use any.
    path: Option<PathId>,
    /// The path it moves to with the next message.
    moves_to: Option<PathId>,
    /// Its message was sent in part.
    in_message: bool,
    is_ready: bool,
    /// Since when data waits, while it is ready.
    ready_since: Instant,
    /// How long data waited in this epoch, not counting what waits now.
    waited: Duration,
    /// Bytes taken in this epoch.
    taken: u64,
    /// In the last epoch.
    is_busy: bool,
    /// Bytes per second in the last epoch.
    rate: u64,
}

impl Stream {
    /// A stream without measurements and without a path.
    const fn new(now: Instant) -> Self {
        Self {
            path: None,
            moves_to: None,
            in_message: false,
            is_ready: false,
            ready_since: now,
            waited: Duration::ZERO,
            taken: 0,
            is_busy: true,
            rate: 0,
        }
    }

    /// The path it is on, or moves to after its message.
    fn bound_for(&self) -> Option<PathId> {
        self.moves_to.or(self.path)
    }
}

/// A usable path and its load.
#[derive(Clone, Copy, Debug)]
struct Path {
    id: PathId,
    /// Bytes per second.
    rate: u64,
    srtt: Duration,
    /// Number of streams that are on it now.
    on: u64,
    /// Number of busy streams that are on it, or move to it after their message.
    busy: u64,
    /// Bytes per second of the light streams that are on it, or move to it.
    light: u64,
}

impl Path {
    /// The share of each of `busy` streams, in bytes per second.
    fn share(&self, busy: u64) -> u64 {
        self.rate.saturating_sub(self.light) / busy.max(1)
    }

    fn count(&mut self, stream: &Stream) {
        match stream.is_busy {
            true => self.busy += 1,
            false => self.light += stream.rate,
        }
    }

    fn discount(&mut self, stream: &Stream) {
        match stream.is_busy {
            true => self.busy -= 1,
            false => self.light -= stream.rate,
        }
    }
}

/// Dynamic stream map.
#[derive(Debug)]
pub struct DynamicMap {
    streams: BTreeMap<StreamId, Stream>,
    /// The usable paths, as of the last epoch.
    paths: Vec<Path>,
    path_queues: PathQueues,
    /// The time of the last call of `observe`.
    now: Instant,
    looked_at: Option<Instant>,
    look_again: Option<Instant>,
}

impl DynamicMap {
    /// Creates a scheduler without ready streams.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self {
            streams: BTreeMap::new(),
            paths: Vec::new(),
            path_queues: PathQueues::default(),
            now: Instant::ZERO,
            looked_at: None,
            look_again: None,
        }
    }

    fn path_mut(&mut self, id: Option<PathId>) -> Option<&mut Path> {
        self.paths.iter_mut().find(|path| Some(path.id) == id)
    }

    /// The path for a stream without measurements: one without streams, else where its share is largest.
    fn place(&self) -> Option<PathId> {
        let rank = |path: &&Path| (path.on == 0, path.rate / (path.on + 1));
        // Of equal paths the faster one, then the one with the lower id.
        let best = self
            .paths
            .iter()
            .max_by(|a, b| rank(a).cmp(&rank(b)).then((b.srtt, b.id).cmp(&(a.srtt, a.id))));
        best.map(|path| path.id)
    }

    /// Ends the epoch: measures rates and demands.
    fn look(&mut self, facts: &[PathFacts], now: Instant) {
        let elapsed = self.looked_at.map(|last| now - last);
        self.looked_at = Some(now);
        self.paths.clear();
        self.paths.extend(measured(facts));
        let slowest = self.paths.iter().map(|path| path.srtt).max().unwrap_or_default();
        self.look_again = Some(now + SHORTEST_EPOCH.max(slowest * EPOCH_ROUND_TRIPS));
        self.streams
            .retain(|_, stream| stream.is_ready || stream.taken > 0);
        if let Some(elapsed) = elapsed {
            self.judge_demands(elapsed);
            self.judge_rates();
        }
        self.count();
    }

    fn judge_demands(&mut self, elapsed: Duration) {
        let now = self.now;
        for stream in self.streams.values_mut() {
            if stream.is_ready {
                stream.waited += now - stream.ready_since;
                stream.ready_since = now;
            }
            stream.is_busy = stream.waited * 2 >= elapsed;
            stream.rate = rate(stream.taken, elapsed);
            stream.waited = Duration::ZERO;
            stream.taken = 0;
        }
    }

    fn judge_rates(&mut self) {
        for path in &mut self.paths {
            let here = || {
                self.streams
                    .values()
                    .filter(|stream| stream.path == Some(path.id))
            };
            let carried = here().map(|stream| stream.rate).sum();
            path.rate = if here().any(|stream| stream.is_busy) {
                carried
            } else {
                path.rate.max(carried)
            };
        }
    }

    /// Counts the load of each path again.
    fn count(&mut self) {
        for path in &mut self.paths {
            (path.on, path.busy, path.light) = (0, 0, 0);
            for stream in self.streams.values() {
                path.on += u64::from(stream.path == Some(path.id));
                if stream.bound_for() == Some(path.id) {
                    path.count(stream);
                }
            }
        }
    }

    /// From which path to which other one a busy stream is to move, if one is better off elsewhere or a path is empty.
    fn imbalance(&self) -> Option<(PathId, PathId)> {
        let crowded = self.paths.iter().filter(|path| path.busy >= 2);
        let from = crowded.min_by_key(|path| (path.share(path.busy), path.id))?;
        let has = from.share(from.busy);
        let gets = |path: &Path| path.share(path.busy + 1);
        let empty = self.paths.iter().filter(|path| path.busy == 0);
        let empty = empty.filter(|path| gets(path) >= has / WORTH_A_STREAM);
        let better = self.paths.iter().filter(|path| gets(path) / 5 > has / 4);
        let best_empty = empty.max_by_key(|path| (gets(path), path.id));
        let to = best_empty.or_else(|| better.max_by_key(|path| (gets(path), path.id)))?;
        Some((from.id, to.id))
    }

    /// Moves busy streams while any is better off on another path, `limit` of them at most. Returns how many.
    fn balance(&mut self, limit: usize) -> usize {
        let mut busy: BTreeMap<PathId, BinaryHeap<StreamId>> = BTreeMap::new();
        for (id, stream) in self.streams.iter().filter(|(_, stream)| stream.is_busy) {
            if let Some(path) = stream.bound_for() {
                busy.entry(path).or_default().push(*id);
            }
        }
        for moved in 0..limit {
            let Some((from, to)) = self.imbalance() else {
                return moved;
            };
            let Some(id) = busy.get_mut(&from).and_then(BinaryHeap::pop) else {
                return moved;
            };
            busy.entry(to).or_default().push(id);
            self.send_to(id, to);
        }
        limit
    }

    /// Moves one light stream to the fastest path if that is clearly faster than its own.
    fn hurry(&mut self) {
        let Some(fastest) = self.paths.iter().min_by_key(|path| (path.srtt, path.id)).copied() else {
            return;
        };
        let waits = |stream: &Stream| {
            let path = self.paths.iter().find(|path| Some(path.id) == stream.path);
            path.is_some_and(|path| path.srtt > fastest.srtt * 3 / 2)
        };
        let mut light = self.streams.iter().filter(|(_, stream)| !stream.is_busy);
        let found = light.find(|(_, stream)| stream.rate > 0 && waits(stream));
        let fits = |stream: &Stream| stream.rate < fastest.share(fastest.busy + 1);
        if let Some(id) = found.filter(|(_, stream)| fits(stream)).map(|(id, _)| *id) {
            self.send_to(id, fastest.id);
        }
    }

    fn send_to(&mut self, id: StreamId, to: PathId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let from = stream.bound_for();
        stream.moves_to = Some(to);
        let moved = *stream;
        if let Some(path) = self.path_mut(from) {
            path.discount(&moved);
        }
        if let Some(path) = self.path_mut(Some(to)) {
            path.count(&moved);
        }
        if !moved.in_message {
            self.arrive(id);
        }
    }

    /// Completes the move of a stream.
    fn arrive(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let Some(to) = stream.moves_to.take() else {
            return;
        };
        let from = stream.path.replace(to);
        if stream.is_ready {
            self.path_queues.ready(id, Some(to));
        }
        if let Some(path) = self.path_mut(from) {
            path.on -= 1;
        }
        if let Some(path) = self.path_mut(Some(to)) {
            path.on += 1;
        }
    }

    /// Maps the streams whose path failed, or that never had one.
    fn resettle(&mut self) {
        let is_usable = |paths: &[Path], id: Option<PathId>| paths.iter().any(|path| Some(path.id) == id);
        let mut homeless = Vec::new();
        for (id, stream) in &mut self.streams {
            stream.moves_to = stream.moves_to.filter(|to| is_usable(&self.paths, Some(*to)));
            if !is_usable(&self.paths, stream.path) {
                stream.path = None;
                stream.moves_to = None;
                // Nothing was measured on its new path.
                stream.is_busy = true;
                homeless.push(*id);
            }
        }
        for id in homeless {
            self.settle(id);
        }
        self.count();
        self.balance(self.streams.len());
    }

    /// Maps a stream without a path.
    fn settle(&mut self, id: StreamId) {
        let place = self.place();
        if let Some(path) = self.path_mut(place) {
            path.on += 1;
        }
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.path = place;
            if stream.is_ready {
                self.path_queues.ready(id, place);
            }
        }
    }
}

/// The usable paths. A path without measurements counts like the best of the others; so does one whose cwnd never
/// reached a limit, for it only shows how little data was sent on the path.
fn measured(facts: &[PathFacts]) -> impl Iterator<Item = Path> + '_ {
    let usable = || facts.iter().filter(|path| path.is_usable());
    let of = |path: &PathFacts| path.srtt().map(|srtt| rate(path.cwnd, srtt));
    let best = usable().filter_map(of).max().unwrap_or(1);
    let slowest = usable().filter_map(|path| path.srtt()).max().unwrap_or_default();
    let found_its_limit = |path: &&PathFacts| path.ssthresh < u64::MAX;
    usable().map(move |path| Path {
        id: path.id,
        rate: Some(path).filter(found_its_limit).and_then(of).unwrap_or(best),
        srtt: path.srtt().unwrap_or(slowest),
        on: 0,
        busy: 0,
        light: 0,
    })
}

/// Bytes per second.
pub(super) fn rate(bytes: u64, time: Duration) -> u64 {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    mul_div(bytes, 1_000_000_000, nanos.max(1))
}

impl Policy for DynamicMap {
    fn name(&self) -> &'static str {
        "dynamic-map"
    }
}

impl StreamScheduler for DynamicMap {
    fn binds_streams(&self) -> bool {
        true
    }

    fn admits(&self, stream: StreamId, path: PathId) -> bool {
        self.path_queues.admit(stream, path)
    }

    fn observe(&mut self, paths: &[PathFacts], now: Instant) {
        self.now = now;
        let usable = paths.iter().filter(|path| path.is_usable()).map(|path| path.id);
        if !usable.eq(self.paths.iter().map(|path| path.id)) {
            self.look(paths, now);
            self.resettle();
        } else if self.look_again.is_some_and(|again| again <= now) {
            self.look(paths, now);
            if self.balance(1) == 0 {
                self.hurry();
            }
        }
    }

    fn on_ready(&mut self, stream: &StreamFacts) {
        let now = self.now;
        if let Entry::Vacant(entry) = self.streams.entry(stream.id) {
            entry.insert(Stream::new(now));
            self.settle(stream.id);
        }
        let Some(known) = self.streams.get_mut(&stream.id) else {
            return;
        };
        if !known.is_ready {
            known.is_ready = true;
            known.ready_since = now;
        }
        self.path_queues.ready(stream.id, known.path);
    }

    fn on_idle(&mut self, stream: StreamId) {
        self.path_queues.idle(stream);
        let now = self.now;
        if let Some(stream) = self.streams.get_mut(&stream).filter(|stream| stream.is_ready) {
            stream.is_ready = false;
            stream.waited += now - stream.ready_since;
            stream.in_message = false;
        }
    }

    fn on_taken(&mut self, stream: StreamId, bytes: u32, message_done: bool) {
        self.path_queues.served(stream);
        let Some(known) = self.streams.get_mut(&stream) else {
            return;
        };
        known.taken += u64::from(bytes);
        known.in_message = !message_done;
        if message_done {
            self.arrive(stream);
        }
    }

    fn next(&self, path: PathId) -> Option<StreamId> {
        self.path_queues.next(path)
    }
}

//! Whose bytes are next on a path, if streams shall find their paths by themselves? Those of the streams that are best
//! off there.
//!
//! Source: the future work of T. Dreibholz et al., "Transmission Scheduling Optimizations for Concurrent Multipath
//! Transfer", PFLDNeT 2010 §7: "a dynamic scheduling algorithm which automatically maps streams to paths". The paper says
//! no more about it, so the algorithm is ours.
//!
//! Idea: as `fixed-map`, but nobody gives the map. A stream is first put on a path without streams, or where its share
//! is largest. Now and then the paths' rates and the streams' demands are compared, and if some stream is clearly better
//! off elsewhere, one moves. A *busy* stream takes what it gets; the others have little to say, and care for delay.
//!
//! ```text
//! busy              = something waited at least half of the time since the last look
//! rate of path d    = what it carried; if nothing busy was on it, window_d / srtt_d if that is more, and the best of all paths'
//!                     while its slow start has not ended
//! share on d        = (rate_d − what light streams send) / busy streams on d
//! every 8 · largest srtt, at least 400 ms, the first that applies:
//!   a usable path has no busy stream, another two or more:  the one with the smallest share gives one up to it,
//!                                                           unless it would get less than 1/8 of that there
//!   a busy stream would get 5/4 of its share elsewhere:     it moves there
//!   a light stream waits 3/2 as long as elsewhere (srtt):   it moves there
//! usable paths change: streams of lost paths are put anew, and moves of the first two kinds follow until none applies
//! ```
//!
//! A path is not left empty for fairness' sake: all paths together carry more than some of them. A stream moves between
//! two messages only, unless its path is lost. It is never on two paths at once, so with fewer busy streams than paths
//! some paths carry little.

use alloc::vec::Vec;
use core::time::Duration;

use anabranch_types::{Instant, PathId, StreamId};

use super::lanes::Lanes;
use crate::math::mul_div;
use crate::parameters::NoParameters;
use crate::{PathFacts, Policy, StreamFacts, StreamScheduler};

/// Between two looks, at least.
const SHORTEST_EPOCH: Duration = Duration::from_millis(400);
/// Round-trip times of the slowest path between two looks.
const EPOCH_ROUND_TRIPS: u32 = 8;
/// An empty path is worth a stream if it gives this part of what the stream has.
const WORTH_A_STREAM: u64 = 8;

/// A stream that has something to send, or had when last looked at.
#[derive(Clone, Copy, Debug)]
struct Stream {
    id: StreamId,
    /// `None` if it may go anywhere, as long as no path is usable.
    path: Option<PathId>,
    /// Where it goes with the next message.
    moves_to: Option<PathId>,
    /// A piece of its message was sent and another was not.
    in_message: bool,
    is_ready: bool,
    /// Since when something waits, if it does.
    ready_since: Instant,
    /// For how long something waited since the last look, not counting what waits now.
    waited: Duration,
    /// Bytes taken since the last look.
    taken: u64,
    /// At the last look.
    is_busy: bool,
    /// Bytes a second, at the last look.
    rate: u64,
}

/// A usable path, with what it carries.
#[derive(Clone, Copy, Debug)]
struct Path {
    id: PathId,
    /// Bytes a second.
    rate: u64,
    srtt: Duration,
    busy: u64,
    /// Bytes a second that light streams send.
    light: u64,
}

impl Path {
    /// What each of `busy` streams gets, in bytes a second.
    fn share(&self, busy: u64) -> u64 {
        self.rate.saturating_sub(self.light) / busy.max(1)
    }
}

/// Each stream finds its path.
#[derive(Debug)]
pub struct DynamicMap {
    /// Sorted by id.
    streams: Vec<Stream>,
    /// The usable ones, as last looked at.
    paths: Vec<Path>,
    lanes: Lanes,
    /// When the paths were last told of: the time, near enough.
    now: Instant,
    looked_at: Option<Instant>,
    look_again: Option<Instant>,
}

impl DynamicMap {
    /// A scheduler without ready streams.
    #[must_use]
    pub fn new(_: NoParameters) -> Self {
        Self {
            streams: Vec::new(),
            paths: Vec::new(),
            lanes: Lanes::default(),
            now: Instant::ZERO,
            looked_at: None,
            look_again: None,
        }
    }

    fn stream_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        let at = self.streams.binary_search_by_key(&id, |stream| stream.id).ok()?;
        Some(&mut self.streams[at])
    }

    /// The path of a stream of which nothing is known: one without streams, else where its share is largest.
    fn place(&self) -> Option<PathId> {
        let streams_on = |path: &Path| {
            let on = self.streams.iter().filter(|stream| stream.path == Some(path.id));
            on.count() as u64
        };
        let paths = self.paths.iter().map(|path| (path, streams_on(path)));
        let best = paths.max_by(|(a, on_a), (b, on_b)| {
            let rank = |path: &Path, on: u64| (on == 0, path.rate / (on + 1));
            // Of equals the faster one, then the one with the lower id.
            rank(a, *on_a)
                .cmp(&rank(b, *on_b))
                .then((b.srtt, b.id).cmp(&(a.srtt, a.id)))
        });
        best.map(|(path, _)| path.id)
    }

    /// Notes rates and demands since the last look.
    fn look(&mut self, facts: &[PathFacts], now: Instant) {
        let elapsed = self.looked_at.map(|last| now - last);
        self.looked_at = Some(now);
        self.paths.clear();
        self.paths.extend(measured(facts));
        let slowest = self.paths.iter().map(|path| path.srtt).max().unwrap_or_default();
        self.look_again = Some(now + SHORTEST_EPOCH.max(slowest * EPOCH_ROUND_TRIPS));
        self.streams.retain(|stream| stream.is_ready || stream.taken > 0);
        if let Some(elapsed) = elapsed {
            self.judge_demands(elapsed);
            self.judge_rates();
        }
        self.count();
    }

    fn judge_demands(&mut self, elapsed: Duration) {
        let now = self.now;
        for stream in &mut self.streams {
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
            let here = || self.streams.iter().filter(|stream| stream.path == Some(path.id));
            let carried = here().map(|stream| stream.rate).sum();
            path.rate = if here().any(|stream| stream.is_busy) {
                carried
            } else {
                path.rate.max(carried)
            };
        }
    }

    /// Counts what is on each path, moves that wait for the end of a message included.
    fn count(&mut self) {
        for path in &mut self.paths {
            let streams = self.streams.iter();
            let here = streams.filter(|stream| stream.moves_to.or(stream.path) == Some(path.id));
            (path.busy, path.light) = here.fold((0, 0), |(busy, light), stream| match stream.is_busy {
                true => (busy + 1, light),
                false => (busy, light + stream.rate),
            });
        }
    }

    /// Moves one busy stream, if one is better off elsewhere or a path is empty; tells whether.
    fn balance(&mut self) -> bool {
        let crowded = self.paths.iter().filter(|path| path.busy >= 2);
        let Some(from) = crowded
            .min_by_key(|path| (path.share(path.busy), path.id))
            .copied()
        else {
            return false;
        };
        let has = from.share(from.busy);
        let gets = |path: &Path| path.share(path.busy + 1);
        let empty = self.paths.iter().filter(|path| path.busy == 0);
        let empty = empty.filter(|path| gets(path) >= has / WORTH_A_STREAM);
        let better = self.paths.iter().filter(|path| gets(path) / 5 > has / 4);
        let best_empty = empty.max_by_key(|path| (gets(path), path.id));
        let Some(to) = best_empty.or_else(|| better.max_by_key(|path| (gets(path), path.id))) else {
            return false;
        };
        let to = to.id;
        let here = self
            .streams
            .iter()
            .rposition(|stream| stream.is_busy && stream.moves_to.or(stream.path) == Some(from.id));
        here.is_some_and(|at| {
            self.send_to(at, to);
            true
        })
    }

    /// Moves one light stream to where it waits less.
    fn hurry(&mut self) {
        let Some(fastest) = self.paths.iter().min_by_key(|path| (path.srtt, path.id)).copied() else {
            return;
        };
        let waits = |stream: &Stream| {
            let path = self.paths.iter().find(|path| Some(path.id) == stream.path);
            path.is_some_and(|path| path.srtt > fastest.srtt * 3 / 2)
        };
        let found = self
            .streams
            .iter()
            .position(|stream| !stream.is_busy && stream.rate > 0 && waits(stream));
        if let Some(at) = found.filter(|at| self.streams[*at].rate < fastest.share(fastest.busy + 1)) {
            self.send_to(at, fastest.id);
        }
    }

    fn send_to(&mut self, at: usize, path: PathId) {
        let stream = &mut self.streams[at];
        stream.moves_to = Some(path);
        if !stream.in_message {
            self.arrive(at);
        }
        self.count();
    }

    /// The stream is where it was to go.
    fn arrive(&mut self, at: usize) {
        let stream = &mut self.streams[at];
        if let Some(path) = stream.moves_to.take() {
            stream.path = Some(path);
            if stream.is_ready {
                self.lanes.ready(stream.id, stream.path);
            }
        }
    }

    /// Puts the streams whose path is lost, or that never had one.
    fn resettle(&mut self) {
        let is_usable = |paths: &[Path], id: Option<PathId>| paths.iter().any(|path| Some(path.id) == id);
        for at in 0..self.streams.len() {
            let stream = &mut self.streams[at];
            stream.moves_to = stream.moves_to.filter(|to| is_usable(&self.paths, Some(*to)));
            if is_usable(&self.paths, stream.path) {
                continue;
            }
            stream.path = None;
            stream.moves_to = None;
            // Nothing was measured where it is now.
            stream.is_busy = true;
            let path = self.place();
            self.streams[at].path = path;
            if self.streams[at].is_ready {
                self.lanes.ready(self.streams[at].id, path);
            }
        }
        self.count();
        for _ in 0..self.streams.len() {
            if !self.balance() {
                break;
            }
        }
    }
}

/// The usable paths. A path that was never measured counts like the best of the others; so does one whose window never found
/// its limit, for it only says how little was asked of the path.
fn measured(facts: &[PathFacts]) -> impl Iterator<Item = Path> + '_ {
    let usable = || facts.iter().filter(|path| path.is_usable());
    let of = |path: &PathFacts| path.srtt.map(|srtt| rate(path.window, srtt));
    let best = usable().filter_map(of).max().unwrap_or(1);
    let slowest = usable().filter_map(|path| path.srtt).max().unwrap_or_default();
    let found_its_limit = |path: &&PathFacts| path.slow_start_threshold < u64::MAX;
    usable().map(move |path| Path {
        id: path.id,
        rate: Some(path).filter(found_its_limit).and_then(of).unwrap_or(best),
        srtt: path.srtt.unwrap_or(slowest),
        busy: 0,
        light: 0,
    })
}

/// Bytes a second.
fn rate(bytes: u64, time: Duration) -> u64 {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    mul_div(bytes, 1_000_000_000, nanos.max(1))
}

impl Policy for DynamicMap {
    fn name(&self) -> &'static str {
        "dynamic-map"
    }
}

impl StreamScheduler for DynamicMap {
    fn binds(&self) -> bool {
        true
    }

    fn observe(&mut self, paths: &[PathFacts], now: Instant) {
        self.now = now;
        let usable = paths.iter().filter(|path| path.is_usable()).map(|path| path.id);
        if !usable.eq(self.paths.iter().map(|path| path.id)) {
            self.look(paths, now);
            self.resettle();
        } else if self.look_again.is_some_and(|again| again <= now) {
            self.look(paths, now);
            if !self.balance() {
                self.hurry();
            }
        }
    }

    fn on_ready(&mut self, stream: &StreamFacts) {
        let at = match self.streams.binary_search_by_key(&stream.id, |stream| stream.id) {
            Ok(at) => at,
            Err(at) => {
                let path = self.place();
                let newcomer = Stream {
                    id: stream.id,
                    path,
                    moves_to: None,
                    in_message: false,
                    is_ready: false,
                    ready_since: self.now,
                    waited: Duration::ZERO,
                    taken: 0,
                    is_busy: true,
                    rate: 0,
                };
                self.streams.insert(at, newcomer);
                at
            }
        };
        let now = self.now;
        let known = &mut self.streams[at];
        if !known.is_ready {
            known.is_ready = true;
            known.ready_since = now;
        }
        self.lanes.ready(stream.id, known.path);
    }

    fn on_idle(&mut self, stream: StreamId) {
        self.lanes.idle(stream);
        let now = self.now;
        if let Some(stream) = self.stream_mut(stream).filter(|stream| stream.is_ready) {
            stream.is_ready = false;
            stream.waited += now - stream.ready_since;
            stream.in_message = false;
        }
    }

    fn on_taken(&mut self, stream: StreamId, bytes: u32, message_done: bool) {
        self.lanes.served(stream);
        let Ok(at) = self.streams.binary_search_by_key(&stream, |stream| stream.id) else {
            return;
        };
        self.streams[at].taken += u64::from(bytes);
        self.streams[at].in_message = !message_done;
        if message_done {
            self.arrive(at);
        }
    }

    fn next(&self, path: PathId) -> Option<StreamId> {
        self.lanes.next(path)
    }
}

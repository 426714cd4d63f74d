//! Streams that are bound to some of the paths. On which ones does each of them send, and until when?
//!
//! Source: ours (ADR 0208); epochs, demands and shares are those of `dynamic-map`.
//!
//! Idea: packets of a tunnelled flow that take unlike paths overtake one another, and their sender takes that for loss. So the messages
//! of a stream stay on the path on which the path scheduler has sent the first one, as long as that path is not clearly worse than
//! another. Messages of a call wait until the fastest path can take them, which is sooner than a long path delivers them.
//!
//! ```text
//! Fastest: the paths whose srtt is at most 5/4 of the smallest; after a wait of max(2 srtt, 100 ms) all
//!
//! One:
//! busy        = data waited at least half of the epoch, or srtt ≥ 2 · smallest RTT of the path
//! capacity    = cwnd / srtt; known when slow start has ended
//! share on d  = capacity of d / busy streams on d
//! a stream is free, and bound to the next path on which the path scheduler sends it:
//!   its path cannot be used; it had no data for 2 s; it has data, and the scheduler did not send it for max(2 srtt, 100 ms)
//! every 8 · largest srtt, at least 400 ms, one busy stream with the smallest share moves, if the capacity of its path is known:
//!   where its share would be 5/4 of that, if it is known; else for a trial to a path without busy streams that is at most twice as long;
//!   a trial needs a queue on the path before (last RTT ≥ 3/2 · smallest), or two seconds on it
//! trial: the stream uses both paths until the other one has shown its capacity or a queue, for 4 srtt or 400 ms at most;
//!   it moves if that is at least the capacity of the one before; in slow start, half of cwnd / srtt counts, as acknowledged in the last RTT
//! ```
//!
//! What is lost is sent again on the same path. On one where little else is in flight, nothing would show soon that it is lost again.

use alloc::vec::Vec;
use core::time::Duration;

use anabranch_types::{Instant, PathId, StreamId};

use super::dynamic_map::rate;
use crate::path_set::PathSet;
use crate::{PathFacts, PathUse, path_facts};

/// Shortest epoch.
const SHORTEST_EPOCH: Duration = Duration::from_millis(400);
/// Length of an epoch in round trips of the slowest path.
const EPOCH_ROUND_TRIPS: u32 = 8;
/// Longest trial of a path, in round trips of the one before.
const TRIAL_ROUND_TRIPS: u32 = 4;
/// How long a path without a queue carries a stream before the stream tries another one.
const SETTLING: Duration = Duration::from_secs(2);
/// A stream that had no data for so long is another flow.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Shortest time after which data that waits may take another path.
const PATIENCE: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug)]
struct Bound {
    id: StreamId,
    path_use: PathUse,
    /// The path of one that uses one.
    path: Option<PathId>,
    /// Since when it has that path.
    bound_at: Instant,
    is_ready: bool,
    /// Since when data waits, as far as paths were observed since.
    ready_since: Option<Instant>,
    /// When data was sent, or began to wait, last.
    active_at: Instant,
    /// How long data waited in this epoch, not counting what waits now.
    waited: Duration,
    /// In the last epoch.
    is_busy: bool,
}

impl Bound {
    const fn bind(&mut self, path: PathId, now: Instant) {
        self.path = Some(path);
        self.bound_at = now;
    }
}

/// A stream that uses a path of which little is known beside its own, for a short time.
#[derive(Clone, Copy, Debug)]
struct Trial {
    stream: StreamId,
    from: PathId,
    to: PathId,
    /// The cwnd of `to` at the beginning.
    cwnd: u64,
    until: Instant,
}

/// The streams that are bound.
#[derive(Debug, Default)]
pub(super) struct BoundStreams {
    streams: Vec<Bound>,
    /// The paths that can be used.
    usable: PathSet,
    /// Those of them that are fast.
    fast: PathSet,
    /// The time of the last call of [`Self::observe`].
    now: Instant,
    /// A stream that tries a path.
    trial: Option<Trial>,
    /// The paths that were tried.
    tried: PathSet,
    /// How long data waits for its paths.
    patience: Duration,
    began: Instant,
    /// When the epoch ends.
    until: Instant,
}

impl BoundStreams {
    fn of_mut(&mut self, stream: StreamId) -> Option<&mut Bound> {
        self.streams.iter_mut().find(|bound| bound.id == stream)
    }

    /// Whether `stream` may be sent on `path`.
    pub(super) fn admit(&self, stream: StreamId, path: PathId) -> bool {
        let Some(bound) = self.streams.iter().find(|bound| bound.id == stream) else {
            return true;
        };
        match bound.path_use {
            PathUse::All => true,
            PathUse::One => bound.path.is_none_or(|its| its == path) || self.tries(stream, path),
            PathUse::Fastest => self.has_waited(bound) || self.fast.contains(path),
        }
    }

    /// The path to which it keeps, if it can be used.
    pub(super) fn path_of(&self, stream: StreamId) -> Option<PathId> {
        let bound = self.streams.iter().find(|bound| bound.id == stream)?;
        let keeps = bound.path_use == PathUse::One;
        bound.path.filter(|path| keeps && self.usable.contains(*path))
    }

    fn tries(&self, stream: StreamId, path: PathId) -> bool {
        self.trial
            .is_some_and(|trial| trial.stream == stream && trial.to == path)
    }

    /// Whether its data has waited so long for its paths that it may take others.
    fn has_waited(&self, bound: &Bound) -> bool {
        bound.ready_since.is_some() && self.now - bound.active_at > self.patience
    }

    /// `stream` has data, and is bound.
    pub(super) fn on_ready(&mut self, stream: StreamId, path_use: PathUse) {
        let now = self.now;
        if self.of_mut(stream).is_none() {
            self.streams.push(Bound {
                id: stream,
                path_use,
                path: None,
                bound_at: now,
                is_ready: false,
                ready_since: None,
                active_at: now,
                waited: Duration::ZERO,
                is_busy: false,
            });
        }
        if let Some(bound) = self.of_mut(stream) {
            bound.is_ready = true;
            bound.path_use = path_use;
        }
    }

    pub(super) fn on_idle(&mut self, stream: StreamId) {
        let now = self.now;
        if let Some(bound) = self.of_mut(stream) {
            bound.is_ready = false;
            let since = bound.ready_since.take().unwrap_or(now);
            bound.waited += now - since;
        }
    }

    /// `stream` may use all paths again.
    pub(super) fn forget(&mut self, stream: StreamId) {
        self.streams.retain(|bound| bound.id != stream);
    }

    /// Data of `stream` is sent on `path`.
    pub(super) fn on_placed(&mut self, stream: StreamId, path: PathId) {
        let (now, tries) = (self.now, self.tries(stream, path));
        if let Some(bound) = self.of_mut(stream) {
            bound.active_at = now;
            if bound.path != Some(path) && !(tries && bound.path.is_some()) {
                bound.bind(path, now);
            }
        }
    }

    pub(super) fn observe(&mut self, paths: &[PathFacts], now: Instant) {
        self.now = now;
        let mut usable = PathSet::default();
        let can_be_used = paths.iter().filter(|path| path.is_usable());
        can_be_used.for_each(|path| usable.insert(path.id));
        if usable != self.usable {
            self.usable = usable;
            self.tried = PathSet::default();
            self.trial = None;
            self.free(|path| !usable.contains(path));
        }
        self.choose_fast(paths);
        self.greet_those_that_are_ready();
        self.free_those_that_wait();
        match self.trial {
            Some(trial) => self.judge(trial, paths),
            None if now >= self.until => self.end_epoch(paths),
            None => {}
        }
    }

    fn free(&mut self, leaves: impl Fn(PathId) -> bool) {
        for bound in &mut self.streams {
            bound.path = bound.path.filter(|path| !leaves(*path));
        }
    }

    fn greet_those_that_are_ready(&mut self) {
        let now = self.now;
        let begins = |bound: &&mut Bound| bound.is_ready && bound.ready_since.is_none();
        for bound in self.streams.iter_mut().filter(begins) {
            if now - bound.active_at > LONGEST_PAUSE {
                (bound.path, bound.is_busy) = (None, false);
            }
            bound.ready_since = Some(now);
            bound.active_at = now;
        }
    }

    /// The path scheduler does not want their path: it waits for another one.
    fn free_those_that_wait(&mut self) {
        let (now, patience) = (self.now, self.patience);
        let waits = |bound: &&mut Bound| bound.ready_since.is_some() && now - bound.active_at > patience;
        self.streams
            .iter_mut()
            .filter(waits)
            .for_each(|bound| bound.path = None);
    }

    fn choose_fast(&mut self, paths: &[PathFacts]) {
        let usable = || paths.iter().filter(|path| path.is_usable());
        let srtt = |path: &PathFacts| path.srtt().unwrap_or_default();
        let least = usable().map(srtt).min().unwrap_or_default();
        self.fast = PathSet::default();
        for path in usable().filter(|path| 4 * srtt(path) <= 5 * least) {
            self.fast.insert(path.id);
        }
        let slowest = usable().map(srtt).max().unwrap_or_default();
        self.patience = PATIENCE.max(2 * slowest);
    }

    fn end_epoch(&mut self, paths: &[PathFacts]) {
        let (now, elapsed) = (self.now, self.now - self.began);
        for bound in &mut self.streams {
            if let Some(since) = &mut bound.ready_since {
                bound.waited += now - *since;
                *since = now;
            }
            let path = bound.path.and_then(|path| path_facts(paths, path));
            bound.is_busy = 2 * bound.waited >= elapsed || path.is_some_and(has_long_queue);
            bound.waited = Duration::ZERO;
        }
        let slowest = paths.iter().filter_map(PathFacts::srtt).max().unwrap_or_default();
        self.began = now;
        self.until = now + SHORTEST_EPOCH.max(EPOCH_ROUND_TRIPS * slowest);
        let Some((stream, from, to)) = self.move_of_one(paths) else {
            return;
        };
        if has_found_its_limit(to) {
            self.bind(stream, to.id);
            return;
        }
        let round_trips = TRIAL_ROUND_TRIPS * from.srtt().unwrap_or_default();
        self.tried.insert(to.id);
        self.trial = Some(Trial {
            stream,
            from: from.id,
            to: to.id,
            cwnd: to.cwnd,
            until: now + SHORTEST_EPOCH.max(round_trips),
        });
    }

    fn bind(&mut self, stream: StreamId, path: PathId) {
        let now = self.now;
        if let Some(bound) = self.of_mut(stream) {
            bound.bind(path, now);
        }
    }

    /// Ends the trial if its path has shown what it carries, or did not do so in time.
    fn judge(&mut self, trial: Trial, paths: &[PathFacts]) {
        let both = path_facts(paths, trial.from).zip(path_facts(paths, trial.to));
        let verdict = both.map(|(from, to)| trial.verdict(from, to));
        match verdict {
            Some(Verdict::Better) => {
                self.trial = None;
                self.bind(trial.stream, trial.to);
            }
            Some(Verdict::NotYet) if self.now < trial.until => {}
            _ => self.trial = None,
        }
    }

    /// The busy stream that is to move, its path, and where it is to move.
    fn move_of_one<'p>(&self, paths: &'p [PathFacts]) -> Option<(StreamId, &'p PathFacts, &'p PathFacts)> {
        let uses_one = |bound: &&Bound| bound.path_use == PathUse::One && bound.path.is_some();
        let mut busy = self.streams.iter().filter(uses_one).filter(|bound| bound.is_busy);
        let first = busy.next()?;
        let on = |path: &PathFacts| {
            let here = self
                .streams
                .iter()
                .filter(|bound| bound.is_busy && bound.path == Some(path.id));
            here.count() as u64
        };
        let share = |path: &PathFacts, streams: u64| capacity(path) / streams.max(1);
        let of = |bound: &Bound| bound.path.and_then(|path| path_facts(paths, path));
        let has = |bound: &Bound| of(bound).map_or(0, |path| share(path, on(path)));
        let worst = busy.fold(
            first,
            |worst, bound| if has(bound) < has(worst) { bound } else { worst },
        );
        let from = of(worst).filter(|path| has_found_its_limit(path))?;
        let others = || paths.iter().filter(|path| path.is_usable() && path.id != from.id);
        let gets = |path: &PathFacts| share(path, on(path) + 1);
        let is_better = |path: &&PathFacts| has_found_its_limit(path) && gets(path) / 5 > has(worst) / 4;
        let better = others().filter(is_better).max_by_key(|path| gets(path));
        let is_near = |path: &PathFacts| {
            let both = path.min_rtt().zip(from.min_rtt());
            both.is_some_and(|(its, ours)| its <= 2 * ours)
        };
        // Where slow start ends with a random loss, the cwnd says nothing until the congestion control has learned more.
        let is_settled = has_queue(from) || self.now - worst.bound_at >= SETTLING;
        let mut unknown = others().filter(|_| is_settled).filter(|path| {
            !has_found_its_limit(path) && on(path) == 0 && is_near(path) && !self.tried.contains(path.id)
        });
        let to = better.or_else(|| unknown.next())?;
        Some((worst.id, from, to))
    }
}

/// What a trial has shown so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Better,
    Worse,
    NotYet,
}

impl Trial {
    fn verdict(&self, from: &PathFacts, to: &PathFacts) -> Verdict {
        let (before, now) = (capacity(from), capacity(to));
        let is_known = has_found_its_limit(to);
        let has_grown = to.cwnd > self.cwnd;
        let shown = if is_known { now } else { now / 2 };
        if shown >= before && (is_known || has_grown) {
            Verdict::Better
        } else if is_known || (has_queue(to) && now < before) {
            Verdict::Worse
        } else {
            Verdict::NotYet
        }
    }
}

/// Bytes per second.
fn capacity(path: &PathFacts) -> u64 {
    path.srtt().map_or(0, |srtt| rate(path.cwnd, srtt))
}

/// Whether a flow whose own window keeps its data from waiting here waits in the network.
fn has_long_queue(path: &PathFacts) -> bool {
    let both = path.srtt().zip(path.min_rtt());
    both.is_some_and(|(srtt, least)| srtt >= 2 * least)
}

/// Whether its last packets waited half of its smallest round-trip time in its queue.
fn has_queue(path: &PathFacts) -> bool {
    let both = path.latest_rtt().zip(path.min_rtt());
    both.is_some_and(|(latest, least)| 2 * latest >= 3 * least)
}

/// Whether slow start has ended on it: before, its cwnd shows only how little was sent.
const fn has_found_its_limit(path: &PathFacts) -> bool {
    path.ssthresh < u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CHUNK, at, healthy, ms};

    const FLOW: StreamId = StreamId(7);

    fn admitted(bound: &BoundStreams) -> Vec<u8> {
        (0..3).filter(|path| bound.admit(FLOW, PathId(*path))).collect()
    }

    /// A stream that is sent on path 1 at the moment 0.
    fn on_path_1(paths: &[PathFacts]) -> BoundStreams {
        let mut bound = BoundStreams::default();
        bound.on_ready(FLOW, PathUse::One);
        bound.observe(paths, at(0));
        assert_eq!(admitted(&bound), [0, 1, 2], "the path scheduler chooses");
        bound.on_placed(FLOW, PathId(1));
        assert_eq!(admitted(&bound), [1]);
        bound
    }

    #[test]
    fn stream_keeps_to_its_path_while_that_can_be_used() {
        let mut paths = [healthy(0), healthy(1), healthy(2)];
        let mut bound = on_path_1(&paths);
        bound.on_idle(FLOW);
        bound.on_ready(FLOW, PathUse::One);
        bound.observe(&paths, at(90));
        assert_eq!(admitted(&bound), [1]);
        paths[1].reachability = crate::Reachability::PotentiallyFailed;
        bound.observe(&paths, at(91));
        assert_eq!(admitted(&bound), [0, 1, 2]);
    }

    #[test]
    fn stream_keeps_to_its_path_with_what_it_loses() {
        let mut paths = [healthy(0), healthy(1), healthy(2)];
        let mut bound = on_path_1(&paths);
        assert_eq!(bound.path_of(FLOW), Some(PathId(1)));
        assert_eq!(bound.path_of(StreamId(8)), None, "it uses all paths");
        paths[1].reachability = crate::Reachability::PotentiallyFailed;
        bound.observe(&paths, at(91));
        assert_eq!(bound.path_of(FLOW), None);
        bound.on_ready(FLOW, PathUse::Fastest);
        bound.on_placed(FLOW, PathId(0));
        assert_eq!(bound.path_of(FLOW), None, "any of the fastest paths will do");
    }

    #[test]
    fn stream_is_free_after_a_pause_or_if_its_path_is_not_served() {
        let paths = [healthy(0), healthy(1)];
        let mut bound = on_path_1(&paths);
        bound.on_idle(FLOW);
        bound.observe(&paths, at(2_100));
        bound.on_ready(FLOW, PathUse::One);
        bound.observe(&paths, at(2_101));
        assert_eq!(admitted(&bound), [0, 1, 2]);
        let mut bound = on_path_1(&paths);
        bound.observe(&paths, at(100));
        assert_eq!(admitted(&bound), [1]);
        bound.observe(&paths, at(101));
        assert_eq!(admitted(&bound), [0, 1, 2]);
    }

    /// Data of the stream waits all the time from `from` to `to`, and is sent on the path in `on`.
    fn wait(bound: &mut BoundStreams, paths: &[PathFacts], from: u64, to: u64, on: u8) {
        for time in (from..to).step_by(50) {
            bound.observe(paths, at(time));
            bound.on_placed(FLOW, PathId(on));
        }
        bound.observe(paths, at(to));
    }

    fn after_an_epoch(paths: &[PathFacts]) -> BoundStreams {
        let mut bound = on_path_1(paths);
        // The first epoch ends at once.
        wait(&mut bound, paths, 0, 400, 1);
        bound
    }

    #[test]
    fn busy_stream_moves_to_a_path_that_is_clearly_better() {
        let mut paths = [healthy(0), healthy(1)];
        for path in &mut paths {
            path.ssthresh = path.cwnd;
        }
        assert_eq!(admitted(&after_an_epoch(&paths)), [1]);
        paths[0].cwnd = 12 * CHUNK;
        assert_eq!(admitted(&after_an_epoch(&paths)), [1], "that is not much more");
        paths[0].cwnd = 14 * CHUNK;
        assert_eq!(admitted(&after_an_epoch(&paths)), [0]);
    }

    #[test]
    fn busy_stream_tries_a_path_whose_limit_is_not_known_beside_its_own() {
        let mut paths = [healthy(0), healthy(1)];
        assert_eq!(
            admitted(&after_an_epoch(&paths)),
            [1],
            "its own limit is not known either"
        );
        paths[1].ssthresh = paths[1].cwnd;
        let mut bound = after_an_epoch(&paths);
        assert_eq!(admitted(&bound), [1], "without a queue, it may carry more");
        wait(&mut bound, &paths, 400, 2_000, 1);
        assert_eq!(admitted(&bound), [0, 1], "after two seconds");
        paths[1].set_srtt(Some(ms(30)));
        assert_eq!(admitted(&after_an_epoch(&paths)), [0, 1]);
        paths[0].set_min_rtt(Some(ms(41)));
        assert_eq!(admitted(&after_an_epoch(&paths)), [1], "it is much longer");
    }

    /// A stream on path 1 that tries path 0, beginning at 400 ms.
    fn trial() -> ([PathFacts; 2], BoundStreams) {
        let mut paths = [healthy(0), healthy(1)];
        paths[1].ssthresh = paths[1].cwnd;
        paths[1].set_srtt(Some(ms(30)));
        paths[1].cwnd = 15 * CHUNK;
        let bound = after_an_epoch(&paths);
        assert_eq!(admitted(&bound), [0, 1]);
        (paths, bound)
    }

    #[test]
    fn stream_moves_when_the_other_path_has_shown_as_much() {
        let (mut paths, mut bound) = trial();
        paths[0].cwnd = 19 * CHUNK;
        wait(&mut bound, &paths, 450, 500, 0);
        assert_eq!(admitted(&bound), [0, 1], "half of it was acknowledged");
        paths[0].cwnd = 20 * CHUNK;
        bound.observe(&paths, at(510));
        assert_eq!(admitted(&bound), [0]);
    }

    #[test]
    fn trial_ends_when_slow_start_does() {
        let (mut paths, mut bound) = trial();
        (paths[0].cwnd, paths[0].ssthresh) = (9 * CHUNK, 9 * CHUNK);
        bound.observe(&paths, at(410));
        assert_eq!(admitted(&bound), [1]);
    }

    #[test]
    fn trial_of_a_slow_path_ends_with_its_first_queue() {
        let (mut paths, mut bound) = trial();
        paths[1].cwnd = 100 * CHUNK;
        paths[0].cwnd = 20 * CHUNK;
        bound.observe(&paths, at(410));
        assert_eq!(admitted(&bound), [0, 1], "no queue");
        let least = paths[0].min_rtt();
        paths[0].set_srtt(Some(ms(30)));
        paths[0].set_min_rtt(least);
        bound.observe(&paths, at(420));
        assert_eq!(admitted(&bound), [1]);
    }

    #[test]
    fn trial_that_shows_nothing_ends_after_a_while() {
        let (paths, mut bound) = trial();
        wait(&mut bound, &paths, 450, 750, 1);
        assert_eq!(admitted(&bound), [0, 1]);
        wait(&mut bound, &paths, 750, 800, 1);
        assert_eq!(admitted(&bound), [1]);
        wait(&mut bound, &paths, 800, 1_600, 1);
        assert_eq!(admitted(&bound), [1], "it is tried once");
    }

    #[test]
    fn stream_on_the_fastest_paths_waits_for_them_for_a_while() {
        let mut paths = [healthy(0), healthy(1), healthy(2)];
        paths[1].set_srtt(Some(ms(25)));
        paths[2].set_srtt(Some(ms(26)));
        let mut bound = BoundStreams::default();
        bound.on_ready(FLOW, PathUse::Fastest);
        bound.observe(&paths, at(0));
        assert_eq!(admitted(&bound), [0, 1]);
        bound.on_placed(FLOW, PathId(1));
        bound.observe(&paths, at(100));
        assert_eq!(admitted(&bound), [0, 1]);
        bound.observe(&paths, at(101));
        assert_eq!(admitted(&bound), [0, 1, 2]);
        bound.on_placed(FLOW, PathId(2));
        assert_eq!(admitted(&bound), [0, 1]);
    }
}

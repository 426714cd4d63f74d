//! History of an association in bounded memory: the last minutes as they were sampled, what is older in means.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::PathSample;

/// Points that are kept as they were sampled: five minutes of four each second.
const RECENT: usize = 1_200;

/// Points that are kept of the time before. When there are as many, neighbours become one.
const OLDER: usize = 1_200;

/// The paths of an association at a moment.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Point {
    /// Milliseconds since the start.
    at: u64,
    paths: Vec<PathPoint>,
}

/// What is drawn of a path: its number, bits per second sent and received, round-trip time in milliseconds, congestion window and
/// bytes in flight, loss rate.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct PathPoint(u64, u64, u64, Option<f32>, u64, u64, f32);

impl Point {
    pub(super) fn new(at: Duration, paths: &[PathSample]) -> Self {
        let point = |path: &PathSample| {
            PathPoint(
                path.path,
                path.sent_bit_s,
                path.received_bit_s,
                path.rtt_ms.map(|rtt| rtt as f32),
                path.cwnd_bytes,
                path.in_flight_bytes,
                path.loss as f32,
            )
        };
        Self {
            at: super::milliseconds(at),
            paths: paths.iter().map(point).collect(),
        }
    }

    /// A moment without paths: lines have a gap there.
    const fn gap(at: u64) -> Self {
        Self {
            at,
            paths: Vec::new(),
        }
    }

    /// Milliseconds since the start.
    pub(crate) const fn at(&self) -> u64 {
        self.at
    }

    /// The number of each path, and the bits per second that it sent and received.
    pub(crate) fn rates(&self) -> impl Iterator<Item = (u64, u64)> {
        self.paths.iter().map(|path| (path.0, path.1 + path.2))
    }

    /// The mean of two neighbours of equal length, at the end of both.
    fn mean(mut self, later: &Self) -> Self {
        for path in &mut self.paths {
            let Some(other) = later.paths.iter().find(|other| other.0 == path.0) else {
                continue;
            };
            let rtt = path.3.zip(other.3).map(|(one, two)| f32::midpoint(one, two));
            *path = PathPoint(
                path.0,
                path.1.midpoint(other.1),
                path.2.midpoint(other.2),
                rtt.or(path.3).or(other.3),
                path.4.midpoint(other.4),
                path.5.midpoint(other.5),
                f32::midpoint(path.6, other.6),
            );
        }
        let is_new = |path: &&PathPoint| !self.paths.iter().any(|known| known.0 == path.0);
        let new: Vec<PathPoint> = later.paths.iter().filter(is_new).copied().collect();
        self.paths.extend(new);
        self.at = later.at;
        self
    }
}

/// All points, in the order of time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct History {
    recent: VecDeque<Point>,
    older: Vec<Point>,
    /// Of so many samples each older point is the mean: a power of two.
    span: usize,
    /// The points that will be the next older one, with the number of samples that each stands for, each half of the one before.
    partial: Vec<(usize, Point)>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            recent: VecDeque::new(),
            older: Vec::new(),
            span: 1,
            partial: Vec::new(),
        }
    }
}

impl History {
    pub(crate) fn points(&self) -> impl Iterator<Item = &Point> {
        let partial = self.partial.iter().map(|(_, point)| point);
        self.older.iter().chain(partial).chain(&self.recent)
    }

    /// The number of points of all paths.
    pub(crate) fn len(&self) -> usize {
        let first = self.recent.front().or_else(|| self.older.first());
        (self.recent.len() + self.older.len()) * first.map_or(0, |point| point.paths.len())
    }

    /// Whether it may come from a program like this one: within its limits, and in the order of time.
    pub(super) fn is_valid(&self) -> bool {
        let is_within = self.recent.len() <= RECENT && self.older.len() <= OLDER && self.partial.len() <= 64;
        let counts = self.partial.iter().map(|(count, _)| *count);
        let are_powers = counts.chain([self.span]).all(usize::is_power_of_two);
        is_within && are_powers && self.points().is_sorted_by_key(Point::at)
    }

    pub(super) fn latest(&self) -> Option<u64> {
        self.points().last().map(Point::at)
    }

    /// Another association goes on, whose paths are the former ones with the numbers that `number` gives; others are forgotten.
    pub(super) fn continued(mut self, number: impl Fn(u64) -> Option<u64>) -> Self {
        let renumber = |point: &mut Point| {
            let of_path = |path: PathPoint| {
                Some(PathPoint(
                    number(path.0)?,
                    path.1,
                    path.2,
                    path.3,
                    path.4,
                    path.5,
                    path.6,
                ))
            };
            point.paths = point.paths.drain(..).filter_map(of_path).collect();
        };
        self.older.iter_mut().for_each(renumber);
        self.partial.iter_mut().for_each(|(_, point)| renumber(point));
        self.recent.iter_mut().for_each(renumber);
        if let Some(latest) = self.latest() {
            self.push(Point::gap(latest));
        }
        self
    }

    pub(super) fn push(&mut self, point: Point) {
        self.recent.push_back(point);
        if self.recent.len() > RECENT
            && let Some(point) = self.recent.pop_front()
        {
            self.push_older(point);
        }
    }

    /// Forgets every second of the older points, or the older half of the recent ones.
    pub(super) fn halve(&mut self) {
        if self.older.len() > 1 {
            self.merge();
        } else {
            self.older.clear();
            self.partial.clear();
            self.recent.drain(..self.recent.len().div_ceil(2));
        }
    }

    fn push_older(&mut self, point: Point) {
        let (mut count, mut point) = (1, point);
        while let Some((before, first)) = self.partial.pop_if(|(before, _)| *before == count) {
            (count, point) = (before + count, first.mean(&point));
        }
        self.partial.push((count, point));
        if count >= self.span
            && let Some((_, point)) = self.partial.pop()
        {
            self.older.push(point);
        }
        if self.older.len() >= OLDER {
            self.merge();
        }
    }

    fn merge(&mut self) {
        self.span *= 2;
        let mut points = mem::take(&mut self.older).into_iter();
        while let Some(first) = points.next() {
            let merged = match points.next() {
                Some(second) => first.mean(&second),
                None => first,
            };
            self.older.push(merged);
        }
    }
}

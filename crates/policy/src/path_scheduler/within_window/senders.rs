//! The paths that send. With which of them is a window acknowledged soonest?

use anabranch_types::PathId;

use super::measured::{SECOND, UNIT};
use crate::math::mul_div;
use crate::path_set::PathSet;

/// A path that could send. Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) id: PathId,
    /// How long it holds a chunk without a queue.
    pub(super) base: u64,
    /// What it would carry, in bytes per second.
    pub(super) capacity: u64,
    /// Loss events per chunk, in units.
    pub(super) losses: u64,
    /// Bytes of a full chunk.
    pub(super) chunk: u64,
    /// Whether it is one of the paths that send.
    pub(super) sends: bool,
}

/// The chosen paths. Times in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Senders {
    pub(super) paths: PathSet,
    /// The one that carries most.
    pub(super) best: Option<PathId>,
    /// How long they need to send a window.
    pub(super) sending: u64,
    /// The longest time for which one of them holds a chunk without a queue.
    pub(super) slowest: u64,
}

/// Chooses the paths that send. Each is tried in the order of its delay, because it does not delay the slower ones. Then each is left
/// out again if the others need less time without it: one that is little faster may lose much more.
pub(super) fn choose(candidates: &mut [Candidate], window: u64, margin_per_mille: u64) -> Senders {
    candidates.sort_unstable_by_key(|path| (path.base, path.id));
    let mut time = u64::MAX;
    for index in 0..candidates.len() {
        candidates[index].sends = true;
        let with = time_for_window(candidates, window, margin_per_mille);
        if with <= time {
            time = with;
        } else {
            candidates[index].sends = false;
        }
    }
    for index in 0..candidates.len() {
        if core::mem::take(&mut candidates[index].sends) {
            let without = time_for_window(candidates, window, margin_per_mille);
            if without < time {
                time = without;
            } else {
                candidates[index].sends = true;
            }
        }
    }
    let mut chosen = Senders {
        best: senders(candidates)
            .max_by_key(|path| path.capacity)
            .map(|path| path.id),
        sending: time_to_send(candidates, window),
        slowest: slowest(candidates),
        ..Senders::default()
    };
    senders(candidates).for_each(|path| chosen.paths.insert(path.id));
    chosen
}

fn senders(candidates: &[Candidate]) -> impl Iterator<Item = &Candidate> {
    candidates.iter().filter(|path| path.sends)
}

fn capacity(candidates: &[Candidate]) -> u64 {
    let sum = senders(candidates).fold(0, |sum: u64, path| sum.saturating_add(path.capacity));
    sum.max(1)
}

fn slowest(candidates: &[Candidate]) -> u64 {
    senders(candidates).map(|path| path.base).max().unwrap_or(0)
}

fn time_to_send(candidates: &[Candidate], window: u64) -> u64 {
    mul_div(window, SECOND, capacity(candidates))
}

/// Mean time that the senders need for a window, until all of it is acknowledged; [`u64::MAX`] if there are none.
fn time_for_window(candidates: &[Candidate], window: u64, margin_per_mille: u64) -> u64 {
    let Some(fastest) = senders(candidates).map(|path| path.base).min() else {
        return u64::MAX;
    };
    let capacity = capacity(candidates);
    let in_order = time_to_send(candidates, window).max(slowest(candidates));
    senders(candidates).fold(in_order, |time, path| {
        let chunks = mul_div(window, path.capacity, capacity) / path.chunk.max(1);
        let losses = chunks.saturating_mul(path.losses);
        let chance = mul_div(UNIT, losses, losses.saturating_add(UNIT));
        let late = mul_div(path.base.saturating_add(fastest), margin_per_mille, 1_000);
        time.saturating_add(mul_div(late.saturating_sub(in_order), chance, UNIT))
    })
}

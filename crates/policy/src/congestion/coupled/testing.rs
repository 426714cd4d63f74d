//! Groups for tests of couplings, from given cwnd, RTT and delivered bytes.

use alloc::vec::Vec;

use anabranch_types::PathId;

use super::group::{Delivered, Group, Member};
use super::{Coupling, Part};
use crate::congestion::window::Window;
use crate::testing::{CHUNK, healthy, ms};

/// A path in congestion avoidance. Sizes in full chunks, times in milliseconds.
#[derive(Clone, Copy)]
pub(crate) struct Example {
    pub(crate) window: u64,
    /// `None` while unset.
    pub(crate) ssthresh: Option<u64>,
    pub(crate) round_trip: u64,
    pub(crate) delivered: u64,
}

impl Example {
    pub(crate) const fn new(window: u64, round_trip: u64) -> Self {
        Self {
            window,
            ssthresh: Some(window),
            round_trip,
            delivered: 0,
        }
    }

    pub(crate) const fn ssthresh(self, ssthresh: Option<u64>) -> Self {
        Self { ssthresh, ..self }
    }

    pub(crate) const fn delivered(self, delivered: u64) -> Self {
        Self { delivered, ..self }
    }

    fn member(self, id: u8) -> Member {
        let mut path = healthy(id);
        path.set_srtt(Some(ms(self.round_trip)));
        let mut window = Window::initial(&path, 0);
        window.bytes = self.window * CHUNK;
        window.ssthresh = self.ssthresh.map_or(u64::MAX, |ssthresh| ssthresh * CHUNK);
        let mut delivered = Delivered::default();
        delivered.count(self.delivered * CHUNK);
        Member::new(&path, (0, None), &window, &delivered)
    }
}

fn with_group<R>(examples: &[Example], own: u8, ask: impl FnOnce(&Group<'_>) -> R) -> R {
    let members: Vec<_> = (0..).zip(examples).map(|(id, path)| path.member(id)).collect();
    ask(&Group::of(PathId(own), &members).unwrap())
}

/// The part of path `own` as a floating-point number.
pub(crate) fn part<A: Coupling>(examples: &[Example], own: u8) -> f64 {
    let part = with_group(examples, own, |group| A::increase(group));
    let sign = if part < Part::ZERO { -1.0 } else { 1.0 };
    sign * part.units() as f64 / Part::ONE.units() as f64
}

/// The cwnd of path `own` after a loss, in full chunks.
pub(crate) fn after_loss<A: Coupling>(examples: &[Example], own: u8) -> f64 {
    with_group(examples, own, |group| A::after_loss(group)) as f64 / CHUNK as f64
}

#[track_caller]
pub(crate) fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6, "{value} is not {expected}");
}

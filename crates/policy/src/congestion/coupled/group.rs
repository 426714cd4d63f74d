//! Coupled groups. How do the cwnd, ssthresh and rates of the paths of a group compare?

use anabranch_types::PathId;

use super::Part;
use crate::PathFacts;
use crate::congestion::window::{Window, quantum};

/// Bytes acknowledged on a path between losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivered {
    before_loss: u64,
    since_loss: u64,
}

impl Delivered {
    pub(super) const fn count(&mut self, newly_acked: u64) {
        self.since_loss = self.since_loss.saturating_add(newly_acked);
    }

    pub(super) const fn on_loss(&mut self) {
        self.before_loss = self.since_loss;
        self.since_loss = 0;
    }

    /// The longer of the last two intervals without a loss, the present one included.
    fn longest(&self) -> u64 {
        self.before_loss.max(self.since_loss)
    }
}

/// One path as it was before the current SACK or loss. Sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    path: PathId,
    group: (u8, Option<PathId>),
    usable: bool,
    /// Smoothed round-trip time in nanoseconds, at least 1.
    round_trip: Option<u64>,
    /// Congestion window.
    pub cwnd: u64,
    /// The estimated capacity: ssthresh, or the cwnd while that is unset.
    pub ssthresh: u64,
    /// One full chunk.
    pub quantum: u64,
    /// Acknowledged since the last loss or between the last two, whichever is more.
    pub delivered: u64,
}

impl Member {
    pub(super) fn new(
        path: &PathFacts,
        group: (u8, Option<PathId>),
        window: &Window,
        delivered: &Delivered,
    ) -> Self {
        let nanos = |time: core::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1);
        let unset = window.ssthresh == u64::MAX;
        Self {
            path: path.id,
            group,
            usable: path.is_usable(),
            round_trip: path.srtt().map(nanos),
            cwnd: window.bytes,
            ssthresh: if unset { window.bytes } else { window.ssthresh },
            quantum: quantum(path),
            delivered: delivered.longest(),
        }
    }

    /// The smoothed RTT in microseconds, from 1 to 2³² − 1, so that the product of its square and a number of bytes
    /// does not overflow.
    #[must_use]
    pub fn round_trip_micros(&self) -> u128 {
        let micros = self.round_trip.unwrap_or_default() / 1_000;
        u128::from(micros.clamp(1, u64::from(u32::MAX)))
    }
}

/// The paths that are coupled with one of them, the own path, which is a member whatever its state.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    own: &'a Member,
    all: &'a [Member],
    /// Largest RTT of the group in nanoseconds.
    longest: u64,
}

/// Scale of rates: a path with the largest RTT of the group has its cwnd times this as rate.
const RATE_BITS: u32 = 16;
/// Upper bound of a path's rate relative to the slowest of its group: 2³⁶.
const TOP_SPEED: u128 = 1 << 52;

impl<'a> Group<'a> {
    pub(super) fn of(path: PathId, all: &'a [Member]) -> Option<Self> {
        let own = all.iter().find(|member| member.path == path)?;
        let mut group = Self { own, all, longest: 1 };
        group.longest = group
            .members()
            .filter_map(|member| member.round_trip)
            .max()
            .unwrap_or(1);
        Some(group)
    }

    /// The path for which the group was collected.
    #[must_use]
    pub const fn own(&self) -> &'a Member {
        self.own
    }

    /// All paths of the group, the own path included, in the order of the facts.
    pub fn members(&self) -> impl Iterator<Item = &'a Member> + use<'a> {
        let own = self.own;
        let measured = own.round_trip.is_some();
        self.all.iter().filter(move |member| {
            let coupled = measured && member.usable && member.round_trip.is_some();
            member.path == own.path || (coupled && member.group == own.group)
        })
    }

    /// Whether the own path is the only one.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.members().count() <= 1
    }

    /// Σ over the members.
    #[must_use]
    pub fn sum(&self, of: impl Fn(&Member) -> u64) -> u128 {
        self.members().map(|member| u128::from(of(member))).sum()
    }

    /// (cwnd / rtt) / Σ (cwnd / rtt).
    ///
    /// Numerator and denominator are multiplied by the largest RTT, which turns 1/rtt into a ratio that is exact enough
    /// as an integer.
    #[must_use]
    pub fn rate_share(&self, member: &Member) -> Part {
        let sum = self.members().map(|member| self.rate(member)).sum();
        Part::ratio(self.rate(member), sum)
    }

    fn rate(&self, member: &Member) -> u128 {
        let round_trip = u128::from(member.round_trip.unwrap_or(self.longest));
        let speed = (u128::from(self.longest) << RATE_BITS) / round_trip;
        u128::from(member.cwnd) * speed.min(TOP_SPEED)
    }
}

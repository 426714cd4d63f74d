//! Path MTU search: the state machine of packetization layer path MTU discovery (RFC 8899), which sends no packets itself.
//!
//! ```text
//!            begin                 base confirmed                 nothing left to try
//! Disabled ────────▶ Base ────────────────────────▶ Searching ───────────────────────▶ Complete
//!                     │ ▲                            │  ▲   ▲                            │  │
//!          three lost │ │                            │  │   └──── after 10 to 600 s ─────┘  │
//!                     ▼ │             data was lost  │  │                                   │
//!                   Error                            ▼  │ still fits                        │
//!                     │ ▲                           Doubted ◀─────── data was lost ─────────┘
//!                     │ └─ …                         │
//!                     └▶ Searching                   └─▶ Base, if three are lost: a black hole
//! ```
//!
//! T3 leaves open whether packets were too large. So that data does not wait until three probes are lost, the base size is used while
//! `Doubted` is undecided, as soon as the first probe is not acknowledged within a round trip (ADR 0090).
//!
//! Sizes are those of IP packets with headers. Packets larger than [`PathMtu::size`] are sent only as probes. A lost probe counts
//! neither as an error of the path nor as a sign of congestion (RFC 8899 §3).

use core::time::Duration;

use anabranch_types::{Instant, earliest};

/// Probes of one size that are lost before that size counts as too large (MAX_PROBES, RFC 8899 §5.1.2).
const MAX_PROBES: u8 = 3;
/// PROBE_TIMER "MUST NOT be smaller than 1 second" (RFC 8899 §5.1.1).
const SHORTEST_PROBE_TIMER: Duration = Duration::from_secs(1);
/// Time until a larger size is probed again after a search; doubled each time up to PMTU_RAISE_TIMER (ADR 0090).
const FIRST_RAISE: Duration = Duration::from_secs(10);
/// Pause before the base is tried again after it failed; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Common link MTUs, which are probed before other sizes in the remaining range.
const LIKELY: [u16; 2] = [1_500, 9_000];
/// The search ends when less than 1/64 of the size could be gained.
const FINENESS: u32 = 64;

/// Bounds of the search, and the time between searches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MtuSearch {
    /// Size that every path is assumed to carry (MIN_PLPMTU).
    pub(crate) min: u16,
    /// Size that nearly every path carries, with which the search starts (BASE_PLPMTU).
    pub(crate) base: u16,
    /// Largest size to search for (MAX_PLPMTU).
    pub(crate) max: u16,
    /// Time after which a larger size is probed again (PMTU_RAISE_TIMER).
    pub(crate) raise_after: Duration,
}

//= rfc9260 7.3-1
/// Path MTU discovery on one path.
#[derive(Debug)]
pub(crate) struct PathMtu {
    search: Option<MtuSearch>,
    /// PLPMTU.
    size: u16,
    /// The smallest size that is assumed not to pass; above all sizes while none is known.
    too_large: u32,
    /// Time at which a larger size is probed again.
    raise_at: Option<Instant>,
    /// The last time between two such searches; zero before the first.
    raise_wait: Duration,
    /// Use of the base size in [`State::Doubted`].
    fallback: Fallback,
    state: State,
}

/// Use of the base size while the size in use is doubted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fallback {
    /// The size in use is kept.
    No,
    /// The base size will be used if the next probe is not acknowledged soon.
    Wanted,
    /// The base size will be used at this time.
    At(Instant),
}

/// The states of RFC 8899 §5.2, and `Doubted`.
#[derive(Clone, Copy, Debug)]
enum State {
    /// The path is not in use, or its packet size is fixed.
    Disabled,
    /// The base size is probed.
    Base(Probe),
    /// A larger size is probed.
    Searching(Probe),
    /// The size that was in use may not get through any more. An acknowledged transport learns that from its data
    /// (RFC 8899 §4.3); a probe of the same size tells a black hole from mere loss.
    Doubted(Probe),
    /// The largest size that passes has been found.
    Complete,
    /// Not even the base size passes.
    Error(Probe),
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    size: u16,
    lost: u8,
    /// Losses that do not count, because nothing else was acknowledged either.
    uncounted: u8,
    /// When it was last sent.
    sent_at: Instant,
    timer: Timer,
    /// The nonce, the same for all probes of this size, so that a late HEARTBEAT ACK counts.
    nonce: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum Timer {
    /// The probe is to be sent at this time.
    Due(Instant),
    /// The probe was sent, and is lost unless it is acknowledged before this time.
    Overdue(Instant),
}

impl Probe {
    const fn new(size: u16, due: Instant) -> Self {
        Self {
            size,
            lost: 0,
            uncounted: 0,
            sent_at: due,
            timer: Timer::Due(due),
            nonce: None,
        }
    }
}

impl Timer {
    const fn moment(self) -> Instant {
        match self {
            Self::Due(at) | Self::Overdue(at) => at,
        }
    }
}

impl PathMtu {
    /// Uses packets of a fixed size.
    pub(crate) const fn fixed(size: u16) -> Self {
        Self {
            search: None,
            size,
            too_large: u32::MAX,
            raise_at: None,
            raise_wait: Duration::ZERO,
            fallback: Fallback::No,
            state: State::Disabled,
        }
    }

    /// Uses packets of the base size until a larger one is confirmed. Bounds above the largest size are lowered to it.
    pub(crate) fn searching(search: MtuSearch) -> Self {
        let base = search.base.min(search.max);
        let search = MtuSearch {
            base,
            min: search.min.min(base),
            ..search
        };
        Self {
            search: Some(search),
            ..Self::fixed(base)
        }
    }

    /// The maximum size of packets.
    pub(crate) const fn size(&self) -> u16 {
        self.size
    }

    /// Starts the search: the path carries data now.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.begin_at_base(now);
    }

    /// Stops the search and forgets its result: the path is no longer in use.
    pub(crate) fn end(&mut self) {
        if let Some(search) = self.search {
            *self = Self::searching(search);
        }
    }

    /// The time at which [`PathMtu::on_timer`] is due or a probe is to be sent. Probes have no deadline unless `are_tried`.
    pub(crate) fn deadline(&self, are_tried: bool) -> Option<Instant> {
        match &self.state {
            State::Complete => self.raise_at,
            state => {
                let mut timer = state.probe().map(|probe| probe.timer);
                timer.take_if(|timer| !are_tried && matches!(timer, Timer::Due(_)));
                let fallback = match self.fallback {
                    Fallback::At(at) => Some(at),
                    Fallback::No | Fallback::Wanted => None,
                };
                earliest([timer.map(Timer::moment), fallback])
            }
        }
    }

    /// The size of the probe that is to be sent now.
    pub(crate) fn due(&self, now: Instant) -> Option<u16> {
        let probe = self.state.probe()?;
        matches!(probe.timer, Timer::Due(at) if at <= now).then_some(probe.size)
    }

    /// Notes that the probe is sent, whose answer is expected within `round_trip`; returns its nonce, which is `fresh` unless an earlier
    /// probe of this size has another one.
    pub(crate) fn sent(&mut self, fresh: u64, rto: Duration, round_trip: Duration, now: Instant) -> u64 {
        if self.fallback == Fallback::Wanted {
            self.fallback = Fallback::At(now + round_trip);
        }
        let Some(probe) = self.state.probe_mut() else {
            return fresh;
        };
        probe.sent_at = now;
        probe.timer = Timer::Overdue(now + rto.max(SHORTEST_PROBE_TIMER));
        *probe.nonce.get_or_insert(fresh)
    }

    /// Handles a HEARTBEAT ACK; returns whether it was for the probe.
    pub(crate) fn answered(&mut self, nonce: u64, now: Instant) -> bool {
        let Some(probe) = self.state.probe().filter(|probe| probe.nonce == Some(nonce)) else {
            return false;
        };
        self.size = probe.size;
        self.look_further(now);
        true
    }

    /// Handles a deadline that has passed; `passed_at` is when something sent on the path was last acknowledged.
    pub(crate) fn on_timer(&mut self, passed_at: Option<Instant>, now: Instant) {
        if matches!(self.fallback, Fallback::At(at) if at <= now) {
            self.fall_back();
        }
        let is_overdue = |probe: &Probe| matches!(probe.timer, Timer::Overdue(at) if at <= now);
        if matches!(self.state, State::Complete) {
            if self.raise_at.take_if(|raise_at| *raise_at <= now).is_some() {
                self.too_large = u32::MAX;
                self.look_further(now);
            }
        } else if let Some(probe) = self.state.probe().filter(|probe| is_overdue(probe)) {
            let carries_others = passed_at.is_some_and(|passed_at| passed_at >= probe.sent_at);
            self.lost_one(carries_others, now);
        }
    }

    /// Handles the acknowledgement of other packets of the path: a probe that pauses because of an outage is sent at once.
    pub(crate) const fn carried_others(&mut self, now: Instant) {
        if let Some(probe) = self.state.probe_mut()
            && probe.uncounted > 0
            && matches!(probe.timer, Timer::Due(_))
        {
            probe.timer = Timer::Due(now);
        }
    }

    /// Uses the base size until the size in use is confirmed or refuted.
    fn fall_back(&mut self) {
        self.fallback = Fallback::No;
        if let (State::Doubted(_), Some(search)) = (self.state, self.search) {
            self.size = self.size.min(search.base);
        }
    }

    /// Suspects a black hole because T3 expired: nothing in flight was acknowledged.
    pub(crate) fn doubt_after_timeout(&mut self, now: Instant) {
        if matches!(self.state, State::Doubted(_)) {
            self.fall_back();
        } else {
            self.doubt(now);
            if matches!(self.state, State::Doubted(_)) {
                self.fallback = Fallback::Wanted;
            }
        }
    }

    /// Suspects a black hole after a loss that congestion does not explain well. The loss counts like that of a first probe.
    pub(crate) fn doubt(&mut self, now: Instant) {
        if let State::Complete | State::Searching(_) = self.state {
            self.fallback = Fallback::No;
            self.state = State::Doubted(Probe {
                lost: 1,
                ..Probe::new(self.size, now)
            });
        }
    }

    /// Handles a packet that was refused as too large, with the MTU if the network reported it. Implausible values are ignored (RFC
    /// 8899 §4.6.2): a report may reduce the size, never increase it.
    pub(crate) fn refused(&mut self, largest: Option<u16>, now: Instant) {
        let Some(MtuSearch { min, .. }) = self.search.filter(|_| self.is_enabled()) else {
            return;
        };
        let tried = self.state.probe().map_or(self.size, |probe| probe.size);
        match largest {
            // The packet was sent earlier: none of the base size has been sent yet.
            None if matches!(self.state, State::Base(probe) if probe.nonce.is_none()) => {}
            None => self.does_not_fit(now),
            Some(largest) if largest < min || largest >= tried => {}
            Some(largest) => {
                self.too_large = u32::from(largest) + 1;
                if largest < self.size {
                    self.begin_at_base(now);
                } else if largest == self.size {
                    self.look_further(now);
                } else {
                    self.state = State::Searching(Probe::new(largest, now));
                }
            }
        }
    }

    /// Whether the search is enabled.
    pub(crate) const fn is_enabled(&self) -> bool {
        !matches!(self.state, State::Disabled)
    }

    //= rfc6951 5.6-3
    /// Handles the loss of a probe. It counts only if the path `carries_others`: in an outage all sizes are lost. Then the pauses between
    /// probes grow, until [`PathMtu::carried_others`] ends them.
    fn lost_one(&mut self, carries_others: bool, now: Instant) {
        let error_pause = matches!(self.state, State::Error(_));
        let longest = self.search.map_or(Duration::MAX, |search| search.raise_after);
        let Some(probe) = self.state.probe_mut() else {
            return;
        };
        if !error_pause && !carries_others {
            let pause = FIRST_PAUSE * (1 << probe.uncounted.min(6));
            probe.uncounted = probe.uncounted.saturating_add(1);
            probe.timer = Timer::Due(now + pause.min(longest));
            return;
        }
        probe.lost = probe.lost.saturating_add(1);
        if error_pause {
            let pause = FIRST_PAUSE.saturating_mul(1 << probe.lost.min(20)).min(longest);
            probe.timer = Timer::Due(now + pause);
        } else if probe.lost < MAX_PROBES {
            probe.timer = Timer::Due(now);
        } else {
            self.does_not_fit(now);
        }
    }

    /// Notes that packets of the probed size do not pass.
    fn does_not_fit(&mut self, now: Instant) {
        match self.state {
            State::Disabled | State::Error(_) => {}
            State::Base(probe) => self.fall_below(probe.size, now),
            State::Searching(probe) => {
                self.too_large = u32::from(probe.size);
                self.look_further(now);
            }
            // Back to the base size, which passes nearly everywhere.
            State::Doubted(Probe { size, .. }) => self.black_hole(size, now),
            State::Complete => self.black_hole(self.size, now),
        }
    }

    /// Handles a black hole: packets of `size`, which was in use, do not pass any more.
    fn black_hole(&mut self, size: u16, now: Instant) {
        self.too_large = u32::from(size);
        (self.raise_at, self.raise_wait) = (None, Duration::ZERO);
        self.begin_at_base(now);
    }

    fn begin_at_base(&mut self, now: Instant) {
        self.fallback = Fallback::No;
        if let Some(search) = self.search {
            self.size = search.base;
            if self.too_large <= u32::from(search.base) {
                self.fall_below(search.base, now);
            } else {
                self.state = State::Base(Probe::new(search.base, now));
            }
        }
    }

    fn fall_below(&mut self, base: u16, now: Instant) {
        let Some(search) = self.search else { return };
        self.size = search.min;
        self.too_large = u32::MAX;
        self.state = State::Error(Probe::new(base, now + FIRST_PAUSE));
    }

    fn look_further(&mut self, now: Instant) {
        let Some(search) = self.search else { return };
        self.fallback = Fallback::No;
        self.state = match self.next_size(search.max) {
            Some(size) => State::Searching(Probe::new(size, now)),
            None => {
                let below = self.size < search.max;
                self.raise_at.take_if(|at| *at <= now || !below);
                if below && self.raise_at.is_none() {
                    self.raise_wait = (self.raise_wait * 2).max(FIRST_RAISE).min(search.raise_after);
                    self.raise_at = Some(now + self.raise_wait);
                }
                State::Complete
            }
        };
    }

    /// The next size to probe: the largest first, which passes most often, then common MTUs, then the middle of the remaining
    /// range.
    fn next_size(&self, max: u16) -> Option<u16> {
        let size = u32::from(self.size);
        if self.size >= max {
            return None;
        }
        if self.too_large > u32::from(max) {
            return Some(max);
        }
        let between = |likely: &u16| size < u32::from(*likely) && u32::from(*likely) < self.too_large;
        if let Some(likely) = LIKELY.into_iter().find(between) {
            return Some(likely);
        }
        let is_worth_it = self.too_large - size > size / FINENESS + 1;
        is_worth_it.then(|| u16::midpoint(self.size, self.too_large as u16))
    }
}

impl State {
    const fn probe(&self) -> Option<&Probe> {
        match self {
            Self::Base(probe) | Self::Searching(probe) | Self::Doubted(probe) | Self::Error(probe) => {
                Some(probe)
            }
            Self::Disabled | Self::Complete => None,
        }
    }

    const fn probe_mut(&mut self) -> Option<&mut Probe> {
        match self {
            Self::Base(probe) | Self::Searching(probe) | Self::Doubted(probe) | Self::Error(probe) => {
                Some(probe)
            }
            Self::Disabled | Self::Complete => None,
        }
    }
}

#[cfg(test)]
mod tests;

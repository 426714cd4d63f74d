//! Heartbeat timer of a path (RFC 9260 §5.4, §8.3). When is the next HEARTBEAT sent, and was the last one acknowledged?

use alloc::boxed::Box;
use core::num::NonZeroU64;
use core::time::Duration;

use anabranch_types::{Instant, PathId};

use crate::on_demand::Idle;

/// The heartbeat state of one path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heartbeat {
    next: Next,
    /// The outstanding heartbeat.
    unanswered: Option<Box<Unanswered>>,
    /// Whether the next heartbeat is a check.
    check: Option<Check>,
}

/// A heartbeat that is sent early on a path in use, because of an event that may have other causes than a failure of the path. It may be
/// lost once: a path with data loses packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Check {
    /// If it is lost, another one is sent.
    First,
    /// If it is lost, too, that is an error of the path.
    Second,
}

/// When the next heartbeat is to be sent.
#[derive(Clone, Copy, Debug, Default)]
struct Next {
    /// `None` for never.
    from: Option<Instant>,
    /// Nanoseconds by which it is sent later. Each proof that the path is reachable moves `from` then.
    period: Option<NonZeroU64>,
}

impl Next {
    const fn at(moment: Instant) -> Self {
        Self {
            from: Some(moment),
            period: None,
        }
    }

    fn moment(self) -> Option<Instant> {
        let from = self.from?;
        Some(match self.period {
            Some(period) => Instant::from_nanos(from.as_nanos().saturating_add(period.get())),
            None => from,
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Unanswered {
    nonce: u64,
    sent_at: Instant,
    overdue: Instant,
    /// Whether data that was sent no earlier has been acknowledged: then the path works although the heartbeat may be lost.
    excused: bool,
    check: Option<Check>,
}

/// A heartbeat that was not acknowledged in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Overdue {
    pub(crate) sent_at: Instant,
    /// Whether it does not count as an error of the path.
    pub(crate) excused: bool,
    /// Whether it was a check.
    pub(crate) check: Option<Check>,
}

impl Heartbeat {
    /// The time at which a heartbeat is to be sent, or the outstanding one counts as lost.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let overdue = self.unanswered.as_ref().map(|unanswered| unanswered.overdue);
        overdue.or_else(|| self.next.moment())
    }

    pub(crate) fn schedule(&mut self, next: Option<Instant>) {
        self.next = next.map(Next::at).unwrap_or_default();
        self.check = None;
    }

    /// Schedules a heartbeat for when the path has not been proved reachable for `period` since `since`.
    pub(crate) fn schedule_when_unproved(&mut self, period: Duration, since: Instant) {
        self.next = Next {
            from: Some(since),
            period: u64::try_from(period.as_nanos()).map_or(Some(NonZeroU64::MAX), NonZeroU64::new),
        };
        self.check = None;
    }

    /// Notes that data sent at `sent_at` was acknowledged, which proves reachability as a HEARTBEAT ACK does.
    pub(crate) fn path_is_proved(&mut self, sent_at: Instant, now: Instant) {
        if self.next.period.is_some() {
            self.next.from = Some(now);
        }
        if let Some(last) = &mut self.unanswered {
            last.excused |= last.sent_at <= sent_at;
        }
    }

    /// Schedules a heartbeat at once, unless the last one was sent less than `patience` ago and may still be acknowledged. Returns
    /// whether one is sent.
    pub(crate) fn hurry(&mut self, patience: Duration, now: Instant) -> bool {
        let last = self.unanswered.as_ref();
        if last.is_some_and(|last| last.sent_at + patience > now) {
            return false;
        }
        self.unanswered = None;
        self.schedule(Some(now));
        true
    }

    /// Like [`Self::hurry`], as a check; see [`Check`].
    pub(crate) fn check(&mut self, patience: Duration, now: Instant) {
        if self.hurry(patience, now) {
            self.check = Some(Check::First);
        }
    }

    /// Schedules the second check at once.
    pub(crate) fn check_again(&mut self, now: Instant) {
        self.schedule(Some(now));
        self.check = Some(Check::Second);
    }

    /// Schedules a heartbeat at once, unless one is outstanding.
    pub(crate) fn request(&mut self) {
        if self.unanswered.is_none() {
            self.next = Next::at(Instant::ZERO);
        }
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.unanswered.is_none() && self.next.moment().is_some_and(|next| next <= now)
    }

    //= rfc9260 8.3-16
    /// Notes that a heartbeat is sent now. The next one is scheduled when this one is acknowledged or overdue.
    pub(crate) fn sent(&mut self, nonce: u64, rto: Duration, now: Instant) {
        self.unanswered = Some(Box::new(Unanswered {
            nonce,
            sent_at: now,
            overdue: now + rto,
            excused: false,
            check: self.check.take(),
        }));
        self.next = Next::default();
    }

    /// Takes the outstanding heartbeat if it is overdue: it counts as an error (RFC 9260 §8.3), unless it is excused.
    pub(crate) fn take_overdue(&mut self, now: Instant) -> Option<Overdue> {
        let last = self.unanswered.take_if(|unanswered| unanswered.overdue <= now)?;
        Some(Overdue {
            sent_at: last.sent_at,
            excused: last.excused,
            check: last.check,
        })
    }

    /// Handles a HEARTBEAT ACK; returns when the heartbeat was sent if it is for the outstanding one. Others (an old one, a guessed
    /// nonce) do not prove reachability.
    pub(crate) fn answered(&mut self, info: &HeartbeatInfo) -> Option<Instant> {
        let unanswered = self
            .unanswered
            .take_if(|unanswered| unanswered.nonce == info.nonce)?;
        Some(unanswered.sent_at)
    }
}

/// HB.Max.Burst: the number of packets to unconfirmed addresses within one RTO. RFC 9260 §16 recommends 1, FreeBSD has 4
/// (`hb_max_burst`). A peer that lists addresses of other hosts can make us send them that many; fewer would delay the use of
/// legitimate paths.
pub(crate) const HB_MAX_BURST: u8 = 4;

/// Rate limit of probes to unconfirmed addresses: a few per RTO (RFC 9260 §5.4), however many a peer lists.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProbeBudget {
    /// Start of the period, which may be in the future, of which `used` probes are reserved.
    begins: Instant,
    used: u8,
}

impl Idle for ProbeBudget {
    const IDLE: &'static Self = &Self {
        begins: Instant::ZERO,
        used: 0,
    };

    fn is_idle(&self) -> bool {
        self.used == 0
    }
}

impl ProbeBudget {
    //= rfc9260 5.4-1
    /// Reserves the next probe; returns its time, which is not before `now`, in periods of `period`.
    pub(crate) fn reserve(&mut self, now: Instant, period: Duration) -> Instant {
        if self.begins + period <= now {
            *self = Self { begins: now, used: 0 };
        }
        if self.used == HB_MAX_BURST {
            *self = Self {
                begins: self.begins + period,
                used: 0,
            };
        }
        self.used += 1;
        self.begins.max(now)
    }
}

/// The Heartbeat Information that we send and expect back unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeartbeatInfo {
    pub(crate) path: PathId,
    pub(crate) nonce: u64,
}

impl HeartbeatInfo {
    pub(crate) const LEN: usize = 9;

    pub(crate) fn encode(self) -> [u8; Self::LEN] {
        let mut bytes = [self.path.0; Self::LEN];
        bytes[1..].copy_from_slice(&self.nonce.to_be_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&path, nonce) = bytes.split_first()?;
        let nonce = nonce.try_into().ok()?;
        Some(Self {
            path: PathId(path),
            nonce: u64::from_be_bytes(nonce),
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const RTO: Duration = Duration::from_secs(1);
    const LOST: Overdue = Overdue {
        sent_at: Instant::ZERO,
        excused: false,
        check: None,
    };

    #[test]
    fn only_the_sent_nonce_is_accepted_and_only_once() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.sent(42, RTO, Instant::ZERO);
        let guess = HeartbeatInfo {
            path: PathId(0),
            nonce: 41,
        };
        let answer = HeartbeatInfo { nonce: 42, ..guess };
        assert_eq!(heartbeat.answered(&guess), None);
        assert_eq!(heartbeat.answered(&answer), Some(Instant::ZERO));
        assert_eq!(heartbeat.answered(&answer), None);
    }

    #[test]
    fn overdue_heartbeat_is_reported_once() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.sent(1, RTO, Instant::ZERO);
        assert_eq!(heartbeat.take_overdue(Instant::ZERO), None);
        assert_eq!(heartbeat.take_overdue(Instant::ZERO + RTO), Some(LOST));
        assert_eq!(heartbeat.take_overdue(Instant::ZERO + RTO), None);
    }

    #[test]
    fn acked_data_sent_no_earlier_excuses_an_overdue_heartbeat() {
        for (data_left, excused) in [(1, false), (2, true), (3, true)] {
            let at = |seconds: u32| Instant::ZERO + seconds * RTO;
            let mut heartbeat = Heartbeat::default();
            heartbeat.sent(1, RTO, at(2));
            heartbeat.path_is_proved(at(data_left), at(3));
            let overdue = heartbeat.take_overdue(at(3)).map(|overdue| overdue.excused);
            assert_eq!(overdue, Some(excused));
        }
    }

    //= rfc9260 8.3-16
    #[test]
    fn next_heartbeat_waits_until_the_last_is_acked_or_overdue() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.sent(1, RTO, Instant::ZERO);
        let sooner = Instant::ZERO + RTO / 2;
        heartbeat.schedule(Some(sooner));
        assert_eq!(heartbeat.deadline(), Some(Instant::ZERO + RTO));
        assert_eq!(heartbeat.take_overdue(Instant::ZERO + RTO), Some(LOST));
        assert_eq!(heartbeat.deadline(), Some(sooner));
        assert!(heartbeat.is_due(Instant::ZERO + RTO));
    }

    #[test]
    fn requested_heartbeat_is_sent_unless_one_is_outstanding() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.request();
        assert!(heartbeat.is_due(Instant::ZERO));
        heartbeat.sent(1, RTO, Instant::ZERO);
        heartbeat.request();
        assert_eq!(
            heartbeat.deadline(),
            Some(Instant::ZERO + RTO),
            "that of the first"
        );
    }

    #[test]
    fn acknowledged_data_postpones_the_heartbeat() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.schedule_when_unproved(RTO, Instant::ZERO);
        heartbeat.path_is_proved(Instant::ZERO, Instant::ZERO + RTO / 2);
        assert!(!heartbeat.is_due(Instant::ZERO + RTO));
        assert!(heartbeat.is_due(Instant::ZERO + RTO * 3 / 2));
    }

    #[test]
    fn scheduled_heartbeat_is_sent_despite_acknowledged_data() {
        let mut heartbeat = Heartbeat::default();
        heartbeat.schedule(Some(Instant::ZERO + RTO));
        heartbeat.path_is_proved(Instant::ZERO, Instant::ZERO + RTO / 2);
        assert!(heartbeat.is_due(Instant::ZERO + RTO));
    }

    //= rfc9260 5.4-1
    #[test]
    fn at_most_hb_max_burst_probes_are_sent_per_period() {
        let mut budget = ProbeBudget::default();
        let now = Instant::ZERO + 10 * RTO;
        let times: Vec<Instant> = (0..10).map(|_| budget.reserve(now, RTO)).collect();
        assert_eq!(times[..4], [now; 4]);
        assert_eq!(times[4..8], [now + RTO; 4]);
        assert_eq!(times[8..], [now + 2 * RTO; 2]);
        assert_eq!(
            budget.reserve(now + RTO, RTO),
            now + 2 * RTO,
            "behind those that wait"
        );
        assert_eq!(budget.reserve(now + 9 * RTO, RTO), now + 9 * RTO, "all are gone");
    }

    //= rfc9260 3.3.5-3
    #[test]
    fn heartbeat_info_is_read_as_written() {
        let info = HeartbeatInfo {
            path: PathId(3),
            nonce: u64::MAX - 5,
        };
        assert_eq!(HeartbeatInfo::decode(&info.encode()), Some(info));
        assert_eq!(HeartbeatInfo::decode(b"short"), None);
    }
}

//! ECN of a path (RFC 4960 Appendix A): marks that are echoed to the peer, and reductions that are reported to it.

use core::time::Duration;

use anabranch_types::{Instant, Serial as _, Tsn, UnwrappedTsn};

/// State of ECN for all paths together: whether there is anything to do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// Whether both ends support ECN.
    pub(crate) is_agreed: bool,
    /// Whether some path may have packets to echo.
    pub(crate) echoes: bool,
    /// Whether some path may have a CWR to send.
    pub(crate) answers: bool,
}

/// Marks of a path in both directions; allocated with the first one.
#[derive(Debug, Default)]
pub(crate) struct PathEcn {
    /// Packets that arrived with a mark, until the peer reports by CWR that it has reduced its window.
    pub(crate) echo: Option<Echo>,
    /// A CWR that is due.
    pub(crate) cwr: Option<Reduced>,
    /// The CWR that was sent last, and when.
    answered: Option<(Tsn, Instant)>,
    /// The highest TSN that was outstanding when the window was reduced last: marks of earlier packets report the same congestion.
    reduced_to: Option<UnwrappedTsn>,
}

/// What an ECNE reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Echo {
    /// The lowest TSN of the marked packets.
    pub(crate) lowest: Tsn,
    pub(crate) packets: u32,
}

/// What a CWR reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reduced {
    /// The TSN of the ECNE.
    pub(crate) lowest: Tsn,
    /// Whether it answers ECNEs of all paths up to the TSN, because that of this one is not known.
    pub(crate) any_path: bool,
}

impl PathEcn {
    /// Notes a marked packet whose lowest TSN is `lowest`.
    pub(crate) fn marked(&mut self, lowest: Tsn) {
        let echo = self.echo.get_or_insert(Echo { lowest, packets: 0 });
        echo.packets = echo.packets.saturating_add(1);
        if lowest.precedes(echo.lowest) {
            echo.lowest = lowest;
        }
    }

    /// Notes a CWR for marked packets up to `lowest`.
    pub(crate) fn reduced_by_peer(&mut self, lowest: Tsn) {
        self.echo.take_if(|echo| !lowest.precedes(echo.lowest));
    }

    /// Whether a mark of the chunk `tsn` reports congestion after the last reduction.
    pub(crate) fn is_news(&self, tsn: UnwrappedTsn) -> bool {
        self.reduced_to.is_none_or(|to| tsn > to)
    }

    /// Notes a reduction while TSNs up to `highest` were outstanding.
    pub(crate) fn reduced(&mut self, highest: UnwrappedTsn) {
        self.reduced_to = Some(highest);
    }

    /// Makes a CWR due, unless the same one was sent less than `rtt` ago: the peer repeats an ECNE in every SACK until the CWR arrives.
    pub(crate) fn answer(&mut self, reduced: Reduced, rtt: Duration, now: Instant) -> bool {
        let is_on_its_way = self
            .answered
            .is_some_and(|(lowest, at)| lowest == reduced.lowest && now < at + rtt);
        if !is_on_its_way {
            self.cwr = Some(reduced);
        }
        !is_on_its_way
    }

    /// Takes the CWR that is due.
    pub(crate) fn take_cwr(&mut self, now: Instant) -> Option<Reduced> {
        let reduced = self.cwr.take()?;
        self.answered = Some((reduced.lowest, now));
        Some(reduced)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use anabranch_types::{Instant, Tsn, UnwrappedTsn};

    use super::{Echo, PathEcn, Reduced};

    #[test]
    fn lowest_marked_tsn_is_echoed_until_a_cwr_covers_it() {
        let mut ecn = PathEcn::default();
        for tsn in [3, u32::MAX, 7] {
            ecn.marked(Tsn(tsn));
        }
        let echo = Echo {
            lowest: Tsn(u32::MAX),
            packets: 3,
        };
        assert_eq!(ecn.echo, Some(echo));
        ecn.reduced_by_peer(Tsn(u32::MAX - 1));
        assert_eq!(ecn.echo, Some(echo));
        ecn.reduced_by_peer(Tsn(0));
        assert_eq!(ecn.echo, None);
    }

    #[test]
    fn repeated_echo_is_answered_once_per_round_trip() {
        let (rtt, start) = (Duration::from_millis(50), Instant::ZERO);
        let mut ecn = PathEcn::default();
        let reduced = |tsn| Reduced {
            lowest: Tsn(tsn),
            any_path: false,
        };
        assert!(ecn.answer(reduced(5), rtt, start));
        assert_eq!(ecn.take_cwr(start), Some(reduced(5)));
        assert!(!ecn.answer(reduced(5), rtt, start + rtt / 2));
        assert!(ecn.answer(reduced(6), rtt, start + rtt / 2));
        assert!(ecn.answer(reduced(5), rtt, start + rtt));
    }

    #[test]
    fn marks_of_the_reduced_window_are_no_news() {
        let mut ecn = PathEcn::default();
        assert!(ecn.is_news(UnwrappedTsn(1)));
        ecn.reduced(UnwrappedTsn(9));
        assert!(!ecn.is_news(UnwrappedTsn(9)) && ecn.is_news(UnwrappedTsn(10)));
    }
}

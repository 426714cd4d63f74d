//! `Quota = 50GB/month`. How much may a peer carry, and when is its count set back to zero?

use std::fmt;

use chrono::{DateTime, Datelike as _, Days, DurationRound as _, Months, NaiveTime, TimeDelta, Utc};

use crate::output::bytes_text;
use crate::parse::parse_size;

/// What a peer may carry in each period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quota {
    pub(crate) bytes: u64,
    pub(crate) period: Period,
}

/// Periods of UTC. A week begins on Monday.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Period {
    Hour,
    Day,
    Week,
    Month,
}

impl Period {
    const ALL: [Self; 4] = [Self::Hour, Self::Day, Self::Week, Self::Month];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// When the period that contains `now` has begun. Clocks end long before the calendar does.
    pub(crate) fn begin(self, now: DateTime<Utc>) -> DateTime<Utc> {
        let day = now.with_time(NaiveTime::MIN).earliest().unwrap_or(now);
        match self {
            Self::Hour => now.duration_trunc(TimeDelta::hours(1)).unwrap_or(now),
            Self::Day => day,
            Self::Week => day - Days::new(now.weekday().num_days_from_monday().into()),
            Self::Month => day - Days::new(now.day0().into()),
        }
    }

    /// When the next period begins.
    pub(crate) fn end(self, now: DateTime<Utc>) -> DateTime<Utc> {
        let begin = self.begin(now);
        match self {
            Self::Hour => begin + TimeDelta::hours(1),
            Self::Day => begin + Days::new(1),
            Self::Week => begin + Days::new(7),
            Self::Month => begin + Months::new(1),
        }
    }
}

/// `50.0 GB a month`
impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let article = if self.period == Period::Hour { "an" } else { "a" };
        write!(f, "{} {article} {}", bytes_text(self.bytes), self.period.name())
    }
}

/// `SIZE/PERIOD`
pub(super) fn parse_quota(text: &str) -> Result<Quota, String> {
    let wrong = || {
        format!("expected SIZE/PERIOD such as 50GB/month, with hour, day, week or month, and not {text:?}")
    };
    let (size, name) = text.split_once('/').ok_or_else(wrong)?;
    let is_named = |period: &Period| period.name().eq_ignore_ascii_case(name.trim());
    let period = Period::ALL.into_iter().find(is_named).ok_or_else(wrong)?;
    let bytes = parse_size(size)?;
    Ok(Quota { bytes, period })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    #[test]
    fn periods_begin_and_end_as_the_calendar_does() {
        // A Friday.
        let now = at("2028-02-25T13:45:10.5Z");
        let expected = [
            (Period::Hour, "2028-02-25T13:00:00Z", "2028-02-25T14:00:00Z"),
            (Period::Day, "2028-02-25T00:00:00Z", "2028-02-26T00:00:00Z"),
            (Period::Week, "2028-02-21T00:00:00Z", "2028-02-28T00:00:00Z"),
            (Period::Month, "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"),
        ];
        for (period, begin, end) in expected {
            assert_eq!(
                (period.begin(now), period.end(now)),
                (at(begin), at(end)),
                "{period:?}"
            );
            assert_eq!(period.begin(at(begin)), at(begin), "{period:?}");
            assert_eq!(period.begin(at(end)), at(end), "{period:?}");
        }
    }

    #[test]
    fn quotas_are_sizes_in_periods() {
        let quota = parse_quota("1.5GB/Month").unwrap();
        assert_eq!((quota.bytes, quota.period), (1_500_000_000, Period::Month));
        assert_eq!(quota.to_string(), "1.5 GB a month");
        assert_eq!(parse_quota("20MB / hour").unwrap().to_string(), "20.0 MB an hour");
        for wrong in ["50GB", "50GB/year", "much/month", "/day"] {
            assert!(parse_quota(wrong).is_err(), "{wrong}");
        }
    }
}

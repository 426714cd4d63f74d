//! View of a moment, for a reader within the program. What is there, what does one transfer do, and what happened?

use std::collections::BTreeMap;
use std::time::Duration;

use crate::samples::{Entry, Sample, Samples, Transfer, milliseconds};

/// The live view at a moment.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct View {
    /// What the program does.
    pub title: String,
    /// Milliseconds since the start.
    pub at: u64,
    /// All transfers, by their numbers.
    pub transfers: Vec<Listed>,
    /// The transfer that is shown, if there is any.
    pub shown: Option<Shown>,
    /// What happened, the newest last.
    pub events: Vec<Entry>,
}

/// A transfer among others.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listed {
    /// Its number.
    pub transfer: u64,
    /// Its name, as it was given. It may come from the peer.
    pub name: String,
    /// Whether its association has ended.
    pub has_ended: bool,
}

/// The transfer that is shown.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Shown {
    /// Its number.
    pub transfer: u64,
    /// Its last state, if there was one.
    pub sample: Option<Sample>,
    /// Milliseconds since the start: now, or when its last sample was taken if it has ended.
    pub until: u64,
    /// Of each path that it has or had in the span before `until`, by their numbers.
    pub rates: Vec<PathRates>,
}

/// The rate of a path over time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathRates {
    /// The number of the path.
    pub path: u64,
    /// Milliseconds since the start, and the bits per second that were sent and received up to then.
    pub points: Vec<(u64, u64)>,
}

impl View {
    pub(crate) fn of(
        title: &str,
        now: Duration,
        samples: &Samples,
        chosen: Option<u64>,
        span: Duration,
    ) -> Self {
        let at = milliseconds(now);
        let span = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let listed = |(number, transfer): (u64, &Transfer)| Listed {
            transfer: number,
            name: transfer.name.clone(),
            has_ended: transfer.has_ended,
        };
        let shown = shown(samples, chosen).map(|(number, transfer)| {
            let last = transfer.last.as_ref().filter(|_| transfer.has_ended);
            let until = last.map_or(at, |sample| sample.at);
            Shown {
                transfer: number,
                sample: transfer.last.clone(),
                until,
                rates: rates(transfer, until.saturating_sub(span)),
            }
        });
        Self {
            title: title.to_owned(),
            at,
            transfers: samples.transfers().map(listed).collect(),
            shown,
            events: samples.events().iter().cloned().collect(),
        }
    }
}

/// The chosen transfer; without a choice, the newest one that has not ended, or else the newest one.
fn shown(samples: &Samples, chosen: Option<u64>) -> Option<(u64, &Transfer)> {
    let is_chosen = |(number, _): &(u64, &Transfer)| Some(*number) == chosen;
    let newest = || {
        samples
            .transfers()
            .max_by_key(|(number, transfer)| (!transfer.has_ended, *number))
    };
    samples.transfers().find(is_chosen).or_else(newest)
}

fn rates(transfer: &Transfer, since: u64) -> Vec<PathRates> {
    let mut rates: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for point in transfer.history.points().filter(|point| point.at() >= since) {
        for (path, rate) in point.rates() {
            rates.entry(path).or_default().push((point.at(), rate));
        }
    }
    let of_path = |(path, points)| PathRates { path, points };
    rates.into_iter().map(of_path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(ended: &[u64]) -> Samples {
        let mut samples = Samples::default();
        for number in 1..=3 {
            samples.begin(Duration::ZERO, number, &format!("run {number}"));
        }
        for number in ended {
            samples.end(*number);
        }
        samples
    }

    fn shown_of(samples: &Samples, chosen: Option<u64>) -> Option<u64> {
        let view = View::of("demo", Duration::ZERO, samples, chosen, Duration::MAX);
        view.shown.map(|shown| shown.transfer)
    }

    #[test]
    fn newest_transfer_that_goes_on_is_shown_unless_another_is_chosen() {
        assert_eq!(shown_of(&Samples::default(), Some(1)), None);
        assert_eq!(shown_of(&samples(&[]), None), Some(3));
        assert_eq!(shown_of(&samples(&[3]), None), Some(2));
        assert_eq!(shown_of(&samples(&[1, 2, 3]), None), Some(3));
        assert_eq!(shown_of(&samples(&[1]), Some(1)), Some(1));
        assert_eq!(shown_of(&samples(&[]), Some(9)), Some(3));
    }
}

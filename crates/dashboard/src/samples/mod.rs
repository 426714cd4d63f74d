//! Samples of associations over time, with a history of bounded size, and what happened to them. Times are arguments.

mod history;
mod path;
mod reading;
mod stored;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::Serialize;

pub(crate) use history::{History, Point};
pub use path::{Limit, PathSample};
pub(crate) use reading::Reading;
pub use stored::HistoryError;
pub(crate) use stored::{Stored, epoch_of};

use path::PathMeter;
use stored::Earlier;

/// Interval at which the state of associations should be sampled.
pub const INTERVAL: Duration = Duration::from_millis(250);

/// Shortest time between two samples that rates are taken of.
const LEAST_SPAN: Duration = Duration::from_millis(20);

/// Associations that have ended and are still shown.
const MAX_ENDED: usize = 16;

/// Entries that are kept of what happened.
const MAX_EVENTS: usize = 200;

/// Points of all paths of all associations, together. A point takes 64 bytes.
const MAX_POINTS: usize = 200_000;

/// How much of its work a transfer has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Amount {
    /// Bytes that have arrived.
    pub bytes: u64,
    /// Bytes in all, if known.
    pub size: Option<u64>,
}

/// State of an association at a moment, with rates since the sample before.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sample {
    /// Number of the transfer.
    pub transfer: u64,
    /// Milliseconds since the start.
    pub at: u64,
    /// How much of its work the transfer has done, if it is one of files.
    pub amount: Option<Amount>,
    /// Bytes that wait to be sent for the first time.
    pub unsent_bytes: u64,
    /// All paths.
    pub paths: Vec<PathSample>,
}

/// One association.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transfer {
    pub(crate) name: String,
    pub(crate) has_ended: bool,
    pub(crate) last: Option<Sample>,
    pub(crate) history: History,
    /// What ended associations of this name have left, until the paths of this one are known.
    earlier: Option<Earlier>,
    /// By the numbers of paths.
    meters: BTreeMap<u64, PathMeter>,
    last_at: Duration,
}

/// Something that happened.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Entry {
    /// Milliseconds since the start.
    pub at: u64,
    /// What happened.
    #[serde(flatten)]
    pub note: crate::Note,
}

/// All associations, by the numbers of their transfers, and what happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    transfers: BTreeMap<u64, Transfer>,
    events: VecDeque<Entry>,
    /// Of a former run of the program, what nobody has continued yet.
    earlier: Vec<Earlier>,
}

impl Samples {
    pub(crate) fn transfers(&self) -> impl Iterator<Item = (u64, &Transfer)> {
        self.transfers
            .iter()
            .map(|(number, transfer)| (*number, transfer))
    }

    pub(crate) fn events(&self) -> &VecDeque<Entry> {
        &self.events
    }

    /// An association begins, or another one of the same transfer.
    pub(crate) fn begin(&mut self, at: Duration, number: u64, name: &str) {
        let transfer = self.transfers.entry(number).or_default();
        transfer.has_ended = false;
        transfer.last_at = at;
        // Another association counts from zero.
        transfer.meters.clear();
        if !name.is_empty() {
            name.clone_into(&mut transfer.name);
        }
    }

    /// An association begins that goes on where the latest one of that name has ended, maybe in a former run of the program.
    pub(crate) fn resume(&mut self, at: Duration, number: u64, name: &str) {
        let earlier = self.take_earlier(name);
        self.begin(at, number, name);
        if let Some(transfer) = self.transfers.get_mut(&number) {
            transfer.earlier = earlier;
        }
    }

    /// Names a transfer; whether it is known and has not ended.
    pub(crate) fn name(&mut self, number: u64, name: &str) -> bool {
        let transfer = self.transfers.get_mut(&number);
        let present = transfer.filter(|transfer| !transfer.has_ended);
        present.is_some_and(|transfer| {
            name.clone_into(&mut transfer.name);
            true
        })
    }

    /// Takes the state of an association; `None` if it is not known or has ended.
    pub(crate) fn sample(
        &mut self,
        at: Duration,
        number: u64,
        reading: &Reading,
        amount: Option<Amount>,
    ) -> Option<&Sample> {
        let transfer = self.transfers.get_mut(&number)?;
        if transfer.has_ended {
            return None;
        }
        transfer.take(number, at, reading, amount);
        self.shorten();
        self.transfers.get(&number)?.last.as_ref()
    }

    /// Whether the history of former associations is yet to precede that of this one, which its first sample does.
    pub(crate) fn is_resuming(&self, number: u64) -> bool {
        let transfer = self.transfers.get(&number);
        transfer.is_some_and(|transfer| transfer.earlier.is_some())
    }

    /// An association has ended. It is still shown, until many others have ended.
    pub(crate) fn end(&mut self, number: u64) {
        if let Some(transfer) = self.transfers.get_mut(&number) {
            transfer.has_ended = true;
        }
        let ended = |(number, transfer): (&u64, &Transfer)| transfer.has_ended.then_some(*number);
        let ended: Vec<u64> = self.transfers.iter().filter_map(ended).collect();
        for number in ended.iter().rev().skip(MAX_ENDED) {
            self.transfers.remove(number);
        }
    }

    pub(crate) fn note(&mut self, at: Duration, note: crate::Note) -> Entry {
        let entry = Entry {
            at: milliseconds(at),
            note,
        };
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(entry.clone());
        entry
    }

    /// Forgets the oldest points of the longest history while there are too many in all.
    fn shorten(&mut self) {
        let all = |transfers: &BTreeMap<u64, Transfer>| -> usize {
            transfers.values().map(|transfer| transfer.history.len()).sum()
        };
        while all(&self.transfers) > MAX_POINTS {
            let longest = self
                .transfers
                .values_mut()
                .max_by_key(|transfer| transfer.history.len());
            match longest {
                Some(transfer) => transfer.history.halve(),
                None => return,
            }
        }
    }
}

impl Transfer {
    fn take(&mut self, number: u64, at: Duration, reading: &Reading, amount: Option<Amount>) {
        if reading.paths.is_empty() {
            // The association is over, and the last state with paths says more.
            return;
        }
        let since = at.saturating_sub(self.last_at);
        let has_rates = since >= LEAST_SPAN;
        self.meters
            .retain(|path, _| reading.paths.iter().any(|known| known.path == *path));
        let mut paths: Vec<PathSample> = Vec::with_capacity(reading.paths.len());
        for path in &reading.paths {
            let meter = self.meters.entry(path.path).or_default();
            if has_rates {
                meter.take(at, since, path);
            }
            paths.push(meter.sample(path, reading));
        }
        path::set_shares(&mut paths);
        if let Some(earlier) = self.earlier.take() {
            self.history = earlier.continued_by(&paths);
        }
        if has_rates {
            self.last_at = at;
            self.history.push(Point::new(at, &paths));
        }
        self.last = Some(Sample {
            transfer: number,
            at: milliseconds(at),
            amount,
            unsent_bytes: reading.unsent,
            paths,
        });
    }
}

pub(crate) const fn milliseconds(time: Duration) -> u64 {
    time.as_millis() as u64
}

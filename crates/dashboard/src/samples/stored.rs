//! History that outlives an association and the program. What is kept of it, and how does the next one go on?

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Entry, History, MAX_ENDED, MAX_EVENTS, PathSample, Samples, Transfer, milliseconds};
use crate::{Note, Severity};

/// Version of the format.
const VERSION: u32 = 1;

/// Why there is no history in what was read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// It is no JSON, or other JSON.
    #[error("not a history of the live view: {0}")]
    Format(#[from] serde_json::Error),
    /// Of another version of the program.
    #[error("a history of version {0}, and this program knows version {VERSION}")]
    Version(u32),
    /// It exceeds the limits of the program, or its times go backwards.
    #[error("a history that no program like this one has written")]
    Invalid,
}

/// Everything that is kept.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stored {
    version: u32,
    /// When the times of points and events began, in milliseconds since 1970.
    epoch: u64,
    transfers: Vec<Earlier>,
    events: Vec<StoredEvent>,
}

/// Something that happened.
#[derive(Debug, Serialize, Deserialize)]
struct StoredEvent {
    at: u64,
    severity: Severity,
    text: String,
}

/// What an association has left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Earlier {
    name: String,
    paths: Vec<StoredPath>,
    history: History,
}

/// A path. In another association, that of the same addresses is the same one; ports change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct StoredPath {
    number: u64,
    local: IpAddr,
    remote: IpAddr,
}

/// The time since the times of a history began, if now it is `now` since 1970: not before its last entry, whatever the clock says.
pub(crate) fn epoch_of(stored: &Stored, now: Duration) -> Duration {
    let by_clock = milliseconds(now).saturating_sub(stored.epoch);
    let points = stored
        .transfers
        .iter()
        .filter_map(|earlier| earlier.history.latest());
    let latest = points.chain(stored.events.iter().map(|event| event.at)).max();
    Duration::from_millis(by_clock.max(latest.unwrap_or(0)))
}

impl Stored {
    /// Reads what was kept.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, HistoryError> {
        let stored: Self = serde_json::from_slice(bytes)?;
        if stored.version != VERSION {
            return Err(HistoryError::Version(stored.version));
        }
        let are_valid = stored.transfers.iter().all(|earlier| earlier.history.is_valid());
        let are_few = stored.transfers.len() <= MAX_ENDED && stored.events.len() <= MAX_EVENTS;
        match are_valid && are_few && stored.events.is_sorted_by_key(|event| event.at) {
            true => Ok(stored),
            false => Err(HistoryError::Invalid),
        }
    }
}

impl Samples {
    /// What is to be kept, if times began at `epoch`, in milliseconds since 1970.
    pub(crate) fn stored(&self, epoch: u64) -> Stored {
        let of_now = self.transfers.values().rev().filter_map(Transfer::earlier);
        let transfers = of_now.chain(self.earlier.iter().rev().cloned()).take(MAX_ENDED);
        let mut transfers: Vec<Earlier> = transfers.collect();
        transfers.reverse();
        let event = |entry: &Entry| StoredEvent {
            at: entry.at,
            severity: entry.note.severity,
            text: entry.note.text.clone(),
        };
        Stored {
            version: VERSION,
            epoch,
            transfers,
            events: self.events.iter().map(event).collect(),
        }
    }

    /// Takes over what a former run of the program has kept.
    pub(crate) fn restore(&mut self, stored: Stored) {
        self.earlier = stored.transfers;
        let entry = |event: StoredEvent| Entry {
            at: event.at,
            // The numbers of its transfers and paths are others now.
            note: Note {
                severity: event.severity,
                transfer: None,
                path: None,
                text: event.text,
            },
        };
        let events: VecDeque<Entry> = stored.events.into_iter().map(entry).collect();
        self.events = events;
    }

    /// What the latest association of that name has left, which has ended. It is not listed any more.
    pub(super) fn take_earlier(&mut self, name: &str) -> Option<Earlier> {
        let of_now = self.transfers.iter().rev();
        let mut ended = of_now.filter(|(_, transfer)| transfer.has_ended && transfer.name == name);
        if let Some((number, earlier)) =
            ended.find_map(|(number, transfer)| Some((*number, transfer.earlier()?)))
        {
            self.transfers.remove(&number);
            return Some(earlier);
        }
        let at = self.earlier.iter().rposition(|earlier| earlier.name == name)?;
        Some(self.earlier.remove(at))
    }
}

impl Transfer {
    /// What it leaves, if anything is known of its paths.
    fn earlier(&self) -> Option<Earlier> {
        let Some(last) = &self.last else {
            return self.earlier.clone();
        };
        Some(Earlier {
            name: self.name.clone(),
            paths: last.paths.iter().map(StoredPath::of).collect(),
            history: self.history.clone(),
        })
    }
}

impl Earlier {
    /// The history, with the numbers that its paths have among `paths`.
    pub(super) fn continued_by(self, paths: &[PathSample]) -> History {
        let present: Vec<StoredPath> = paths.iter().map(StoredPath::of).collect();
        let number = |before: u64| {
            let known = self.paths.iter().find(|path| path.number == before)?;
            let same = |path: &&StoredPath| (path.local, path.remote) == (known.local, known.remote);
            present.iter().find(same).map(|path| path.number)
        };
        self.history.continued(number)
    }
}

impl StoredPath {
    const fn of(path: &PathSample) -> Self {
        Self {
            number: path.path,
            local: path.local.ip(),
            remote: path.remote.ip(),
        }
    }
}

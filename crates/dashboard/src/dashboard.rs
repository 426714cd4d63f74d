//! Dashboard: keeps samples of associations and passes them on. Who gets to know what, and when?
//!
//! Each update is written once for all browsers, and not at all if there is none.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anabranch::AssociationStatistics;
use hyper::body::Bytes;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::metrics;
use crate::samples::{
    Amount, Entry, HistoryError, Point, Reading, Sample, Samples, Stored, epoch_of, milliseconds,
};
use crate::view::View;

/// Updates that a slow browser may be behind; then it gets everything anew.
const BACKLOG: usize = 256;

/// What a note is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Severity {
    /// Something that users want to know.
    Info,
    /// A path or a connection changed.
    Change,
    /// A path or a connection does not work.
    Warning,
    /// Something failed for good.
    Error,
}

/// Something that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Note {
    /// How bad it is.
    pub severity: Severity,
    /// The transfer that it concerns.
    pub transfer: Option<u64>,
    /// The path that it concerns, and the new state of that path if it changed.
    pub path: Option<(u64, &'static str)>,
    /// What happened, for users.
    pub text: String,
}

/// The live view of a program. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Dashboard(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    title: String,
    version: String,
    began: Instant,
    /// The same moment since 1970.
    began_at: Duration,
    /// How long before that times began, if a history was taken over.
    before: OnceLock<Duration>,
    samples: Mutex<Samples>,
    updates: broadcast::Sender<Bytes>,
}

/// Everything that a browser needs at first.
#[derive(Debug, Serialize)]
struct Snapshot<'s> {
    title: &'s str,
    version: &'s str,
    /// Milliseconds since the start.
    now: u64,
    transfers: Vec<Known<'s>>,
    events: Vec<&'s Entry>,
}

#[derive(Debug, Serialize)]
struct Known<'s> {
    transfer: u64,
    name: &'s str,
    ended: bool,
    sample: Option<&'s Sample>,
    history: Vec<&'s Point>,
}

#[derive(Debug, Serialize)]
struct Begun<'n> {
    transfer: u64,
    name: &'n str,
}

impl Dashboard {
    /// A view without associations. `title` says what the program does.
    #[must_use]
    pub fn new(title: &str, version: &str) -> Self {
        Self(Arc::new(Inner {
            title: title.to_owned(),
            version: version.to_owned(),
            began: Instant::now(),
            // A clock before 1970 is not set.
            began_at: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            before: OnceLock::new(),
            samples: Mutex::default(),
            updates: broadcast::Sender::new(BACKLOG),
        }))
    }

    /// An association begins; it is the first or a further one of a transfer. Without a name, it keeps the one that it has.
    pub fn begin(&self, transfer: u64, name: &str) {
        let at = self.now();
        let mut samples = self.samples();
        samples.begin(at, transfer, name);
        self.tell("begin", || Begun { transfer, name });
    }

    /// An association begins that goes on where the last one of that name has ended, also in a [former run](Self::restore) of the program.
    /// It takes over the history of the paths with the same addresses.
    pub fn resume(&self, transfer: u64, name: &str) {
        let at = self.now();
        let mut samples = self.samples();
        samples.resume(at, transfer, name);
        self.tell("begin", || Begun { transfer, name });
    }

    /// The history of all associations and events, to be [taken over](Self::restore) by the next run of the program: at most some
    /// megabytes of JSON.
    #[must_use]
    pub fn history(&self) -> Vec<u8> {
        let epoch = self.0.began_at.saturating_sub(self.before());
        let stored = self.samples().stored(milliseconds(epoch));
        serde_json::to_vec(&stored).expect("invariant: all keys are strings")
    }

    /// Takes over the [history](Self::history) of a former run of the program, before anything begins.
    ///
    /// # Errors
    ///
    /// [`HistoryError`], if there is none in `bytes`; nothing has changed then.
    pub fn restore(&self, bytes: &[u8]) -> Result<(), HistoryError> {
        let stored = Stored::parse(bytes)?;
        let mut samples = self.samples();
        // Only the first history sets the time.
        let _ = self.0.before.set(epoch_of(&stored, self.0.began_at));
        samples.restore(stored);
        Ok(())
    }

    /// The transfer of an association, which has begun, is called `name`.
    pub fn name(&self, transfer: u64, name: &str) {
        let mut samples = self.samples();
        if samples.name(transfer, name) {
            self.tell("begin", || Begun { transfer, name });
        }
    }

    /// Takes the state of an association, which has begun and not ended.
    pub fn sample(&self, transfer: u64, statistics: &AssociationStatistics, amount: Option<Amount>) {
        let (at, reading) = (self.now(), Reading::from(statistics));
        let mut samples = self.samples();
        let was_resuming = samples.is_resuming(transfer);
        let sample = samples.sample(at, transfer, &reading, amount);
        if let Some(sample) = sample
            && !was_resuming
        {
            self.tell("sample", || sample);
        }
        // Browsers do not know yet what precedes it.
        if was_resuming && !samples.is_resuming(transfer) {
            self.tell("snapshot", || self.snapshot(&samples));
        }
    }

    /// An association has ended.
    pub fn end(&self, transfer: u64) {
        let mut samples = self.samples();
        samples.end(transfer);
        self.tell("end", || transfer);
    }

    /// Something happened.
    pub fn note(&self, note: Note) {
        let at = self.now();
        let mut samples = self.samples();
        let entry = samples.note(at, note);
        self.tell("note", || entry);
    }

    /// What a reader within the program sees at this moment: of the transfer `chosen`, or else of the newest one, with the rates of the
    /// time `span` before.
    #[must_use]
    pub fn view(&self, chosen: Option<u64>, span: Duration) -> View {
        View::of(&self.0.title, self.now(), &self.samples(), chosen, span)
    }

    /// Everything so far, and all updates from now on.
    pub(crate) fn subscribe(&self) -> (Bytes, broadcast::Receiver<Bytes>) {
        let samples = self.samples();
        // Under the lock, so that nothing is missed or told twice.
        let updates = self.0.updates.subscribe();
        (event("snapshot", &self.snapshot(&samples)), updates)
    }

    fn snapshot<'s>(&'s self, samples: &'s Samples) -> Snapshot<'s> {
        let transfers = samples.transfers().map(|(transfer, known)| Known {
            transfer,
            name: &known.name,
            ended: known.has_ended,
            sample: known.last.as_ref(),
            history: known.history.points().collect(),
        });
        Snapshot {
            title: &self.0.title,
            version: &self.0.version,
            now: milliseconds(self.now()),
            transfers: transfers.collect(),
            events: samples.events().iter().collect(),
        }
    }

    /// The metrics for Prometheus.
    pub(crate) fn metrics(&self) -> String {
        metrics::text(&self.0.version, self.0.began.elapsed(), &self.samples())
    }

    fn now(&self) -> Duration {
        self.before() + self.0.began.elapsed()
    }

    fn before(&self) -> Duration {
        self.0.before.get().copied().unwrap_or_default()
    }

    fn samples(&self) -> MutexGuard<'_, Samples> {
        self.0.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all browsers; called under the lock.
    fn tell<T: Serialize>(&self, name: &str, data: impl FnOnce() -> T) {
        let updates = &self.0.updates;
        if updates.receiver_count() > 0 {
            // The last browser may have gone just now.
            let _ = updates.send(event(name, &data()));
        }
    }
}

/// A server-sent event.
pub(crate) fn event(name: &str, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).expect("invariant: all keys are strings");
    format!("event: {name}\ndata: {data}\n\n").into()
}

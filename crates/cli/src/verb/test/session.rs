//! Measurement at one end. Who sends, who receives, and what was measured? A task for each stream that sends and for each
//! association that receives; the verb looks at their meter.

use std::sync::Arc;
use std::time::Duration;

use anabranch::Association;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::clock::processor_seconds;
use super::figures::{Figures, PathFigures, Sum};
use super::meter::{Count, Counts, Meter};
use super::sending::Sending;
use super::task::Task;
use crate::failure::Failure;
use crate::network::Guarded;
use crate::output::{Amount, AssociationPath, IntervalReport, PathReport, StreamAmount, paths_between};

/// How long what was sent may take to be acknowledged.
const FLUSH: Duration = Duration::from_secs(30);

/// How long what was acknowledged may take to be counted.
const SETTLE: Duration = Duration::from_millis(500);

const SETTLE_STEP: Duration = Duration::from_millis(2);

/// A running measurement.
#[derive(Debug)]
pub(super) struct Session {
    task: Arc<Task>,
    is_client: bool,
    associations: Vec<Arc<Guarded>>,
    meter: Arc<Meter>,
    senders: JoinSet<Result<(), String>>,
    receivers: JoinSet<Result<(), String>>,
    /// The end of what is omitted.
    base: Snapshot,
    /// The end of the last interval.
    last: Snapshot,
    /// Time between two reports.
    step: Duration,
    /// When the next interval ends.
    next: Instant,
    is_measuring: bool,
    has_sent: bool,
    /// When waiting for acknowledgements ends.
    flush_until: Option<Instant>,
}

/// Counters at one moment.
#[derive(Clone, Debug)]
struct Snapshot {
    at: Duration,
    counts: Counts,
    paths: Vec<Vec<PathReport>>,
    processor: f64,
}

impl Session {
    /// Begins to send and to receive, with an interval of `step`. `ahead` is by how much our clock is ahead of the peer's, in
    /// nanoseconds.
    pub(super) fn begin(
        task: &Task,
        is_client: bool,
        step: Duration,
        associations: Vec<Guarded>,
        ahead: i64,
    ) -> Self {
        let meter = Arc::new(Meter::new(task, ahead));
        let associations: Vec<_> = associations.into_iter().map(Arc::new).collect();
        let base = snapshot(&meter, &associations);
        let is_measuring = task.omit_seconds == 0.0;
        let omitted = (!is_measuring).then(|| task.omitted());
        let next = meter.began() + interval_end(step, omitted, Duration::ZERO);
        let mut session = Self {
            task: Arc::new(task.clone()),
            is_client,
            associations,
            meter,
            senders: JoinSet::new(),
            receivers: JoinSet::new(),
            last: base.clone(),
            base,
            step,
            next: Instant::from_std(next),
            is_measuring,
            has_sent: false,
            flush_until: None,
        };
        session.start();
        session
    }

    fn start(&mut self) {
        for (number, association) in (0..).zip(&self.associations) {
            let (association, meter) = (Association::clone(association), Arc::clone(&self.meter));
            self.receivers
                .spawn(receive(association, usize::from(number), meter));
            if !self.task.sends(self.is_client) {
                continue;
            }
            for stream in 0..self.task.streams {
                let sending = Sending {
                    association: Association::clone(&self.associations[usize::from(number)]),
                    is_client: self.is_client,
                    number,
                    stream,
                    task: Arc::clone(&self.task),
                    meter: Arc::clone(&self.meter),
                };
                self.senders
                    .spawn(async { sending.run().await.map_err(|error| error.to_string()) });
            }
        }
    }

    /// When the interval ends.
    pub(super) const fn interval_end(&self) -> Instant {
        self.next
    }

    /// When the interval ends that runs `now`.
    fn end_after(&self, now: Duration) -> Instant {
        let omitted = (!self.is_measuring).then(|| self.task.omitted());
        Instant::from_std(self.meter.began() + interval_end(self.step, omitted, now))
    }

    /// Waits until everything is sent and acknowledged, or abandoned, and returns the number of messages. After that, and meanwhile,
    /// waits for failures. Cancel safe.
    ///
    /// # Errors
    ///
    /// An association has ended.
    pub(super) async fn progress(&mut self) -> Result<u64, Failure> {
        if self.has_sent {
            return Err(failed(&mut self.receivers).await);
        }
        loop {
            tokio::select! {
                ended = self.senders.join_next() => match ended {
                    Some(ended) => ended.map_err(Failure::work)?.map_err(broken)?,
                    None => break,
                },
                failure = failed(&mut self.receivers) => return Err(failure),
            }
        }
        let until = *self.flush_until.get_or_insert_with(|| Instant::now() + FLUSH);
        let flush = async {
            for association in &self.associations {
                let flushed = association.flushed().await;
                flushed.map_err(|error| broken(error.to_string()))?;
            }
            Ok(())
        };
        // What takes longer is missing in the receiver's figures.
        timeout_at(until, flush).await.unwrap_or(Ok(()))?;
        self.has_sent = true;
        Ok(total(&self.meter.counts().sent).messages)
    }

    /// Sends nothing more.
    pub(super) fn halt(&mut self) {
        self.senders.abort_all();
    }

    /// Waits until `expected` messages have been counted, but not for long.
    pub(super) async fn settle(&self, expected: u64) {
        let settled = async {
            while total(&self.meter.counts().received).messages < expected {
                sleep(SETTLE_STEP).await;
            }
        };
        // Messages that were abandoned do not come.
        let _ = timeout(SETTLE, settled).await;
    }

    pub(super) fn associations(&self) -> &[Arc<Guarded>] {
        &self.associations
    }

    /// The interval that ends now; `None` if it is the last one, and a rest without messages.
    pub(super) fn interval(&mut self, is_last: bool) -> Option<IntervalReport> {
        let now = snapshot(&self.meter, &self.associations);
        if is_last && now.counts == self.last.counts {
            return None;
        }
        let before = std::mem::replace(&mut self.last, now.clone());
        let omitted = !self.is_measuring;
        if omitted && now.at >= self.task.omitted() {
            self.is_measuring = true;
            self.base = now.clone();
            self.meter.forget_delays();
        }
        self.next = self.end_after(now.at);
        let (start, end) = (before.at.as_secs_f64(), now.at.as_secs_f64());
        let amounts = |sender, now: &[Count], before: &[Count]| -> Vec<StreamAmount> {
            let streams = now.iter().zip(before).map(|(now, before)| now.since(*before));
            let per_association = usize::from(self.task.streams);
            let numbered = streams.enumerate().map(|(index, count)| StreamAmount {
                socket: (index / per_association + 1) as u16,
                stream: (index % per_association + 1) as u16,
                amount: Amount {
                    omitted,
                    ..amount((start, end), count, sender)
                },
            });
            numbered.collect()
        };
        let sends = self.task.sends(self.is_client);
        let receives = self.task.sends(!self.is_client);
        Some(IntervalReport {
            sent: sends.then(|| amounts(true, &now.counts.sent, &before.counts.sent)),
            received: receives.then(|| amounts(false, &now.counts.received, &before.counts.received)),
            paths: paths_since(&now, &before),
        })
    }

    /// What has been measured until now.
    pub(super) fn figures(&self) -> Figures {
        let now = snapshot(&self.meter, &self.associations);
        let measured = |until: Duration| until.saturating_sub(self.base.at).as_secs_f64();
        let sum = |seconds: f64, now: &[Count], before: &[Count]| {
            let streams = now.iter().zip(before).map(|(now, before)| now.since(*before));
            Sum {
                seconds,
                streams: streams.map(|count| (count.bytes, count.messages)).collect(),
            }
        };
        let planned = self
            .task
            .duration()
            .map_or(Duration::ZERO, |time| time.min(now.at));
        let sending = self.task.duration().map_or(now.at, |time| time.min(now.at));
        let received = self.meter.last_arrival().max(planned);
        let elapsed = measured(now.at);
        let abandoned = self.associations.iter().map(|association| {
            let abandoned = association.abandoned();
            abandoned.sent + abandoned.unsent
        });
        Figures {
            sent: self
                .task
                .sends(self.is_client)
                .then(|| sum(measured(sending), &now.counts.sent, &self.base.counts.sent)),
            received: self.task.sends(!self.is_client).then(|| {
                sum(
                    measured(received),
                    &now.counts.received,
                    &self.base.counts.received,
                )
            }),
            delays: self.meter.delays().summary(),
            abandoned: abandoned.sum(),
            processor_percent: 100.0 * (now.processor - self.base.processor) / elapsed.max(1e-9),
            paths: path_figures(&paths_since(&now, &self.base)),
        }
    }
}

/// Waits for the failure of an association. Cancel safe.
async fn failed(receivers: &mut JoinSet<Result<(), String>>) -> Failure {
    while let Some(ended) = receivers.join_next().await {
        if let Ok(Err(reason)) = ended {
            return broken(reason);
        }
    }
    std::future::pending().await
}

/// Counts messages until the association ends.
async fn receive(association: Association, number: usize, meter: Arc<Meter>) -> Result<(), String> {
    loop {
        match association.recv().await {
            Ok(Some(message)) => meter.on_received(number, &message),
            Ok(None) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// When the interval ends that runs `now`, counted from the beginning: at a multiple of `step`, or at the end of what is omitted if
/// that is earlier.
fn interval_end(step: Duration, omitted: Option<Duration>, now: Duration) -> Duration {
    let step = step.as_nanos().max(1);
    let end = (now.as_nanos() / step + 1).saturating_mul(step);
    let end = Duration::from_nanos(u64::try_from(end).unwrap_or(u64::MAX));
    omitted.map_or(end, |omitted| end.min(omitted.max(now)))
}

fn snapshot(meter: &Meter, associations: &[Arc<Guarded>]) -> Snapshot {
    Snapshot {
        at: meter.elapsed(),
        counts: meter.counts(),
        paths: associations
            .iter()
            .map(|association| PathReport::all(association))
            .collect(),
        processor: processor_seconds(),
    }
}

fn paths_since(now: &Snapshot, before: &Snapshot) -> Vec<AssociationPath> {
    let since = now.at.saturating_sub(before.at);
    let each = now.paths.iter().enumerate().flat_map(|(number, paths)| {
        let before = before.paths.get(number).map_or(&[][..], Vec::as_slice);
        let paths = paths_between(paths, before, since);
        paths.into_iter().map(move |path| AssociationPath {
            socket: number as u16 + 1,
            path,
        })
    });
    each.collect()
}

fn path_figures(paths: &[AssociationPath]) -> Vec<PathFigures> {
    let figures = paths.iter().map(|AssociationPath { socket, path }| PathFigures {
        association: *socket,
        local: path.local,
        remote: path.remote,
        sent: path.payload_sent,
        retransmitted: path.payload_retransmitted,
        received: path.payload_received,
        rtt_ms: path.rtt_ms,
    });
    figures.collect()
}

pub(super) fn amount((start, end): (f64, f64), count: Count, sender: bool) -> Amount {
    let seconds = end - start;
    Amount {
        start,
        end,
        seconds,
        bytes: count.bytes,
        bits_per_second: count.bytes as f64 * 8.0 / seconds.max(1e-9),
        messages: count.messages,
        omitted: false,
        sender,
    }
}

fn total(counts: &[Count]) -> Count {
    Count {
        bytes: counts.iter().map(|count| count.bytes).sum(),
        messages: counts.iter().map(|count| count.messages).sum(),
    }
}

fn broken(reason: impl std::fmt::Display) -> Failure {
    Failure::Work(format!("an association of the test ended: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_ends_where_measuring_begins() {
        let (ms, step) = (Duration::from_millis, Duration::from_millis(200));
        let ends =
            |omitted: Option<Duration>| [0, 199, 200, 300].map(|now| interval_end(step, omitted, ms(now)));
        assert_eq!(ends(None), [200, 200, 400, 400].map(ms));
        assert_eq!(ends(Some(ms(300))), [200, 200, 300, 300].map(ms));
        assert_eq!(interval_end(ms(10_000), Some(ms(3_000)), ms(5)), ms(3_000));
    }
}

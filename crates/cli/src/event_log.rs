//! Event log of an endpoint in a file (`docs/event-log.md`).

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anabranch::policy::PathFacts;
use anabranch::{
    AssociationId, AssociationStatistics, Direction, EndpointBuilder, Instant, Observer, PathAddr,
};
use anabranch_trace::log::{self, Clock, LogInfo};

use crate::failure::Failure;

/// Event log of an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct EventLog {
    file: PathBuf,
    log: Arc<Mutex<log::EventLog<BufWriter<File>>>>,
}

impl EventLog {
    /// Creates the log of an initiator in `file`.
    pub(crate) fn create(file: &Path, title: &str) -> Result<Self, Failure> {
        let failed = |error| Failure::Usage(format!("cannot write {}: {error}", file.display()));
        let sink = BufWriter::new(File::create(file).map_err(failed)?);
        let about = LogInfo {
            title,
            name: "sender",
            connects: true,
            clock: Clock::Monotonic,
        };
        Ok(Self {
            file: file.to_owned(),
            log: Arc::new(Mutex::new(log::EventLog::new(sink, &about))),
        })
    }

    /// Attaches the log, if any, to the endpoint.
    pub(crate) fn of(log: Option<&Self>, endpoint: EndpointBuilder) -> EndpointBuilder {
        match log {
            Some(log) => endpoint.observe(log.clone()),
            None => endpoint,
        }
    }

    /// Completes the log.
    pub(crate) fn finish(log: Option<Self>) -> Result<(), Failure> {
        log.map_or(Ok(()), |log| {
            let finished = log.with(log::EventLog::finish);
            finished.map_err(|error| Failure::Work(format!("cannot write {}: {error}", log.file.display())))
        })
    }

    fn with<R>(&self, act: impl FnOnce(&mut log::EventLog<BufWriter<File>>) -> R) -> R {
        act(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for EventLog {
    fn on_packet(&mut self, at: Instant, direction: Direction, path: PathAddr, packet: &[u8]) {
        let direction = match direction {
            Direction::Sent => log::Direction::Sent,
            Direction::Received => log::Direction::Received,
        };
        self.with(|log| log.packet(at, direction, path, packet));
    }

    fn on_association(
        &mut self,
        at: Instant,
        id: AssociationId,
        statistics: &AssociationStatistics,
        facts: &[PathFacts],
    ) {
        let views = statistics.paths.iter().filter_map(|path| {
            Some(log::PathView {
                facts: facts.iter().find(|facts| facts.id == path.id)?,
                addr: path.addr,
                timeouts: path.counters.timeouts,
                fast_retransmits: path.counters.fast_retransmits,
                rescheduled: path.counters.rescheduled,
            })
        });
        let views: Vec<_> = views.collect();
        self.with(|log| log.paths(at, id, &views));
    }
}

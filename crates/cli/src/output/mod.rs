//! Output of the program: events, reported as text or as JSON.

mod bars;
mod event;
mod human;
mod json;
mod lines;
mod live;
mod observe;
mod paths;
mod repeats;
mod sampling;
mod silent_paths;
mod table;
mod test_report;
mod test_text;
mod units;

use std::fmt;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

pub(crate) use event::{DemoRow, Event, Progress, StoredReport, Summary, UplinkReport};
pub(crate) use json::SCHEMA;
pub(crate) use live::Live;
pub(crate) use observe::{Counter, Role, observe, report_path_changes};
pub(crate) use paths::{PathMonitor, PathReport, paths_between, paths_since};
pub(crate) use test_report::{
    Amount, AssociationPath, Connected, Delays, EndReport, IntervalReport, OneWayDelays, PathEnd, Processors,
    StartReport, StreamAmount, StreamEnd, TaskReport, TestReport, Timestamp,
};
pub(crate) use units::{bytes_text, printable, rate_text};

use crate::failure::Failure;
use human::Human;
pub(crate) use human::{reloaded_text, short_text};
use json::Json;

/// Reports events.
pub(crate) trait Reporter: fmt::Debug + Send + Sync {
    /// Reports one event.
    fn report(&self, event: &Event<'_>);

    /// Interval of progress reports.
    fn interval(&self) -> Duration;

    /// Waits until everything is written, but not longer than `limit`; returns whether everything is.
    fn drained(&self, limit: Duration) -> bool;

    /// Prints nothing until [`Self::release`], because something else draws on the terminal. Waits for the line that is being printed, but
    /// not longer than `limit`.
    fn hold(&self, limit: Duration) {
        let _ = limit;
    }

    /// Prints what was held.
    fn release(&self) {}

    /// The live view, if there is one; it wants the state of associations, too.
    fn live(&self) -> Option<&Live> {
        None
    }
}

/// Output options of all verbs.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Output {
    /// Print one JSON object per line on standard output (docs/cli-json.md)
    #[arg(long)]
    json: bool,

    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,

    /// Whether standard output is for data, so that results go to standard error.
    #[arg(skip)]
    aside: bool,

    /// Whether there are no progress bars, because the live view draws on the terminal.
    #[arg(skip)]
    without_bars: bool,
}

/// Output options of verbs that only print; they have no --quiet.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Print one JSON object per line on standard output (docs/cli-json.md)
    #[arg(long)]
    json: bool,
}

impl Form {
    pub(crate) const fn is_json(self) -> bool {
        self.json
    }
}

/// Prints to standard output. A closed pipe is no failure; a full disk is.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_ref()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Work(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a message to standard error. Errors are ignored.
pub(crate) fn remark(text: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

impl Output {
    /// Options of verbs without --quiet.
    pub(crate) const fn of(json: bool) -> Self {
        Self {
            json,
            quiet: false,
            aside: false,
            without_bars: false,
        }
    }

    /// The same options, with results on standard error if `aside`.
    pub(crate) const fn aside(self, aside: bool) -> Self {
        Self { aside, ..self }
    }

    /// The same options, without progress bars if the live view draws on the terminal.
    pub(crate) const fn without_bars(self, without_bars: bool) -> Self {
        Self { without_bars, ..self }
    }

    pub(crate) const fn is_aside(self) -> bool {
        self.aside
    }

    pub(crate) const fn is_json(self) -> bool {
        self.json
    }

    pub(crate) const fn is_quiet(self) -> bool {
        self.quiet
    }

    pub(crate) fn reporter(self) -> Arc<dyn Reporter> {
        if self.json {
            Arc::new(Json::default())
        } else {
            Arc::new(Human::new(self.quiet, self.aside, self.without_bars))
        }
    }
}

//! What does the program say, and to whom? Events, told by one of two reporters: to people or to programs.

mod bars;
mod event;
mod human;
mod json;
mod observe;
mod paths;
mod table;
mod units;

use std::fmt;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

pub(crate) use event::{DemoRow, Event, Progress, Summary};
pub(crate) use observe::{Counter, Role, observe};
pub(crate) use paths::{PathReport, PathWatch, paths_since};
pub(crate) use units::rate_text;

use crate::failure::Failure;
use human::Human;
use json::Json;

/// Tells what happens.
pub(crate) trait Reporter: fmt::Debug + Send + Sync {
    /// Tells one event.
    fn report(&self, event: &Event<'_>);

    /// How often progress is worth telling.
    fn interval(&self) -> Duration;
}

/// How to tell; common to all verbs.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Output {
    /// Print one JSON object per line on standard output (docs/cli-json.md)
    #[arg(long)]
    json: bool,

    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
}

/// How to tell, of verbs whose output is what they are for: they are never quiet.
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

/// Prints what was asked for on standard output. A reader that has seen enough is no failure; a full disk is one.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_ref()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Work(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Tells people something beside what was asked for. A reader that went away is no failure.
pub(crate) fn remark(text: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

impl Output {
    /// Of verbs that are never quiet.
    pub(crate) const fn of(json: bool) -> Self {
        Self { json, quiet: false }
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
            Arc::new(Human::new(self.quiet))
        }
    }
}

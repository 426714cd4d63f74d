//! Reporter of the live view: tells it what other output tells, and the state of associations. What do browsers see of an event?

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use anabranch::AssociationStatistics;
use anabranch_dashboard::{Amount, Dashboard, Note, Severity};
use serde::Serialize;

use super::human::{short_text, summary_text};
use super::json::SCHEMA;
use super::{Event, Progress, Reporter};
use crate::tui::Tui;

/// A line of JSON that says how things are.
type Status = Box<dyn Fn() -> String + Send + Sync>;

/// Reporter that tells the live view, too.
pub(crate) struct Live {
    told: Arc<dyn Reporter>,
    dashboard: Dashboard,
    state: Mutex<State>,
    /// Of verbs that have a status of their own.
    status: OnceLock<Status>,
    /// Draws on the terminal, if the user wants that.
    tui: Option<Arc<Tui>>,
}

#[derive(Debug, Default)]
struct State {
    /// Of transfers that have not begun yet, too.
    names: BTreeMap<u64, Name>,
    /// Of the transfers of the moment.
    progress: BTreeMap<u64, Progress>,
}

/// What a transfer is called.
#[derive(Clone, Debug, Default)]
struct Name {
    text: String,
    /// Whether it goes on where the last one of that name has ended, as a tunnel does.
    resumes: bool,
}

/// Status of transfers.
#[derive(Debug, Serialize)]
struct Transfers<'s> {
    schema: u32,
    event: &'static str,
    transfers: Vec<&'s Progress>,
}

impl Live {
    /// Reports to `told` what is reported, and shows it on `dashboard`, which `tui` draws.
    pub(crate) fn new(told: Arc<dyn Reporter>, dashboard: Dashboard, tui: Option<Arc<Tui>>) -> Self {
        Self {
            told,
            dashboard,
            state: Mutex::default(),
            status: OnceLock::new(),
            tui,
        }
    }

    /// A transfer is called `name`.
    pub(crate) fn name(&self, transfer: u64, name: &str) {
        self.set_name(transfer, name, false);
        self.dashboard.name(transfer, name);
    }

    fn set_name(&self, transfer: u64, name: &str, resumes: bool) {
        let text = name.to_owned();
        self.state().names.insert(transfer, Name { text, resumes });
    }

    /// An association of a transfer begins.
    pub(crate) fn begin(&self, transfer: u64) {
        let name = self.state().names.get(&transfer).cloned().unwrap_or_default();
        match name.resumes {
            true => self.dashboard.resume(transfer, &name.text),
            false => self.dashboard.begin(transfer, &name.text),
        }
        if let Some(tui) = &self.tui {
            tui.open();
        }
    }

    /// Shows the state of an association.
    pub(crate) fn sample(
        &self,
        transfer: u64,
        statistics: &AssociationStatistics,
        progress: Option<Progress>,
    ) {
        let amount = progress.as_ref().map(|progress| Amount {
            bytes: progress.bytes,
            size: progress.size,
        });
        self.dashboard.sample(transfer, statistics, amount);
        if let Some(progress) = progress {
            self.state().progress.insert(transfer, progress);
        }
    }

    /// An association has ended.
    pub(crate) fn end(&self, transfer: u64) {
        let mut state = self.state();
        state.names.remove(&transfer);
        state.progress.remove(&transfer);
        drop(state);
        self.dashboard.end(transfer);
    }

    /// The verb has a status of its own.
    pub(crate) fn set_status(&self, status: impl Fn() -> String + Send + Sync + 'static) {
        // A verb sets it once.
        let _ = self.status.set(Box::new(status));
    }

    /// The status of the moment, as a line of JSON.
    pub(crate) fn status(&self) -> String {
        if let Some(status) = self.status.get() {
            return status();
        }
        let state = self.state();
        let status = Transfers {
            schema: SCHEMA,
            event: "status",
            transfers: state.progress.values().collect(),
        };
        serde_json::to_string(&status).expect("invariant: a status has string keys only") + "\n"
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reporter for Live {
    fn report(&self, event: &Event<'_>) {
        self.told.report(event);
        match event {
            Event::Offered { transfer, name, .. } => self.name(*transfer, name),
            // Its association begins with it.
            Event::TunnelUp { transfer, peer, .. } => self.set_name(*transfer, peer, true),
            _ => {}
        }
        if let Some(note) = note(event) {
            self.dashboard.note(note);
        }
        if let Some(tui) = &self.tui {
            tui.on_event(event);
        }
    }

    fn interval(&self) -> Duration {
        self.told.interval()
    }

    fn drained(&self, limit: Duration) -> bool {
        self.told.drained(limit)
    }

    fn live(&self) -> Option<&Live> {
        Some(self)
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Live").finish_non_exhaustive()
    }
}

/// What browsers see of an event, if anything.
fn note(event: &Event<'_>) -> Option<Note> {
    let (severity, transfer, text) = match event {
        Event::Warning {
            transfer, message, ..
        } => (Severity::Warning, *transfer, (*message).to_owned()),
        Event::Error {
            transfer, message, ..
        } => (Severity::Error, *transfer, (*message).to_owned()),
        Event::Summary(summary) => (Severity::Info, Some(summary.transfer), summary_text(summary)),
        Event::Path {
            transfer,
            path,
            change,
            ..
        } => {
            let text = short_text(event)?;
            return Some(Note {
                severity: severity_of(change),
                transfer: Some(*transfer),
                path: Some((*path, change)),
                text: format!("path {path}, {}", text.trim()),
            });
        }
        Event::Retry { transfer, .. } => (Severity::Warning, Some(*transfer), short_text(event)?),
        Event::TunnelUp { transfer, .. } => (Severity::Change, Some(*transfer), short_text(event)?),
        Event::TunnelDown { .. } => (Severity::Warning, None, short_text(event)?),
        Event::TunnelReloaded { error, .. } => {
            let severity = if error.is_some() {
                Severity::Error
            } else {
                Severity::Change
            };
            (severity, None, short_text(event)?)
        }
        // The numbers of an association's paths begin at 0.
        Event::Cut { path } => {
            let text = format!("the link of path {path} of the command is cut");
            (Severity::Warning, None, text)
        }
        Event::Waiting { transfer, .. } | Event::Offered { transfer, .. } => {
            (Severity::Info, Some(*transfer), short_text(event)?)
        }
        Event::Run { .. } => (Severity::Info, None, short_text(event)?),
        _ => return None,
    };
    // Further lines list the paths, which are seen anyway.
    let text = text.trim().lines().next().unwrap_or_default().to_owned();
    Some(Note {
        severity,
        transfer,
        path: None,
        text,
    })
}

fn severity_of(change: &str) -> Severity {
    match change {
        "potentially-failed" | "inactive" | "removed" => Severity::Warning,
        "mtu" => Severity::Info,
        _ => Severity::Change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_path_is_noted_with_its_new_state() {
        let address = "127.0.0.1:9".parse().unwrap();
        let path = |change| Event::Path {
            transfer: 3,
            path: 1,
            local: address,
            remote: address,
            change,
            mtu: None,
            count: 2,
        };
        let failed = note(&path("potentially-failed")).unwrap();
        assert_eq!(failed.severity, Severity::Warning);
        assert_eq!(
            (failed.transfer, failed.path),
            (Some(3), Some((1, "potentially-failed")))
        );
        assert_eq!(
            failed.text,
            "path 1, 127.0.0.1:9 -> 127.0.0.1:9: potentially-failed (2 times)"
        );
        assert_eq!(note(&path("active")).unwrap().severity, Severity::Change);
    }
}

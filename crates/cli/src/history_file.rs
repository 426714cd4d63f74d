//! File with the history of the live view. When is it read and written? At the start, each minute, and at the end.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anabranch_dashboard::Dashboard;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::kept_file;
use crate::output::{Event, Reporter};

/// What a program that is killed has seen since is lost.
const INTERVAL: Duration = Duration::from_secs(60);

/// The file, for the live view that it belongs to.
pub(crate) struct HistoryFile {
    file: PathBuf,
    dashboard: Dashboard,
    reporter: Arc<dyn Reporter>,
    /// Whether it could be written the last time.
    is_written: AtomicBool,
}

impl HistoryFile {
    /// Has the live view go on with what the file has. A file that cannot be read is set aside, with a warning.
    pub(crate) fn open(file: PathBuf, dashboard: Dashboard, reporter: Arc<dyn Reporter>) -> Arc<Self> {
        let opened = Self {
            file,
            dashboard,
            reporter,
            is_written: AtomicBool::new(true),
        };
        if let Err(error) = kept_file::read(&opened.file, |content| opened.dashboard.restore(content)) {
            opened.warn(&format!("{error}; the live view begins without a history"));
        }
        Arc::new(opened)
    }

    /// Writes it each minute.
    pub(crate) async fn keep(self: &Arc<Self>) -> Infallible {
        loop {
            sleep(INTERVAL).await;
            let kept = Arc::clone(self);
            // It waits for the disk.
            let _ = spawn_blocking(move || kept.write()).await;
        }
    }

    /// Writes it. One warning each time that it begins to fail.
    pub(crate) fn write(&self) {
        let written = kept_file::replace(&self.file, &self.dashboard.history());
        let was_written = self.is_written.swap(written.is_ok(), Ordering::Relaxed);
        if let Err(error) = written
            && was_written
        {
            let file = self.file.display();
            self.warn(&format!(
                "{file}: {error}; a restart loses the history of the live view"
            ));
        }
    }

    fn warn(&self, message: &str) {
        self.reporter.report(&Event::Warning {
            transfer: None,
            path: None,
            message,
        });
    }
}

//! Progress bars: one for each transfer, and a line for each of its paths.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use rustix::termios::tcgetwinsize;

use super::units::{bytes_text, rate_text};
use super::{PathReport, Progress};

const NO_BAR: &str = "{spinner} {wide_msg}";
const PATH: &str = "  {wide_msg}";

/// Columns of a terminal that does not tell its own.
const COMMON_WIDTH: u16 = 80;

/// The bars of all running transfers.
#[derive(Debug, Default)]
pub(super) struct Bars {
    screen: MultiProgress,
    transfers: Mutex<BTreeMap<u64, Group>>,
}

/// The bars of one transfer.
#[derive(Debug)]
struct Group {
    /// Form of the first line.
    template: &'static str,
    total: ProgressBar,
    paths: Vec<ProgressBar>,
}

impl Bars {
    pub(super) fn suspend(&self, write: impl FnOnce()) {
        self.screen.suspend(write);
    }

    pub(super) fn show(&self, progress: &Progress) {
        let mut transfers = self.transfers.lock().unwrap_or_else(PoisonError::into_inner);
        let group = transfers
            .entry(progress.transfer)
            .or_insert_with(|| Group::new(&self.screen, progress.size));
        group.show(&self.screen, progress);
    }

    pub(super) fn finish(&self, transfer: u64) {
        let group = self
            .transfers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&transfer);
        for bar in group
            .iter()
            .flat_map(|group| group.paths.iter().chain([&group.total]))
        {
            bar.finish_and_clear();
        }
    }
}

impl Group {
    fn new(screen: &MultiProgress, size: Option<u64>) -> Self {
        let template = template(size, columns());
        Self {
            template,
            total: screen.add(line(size, template)),
            paths: Vec::new(),
        }
    }

    fn show(&mut self, screen: &MultiProgress, progress: &Progress) {
        let rate: f64 = progress.paths.iter().map(|path| path.rate_bit_s).sum();
        // The user may have resized the terminal.
        let template = template(progress.size, columns());
        if template != self.template {
            self.template = template;
            self.total.set_style(style(template));
        }
        self.total.set_position(progress.bytes);
        self.total.set_message(format!(
            "{}  {}{}",
            bytes_text(progress.bytes),
            rate_text(rate),
            left(progress, rate)
        ));
        while self.paths.len() < progress.paths.len() {
            let last = self.paths.last().unwrap_or(&self.total);
            self.paths.push(screen.insert_after(last, line(None, PATH)));
        }
        for (bar, path) in self.paths.iter().zip(&progress.paths) {
            bar.set_message(path_text(path));
        }
    }
}

/// The form of the first line. Lines are cut at the width of the terminal, so the bar gives way to what follows it.
const fn template(size: Option<u64>, columns: u16) -> &'static str {
    match (size, columns) {
        (None, _) => NO_BAR,
        (Some(_), 0..40) => "{percent:>3} %  {wide_msg}",
        (Some(_), 40..70) => "{bar:10} {percent:>3} %  {wide_msg}",
        (Some(_), 70..) => "{bar:32} {percent:>3} %  {wide_msg}",
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("invariant: the templates are constants");
    style.progress_chars("=> ")
}

/// Width of the terminal.
fn columns() -> u16 {
    tcgetwinsize(io::stderr()).map_or(COMMON_WIDTH, |size| match size.ws_col {
        0 => COMMON_WIDTH,
        columns => columns,
    })
}

fn line(size: Option<u64>, template: &str) -> ProgressBar {
    size.map_or_else(ProgressBar::no_length, ProgressBar::new)
        .with_style(style(template))
}

fn left(progress: &Progress, rate: f64) -> String {
    let Some(size) = progress.size.filter(|_| rate > 1.0) else {
        return String::new();
    };
    let seconds = size.saturating_sub(progress.bytes) as f64 * 8.0 / rate;
    format!("  {:.0} s left", seconds.min(359_999.0))
}

fn path_text(path: &PathReport) -> String {
    let rtt = path
        .rtt_ms
        .map_or_else(|| "-".into(), |rtt| format!("{rtt:.1} ms"));
    format!(
        "{} -> {}  {:>12}  RTT {rtt}  {}",
        path.local,
        path.remote,
        rate_text(path.rate_bit_s),
        path.state
    )
}

//! Text output: results as lines on standard output, progress bars on a terminal.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use super::bars::Bars;
use super::lines::{Lines, Stream};
use super::paths::WORKS;
use super::table::table;
use super::test_text::{interval_text, test_text};
use super::units::{bytes_text, printable, rate_text};
use super::{Event, PathReport, Reporter, Summary, UplinkReport};
use crate::transfer::Word;

const ERROR: (&str, AnsiColor) = ("error", AnsiColor::Red);
const WARNING: (&str, AnsiColor) = ("warning", AnsiColor::Yellow);

/// Reporter for users.
#[derive(Debug)]
pub(super) struct Human {
    quiet: bool,
    aside: bool,
    /// Progress bars, if standard error is a terminal.
    bars: Option<Bars>,
    /// Whether standard error is a terminal with colours, and the user does not object (`NO_COLOR`).
    has_colors: bool,
    lines: Lines,
}

impl Human {
    /// With `aside`, results go to standard error.
    pub(super) fn new(quiet: bool, aside: bool, without_bars: bool) -> Self {
        let wanted = !quiet && !without_bars && std::io::stderr().is_terminal();
        Self {
            quiet,
            aside,
            bars: wanted.then(Bars::default),
            has_colors: AutoStream::choice(&std::io::stderr()) != ColorChoice::Never,
            lines: Lines::default(),
        }
    }

    fn line(&self, text: &str) {
        match &self.bars {
            _ if self.quiet => {}
            _ if self.aside => self.remark(text),
            // The progress bars share the terminal, so they are hidden while the line is printed.
            Some(bars) if std::io::stdout().is_terminal() => bars.suspend(|| {
                let mut out = std::io::stdout().lock();
                let _ = writeln!(out, "{text}").and_then(|()| out.flush());
            }),
            _ => self.lines.push(Stream::Output, text),
        }
    }

    /// Prints a message after a prefix, which has a colour where the terminal has colours.
    fn mark(&self, (prefix, color): (&str, AnsiColor), message: &str) {
        let style = if self.has_colors {
            color.on_default().bold()
        } else {
            Style::new()
        };
        self.remark(&format!("{style}{prefix}:{style:#} {}", printable(message)));
    }

    fn remark(&self, text: &str) {
        match &self.bars {
            Some(bars) => bars.suspend(|| super::remark(text)),
            None => self.lines.push(Stream::Error, text),
        }
    }
}

impl Reporter for Human {
    fn report(&self, event: &Event<'_>) {
        match event {
            Event::Progress(progress) => {
                if let Some(bars) = &self.bars {
                    bars.show(progress);
                }
            }
            Event::Error {
                transfer,
                message,
                exit_code,
            } => {
                self.finish(*transfer);
                let goes_on = exit_code.is_none();
                let prefix = if goes_on { WARNING } else { ERROR };
                self.mark(prefix, message);
            }
            Event::Warning { message, .. } => {
                self.mark(WARNING, message);
            }
            Event::Summary(summary) => {
                self.finish(Some(summary.transfer));
                self.line(&summary_text(summary));
            }
            Event::Row { transfer, row } => {
                self.finish(Some(*transfer));
                self.line(&format!(
                    "  {:.1} s, {}",
                    row.seconds,
                    rate_text(row.goodput_bit_s)
                ));
            }
            other => {
                if let Some(text) = short_text(other) {
                    self.line(&text);
                }
            }
        }
    }

    fn interval(&self) -> Duration {
        if self.bars.is_some() {
            Duration::from_millis(200)
        } else {
            Duration::from_secs(1)
        }
    }

    fn drained(&self, limit: Duration) -> bool {
        self.lines.drained(limit)
    }

    fn hold(&self, limit: Duration) {
        self.lines.hold(limit);
    }

    fn release(&self) {
        self.lines.release();
    }
}

impl Human {
    fn finish(&self, transfer: Option<u64>) {
        if let Some((bars, transfer)) = self.bars.as_ref().zip(transfer) {
            bars.finish(transfer);
        }
    }
}

/// What senders have to type, if they have to know anything.
fn sending_hint(to: Option<&str>, word: Option<&Word>) -> String {
    if to.is_none() && word.is_none() {
        return String::new();
    }
    let word = word.map(|word| format!(" --word {word}"));
    let (to, word) = (to.unwrap_or("HOST"), word.unwrap_or_default());
    format!("\nsend with: anabranch send FILE --to {to}{word}")
}

/// Text of events that need one or a few lines.
pub(crate) fn short_text(event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::Listening {
            addresses,
            to,
            word,
            folder,
        } => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            format!(
                "listening on {}, storing in {}{}",
                addresses.join(" and "),
                folder.display(),
                sending_hint(*to, *word)
            )
        }
        Event::TestListening { .. } | Event::TestBegins(_) | Event::TestInterval(_) | Event::Test(_) => {
            return test_event_text(event);
        }
        Event::TunnelListening { .. }
        | Event::TunnelEntrance { .. }
        | Event::TunnelDevice { .. }
        | Event::TunnelUp { .. }
        | Event::TunnelDown { .. }
        | Event::TunnelReloaded { .. } => return tunnel_event_text(event),
        Event::Dashboard { url } => format!("live view: {url}"),
        Event::Uplink(report) => uplink_text(report),
        Event::Check { uplinks, working } => format!("{working} of {uplinks} uplinks work"),
        Event::Waiting { ahead, .. } => waiting_text(*ahead),
        Event::Offered { name, peer, size, .. } => {
            let size = size.map_or_else(|| "of unknown size".into(), bytes_text);
            format!("receiving {} from {peer}, {size}", printable(name))
        }
        Event::Path { .. } => return path_event_text(event),
        Event::Run { run, size, .. } => format!("{run}: {} ...", bytes_text(*size)),
        Event::Cut { path } => format!("  path {path} is cut"),
        Event::Demo {
            rows,
            sum_of_single_bit_s,
            verdict,
            note,
            ..
        } => {
            format!("\n{}\n{note}\n\n{verdict}", table(rows, *sum_of_single_bit_s))
        }
        Event::Planned { .. } | Event::Plan { .. } | Event::Retry { .. } | Event::Stored { .. } => {
            return files_event_text(event);
        }
        Event::Connected { .. }
        | Event::File { .. }
        | Event::Progress(_)
        | Event::Summary(_)
        | Event::Row { .. }
        | Event::Warning { .. }
        | Event::Error { .. } => {
            return None;
        }
    })
}

fn times(count: u64) -> String {
    match count {
        1 => String::new(),
        _ => format!(" ({count} times)"),
    }
}

fn uplink_text(report: &UplinkReport) -> String {
    let device = report.device.as_deref().unwrap_or("unknown device");
    let mut text = format!("{device}, {} -> {}: ", report.local, report.remote);
    if let Some(advice) = &report.advice {
        text += "does not work: ";
        text += &printable(advice);
        return text;
    }
    text += "works";
    if let Some(rtt) = report.rtt_ms {
        text += &format!(", RTT {rtt:.1} ms");
    }
    if let Some(mtu) = report.mtu {
        text += &format!(", packets of up to {mtu} bytes pass");
    }
    match (report.nat, report.seen_as) {
        (Some(true), Some(address)) => text += &format!(", behind a NAT: the receiver sees {address}"),
        (Some(false), _) => text += ", no NAT",
        _ => {}
    }
    text
}

/// Text of a change of a path.
fn path_event_text(event: &Event<'_>) -> Option<String> {
    let Event::Path {
        local,
        remote,
        change,
        mtu,
        count,
        ..
    } = event
    else {
        return None;
    };
    let change = match mtu {
        Some(mtu) => format!("path MTU {mtu} bytes"),
        None => (*change).to_owned(),
    };
    Some(format!("  {local} -> {remote}: {change}{}", times(*count)))
}

/// Text of events of `anabranch test`.
fn test_event_text(event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::TestListening { addresses, to } => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let hint = to.map(|to| format!("\ntest with: anabranch test {to}"));
            format!(
                "serving tests at {}{}",
                addresses.join(" and "),
                hint.unwrap_or_default()
            )
        }
        Event::TestBegins(what) => (*what).to_owned(),
        Event::TestInterval(report) => interval_text(report),
        Event::Test(report) => test_text(report),
        _ => return None,
    })
}

/// Text of events of `anabranch tunnel`.
fn tunnel_event_text(event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::TunnelListening { addresses, key } => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            format!(
                "listening on {}; our public key is {key}",
                addresses.join(" and ")
            )
        }
        Event::TunnelEntrance {
            kind,
            address,
            target,
            peer,
        } => match (*kind, target) {
            (_, Some(target)) => format!(
                "{address} leads to {} through {}",
                printable(target),
                printable(peer)
            ),
            ("socks", None) => format!("SOCKS5 proxy at {address}, through {}", printable(peer)),
            (_, None) => format!("HTTP CONNECT proxy at {address}, through {}", printable(peer)),
        },
        Event::TunnelDevice {
            name, routes, peer, ..
        } => {
            let routes: Vec<String> = routes.iter().map(ToString::to_string).collect();
            format!(
                "device {name}: {} through {}",
                routes.join(" and "),
                printable(peer)
            )
        }
        Event::TunnelUp { peer, paths, .. } => {
            let paths = paths
                .iter()
                .map(|path| format!("\n  {} -> {}", path.local, path.remote));
            format!("{}: connected{}", printable(peer), paths.collect::<String>())
        }
        Event::TunnelDown {
            peer,
            message,
            seconds,
        } => down_text(peer, message, seconds.is_some()),
        Event::TunnelReloaded {
            error,
            changes,
            needs_restart,
        } => match error {
            Some(error) => format!("the file was not taken over: {}", printable(error)),
            None => format!(
                "the file was read again: {}",
                reloaded_text(changes, needs_restart)
            ),
        },
        _ => return None,
    })
}

/// Why there is no tunnel to a peer.
fn down_text(peer: &str, message: &str, is_tried_again: bool) -> String {
    let again = if is_tried_again { "; trying again" } else { "" };
    format!(
        "{}: not connected: {}{again}",
        printable(peer),
        printable(message)
    )
}

/// What a reload has changed, and what it could not change.
pub(crate) fn reloaded_text(changes: &[String], needs_restart: &[String]) -> String {
    let joined = |texts: &[String]| {
        let texts: Vec<String> = texts.iter().map(|text| printable(text)).collect();
        texts.join("; ")
    };
    let changed = match changes {
        [] => "nothing has changed".to_owned(),
        changes => joined(changes),
    };
    match needs_restart {
        [] => changed,
        keys => format!("{changed}. Left as it was until a restart: {}", joined(keys)),
    }
}

/// Text of events about what is sent and stored.
fn files_event_text(event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::Planned { path, size, .. } => {
            let size = size.map_or_else(String::new, |size| format!(", {}", bytes_text(size)));
            format!("would send {}{size}", printable(path))
        }
        Event::Plan { files, size, .. } => {
            let size = size.map_or_else(|| "unknown size".into(), bytes_text);
            format!("would send {}, {size}", files_text(*files))
        }
        Event::Retry { message, seconds, .. } => {
            format!("{}; trying again in {seconds:.0} s", printable(message))
        }
        Event::Stored { entries, peer, .. } => {
            let lines = entries
                .iter()
                .map(|entry| format!("stored {} from {peer}", printable(&entry.file)));
            lines.collect::<Vec<_>>().join("\n")
        }
        _ => return None,
    })
}

fn files_text(files: u64) -> String {
    match files {
        1 => "1 file".to_owned(),
        _ => format!("{files} files"),
    }
}

fn size_text(size: u64) -> String {
    match size {
        0 => "an empty file".to_owned(),
        _ => bytes_text(size),
    }
}

fn waiting_text(ahead: u64) -> String {
    let before = match ahead {
        0 => "this is the next one".to_owned(),
        1 => "1 other waits before this one".to_owned(),
        _ => format!("{ahead} others wait before this one"),
    };
    format!("waiting: the receiver is busy with other senders; {before}")
}

pub(super) fn summary_text(summary: &Summary) -> String {
    let Summary {
        role,
        name,
        peer,
        size,
        seconds,
        goodput_bit_s,
        ..
    } = summary;
    let (verb, preposition) = match *role {
        "send" => ("sent", "to"),
        _ => ("received", "from"),
    };
    let rate = match size {
        0 => String::new(),
        _ => format!(" in {seconds:.2} s, {}", rate_text(*goodput_bit_s)),
    };
    let what = match (summary.sha256, summary.files) {
        (Some(_), _) => size_text(*size),
        (None, files) => format!("{}, {}", files_text(files), bytes_text(*size)),
    };
    let mut text = format!("{verb} {} {preposition} {peer}: {what}{rate}", printable(name));
    if summary.resumed_bytes > 0 {
        text += &format!(", {} of it before", bytes_text(summary.resumed_bytes));
    }
    if let Some(sha256) = summary.sha256 {
        text += &format!(", SHA-256 {sha256}");
    }
    let all: u64 = summary.paths.iter().map(PathReport::carried).sum();
    for path in &summary.paths {
        let carried = path.carried();
        let share = 100.0 * carried as f64 / all.max(1) as f64;
        text += &format!(
            "\n  {} -> {}: {}, {share:.0} %",
            path.local,
            path.remote,
            bytes_text(carried)
        );
        if path.description != WORKS {
            text += ", ";
            text += path.description;
        }
        if path.payload_retransmitted > 0 {
            text += &format!(
                ", of which {} retransmitted",
                bytes_text(path.payload_retransmitted)
            );
        }
    }
    text
}

//! The `trace` command. What does a capture contain? Its conversations, as a sequence diagram or as statistics.

mod json;
mod text;

use std::fs::{self, File};
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

use anabranch_lab::file::write;
use anabranch_trace::flow::{View, draw_svg, draw_text};
use anabranch_trace::{Conversation, KeyLog, Segments, conversations, frames};

use crate::arguments::{Capture, CaptureFile, FlowArguments, TraceVerb};
use crate::failure::Failure;
use crate::output::print;
use crate::same_file::is_same_file;

/// Line width in characters if the terminal width is unknown.
const WIDTH: usize = 160;

/// Runs the command on a capture. If the capture is truncated, shows everything before that point and reports the
/// error.
pub(crate) fn run(verb: &TraceVerb) -> Result<(), Failure> {
    let (all, broken) = read(verb.capture())?;
    if all.is_empty()
        && let Some(broken) = broken
    {
        return Err(broken);
    }
    let text = match verb {
        TraceVerb::List { json: true, .. } => json::list(&all),
        TraceVerb::List { json: false, .. } => text::list(&all),
        TraceVerb::Flow(arguments) => flow(arguments, &chosen(&arguments.capture, all)?)?,
        TraceVerb::Gaps { capture, json: true } => json::gaps(&chosen(capture, all)?),
        TraceVerb::Gaps { capture, json: false } => text::gaps(&chosen(capture, all)?),
        TraceVerb::Idle {
            capture,
            longer,
            json,
        } => {
            let conversation = chosen(capture, all)?;
            if *json {
                json::idle(&conversation, nanoseconds(*longer))
            } else {
                text::idle(&conversation, nanoseconds(*longer))
            }
        }
    };
    print(&text)?;
    broken.map_or(Ok(()), Err)
}

/// Returns the text to print; empty if the output goes to a file.
fn flow(arguments: &FlowArguments, conversation: &Conversation) -> Result<String, Failure> {
    let time = arguments.from.map_or(0, nanoseconds)..arguments.to.map_or(u64::MAX, nanoseconds);
    if time.is_empty() {
        return Err(Failure::usage("expected --from before --to"));
    }
    let last = conversation.rows.last().map_or(0, |row| row.at);
    if time.start > last {
        let text = format!(
            "nothing was said after --from: the last packet of the conversation came after {:.6} s",
            last as f64 / 1e9
        );
        return Err(Failure::usage(text));
    }
    if !conversation.rows.iter().any(|row| time.contains(&row.at)) {
        return Err(Failure::usage("nothing was said between --from and --to"));
    }
    let view = View {
        time,
        rows: arguments.rows.get(),
    };
    let Some(file) = &arguments.svg else {
        return Ok(draw_text(conversation, &view, width()));
    };
    let shown = file.display();
    if is_same_file(file, &arguments.capture.whole.file) {
        let text = format!("--svg names the capture {shown} and would write over it; choose another file");
        return Err(Failure::usage(text));
    }
    write(file, draw_svg(conversation, &view).as_bytes())
        .map_err(|error| Failure::work(format!("cannot write {shown}: {error}")))?;
    Ok(String::new())
}

fn nanoseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Terminal width from `COLUMNS`, if standard output is a terminal.
fn width() -> usize {
    let told = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    if io::stdout().is_terminal() {
        told.unwrap_or(WIDTH)
    } else {
        WIDTH
    }
}

/// Returns the selected conversation; the longest one by default.
fn chosen(capture: &Capture, mut all: Vec<Conversation>) -> Result<Conversation, Failure> {
    let count = all.len();
    let index = match capture.conversation {
        Some(number) => number.checked_sub(1).filter(|index| *index < count),
        None => (0..count).max_by_key(|index| (all[*index].rows.len(), usize::MAX - index)),
    };
    let Some(index) = index else {
        let there = match count {
            0 if capture.whole.keys.is_some() => "no SCTP and no TCP that these keys open".to_owned(),
            0 => "no SCTP and no TCP in the clear; --keys FILE opens what is encrypted".to_owned(),
            1 => "one conversation".to_owned(),
            count => format!("{count} conversations; `anabranch trace list` shows them"),
        };
        let file = capture.whole.file.display();
        return Err(Failure::Usage(format!("{file} has {there}")));
    };
    Ok(all.swap_remove(index))
}

/// Reads the conversations of a file, with an error if the file is truncated.
fn read(arguments: &CaptureFile) -> Result<(Vec<Conversation>, Option<Failure>), Failure> {
    let file = &*arguments.file;
    let keys = arguments.keys.as_deref().map(read_keys).transpose()?;
    let mut reader = keys.map_or_else(Segments::default, Segments::opened_by);
    let shown = file.display();
    let source: Box<dyn Read + Send> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let unreadable = |error| Failure::Usage(format!("cannot read {shown}: {error}"));
        let opened = File::open(file).map_err(unreadable)?;
        if opened.metadata().map_err(unreadable)?.is_dir() {
            return Err(unreadable(io::ErrorKind::IsADirectory.into()));
        }
        Box::new(opened)
    };
    let capture = frames(source).map_err(|error| Failure::Usage(format!("{shown}: {error}")))?;
    let segments = (1..)
        .zip(&capture.frames)
        .filter_map(|(number, frame)| reader.read(number, frame));
    let all = conversations(segments.collect());
    let broken = capture.error.map(|error| match all.is_empty() {
        true => Failure::Usage(format!("{shown}: {error}, and nothing to show stands before")),
        false => Failure::Usage(format!("{shown}: {error}; what stands before is shown")),
    });
    Ok((all, broken))
}

fn read_keys(file: &Path) -> Result<KeyLog, Failure> {
    let shown = file.display();
    let text = fs::read_to_string(file);
    let text = text.map_err(|error| Failure::Usage(format!("cannot read {shown}: {error}")))?;
    KeyLog::parse(&text).map_err(|error| Failure::Usage(format!("{shown}: {error}")))
}

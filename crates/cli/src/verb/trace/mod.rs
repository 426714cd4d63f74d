//! What does a capture show? Its conversations, drawn or counted.

mod json;
mod text;

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write as _};
use std::path::Path;

use anabranch_trace::flow::{View, draw_svg, draw_text};
use anabranch_trace::{Conversation, Segment, conversations, frames};

use crate::arguments::{Capture, FlowArguments, TraceVerb};
use crate::failure::Failure;

/// Letters in a line where nobody tells how wide the terminal is.
const WIDTH: usize = 160;

/// Does what is asked of a capture.
pub(crate) fn run(verb: &TraceVerb) -> Result<(), Failure> {
    let text = match verb {
        TraceVerb::List { capture, json } => {
            let all = read(&capture.file)?;
            if *json { json::list(&all) } else { text::list(&all) }
        }
        TraceVerb::Flow(arguments) => return flow(arguments),
        TraceVerb::Gaps { capture, json } => {
            let conversation = chosen(capture)?;
            if *json {
                json::gaps(&conversation)
            } else {
                text::gaps(&conversation)
            }
        }
        TraceVerb::Idle {
            capture,
            longer,
            json,
        } => {
            let conversation = chosen(capture)?;
            let threshold = u64::try_from(longer.as_nanos()).unwrap_or(u64::MAX);
            if *json {
                json::idle(&conversation, threshold)
            } else {
                text::idle(&conversation, threshold)
            }
        }
    };
    print(&text);
    Ok(())
}

fn flow(arguments: &FlowArguments) -> Result<(), Failure> {
    let conversation = chosen(&arguments.capture)?;
    let view = View {
        time: arguments.from.map_or(0, nanoseconds)..arguments.to.map_or(u64::MAX, nanoseconds),
        rows: arguments.rows,
    };
    let Some(file) = &arguments.svg else {
        print(&draw_text(&conversation, &view, width()));
        return Ok(());
    };
    let shown = file.display();
    std::fs::write(file, draw_svg(&conversation, &view))
        .map_err(|error| Failure::work(format!("cannot write {shown}: {error}")))
}

fn nanoseconds(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What the shell says of the terminal, if there is one.
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

/// The conversation asked for; the longest one if none is.
fn chosen(capture: &Capture) -> Result<Conversation, Failure> {
    let mut all = read(&capture.file)?;
    let count = all.len();
    let index = match capture.conversation {
        Some(number) => number.checked_sub(1).filter(|index| *index < count),
        None => (0..count).max_by_key(|index| (all[*index].rows.len(), usize::MAX - index)),
    };
    let Some(index) = index else {
        let there = if count == 0 {
            "no SCTP and no TCP".to_owned()
        } else {
            format!("{count} conversations; `anabranch trace list` shows them")
        };
        let file = capture.file.display();
        return Err(Failure::Usage(format!("{file} has {there}")));
    };
    Ok(all.swap_remove(index))
}

fn read(file: &Path) -> Result<Vec<Conversation>, Failure> {
    let shown = file.display();
    let source: Box<dyn Read + Send> = if file == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let opened =
            File::open(file).map_err(|error| Failure::Usage(format!("cannot read {shown}: {error}")))?;
        Box::new(opened)
    };
    let frames = frames(source).map_err(|error| Failure::Usage(format!("{shown}: {error}")))?;
    let segments = (1..)
        .zip(&frames)
        .filter_map(|(number, frame)| Segment::of(number, frame));
    Ok(conversations(segments.collect()))
}

fn print(text: &str) {
    // A reader that has seen enough is no error.
    let _ = io::stdout().write_all(text.as_bytes());
}

//! Events in a terminal, the newest last. What happened, and when?

use anabranch_dashboard::{Entry, Severity};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;

use super::words::clock;
use super::{Scene, below};
use crate::output::printable;

/// Columns of the time, with a space.
const TIME: u16 = 9;

/// Draws the newest events that there is room for, below a heading.
pub(super) fn draw(area: Rect, buffer: &mut Buffer, scene: &Scene) {
    let mut rows = area.rows();
    let Some(heading) = rows.next() else {
        return;
    };
    let rule = "─".repeat(usize::from(area.width).saturating_sub(7));
    Line::raw(format!("events {rule}")).render(heading, buffer);
    let place = below(area, 1);
    let mut lines: Vec<Line<'_>> = Vec::new();
    for entry in scene.view.events.iter().rev() {
        if lines.len() >= usize::from(place.height) {
            break;
        }
        // From the bottom to the top.
        let style = scene.theme.event(entry.note.severity);
        lines.extend(of_entry(entry, area.width, style).into_iter().rev());
    }
    lines.truncate(place.height.into());
    for (line, row) in lines.into_iter().rev().zip(place.rows()) {
        line.render(row, buffer);
    }
}

/// The lines of an event.
fn of_entry(entry: &Entry, width: u16, style: Style) -> Vec<Line<'static>> {
    let word = match entry.note.severity {
        Severity::Warning => "warning: ",
        Severity::Error => "error: ",
        _ => "",
    };
    let text = format!("{word}{}", printable(&entry.note.text));
    let lines = wrapped(&text, width.saturating_sub(TIME)).into_iter();
    let lines = lines.enumerate().map(|(at, line)| {
        let time = match at {
            0 => clock(entry.at),
            _ => String::new(),
        };
        let width = usize::from(TIME) - 1;
        Line::from(vec![
            Span::raw(format!("{time:<width$} ")),
            Span::styled(line, style),
        ])
    });
    lines.collect()
}

/// A text in lines of this width at most, broken at spaces where there are any.
pub(super) fn wrapped(text: &str, width: u16) -> Vec<String> {
    let width = usize::from(width).max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        let length = Span::raw(word.trim_end()).width();
        if used > 0 && used + length > width {
            lines.push(String::new());
            used = 0;
        }
        for letter in word.chars() {
            let letter_width = Span::raw(letter.to_string()).width();
            // A space at the end of a line is not seen.
            if used + letter_width > width {
                if letter == ' ' {
                    continue;
                }
                lines.push(String::new());
                used = 0;
            }
            if let Some(line) = lines.last_mut() {
                line.push(letter);
            }
            used += letter_width;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_at_spaces_and_long_words_within() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrapped("a 漢字漢字", 4), ["a ", "漢字", "漢字"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("ab", 0), ["a", "b"]);
    }
}

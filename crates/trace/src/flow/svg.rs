//! Flow graph as a self-contained SVG.
//!
//! Hovering over an acknowledgement highlights the segments that it covers; hovering over a segment highlights its
//! first acknowledgement. The labels name the same frames, for print.

use core::fmt::Write as _;
use std::collections::BTreeMap;

use super::{View, covers, headline, seconds};
use crate::conversation::{Conversation, Direction, Row};

/// Width of a path's column and of a character, and left edge of labels, in pixels.
const PATH_WIDTH: usize = 150;
const LETTER: f64 = 6.7;
const LABELS: usize = 90;
/// Distance of two rows at the same time, and the maximum that elapsed time adds, in pixels.
const STEP: f64 = 17.0;
const LONGEST_PAUSE: f64 = 90.0;
/// Letters of a line of a label: the arrows begin at the left of a screen, however much a SACK reports.
const WIDEST: usize = 60;
/// Distance of two lines of a label.
const LINE: f64 = 13.0;

const STYLE: &str = "text{font:11px ui-monospace,monospace;fill:#222}.time{fill:#777}\
.life{stroke:#bbb}.forward{stroke:#1f5fa8}.reverse{stroke:#a3541c}.retransmission{stroke-dasharray:5 3}\
.row line.arrow{stroke-width:1.3}.row:hover text{font-weight:bold}\
.hit line.arrow{stroke:#c1121f;stroke-width:3}.hit text{fill:#c1121f}.head{font-size:13px;font-weight:bold}";

const SCRIPT: &str = "for(const row of document.querySelectorAll('.row')){\
const mark=on=>{for(const n of row.dataset.with.split(' ').filter(Boolean))\
document.getElementById('f'+n)?.classList.toggle('hit',on)};\
row.addEventListener('mouseenter',()=>mark(true));row.addEventListener('mouseleave',()=>mark(false))}";

/// Draws the part of `conversation` in `view`. The output is deterministic.
#[must_use]
pub fn draw(conversation: &Conversation, view: &View) -> String {
    let (rows, wanted) = view.of(conversation);
    let picture = Picture::of(conversation, rows);
    let heights = picture.heights(rows);
    let last_label = rows.last().map_or(0.0, |row| picture.label_height(row));
    let bottom = heights.last().copied().unwrap_or(60.0) + last_label + 30.0;
    let mut svg = picture.head(bottom);
    for (row, height) in rows.iter().zip(&heights) {
        picture.row(&mut svg, row, *height);
    }
    if wanted > rows.len() {
        text(
            &mut svg,
            "time",
            (10.0, bottom - 8.0),
            &format!("{} rows more", wanted - rows.len()),
        );
    }
    let _ = write!(svg, "<script>//<![CDATA[\n{SCRIPT}\n//]]></script></svg>\n");
    svg
}

/// Maps each frame to the first frame that acknowledges part of it.
fn covered_by(conversation: &Conversation) -> BTreeMap<usize, usize> {
    let mut covered_by = BTreeMap::new();
    for row in &conversation.rows {
        for place in row
            .acknowledges
            .iter()
            .flat_map(|acknowledged| &acknowledged.covers)
        {
            covered_by
                .entry(conversation.rows[*place].number)
                .or_insert(row.number);
        }
    }
    covered_by
}

/// The lines of a label, which break between words.
fn lines(label: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let length = |text: &str| text.chars().count();
    for word in label.split(' ') {
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(word) <= WIDEST => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

struct Picture<'a> {
    conversation: &'a Conversation,
    covered_by: BTreeMap<usize, usize>,
    /// Left and right edge of the paths' columns.
    paths_start: usize,
    paths_end: usize,
    width: usize,
}

impl<'a> Picture<'a> {
    /// Lays out columns as wide as the labels of `rows` need.
    fn of(conversation: &'a Conversation, rows: &[Row]) -> Self {
        let mut picture = Self {
            conversation,
            covered_by: covered_by(conversation),
            paths_start: 0,
            paths_end: 0,
            width: 0,
        };
        let longest = |direction| {
            let rows = rows.iter().filter(|row| row.direction == direction);
            let lines = rows.flat_map(|row| lines(&picture.label(row)));
            let letters = lines.map(|line| line.chars().count()).max();
            (letters.unwrap_or(0).clamp(20, WIDEST) as f64 * LETTER) as usize
        };
        let (forward, reverse) = (longest(Direction::Forward), longest(Direction::Reverse));
        picture.paths_start = LABELS + forward + 10;
        picture.paths_end = picture.paths_start + conversation.paths.len() * PATH_WIDTH;
        picture.width = picture.paths_end + reverse + 20;
        picture
    }

    /// Vertical position of each row: proportional to time within limits, and below the label of the row before.
    fn heights(&self, rows: &[Row]) -> Vec<f64> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Vec::new();
        };
        let duration = (last.at - first.at).max(1) as f64;
        let pixels_per_nanosecond = rows.len() as f64 * STEP / duration;
        let (mut height, mut label) = (70.0, 0.0);
        let mut before = first.at;
        rows.iter()
            .map(|row| {
                let pause = (row.at - before) as f64 * pixels_per_nanosecond;
                height += STEP + pause.min(LONGEST_PAUSE).max(label);
                label = self.label_height(row);
                before = row.at;
                height
            })
            .collect()
    }

    /// Height of the lines of a label below the first.
    fn label_height(&self, row: &Row) -> f64 {
        (lines(&self.label(row)).len() - 1) as f64 * LINE
    }

    /// Horizontal positions of a path's two lifelines.
    fn path(&self, path: usize) -> (f64, f64) {
        let left = (self.paths_start + path * PATH_WIDTH) as f64;
        (left + 15.0, left + PATH_WIDTH as f64 - 15.0)
    }

    fn head(&self, bottom: f64) -> String {
        let width = self.width;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {bottom:.0}\" width=\"{width}\" \
             height=\"{bottom:.0}\"><style>{STYLE}</style><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\
             <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
             orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"context-stroke\"/></marker></defs>"
        );
        text(&mut svg, "head", (10.0, 20.0), &headline(self.conversation));
        for (number, (near, far)) in self.conversation.paths.iter().enumerate() {
            let (left, right) = self.path(number);
            text(&mut svg, "time", (left - 5.0, 42.0), &near.to_string());
            text(&mut svg, "time", (left - 5.0, 56.0), &format!("↔ {far}"));
            for x in [left, right] {
                let _ = write!(
                    svg,
                    "<line class=\"life\" x1=\"{x}\" x2=\"{x}\" y1=\"64\" y2=\"{:.0}\"/>",
                    bottom - 20.0
                );
            }
        }
        svg
    }

    fn row(&self, svg: &mut String, row: &Row, height: f64) {
        let (left, right) = self.path(row.path);
        let (class, start, end) = match row.direction {
            Direction::Forward => ("forward", left, right),
            Direction::Reverse => ("reverse", right, left),
        };
        let again = if row.retransmission { " retransmission" } else { "" };
        let _ = write!(
            svg,
            "<g class=\"row\" id=\"f{}\" data-with=\"{}\"><line class=\"arrow {class}{again}\" x1=\"{start}\" \
             x2=\"{end}\" y1=\"{height:.1}\" y2=\"{height:.1}\" marker-end=\"url(#tip)\"/>",
            row.number,
            self.partners(row),
        );
        let below = height + 4.0;
        text(svg, "time", (10.0, below), &seconds(row.at));
        let place = match row.direction {
            Direction::Forward => LABELS as f64,
            Direction::Reverse => self.paths_end as f64 + 10.0,
        };
        for (number, line) in lines(&self.label(row)).iter().enumerate() {
            text(svg, "", (place, below + number as f64 * LINE), line);
        }
        *svg += "</g>\n";
    }

    fn label(&self, row: &Row) -> String {
        let mut label = format!("#{} {}", row.number, row.label);
        if row.retransmission {
            label += " (retransmission)";
        }
        if let Some(covers) = covers(self.conversation, row) {
            label += ", ";
            label += &covers;
        }
        if let Some(number) = self.covered_by.get(&row.number) {
            label += &format!(" ✓#{number}");
        }
        label
    }

    /// Frames to highlight together with this one.
    fn partners(&self, row: &Row) -> String {
        let covers = row
            .acknowledges
            .iter()
            .flat_map(|acknowledged| &acknowledged.covers);
        let covered = covers.map(|place| self.conversation.rows[*place].number);
        let all = covered.chain(self.covered_by.get(&row.number).copied());
        all.map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
    }
}

fn text(svg: &mut String, class: &str, (x, y): (f64, f64), said: &str) {
    let escaped = said
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let _ = write!(
        svg,
        "<text class=\"{class}\" x=\"{x:.0}\" y=\"{y:.1}\">{escaped}</text>"
    );
}

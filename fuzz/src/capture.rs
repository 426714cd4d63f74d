//! Fuzz target `capture`. Can a file make the capture reader panic, or its drawings exceed a multiple of its size?

use anabranch_trace::flow::{View, draw_svg, draw_text};
use anabranch_trace::gaps::Histogram;
use anabranch_trace::idle::idle;
use anabranch_trace::{Direction, Segment, Segments, conversations, frames};

/// Maximum bytes of drawings per byte of the capture, beside a constant.
const MAX_DRAWN: usize = 2_000;

/// Reads `bytes` as a capture, and runs all analyses and drawings on it.
///
/// # Panics
///
/// If anything panics, or a drawing is too large for its capture.
pub fn exercise(bytes: &[u8]) {
    let capture = match frames(bytes) {
        Ok(capture) => capture,
        Err(error) => {
            let _ = error.to_string();
            return;
        }
    };
    let _ = capture.error.map(|error| error.to_string());
    let mut reader = Segments::default();
    let segments = (1..)
        .zip(&capture.frames)
        .filter_map(|(number, frame)| reader.read(number, frame));
    let segments: Vec<Segment> = segments.collect();
    let count = segments.len();
    let conversations = conversations(segments);
    let rows: usize = conversations
        .iter()
        .map(|conversation| conversation.rows.len())
        .sum();
    assert_eq!(rows, count, "every segment belongs to one conversation");
    for conversation in &conversations {
        for direction in [Direction::Forward, Direction::Reverse] {
            let _ = Histogram::of(conversation, direction);
        }
        let _ = (
            conversation.bytes(),
            idle(conversation, conversation.duration() / 3),
        );
        let view = View::default();
        let drawn = draw_text(conversation, &view, 120).len() + draw_svg(conversation, &view).len();
        assert!(drawn <= 10_000 + MAX_DRAWN * bytes.len(), "{drawn} bytes drawn");
    }
}

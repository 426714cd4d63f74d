//! Vector shapes. What is a drawing made of? Strokes, areas and texts, in groups that a page can style and ask for notes.

use crate::palette::{COLOURS, GRID, MUTED, NEUTRAL, PAPER, Shade};

/// A drawing, in pixels from the upper left corner.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawing {
    pub(crate) title: String,
    pub(crate) width: f32,
    pub(crate) height: f32,
    pub(crate) shapes: Vec<Shape>,
}

/// A place.
pub(crate) type Place = (f32, f32);

/// A part of a drawing.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Shape {
    /// A polygon or a line from place to place.
    Path(Path),
    /// A circle.
    Circle {
        centre: Place,
        radius: f32,
        fill: Ink,
        stroke: Option<Pen>,
    },
    /// A text.
    Text(Text),
    /// Shapes that belong together.
    Group(Group),
}

/// A line from place to place, or the area within it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Path {
    pub(crate) places: Vec<Place>,
    pub(crate) is_closed: bool,
    pub(crate) fill: Option<Ink>,
    pub(crate) stroke: Option<Pen>,
}

impl Path {
    /// A line.
    pub(crate) fn line(places: Vec<Place>, pen: Pen) -> Shape {
        Shape::Path(Self {
            places,
            is_closed: false,
            fill: None,
            stroke: Some(pen),
        })
    }
}

/// What a line is drawn with.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Pen {
    pub(crate) ink: Ink,
    pub(crate) width: f32,
    /// Lengths of pieces and gaps in turn; without gaps if empty.
    pub(crate) dashes: &'static [f32],
}

impl Pen {
    pub(crate) const fn new(ink: Ink, width: f32) -> Self {
        Self {
            ink,
            width,
            dashes: &[],
        }
    }
}

/// A text in one line.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Text {
    pub(crate) said: String,
    /// Where its baseline begins, is in the middle, or ends.
    pub(crate) at: Place,
    pub(crate) anchor: Anchor,
    pub(crate) size: f32,
    pub(crate) is_strong: bool,
    pub(crate) ink: Ink,
}

/// Which part of a text is at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Shapes that belong together.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Group {
    /// What they are.
    pub(crate) role: Role,
    /// What pointing at them tells; empty for nothing.
    pub(crate) tooltip: String,
    pub(crate) shapes: Vec<Shape>,
}

/// What a group is, for the style and the script of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Series number so of the chart.
    Series(usize),
    /// A spot of a line.
    Point,
    /// The entry of line number so in the legend.
    Entry(usize),
}

/// A colour by what it is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ink {
    Neutral,
    Muted,
    Grid,
    Paper,
    Slot(usize),
    /// Nothing to see, but something to point at.
    Clear,
}

impl Ink {
    pub(crate) const fn shade(self) -> Option<Shade> {
        match self {
            Self::Neutral => Some(NEUTRAL),
            Self::Muted => Some(MUTED),
            Self::Grid => Some(GRID),
            Self::Paper => Some(PAPER),
            Self::Slot(slot) => Some(COLOURS[slot % COLOURS.len()]),
            Self::Clear => None,
        }
    }
}

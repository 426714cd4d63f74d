//! Vector shapes. What does a drawing consist of? Lines, areas and texts, in groups that a page can style and give
//! tooltips.

use crate::palette::{COLOURS, GRID, MUTED, NEUTRAL, PAPER, Shade};

/// A drawing; coordinates are pixels from the upper left corner.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawing {
    pub(crate) title: String,
    pub(crate) width: f32,
    pub(crate) height: f32,
    pub(crate) shapes: Vec<Shape>,
}

/// A position.
pub(crate) type Place = (f32, f32);

/// An element of a drawing.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Shape {
    /// A polygon or polyline.
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
    /// A group of shapes.
    Group(Group),
}

/// A polyline, or the polygon that it encloses.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Path {
    pub(crate) places: Vec<Place>,
    pub(crate) is_closed: bool,
    pub(crate) fill: Option<Ink>,
    pub(crate) stroke: Option<Pen>,
}

impl Path {
    /// Creates an open polyline.
    pub(crate) fn line(places: Vec<Place>, pen: Pen) -> Shape {
        Shape::Path(Self {
            places,
            is_closed: false,
            fill: None,
            stroke: Some(pen),
        })
    }
}

/// Stroke style of a line.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Pen {
    pub(crate) ink: Ink,
    pub(crate) width: f32,
    /// Alternating lengths of dashes and gaps; empty for a solid line.
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

/// A single line of text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Text {
    pub(crate) said: String,
    /// Which part of the baseline is at the position: its start, middle or end.
    pub(crate) at: Place,
    pub(crate) anchor: Anchor,
    pub(crate) size: f32,
    pub(crate) is_strong: bool,
    pub(crate) ink: Ink,
}

/// Which part of a text is at its position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A group of shapes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Group {
    /// Role of the group.
    pub(crate) role: Role,
    /// Tooltip text; empty for none.
    pub(crate) tooltip: String,
    pub(crate) shapes: Vec<Shape>,
}

/// Role of a group, used by the style sheet and script of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// The series with this index.
    Series(usize),
    /// A point of a series.
    Point,
    /// The legend entry of the series with this index.
    Entry(usize),
}

/// A colour by its purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ink {
    Neutral,
    Muted,
    Grid,
    Paper,
    Slot(usize),
    /// Transparent, but reacts to the pointer.
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

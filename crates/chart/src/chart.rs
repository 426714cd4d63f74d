//! Chart data: series of points, each with its line style. What is drawn?

use crate::axis::Axis;

/// A chart.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// What it shows, for those who cannot see it.
    pub title: String,
    /// What is written above it; empty for nothing.
    pub heading: String,
    /// The axis to the right.
    pub x: Axis,
    /// The axis upwards.
    pub y: Axis,
    /// The lines, the first one lowest.
    pub series: Vec<Series>,
    /// Whether a legend stands beside the data; where the words of an axis name the lines, it need not.
    pub has_legend: bool,
}

/// A line.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How it looks.
    pub style: Style,
    /// Where it goes, from left to right.
    pub points: Vec<Point>,
}

impl Series {
    /// How wide it is drawn, in pixels.
    pub(crate) const fn width(&self) -> f32 {
        if self.style.wide { 2.8 } else { 1.7 }
    }
}

/// A place on a line.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Where to the right; the number of the word on an axis of words.
    pub x: f64,
    /// How high.
    pub y: f64,
    /// The ends of the error bar, if there is one.
    pub range: Option<(f64, f64)>,
    /// What pointing at it tells; empty for nothing.
    pub tooltip: String,
}

/// How a line looks. Lines differ in more than colour, so that they can be told apart without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Its colour.
    pub colour: Colour,
    /// How it is drawn from spot to spot.
    pub stroke: Stroke,
    /// What stands at each spot.
    pub marker: Option<Marker>,
    /// Whether markers are empty inside.
    pub hollow: bool,
    /// Whether it is drawn wide, so that another one on top of it leaves its edges to be seen.
    pub wide: bool,
}

/// The colour of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colour {
    /// One of the palette, which begins again after its last.
    Slot(usize),
    /// That of texts: for what the others are held against.
    Neutral,
}

/// How a line goes from spot to spot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stroke {
    /// Without gaps.
    Solid,
    /// With gaps.
    Dashed,
    /// Mostly gaps.
    Dotted,
    /// Long pieces and dots.
    DashDotted,
    /// Not at all: its spots have nothing between them.
    None,
}

/// What stands at a spot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marker {
    /// ●
    Circle,
    /// ■
    Square,
    /// ▲
    Triangle,
    /// ◆
    Diamond,
    /// ▼
    InvertedTriangle,
    /// ✕
    Cross,
}

impl Marker {
    /// All of them, those that differ most first.
    pub const ALL: [Self; 6] = [
        Self::Circle,
        Self::Square,
        Self::Triangle,
        Self::Diamond,
        Self::InvertedTriangle,
        Self::Cross,
    ];
}

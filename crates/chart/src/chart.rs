//! Chart data: series of points, each with its line style. What is drawn?

use crate::axis::Axis;

/// A chart.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// Text alternative for readers who cannot see the chart.
    pub title: String,
    /// Heading above the chart; empty for none.
    pub heading: String,
    /// Horizontal axis (x).
    pub x: Axis,
    /// Vertical axis (y).
    pub y: Axis,
    /// Series in drawing order, the bottom one first.
    pub series: Vec<Series>,
    /// Whether a legend is drawn next to the data. It is unnecessary if the categories of an axis name the series.
    pub has_legend: bool,
}

/// A series, drawn as a line.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Line style.
    pub style: Style,
    /// Points from left to right.
    pub points: Vec<Point>,
}

impl Series {
    /// Returns the stroke width in pixels.
    pub(crate) const fn width(&self) -> f32 {
        if self.style.wide { 2.8 } else { 1.7 }
    }
}

/// A point of a series.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// X coordinate; the index of the category on a category axis.
    pub x: f64,
    /// Y coordinate.
    pub y: f64,
    /// Ends of the error bar, if any.
    pub range: Option<(f64, f64)>,
    /// Tooltip text; empty for none.
    pub tooltip: String,
}

/// Line style of a series. Styles differ in more than colour, so that lines can be distinguished without it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Colour of the line and its markers.
    pub colour: Colour,
    /// How the line is drawn between points.
    pub stroke: Stroke,
    /// Marker at each point.
    pub marker: Option<Marker>,
    /// Whether markers are hollow.
    pub hollow: bool,
    /// Whether the line is wide, so that its edges stay visible under another line.
    pub wide: bool,
}

/// Colour of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colour {
    /// A palette colour; indices wrap around at the end of the palette.
    Slot(usize),
    /// The text colour, for reference lines.
    Neutral,
}

/// Stroke pattern of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stroke {
    /// Solid.
    Solid,
    /// Dashed.
    Dashed,
    /// Dotted.
    Dotted,
    /// Alternating dashes and dots.
    DashDotted,
    /// No line: only the points are drawn.
    None,
}

/// Marker at a point.
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
    /// All markers, ordered so that the first ones differ most.
    pub const ALL: [Self; 6] = [
        Self::Circle,
        Self::Square,
        Self::Triangle,
        Self::Diamond,
        Self::InvertedTriangle,
        Self::Cross,
    ];
}

//! Legend. Which line is which series? A list to the right of the data shows each series' line, marker and name.

use crate::chart::{Chart, Colour, Marker, Series, Stroke, Style};
use crate::draw::shown;
use crate::font::{Font, wrapped_anywhere};
use crate::shape::{Anchor, Group, Ink, Path, Pen, Place, Role, Shape, Text};

const SIZE: f32 = 12.0;
/// Length of a line sample, and the gap between the sample and the name.
const SAMPLE: f32 = 30.0;
const GAP: f32 = 8.0;
/// Width of the widest usual sans-serif font, as a multiple of that of ours.
const WIDER: f32 = 1.2;
/// Maximum length of a name before it is wrapped.
const LONGEST: f32 = 195.0;
const LINE_HEIGHT: f32 = 15.0;
const ENTRY_GAP: f32 = 7.0;

/// The entries with their wrapped names, and the size of the legend.
pub(crate) struct Legend {
    entries: Vec<Vec<String>>,
    pub(crate) width: f32,
    pub(crate) height: f32,
}

impl Legend {
    pub(crate) fn of(chart: &Chart) -> Self {
        let font = Font::new(SIZE, false);
        let names = shown(chart)
            .iter()
            .map(|series| wrapped_anywhere(&font, &series.name, LONGEST));
        let entries: Vec<Vec<String>> = names.collect();
        let longest = entries
            .iter()
            .flatten()
            .map(|name| font.length(name))
            .fold(0.0, f32::max);
        let lines: usize = entries.iter().map(Vec::len).sum();
        Self {
            // A browser that lacks the font may take one that is wider, such as DejaVu Sans.
            width: SAMPLE + GAP + longest * WIDER,
            height: lines as f32 * LINE_HEIGHT + entries.len() as f32 * ENTRY_GAP,
            entries,
        }
    }

    /// Draws the legend with its upper left corner at `at`.
    pub(crate) fn draw(&self, all_series: &[Series], at: Place) -> Vec<Shape> {
        let mut y = at.1 + LINE_HEIGHT - 4.0;
        let mut shapes = Vec::new();
        for (number, (series, names)) in all_series.iter().zip(&self.entries).enumerate() {
            let (left, right) = ((at.0, y - 4.0), (at.0 + SAMPLE, y - 4.0));
            let mut entry: Vec<Shape> = stroke(&series.style, vec![left, right], series.width())
                .into_iter()
                .collect();
            entry.extend(marker(
                &series.style,
                (at.0 + SAMPLE / 2.0, y - 4.0),
                series.width() + 2.4,
            ));
            for name in names {
                entry.push(Shape::Text(Text {
                    said: name.clone(),
                    at: (at.0 + SAMPLE + GAP, y),
                    anchor: Anchor::Start,
                    size: SIZE,
                    is_strong: false,
                    ink: Ink::Neutral,
                }));
                y += LINE_HEIGHT;
            }
            y += ENTRY_GAP;
            shapes.push(Shape::Group(Group {
                role: Role::Entry(number),
                tooltip: String::new(),
                shapes: entry,
            }));
        }
        shapes
    }
}

pub(crate) const fn ink(colour: Colour) -> Ink {
    match colour {
        Colour::Slot(slot) => Ink::Slot(slot),
        Colour::Neutral => Ink::Neutral,
    }
}

/// Draws the line through the given points; `None` if the style has no line.
pub(crate) fn stroke(style: &Style, places: Vec<Place>, width: f32) -> Option<Shape> {
    let dashes: &'static [f32] = match style.stroke {
        Stroke::Solid => &[],
        Stroke::Dashed => &[7.0, 4.0],
        Stroke::Dotted => &[2.0, 3.0],
        Stroke::DashDotted => &[9.0, 3.0, 2.0, 3.0],
        Stroke::None => return None,
    };
    let pen = Pen {
        ink: ink(style.colour),
        width,
        dashes,
    };
    Some(Path::line(places, pen))
}

/// Draws the marker at `at`, with a size of about `radius` in each direction.
pub(crate) fn marker(style: &Style, at: Place, radius: f32) -> Option<Shape> {
    let ink = ink(style.colour);
    let pen = Pen::new(ink, 1.5);
    let fill = if style.hollow { Ink::Paper } else { ink };
    let polygon = |places: &[Place]| {
        let place = |(x, y): &Place| (at.0 + x * radius, at.1 + y * radius);
        Shape::Path(Path {
            places: places.iter().map(place).collect(),
            is_closed: true,
            fill: Some(fill),
            stroke: Some(pen.clone()),
        })
    };
    Some(match style.marker? {
        Marker::Circle => Shape::Circle {
            centre: at,
            radius: radius * 0.9,
            fill,
            stroke: Some(pen),
        },
        Marker::Square => polygon(&[(-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)]),
        Marker::Triangle => polygon(&[(0.0, -1.1), (1.0, 0.8), (-1.0, 0.8)]),
        Marker::Diamond => polygon(&[(0.0, -1.15), (1.0, 0.0), (0.0, 1.15), (-1.0, 0.0)]),
        Marker::InvertedTriangle => polygon(&[(0.0, 1.1), (1.0, -0.8), (-1.0, -0.8)]),
        // A single path through the centre, so that the cross is one shape.
        Marker::Cross => Path::line(
            [(-0.8, -0.8), (0.8, 0.8), (0.0, 0.0), (-0.8, 0.8), (0.8, -0.8)]
                .map(|(x, y)| (at.0 + x * radius, at.1 + y * radius))
                .to_vec(),
            Pen::new(ink, 2.0),
        ),
    })
}

//! Chart layout. Where is each element drawn? Axes with labels, the data between them, and the legend to the right.

use crate::axis::{Axis, Ruler, Scale, Spacing, Tick};
use crate::chart::{Chart, Point, Series};
use crate::font::{Font, wrapped};
use crate::legend::{self, Legend};
use crate::shape::{Anchor, Drawing, Group, Ink, Path, Pen, Place, Role, Shape, Text};

const WIDTH: f32 = 880.0;
const HEIGHT: f32 = 430.0;
const TICK_SIZE: f32 = 12.0;
const LABEL_SIZE: f32 = 13.0;
/// Pointer radius around a point within which its tooltip appears.
const REACH: f32 = 9.0;
const BEHIND_LEGEND: f32 = 12.0;
/// Number of points up to which a line has a marker at each, and distance of markers on lines with more.
const FEW: usize = 40;
const MARKERS_APART: f32 = 80.0;

impl Chart {
    /// Draws the chart.
    #[must_use]
    pub fn draw(&self) -> Drawing {
        let legend = Legend::of(self);
        let plot = Plot::of(self, &legend);
        let mut shapes = plot.frame(self);
        let drawn = self
            .below_first()
            .into_iter()
            .map(|number| plot.series(self, number));
        shapes.extend(drawn);
        shapes.extend(legend.draw(shown(self), (plot.right + 24.0, plot.top)));
        Drawing {
            title: self.title.clone(),
            width: WIDTH,
            height: plot.height,
            shapes,
        }
    }

    /// Draws only the series, as a small preview of the chart.
    #[must_use]
    pub fn thumbnail(&self) -> Drawing {
        let (width, height) = (220.0, 120.0);
        let edges = Edges {
            left: 4.0,
            right: width - 6.0,
            top: 6.0,
            bottom: height - 5.0,
        };
        let plot = Plot::within(self, &edges, height);
        let corners = vec![
            (edges.left, 2.0),
            (edges.left, edges.bottom),
            (width - 2.0, edges.bottom),
        ];
        let mut shapes = vec![Path::line(corners, Pen::new(Ink::Muted, 1.0))];
        for number in self.below_first() {
            let series = &self.series[number];
            let places: Vec<Place> = plot.places(self, number).map(|(_, place)| place).collect();
            shapes.extend(legend::stroke(&series.style, places.clone(), 1.6));
            let marked = plot.marked(self, number, &places);
            let places = places.iter().zip(marked).filter(|(_, is_marked)| *is_marked);
            shapes.extend(places.filter_map(|(place, _)| legend::marker(&series.style, *place, 2.4)));
        }
        Drawing {
            title: self.title.clone(),
            width,
            height,
            shapes,
        }
    }

    /// Returns the series indices in drawing order: series without markers first, then hollow markers, then filled
    /// ones, so that reference lines do not cover the others. Ties keep their order.
    fn below_first(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..self.series.len()).collect();
        numbers.sort_by_key(|number| {
            let style = &self.series[*number].style;
            (style.marker.is_some(), !style.hollow)
        });
        numbers
    }

    fn ys(&self) -> Vec<f64> {
        let points = self.series.iter().flat_map(|series| &series.points);
        let values = points.flat_map(|point| {
            let range = point.range.into_iter().flat_map(|(low, high)| [low, high]);
            range.chain([point.y])
        });
        values.collect()
    }

    fn xs(&self) -> Vec<f64> {
        let points = self.series.iter().flat_map(|series| &series.points);
        points.map(|point| point.x).collect()
    }
}

/// Bounds of the plot area.
struct Edges {
    left: f32,
    right: f32,
    top: f32,
    bottom: f32,
}

/// The plot area of a chart with its axes.
struct Plot {
    left: f32,
    right: f32,
    top: f32,
    bottom: f32,
    /// Height of the whole drawing.
    height: f32,
    x: (Ruler, Vec<Tick>),
    y: (Ruler, Vec<Tick>),
}

impl Plot {
    fn of(chart: &Chart, legend: &Legend) -> Self {
        let heading = if chart.heading.is_empty() { 0.0 } else { 22.0 };
        let top = heading + if chart.y.label.is_empty() { 16.0 } else { 38.0 };
        let below = 52.0 + 14.0 * (chart.max_lines_of_a_word() - 1) as f32;
        let height = HEIGHT.max(top + legend.height + 12.0);
        let bottom = height - below;
        let right = WIDTH
            - BEHIND_LEGEND
            - if chart.has_legend {
                legend.width + 24.0
            } else {
                0.0
            };
        let font = Font::new(TICK_SIZE, false);
        let (_, ticks) = chart.y.upwards(&chart.ys(), (bottom, top), UPWARDS);
        let widest = ticks
            .iter()
            .map(|tick| font.length(&tick.label))
            .fold(0.0, f32::max);
        let edges = Edges {
            left: widest * 1.05 + 18.0,
            right,
            top,
            bottom,
        };
        Self::within(chart, &edges, height)
    }

    fn within(chart: &Chart, edges: &Edges, height: f32) -> Self {
        // Keep markers at the ends clear of the axes.
        let inside = match chart.x.scale {
            Scale::Words(_) => 0.0,
            Scale::Linear | Scale::Log => (edges.right - edges.left) * 0.012,
        };
        let ends = (edges.left + inside, edges.right - inside);
        Self {
            left: edges.left,
            right: edges.right,
            top: edges.top,
            bottom: edges.bottom,
            height,
            x: chart.x.rightwards(&chart.xs(), ends, RIGHTWARDS),
            y: chart.y.upwards(&chart.ys(), (edges.bottom, edges.top), UPWARDS),
        }
    }

    /// Draws everything except the data: grid, axes, ticks and labels.
    fn frame(&self, chart: &Chart) -> Vec<Shape> {
        let mut shapes = Vec::new();
        if !chart.heading.is_empty() {
            let heading = text(
                &chart.heading,
                (4.0, 16.0),
                Anchor::Start,
                LABEL_SIZE,
                Ink::Neutral,
            );
            shapes.push(Shape::Text(Text {
                is_strong: true,
                ..heading
            }));
        }
        for tick in &self.y.1 {
            let y = self.y.0.place(tick.value);
            let grid = Pen::new(Ink::Grid, 1.0);
            shapes.push(Path::line(vec![(self.left, y), (self.right, y)], grid));
            let at = (self.left - 8.0, y + 4.0);
            shapes.push(Shape::Text(text(
                &tick.label,
                at,
                Anchor::End,
                TICK_SIZE,
                Ink::Muted,
            )));
        }
        let corner = vec![(self.left, self.bottom), (self.right, self.bottom)];
        shapes.push(Path::line(corner, Pen::new(Ink::Muted, 1.2)));
        let mut lowest = 1;
        for tick in &self.x.1 {
            let x = self.x.0.place(tick.value);
            if !is_of_words(&chart.x) {
                let mark = vec![(x, self.bottom), (x, self.bottom + 5.0)];
                shapes.push(Path::line(mark, Pen::new(Ink::Muted, 1.0)));
            }
            let lines = chart.lines_of_a_word(&tick.label);
            lowest = lowest.max(lines.len());
            for (line, said) in lines.iter().enumerate() {
                let at = (x, self.bottom + 19.0 + 14.0 * line as f32);
                shapes.push(Shape::Text(text(said, at, Anchor::Middle, TICK_SIZE, Ink::Muted)));
            }
        }
        let middle = (
            f32::midpoint(self.left, self.right),
            self.bottom + 26.0 + 14.0 * lowest as f32,
        );
        let below = text(&chart.x.label, middle, Anchor::Middle, LABEL_SIZE, Ink::Neutral);
        let above = text(
            &chart.y.label,
            (4.0, self.top - 18.0),
            Anchor::Start,
            LABEL_SIZE,
            Ink::Neutral,
        );
        shapes.extend([below, above].map(Shape::Text));
        shapes
    }

    /// Returns the drawable points of series `number` with their positions.
    fn places<'l>(&self, chart: &'l Chart, number: usize) -> impl Iterator<Item = (&'l Point, Place)> {
        let ((x, _), (y, _)) = (&self.x, &self.y);
        let aside = self.aside(chart, number);
        let points = chart.series[number].points.iter();
        points
            .filter(|point| x.can_show(point.x) && y.can_show(point.y))
            .map(move |point| (point, (x.place(point.x) + aside, y.place(point.y))))
    }

    /// Horizontal offset of a series on a category axis, so that the series are drawn side by side.
    fn aside(&self, chart: &Chart, number: usize) -> f32 {
        if !is_of_words(&chart.x) || !chart.has_legend {
            return 0.0;
        }
        let count = chart.series.len() as f32;
        let slot = self.x.0.place(1.0) - self.x.0.place(0.0);
        (number as f32 - (count - 1.0) / 2.0) * (slot * 0.7 / count).min(16.0)
    }

    fn series(&self, chart: &Chart, number: usize) -> Shape {
        let series = &chart.series[number];
        let places: Vec<Place> = self.places(chart, number).map(|(_, place)| place).collect();
        let marked = self.marked(chart, number, &places);
        let stroke = legend::stroke(&series.style, places, series.width());
        let mut shapes: Vec<Shape> = stroke.into_iter().collect();
        let points = self.places(chart, number).zip(marked);
        shapes.extend(points.filter_map(|((point, place), is_marked)| {
            let has_marker = is_marked && series.style.marker.is_some();
            let is_shown = has_marker || !point.tooltip.is_empty() || point.range.is_some();
            is_shown.then(|| self.point(series, point, place, has_marker))
        }));
        Shape::Group(Group {
            role: Role::Series(number),
            tooltip: String::new(),
            shapes,
        })
    }

    /// Which points of a series have a marker: of many points, those at some distance from each other. The series begin at
    /// different places, so that their markers do not cover each other.
    fn marked(&self, chart: &Chart, number: usize, places: &[Place]) -> Vec<bool> {
        if places.len() <= FEW {
            return vec![true; places.len()];
        }
        let mut next = self.left + MARKERS_APART * number as f32 / chart.series.len() as f32;
        let marked = places.iter().map(|(x, _)| {
            let is_marked = *x >= next;
            if is_marked {
                next = x + MARKERS_APART;
            }
            is_marked
        });
        marked.collect()
    }

    fn point(&self, series: &Series, point: &Point, place: Place, has_marker: bool) -> Shape {
        let mut shapes = self.error_bar(series, point, place.0);
        if has_marker {
            shapes.extend(legend::marker(&series.style, place, series.width() + 2.4));
        }
        shapes.push(Shape::Circle {
            centre: place,
            radius: REACH,
            fill: Ink::Clear,
            stroke: None,
        });
        Shape::Group(Group {
            role: Role::Point,
            tooltip: point.tooltip.clone(),
            shapes,
        })
    }

    /// Draws the error bar over the range, with caps; empty if it is too short to see.
    fn error_bar(&self, series: &Series, point: &Point, x: f32) -> Vec<Shape> {
        let Some((low, high)) = point.range else {
            return Vec::new();
        };
        // On a logarithmic scale, a range that reaches zero ends at the axis.
        let place = |value: f64| match self.y.0.can_show(value) {
            true => self.y.0.place(value).min(self.bottom),
            false => self.bottom,
        };
        let (low, high) = (place(low), place(high));
        if low - high < 1.0 {
            return Vec::new();
        }
        let pen = Pen::new(legend::ink(series.style.colour), 1.2);
        let cap = |y: f32| Path::line(vec![(x - 3.5, y), (x + 3.5, y)], pen.clone());
        vec![
            Path::line(vec![(x, low), (x, high)], pen.clone()),
            cap(low),
            cap(high),
        ]
    }
}

const UPWARDS: Spacing = Spacing {
    usual: 62.0,
    letter: 0.0,
};
const RIGHTWARDS: Spacing = Spacing {
    usual: 80.0,
    letter: 7.0,
};

const fn is_of_words(axis: &Axis) -> bool {
    matches!(axis.scale, Scale::Words(_))
}

impl Chart {
    /// Returns a tick label, wrapped into lines on a category axis.
    fn lines_of_a_word(&self, label: &str) -> Vec<String> {
        let Scale::Words(words) = &self.x.scale else {
            return vec![label.to_owned()];
        };
        // The width without the legend, shared by all categories.
        let most = 560.0 / words.len().max(1) as f32 - 8.0;
        wrapped(&Font::new(TICK_SIZE, false), label, most.max(40.0))
    }

    fn max_lines_of_a_word(&self) -> usize {
        let Scale::Words(words) = &self.x.scale else {
            return 1;
        };
        let lines = words.iter().map(|word| self.lines_of_a_word(word).len());
        lines.max().unwrap_or(1).max(1)
    }
}

/// Returns the series listed in the legend.
pub(crate) fn shown(chart: &Chart) -> &[Series] {
    if chart.has_legend { &chart.series } else { &[] }
}

fn text(said: &str, at: Place, anchor: Anchor, size: f32, ink: Ink) -> Text {
    Text {
        said: said.to_owned(),
        at,
        anchor,
        size,
        is_strong: false,
        ink,
    }
}

#[cfg(test)]
mod tests;

//! Charts of a result summary, and the styles of their series.
//!
//! Variants differ in colour. If series also differ in their values on other axes, those select marker and dashes; with a
//! single variant, they select the colour. References are dashed and mostly grey.

use anabranch_chart::{Axis, Chart, Colour, Marker, Point, Scale, Series, Stroke, Style};

use super::figure;
use crate::metric::unit_of;
use crate::plan::{FigureScale, Statistic};
use crate::summary::{Panel, PanelPoint, PanelSeries, Plot, PlotSeries, ResultSummary, SeriesOrigin};

/// The charts of a summary.
pub(super) struct Charts {
    /// For each panel: one chart, or one for each combination of values on the other axes.
    pub(super) panels: Vec<Vec<Chart>>,
    /// For each plot.
    pub(super) plots: Vec<Chart>,
}

impl Charts {
    /// All charts, in the order of the page.
    pub(super) fn all(&self) -> impl Iterator<Item = &Chart> {
        self.panels.iter().flatten().chain(&self.plots)
    }
}

/// Maximum number of series in one chart.
const MAX_SERIES: usize = 10;

pub(super) fn of(summary: &ResultSummary) -> Charts {
    Charts {
        panels: summary
            .panels
            .iter()
            .map(|panel| of_panel(summary, panel))
            .collect(),
        plots: summary.plots.iter().map(plot).collect(),
    }
}

fn of_panel(summary: &ResultSummary, panel: &Panel) -> Vec<Chart> {
    if !summary.cells.is_empty() {
        return of_cells(summary, panel);
    }
    let all_series = merged(&panel.series);
    let places = places(&all_series);
    if all_series.len() <= MAX_SERIES || places.len() < 2 {
        return vec![chart(summary, panel, &all_series, "")];
    }
    let facet = |place: &Vec<String>| {
        let own = all_series
            .iter()
            .filter(|series| series.coordinates.is_empty() || series.coordinates == *place);
        let own: Vec<PanelSeries> = own
            .map(|series| PanelSeries {
                coordinates: Vec::new(),
                ..series.clone()
            })
            .collect();
        chart(summary, panel, &own, &place.join(", "))
    };
    places.iter().map(facet).collect()
}

/// For each variant, the cumulative distributions of its ratios to the references over the drawn cells, whose order means nothing.
fn of_cells(summary: &ResultSummary, panel: &Panel) -> Vec<Chart> {
    let is_variant = |series: &&PanelSeries| series.origin == SeriesOrigin::Variant;
    let of_variant = |variant: &PanelSeries| {
        let others = panel.series.iter();
        let others = others.filter(|other| !is_variant(other) && other.coordinates == variant.coordinates);
        let drawn = Plot {
            title: format!("{}: {} of {}", summary.title, panel.metric, name(variant)),
            labels: (
                format!(
                    "{} of {}, divided by that of the reference",
                    panel.metric,
                    name(variant)
                ),
                "share of the cells, up to this ratio".to_owned(),
            ),
            series: others.map(|other| ratios(variant, other)).collect(),
        };
        let chart = plot(&drawn);
        Chart {
            x: Axis {
                scale: Scale::Log,
                ..chart.x
            },
            ..chart
        }
    };
    panel.series.iter().filter(is_variant).map(of_variant).collect()
}

fn ratios(variant: &PanelSeries, other: &PanelSeries) -> PlotSeries {
    let ratio = |point: &PanelPoint| {
        let other = other.points.iter().find(|other| other.x == point.x)?;
        Some(point.value / other.value).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
    };
    let mut ratios: Vec<f64> = variant.points.iter().filter_map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let all = ratios.len() as f64;
    let shares = ratios.iter().zip(1_u32..);
    PlotSeries {
        name: name(other),
        points: shares
            .map(|(ratio, count)| (*ratio, f64::from(count) / all))
            .collect(),
    }
}

/// Merges references that are equal for all values of the other axes.
fn merged(all_series: &[PanelSeries]) -> Vec<PanelSeries> {
    let mut merged: Vec<PanelSeries> = Vec::new();
    let everywhere = places(all_series).len();
    for series in all_series {
        let is_same = |other: &&PanelSeries| other.name == series.name && other.points == series.points;
        let namesakes = || all_series.iter().filter(|other| other.name == series.name);
        let is_everywhere = series.origin != SeriesOrigin::Variant
            && namesakes().count() >= everywhere
            && namesakes().all(|other| is_same(&other));
        if !is_everywhere {
            merged.push(series.clone());
        } else if !merged.iter().any(|other| is_same(&other)) {
            merged.push(PanelSeries {
                coordinates: Vec::new(),
                ..series.clone()
            });
        }
    }
    merged
}

fn places(all_series: &[PanelSeries]) -> Vec<Vec<String>> {
    let mut places: Vec<Vec<String>> = Vec::new();
    for series in all_series.iter().filter(|series| !series.coordinates.is_empty()) {
        if !places.contains(&series.coordinates) {
            places.push(series.coordinates.clone());
        }
    }
    places
}

fn chart(summary: &ResultSummary, panel: &Panel, all_series: &[PanelSeries], heading: &str) -> Chart {
    let is_swept = !summary.x.label.is_empty();
    let words = if is_swept {
        summary.x.words.clone()
    } else {
        all_series.iter().map(name).collect()
    };
    let mut styles = styles(all_series);
    if !words.is_empty() {
        for style in &mut styles {
            style.stroke = Stroke::None;
        }
    }
    distinguish(&mut styles);
    let chart_series = |(number, (series, style)): (usize, (&PanelSeries, Style))| {
        let point = |point: &PanelPoint| Point {
            x: if is_swept { point.x } else { number as f64 },
            y: point.value,
            range: (point.count > 1).then_some((point.low, point.high)),
            tooltip: tooltip(summary, panel, series, point),
        };
        Series {
            name: name(series),
            style,
            points: series.points.iter().map(point).collect(),
        }
    };
    let heading_words = if heading.is_empty() {
        String::new()
    } else {
        format!(", {heading}")
    };
    Chart {
        title: format!("{}: {}{heading_words}", summary.title, panel.metric),
        heading: heading.to_owned(),
        series: all_series
            .iter()
            .zip(styles)
            .enumerate()
            .map(chart_series)
            .collect(),
        has_legend: is_swept,
        x: Axis {
            label: summary.x.label.clone(),
            scale: if words.is_empty() {
                scale(summary.x.scale)
            } else {
                Scale::Words(words)
            },
        },
        y: Axis {
            label: panel.label.clone(),
            scale: scale(panel.scale),
        },
    }
}

const fn scale(scale: FigureScale) -> Scale {
    match scale {
        FigureScale::Linear => Scale::Linear,
        FigureScale::Log => Scale::Log,
    }
}

/// Name of a series with its values on the other axes.
pub(super) fn name(series: &PanelSeries) -> String {
    // No line break between number and unit.
    let place = series
        .coordinates
        .iter()
        .map(|place| place.replace(' ', "\u{a0}"));
    let parts: Vec<String> = [series.name.clone()].into_iter().chain(place).collect();
    parts.join(", ")
}

/// Tooltip of a point.
fn tooltip(summary: &ResultSummary, panel: &Panel, series: &PanelSeries, point: &PanelPoint) -> String {
    let unit = unit_of(&panel.metric);
    let x = summary
        .x
        .words
        .get(point.x as usize)
        .cloned()
        .unwrap_or_else(|| point.x.to_string());
    let at = match summary.x.label.as_str() {
        "" => String::new(),
        label => format!("\n{label}: {x}"),
    };
    let value = format!("{} {unit}", figure(point.value));
    let runs = match (series.origin, point.count) {
        (SeriesOrigin::Formula, _) => String::new(),
        (SeriesOrigin::Paper, _) => "\nfrom the paper".to_owned(),
        (_, 1) => "\none run".to_owned(),
        (_, count) => format!("\n{}, {count} runs", range(summary.statistic, point)),
    };
    format!("{}{at}\n{}{runs}", name(series), value.trim_end())
}

/// The range of a value as text.
pub(super) fn range(statistic: Statistic, point: &PanelPoint) -> String {
    match statistic {
        Statistic::Median => format!("{} to {}", figure(point.low), figure(point.high)),
        Statistic::Mean => format!("± {}", figure((point.high - point.low) / 2.0)),
    }
}

/// Styles of series, distinct while colours, markers and dashes suffice.
fn styles(all_series: &[PanelSeries]) -> Vec<Style> {
    let mut variants: Vec<&str> = Vec::new();
    for series in all_series
        .iter()
        .filter(|series| series.origin == SeriesOrigin::Variant)
    {
        if !variants.contains(&series.name.as_str()) {
            variants.push(&series.name);
        }
    }
    let places = places(all_series);
    let key = Key {
        variants,
        places,
        papers: distinct(all_series, SeriesOrigin::Paper),
        formulas: distinct(all_series, SeriesOrigin::Formula),
    };
    all_series.iter().map(|series| key.style(series)).collect()
}

/// Gives series another marker, filled or hollow, that differ from others in colour and width only: they would look the same in black and
/// white. There are enough markers for twelve series.
fn distinguish(styles: &mut [Style]) {
    let mut looks: Vec<(Stroke, Option<Marker>, bool)> = Vec::new();
    let fills = [false, true];
    let markers = fills
        .iter()
        .flat_map(|hollow| Marker::ALL.map(|marker| (marker, *hollow)));
    for style in styles {
        if looks.contains(&(style.stroke, style.marker, style.hollow)) && style.marker.is_some() {
            let stroke = style.stroke;
            let free = |(marker, hollow): &(Marker, bool)| !looks.contains(&(stroke, Some(*marker), *hollow));
            if let Some((marker, hollow)) = markers.clone().find(free) {
                (style.marker, style.hollow) = (Some(marker), hollow);
            }
        }
        looks.push((style.stroke, style.marker, style.hollow));
    }
}

/// Names of all series of an origin.
fn distinct(all_series: &[PanelSeries], origin: SeriesOrigin) -> Vec<String> {
    all_series
        .iter()
        .filter(|series| series.origin == origin)
        .map(name)
        .collect()
}

/// Properties that determine styles.
struct Key<'l> {
    variants: Vec<&'l str>,
    places: Vec<Vec<String>>,
    papers: Vec<String>,
    formulas: Vec<String>,
}

/// Strokes by values on the other axes.
const STROKES: [Stroke; 3] = [Stroke::Solid, Stroke::DashDotted, Stroke::Dotted];
/// Strokes of formulas.
const FORMULAS: [Stroke; 3] = [Stroke::Dotted, Stroke::DashDotted, Stroke::Dashed];

impl Key<'_> {
    fn style(&self, series: &PanelSeries) -> Style {
        let place = self.places.iter().position(|place| *place == series.coordinates);
        let has_place_colours = self.variants.len() < 2 && place.is_some();
        match series.origin {
            SeriesOrigin::Variant => self.of_variant(series, place.unwrap_or(0)),
            SeriesOrigin::SinglePath => Style {
                colour: match place {
                    Some(place) if has_place_colours => Colour::Slot(place),
                    _ => Colour::Neutral,
                },
                stroke: Stroke::Dashed,
                marker: Some(marker(place.unwrap_or(0))),
                hollow: true,
                wide: false,
            },
            SeriesOrigin::Formula => {
                let number = self.formulas.iter().position(|known| *known == name(series));
                Style {
                    colour: Colour::Neutral,
                    stroke: FORMULAS[number.unwrap_or(0) % FORMULAS.len()],
                    marker: None,
                    hollow: false,
                    wide: false,
                }
            }
            SeriesOrigin::Paper => {
                let number = self.papers.iter().position(|known| *known == name(series));
                let before = self
                    .variants
                    .len()
                    .max(if has_place_colours { self.places.len() } else { 0 });
                Style {
                    colour: Colour::Slot(before + number.unwrap_or(0)),
                    stroke: Stroke::Dashed,
                    marker: Some(marker(before + number.unwrap_or(0))),
                    hollow: true,
                    wide: false,
                }
            }
        }
    }

    fn of_variant(&self, series: &PanelSeries, place: usize) -> Style {
        let variant = self
            .variants
            .iter()
            .position(|name| *name == series.name)
            .unwrap_or(0);
        if self.variants.len() < 2 {
            return Style {
                colour: Colour::Slot(place),
                stroke: Stroke::Solid,
                marker: Some(marker(place)),
                hollow: false,
                wide: place < self.places.len() / 2,
            };
        }
        let is_by_place = self.places.len() > 1;
        Style {
            colour: Colour::Slot(variant),
            stroke: STROKES[place % STROKES.len()],
            marker: Some(marker(if is_by_place { place } else { variant })),
            // More variants than colours.
            hollow: variant >= anabranch_chart::COLOURS.len(),
            // Series drawn on top are narrower, so that those below stay visible.
            wide: variant < self.variants.len() / 2,
        }
    }
}

const fn marker(number: usize) -> Marker {
    Marker::ALL[number % Marker::ALL.len()]
}

fn plot(drawn: &Plot) -> Chart {
    let series = |(number, series): (usize, &PlotSeries)| Series {
        name: series.name.clone(),
        style: Style {
            colour: Colour::Slot(number),
            stroke: if number < anabranch_chart::COLOURS.len() {
                Stroke::Solid
            } else {
                Stroke::Dashed
            },
            // Lines of many points have few markers.
            marker: Some(marker(number)),
            hollow: number / Marker::ALL.len() % 2 == 1,
            wide: false,
        },
        points: series
            .points
            .iter()
            .map(|(x, y)| Point {
                x: *x,
                y: *y,
                range: None,
                tooltip: String::new(),
            })
            .collect(),
    };
    let axis = |label: &String| Axis {
        label: label.clone(),
        scale: Scale::Linear,
    };
    Chart {
        title: drawn.title.clone(),
        heading: String::new(),
        x: axis(&drawn.labels.0),
        y: axis(&drawn.labels.1),
        series: drawn.series.iter().enumerate().map(series).collect(),
        has_legend: true,
    }
}

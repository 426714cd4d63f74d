//! Which charts does an account make, and how do its lines look?
//!
//! Variants have colours. Where lines differ by place on another axis too, the place has the marker and the dashes; where
//! there is only one variant, places have the colours. What lines are held against is dashed and, mostly, without colour.

use anabranch_chart::{Axis, Chart, Colour, Line, Look, Marker, Scale, Spot, Stroke};

use super::figure;
use crate::account::{Account, Drawn, LineOrigin, Panel, PanelLine, PanelSpot};
use crate::metric::unit_of;
use crate::plan::{FigureScale, Statistic};

/// The charts of an account.
pub(super) struct Charts {
    /// For each panel: one chart, or one for each place of the other axes.
    pub(super) panels: Vec<Vec<Chart>>,
    /// For each picture.
    pub(super) pictures: Vec<Chart>,
}

impl Charts {
    /// All of them, in the order of the page.
    pub(super) fn all(&self) -> impl Iterator<Item = &Chart> {
        self.panels.iter().flatten().chain(&self.pictures)
    }
}

/// More lines than these in one chart cannot be told apart.
const MOST_LINES: usize = 10;

pub(super) fn of(account: &Account) -> Charts {
    Charts {
        panels: account
            .panels
            .iter()
            .map(|panel| of_panel(account, panel))
            .collect(),
        pictures: account.pictures.iter().map(picture).collect(),
    }
}

fn of_panel(account: &Account, panel: &Panel) -> Vec<Chart> {
    let lines = merged(&panel.lines);
    let places = places(&lines);
    if lines.len() <= MOST_LINES || places.len() < 2 {
        return vec![chart(account, panel, &lines, "")];
    }
    let facet = |place: &Vec<String>| {
        let own = lines
            .iter()
            .filter(|line| line.place.is_empty() || line.place == *place);
        let own: Vec<PanelLine> = own
            .map(|line| PanelLine {
                place: Vec::new(),
                ..line.clone()
            })
            .collect();
        chart(account, panel, &own, &place.join(", "))
    };
    places.iter().map(facet).collect()
}

/// References that are the same at every place are one.
fn merged(lines: &[PanelLine]) -> Vec<PanelLine> {
    let mut merged: Vec<PanelLine> = Vec::new();
    let everywhere = places(lines).len();
    for line in lines {
        let is_same = |other: &&PanelLine| other.name == line.name && other.spots == line.spots;
        let namesakes = || lines.iter().filter(|other| other.name == line.name);
        let is_everywhere = line.origin != LineOrigin::Variant
            && namesakes().count() >= everywhere
            && namesakes().all(|other| is_same(&other));
        if !is_everywhere {
            merged.push(line.clone());
        } else if !merged.iter().any(|other| is_same(&other)) {
            merged.push(PanelLine {
                place: Vec::new(),
                ..line.clone()
            });
        }
    }
    merged
}

fn places(lines: &[PanelLine]) -> Vec<Vec<String>> {
    let mut places: Vec<Vec<String>> = Vec::new();
    for line in lines.iter().filter(|line| !line.place.is_empty()) {
        if !places.contains(&line.place) {
            places.push(line.place.clone());
        }
    }
    places
}

fn chart(account: &Account, panel: &Panel, lines: &[PanelLine], heading: &str) -> Chart {
    let is_swept = !account.x.label.is_empty();
    let words = if is_swept {
        account.x.words.clone()
    } else {
        lines.iter().map(name).collect()
    };
    let looks = looks(lines);
    let chart_line = |(number, (line, look)): (usize, (&PanelLine, Look))| {
        let spot = |spot: &PanelSpot| Spot {
            x: if is_swept { spot.x } else { number as f64 },
            y: spot.value,
            range: (spot.count > 1).then_some((spot.low, spot.high)),
            note: note(account, panel, line, spot),
        };
        Line {
            name: name(line),
            look: Look {
                stroke: if words.is_empty() {
                    look.stroke
                } else {
                    Stroke::None
                },
                ..look
            },
            spots: line.spots.iter().map(spot).collect(),
        }
    };
    let heading_words = if heading.is_empty() {
        String::new()
    } else {
        format!(", {heading}")
    };
    Chart {
        title: format!("{}: {}{heading_words}", account.title, panel.metric),
        heading: heading.to_owned(),
        lines: lines.iter().zip(looks).enumerate().map(chart_line).collect(),
        has_legend: is_swept,
        x: Axis {
            label: account.x.label.clone(),
            scale: if words.is_empty() {
                scale(account.x.scale)
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

/// The name of a line with its place.
pub(super) fn name(line: &PanelLine) -> String {
    // A place is not broken between its number and its unit.
    let place = line.place.iter().map(|place| place.replace(' ', "\u{a0}"));
    let parts: Vec<String> = [line.name.clone()].into_iter().chain(place).collect();
    parts.join(", ")
}

/// What pointing at a spot tells.
fn note(account: &Account, panel: &Panel, line: &PanelLine, spot: &PanelSpot) -> String {
    let unit = unit_of(&panel.metric);
    let x = account
        .x
        .words
        .get(spot.x as usize)
        .cloned()
        .unwrap_or_else(|| spot.x.to_string());
    let at = match account.x.label.as_str() {
        "" => String::new(),
        label => format!("\n{label}: {x}"),
    };
    let value = format!("{} {unit}", figure(spot.value));
    let runs = match (line.origin, spot.count) {
        (LineOrigin::Formula, _) => String::new(),
        (LineOrigin::Paper, _) => "\nfrom the paper".to_owned(),
        (_, 1) => "\none run".to_owned(),
        (_, count) => format!("\n{}, {count} runs", range(account.statistic, spot)),
    };
    format!("{}{at}\n{}{runs}", name(line), value.trim_end())
}

/// The range of a value, in words.
pub(super) fn range(statistic: Statistic, spot: &PanelSpot) -> String {
    match statistic {
        Statistic::Median => format!("{} to {}", figure(spot.low), figure(spot.high)),
        Statistic::Mean => format!("± {}", figure((spot.high - spot.low) / 2.0)),
    }
}

/// The looks of lines, none of which look alike while there are colours, markers and dashes enough.
fn looks(lines: &[PanelLine]) -> Vec<Look> {
    let mut variants: Vec<&str> = Vec::new();
    for line in lines.iter().filter(|line| line.origin == LineOrigin::Variant) {
        if !variants.contains(&line.name.as_str()) {
            variants.push(&line.name);
        }
    }
    let places = places(lines);
    let key = Key {
        variants,
        places,
        papers: distinct(lines, LineOrigin::Paper),
        formulas: distinct(lines, LineOrigin::Formula),
    };
    lines.iter().map(|line| key.look(line)).collect()
}

/// The names of all lines of an origin.
fn distinct(lines: &[PanelLine], origin: LineOrigin) -> Vec<String> {
    lines
        .iter()
        .filter(|line| line.origin == origin)
        .map(name)
        .collect()
}

/// What lines are told apart by.
struct Key<'l> {
    variants: Vec<&'l str>,
    places: Vec<Vec<String>>,
    papers: Vec<String>,
    formulas: Vec<String>,
}

/// Of places, in their order.
const STROKES: [Stroke; 3] = [Stroke::Solid, Stroke::DashDotted, Stroke::Dotted];
/// Of formulas.
const FORMULAS: [Stroke; 3] = [Stroke::Dotted, Stroke::DashDotted, Stroke::Dashed];

impl Key<'_> {
    fn look(&self, line: &PanelLine) -> Look {
        let place = self.places.iter().position(|place| *place == line.place);
        let has_place_colours = self.variants.len() < 2 && place.is_some();
        match line.origin {
            LineOrigin::Variant => self.of_variant(line, place.unwrap_or(0)),
            LineOrigin::Alone => Look {
                colour: match place {
                    Some(place) if has_place_colours => Colour::Slot(place),
                    _ => Colour::Neutral,
                },
                stroke: Stroke::Dashed,
                marker: Some(marker(place.unwrap_or(0))),
                hollow: true,
                broad: false,
            },
            LineOrigin::Formula => {
                let number = self.formulas.iter().position(|known| *known == name(line));
                Look {
                    colour: Colour::Neutral,
                    stroke: FORMULAS[number.unwrap_or(0) % FORMULAS.len()],
                    marker: None,
                    hollow: false,
                    broad: false,
                }
            }
            LineOrigin::Paper => {
                let number = self.papers.iter().position(|known| *known == name(line));
                let before = self
                    .variants
                    .len()
                    .max(if has_place_colours { self.places.len() } else { 0 });
                Look {
                    colour: Colour::Slot(before + number.unwrap_or(0)),
                    stroke: Stroke::Dashed,
                    marker: Some(marker(before + number.unwrap_or(0))),
                    hollow: true,
                    broad: false,
                }
            }
        }
    }

    fn of_variant(&self, line: &PanelLine, place: usize) -> Look {
        let variant = self
            .variants
            .iter()
            .position(|name| *name == line.name)
            .unwrap_or(0);
        if self.variants.len() < 2 {
            return Look {
                colour: Colour::Slot(place),
                stroke: Stroke::Solid,
                marker: Some(marker(place)),
                hollow: false,
                broad: place < self.places.len() / 2,
            };
        }
        let is_by_place = self.places.len() > 1;
        Look {
            colour: Colour::Slot(variant),
            stroke: STROKES[place % STROKES.len()],
            marker: Some(marker(if is_by_place { place } else { variant })),
            // Beyond the colours of the palette.
            hollow: variant >= anabranch_chart::COLOURS.len(),
            // Those that are drawn on top are narrower, so that what lies below can be seen.
            broad: variant < self.variants.len() / 2,
        }
    }
}

const fn marker(number: usize) -> Marker {
    Marker::ALL[number % Marker::ALL.len()]
}

fn picture(drawn: &Drawn) -> Chart {
    let line = |(number, line): (usize, &crate::account::DrawnLine)| Line {
        name: line.name.clone(),
        look: Look {
            colour: Colour::Slot(number),
            stroke: if number < anabranch_chart::COLOURS.len() {
                Stroke::Solid
            } else {
                Stroke::Dashed
            },
            marker: None,
            hollow: false,
            broad: false,
        },
        spots: line
            .places
            .iter()
            .map(|(x, y)| Spot {
                x: *x,
                y: *y,
                range: None,
                note: String::new(),
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
        lines: drawn.lines.iter().enumerate().map(line).collect(),
        has_legend: true,
    }
}

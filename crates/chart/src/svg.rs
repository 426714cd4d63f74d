//! SVG output. How is a drawing written? With fixed colours for paper, and with classes that let a page change them.
//!
//! | class | what it is |
//! |---|---|
//! | `s-INK`, `f-INK` | is stroked, is filled; `INK` is `neutral`, `muted`, `grid`, `paper`, or the number of a colour |
//! | `series`, `entry` | a line and its entry in the legend; `data-series` is its number |
//! | `point` | a place on a line; what it has to tell is its `title` |

use maud::{Markup, PreEscaped, html};

use crate::shape::{Anchor, Drawing, Group, Ink, Path, Pen, Place, Role, Shape, Text};

impl Drawing {
    /// Renders the drawing as SVG, byte-identical on each call and without external references.
    #[must_use]
    pub fn svg(&self) -> String {
        let (width, height) = (number(self.width), number(self.height));
        let picture = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height)
                role="img" aria-label=(self.title) font-family="Roboto, 'Helvetica Neue', Arial, sans-serif" {
                rect class="f-paper" width="100%" height="100%" fill=(hex(Ink::Paper)) {}
                @for shape in &self.shapes { (shape.markup()) }
            }
        };
        picture.into_string()
    }
}

impl Shape {
    fn markup(&self) -> Markup {
        match self {
            Self::Path(path) => path.markup(),
            Self::Circle {
                centre,
                radius,
                fill,
                stroke,
            } => {
                let class = classes(Some(*fill), stroke.as_ref());
                html! {
                    circle class=(class) cx=(number(centre.0)) cy=(number(centre.1)) r=(number(*radius))
                        fill=(hex(*fill)) stroke=[stroke.as_ref().map(|pen| hex(pen.ink))]
                        stroke-width=[stroke.as_ref().map(|pen| number(pen.width))] {}
                }
            }
            Self::Text(text) => text.markup(),
            Self::Group(group) => group.markup(),
        }
    }
}

impl Path {
    fn markup(&self) -> Markup {
        let pen = self.stroke.as_ref();
        html! {
            path class=(classes(self.fill, pen)) d=(steps(&self.places, self.is_closed))
                fill=(self.fill.map_or_else(|| "none".to_owned(), hex))
                stroke=[pen.map(|pen| hex(pen.ink))] stroke-width=[pen.map(|pen| number(pen.width))]
                stroke-dasharray=[pen.filter(|pen| !pen.dashes.is_empty()).map(dashes)]
                stroke-linejoin=[pen.map(|_| "round")] {}
        }
    }
}

impl Text {
    fn markup(&self) -> Markup {
        let anchor = match self.anchor {
            Anchor::Start => None,
            Anchor::Middle => Some("middle"),
            Anchor::End => Some("end"),
        };
        html! {
            text class=(classes(Some(self.ink), None)) x=(number(self.at.0)) y=(number(self.at.1))
                font-size=(number(self.size)) font-weight=[self.is_strong.then_some("500")] text-anchor=[anchor]
                fill=(hex(self.ink)) { (self.said) }
        }
    }
}

impl Group {
    fn markup(&self) -> Markup {
        let (class, series) = match self.role {
            Role::Series(number) => ("series", Some(number)),
            Role::Entry(number) => ("entry", Some(number)),
            Role::Point => ("point", None),
        };
        html! {
            g class=(class) data-series=[series] {
                @if !self.tooltip.is_empty() { title { (self.tooltip) } }
                @for shape in &self.shapes { (shape.markup()) }
            }
            (PreEscaped("\n"))
        }
    }
}

fn classes(fill: Option<Ink>, stroke: Option<&Pen>) -> String {
    let fill = fill.map(|ink| format!("f-{}", name(ink)));
    let stroke = stroke.map(|pen| format!("s-{}", name(pen.ink)));
    let both: Vec<String> = fill.into_iter().chain(stroke).collect();
    both.join(" ")
}

fn name(ink: Ink) -> String {
    match ink {
        Ink::Neutral => "neutral".into(),
        Ink::Muted => "muted".into(),
        Ink::Grid => "grid".into(),
        Ink::Paper => "paper".into(),
        Ink::Clear => "clear".into(),
        Ink::Slot(slot) => (slot % crate::palette::COLOURS.len()).to_string(),
    }
}

fn hex(ink: Ink) -> String {
    ink.shade().map_or_else(
        || "transparent".into(),
        |shade| {
            let [red, green, blue] = shade.light;
            format!("#{red:02x}{green:02x}{blue:02x}")
        },
    )
}

fn dashes(pen: &Pen) -> String {
    let lengths: Vec<String> = pen.dashes.iter().map(|length| number(*length)).collect();
    lengths.join(" ")
}

fn steps(places: &[Place], is_closed: bool) -> String {
    let mut text = String::new();
    for (index, (x, y)) in places.iter().enumerate() {
        text.push(if index == 0 { 'M' } else { 'L' });
        text += &format!("{} {}", number(*x), number(*y));
    }
    if is_closed {
        text.push('Z');
    }
    text
}

/// Formats a coordinate to a tenth of a pixel, in the shortest form.
fn number(value: f32) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

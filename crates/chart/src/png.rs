//! PNG output. How is a drawing rasterized? Shape by shape, with text as outlines of the embedded font.

use thiserror::Error;
use tiny_skia::{FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, StrokeDash, Transform};

use crate::font::Font;
use crate::shape::{Anchor, Drawing, Ink, Pen, Shape, Text};

/// Why a drawing could not be rendered.
#[derive(Debug, Error)]
pub enum PngError {
    /// The drawing has no pixels, or more than fit into memory.
    #[error("a picture of this size cannot be painted")]
    Size,
    /// PNG encoding failed.
    #[error("the picture cannot be encoded: {0}")]
    Encoding(String),
}

impl Drawing {
    /// Renders the drawing as PNG in the light colours, with `scale` pixels for each pixel of the drawing.
    ///
    /// # Errors
    ///
    /// [`PngError`].
    pub fn png(&self, scale: f32) -> Result<Vec<u8>, PngError> {
        let size = |length: f32| (length * scale).ceil() as u32;
        let mut pixels = Pixmap::new(size(self.width), size(self.height)).ok_or(PngError::Size)?;
        pixels.fill(tiny_skia::Color::WHITE);
        let mut canvas = Canvas {
            pixels: &mut pixels,
            transform: Transform::from_scale(scale, scale),
        };
        canvas.all(&self.shapes);
        pixels
            .encode_png()
            .map_err(|error| PngError::Encoding(error.to_string()))
    }
}

/// Drawing surface.
struct Canvas<'a> {
    pixels: &'a mut Pixmap,
    transform: Transform,
}

impl Canvas<'_> {
    fn all(&mut self, shapes: &[Shape]) {
        for shape in shapes {
            self.paint(shape);
        }
    }

    fn paint(&mut self, shape: &Shape) {
        match shape {
            Shape::Path(path) => {
                let mut outline = PathBuilder::new();
                for (index, (x, y)) in path.places.iter().enumerate() {
                    match index {
                        0 => outline.move_to(*x, *y),
                        _ => outline.line_to(*x, *y),
                    }
                }
                if path.is_closed {
                    outline.close();
                }
                self.outline(outline, path.fill, path.stroke.as_ref());
            }
            Shape::Circle {
                centre,
                radius,
                fill,
                stroke,
            } => {
                let mut outline = PathBuilder::new();
                outline.push_circle(centre.0, centre.1, *radius);
                self.outline(outline, Some(*fill), stroke.as_ref());
            }
            Shape::Text(text) => self.text(text),
            Shape::Group(group) => self.all(&group.shapes),
        }
    }

    fn outline(&mut self, outline: PathBuilder, fill: Option<Ink>, stroke: Option<&Pen>) {
        let Some(path) = outline.finish() else {
            return;
        };
        if let Some(paint) = fill.and_then(paint) {
            self.pixels
                .fill_path(&path, &paint, FillRule::Winding, self.transform, None);
        }
        let Some((pen, paint)) = stroke.and_then(|pen| Some((pen, paint(pen.ink)?))) else {
            return;
        };
        let stroke = tiny_skia::Stroke {
            width: pen.width,
            line_cap: LineCap::Butt,
            line_join: LineJoin::Round,
            dash: StrokeDash::new(pen.dashes.to_vec(), 0.0),
            ..tiny_skia::Stroke::default()
        };
        self.pixels
            .stroke_path(&path, &paint, &stroke, self.transform, None);
    }

    fn text(&mut self, text: &Text) {
        let font = Font::new(text.size, text.is_strong);
        let begin = match text.anchor {
            Anchor::Start => text.at.0,
            Anchor::Middle => text.at.0 - font.length(&text.said) / 2.0,
            Anchor::End => text.at.0 - font.length(&text.said),
        };
        let mut outline = Outline {
            path: PathBuilder::new(),
            begin: (0.0, text.at.1),
            scale: font.scale(),
        };
        for (glyph, x) in font.glyphs(&text.said) {
            outline.begin.0 = begin + x;
            font.outline(glyph, &mut outline);
        }
        self.outline(outline.path, Some(text.ink), None);
    }
}

fn paint(ink: Ink) -> Option<Paint<'static>> {
    let [red, green, blue] = ink.shade()?.light;
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 255);
    Some(paint)
}

/// Glyph outlines use font units, with the y axis pointing up.
struct Outline {
    path: PathBuilder,
    begin: (f32, f32),
    scale: f32,
}

impl Outline {
    fn x(&self, x: f32) -> f32 {
        self.begin.0 + x * self.scale
    }

    fn y(&self, y: f32) -> f32 {
        self.begin.1 - y * self.scale
    }
}

impl ttf_parser::OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.x(x), self.y(y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.x(x), self.y(y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(self.x(x1), self.y(y1), self.x(x), self.y(y));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (first, second) = ((self.x(x1), self.y(y1)), (self.x(x2), self.y(y2)));
        self.path
            .cubic_to(first.0, first.1, second.0, second.1, self.x(x), self.y(y));
    }

    fn close(&mut self) {
        self.path.close();
    }
}

//! Font metrics and glyph outlines. How wide is a text? Measured with Roboto, which is embedded in the program.

use ttf_parser::{Face, GlyphId, OutlineBuilder};

const REGULAR: &[u8] = include_bytes!("../fonts/Roboto-Regular.ttf");
const MEDIUM: &[u8] = include_bytes!("../fonts/Roboto-Medium.ttf");

/// A font at a size.
pub(crate) struct Font {
    face: Face<'static>,
    scale: f32,
}

impl Font {
    pub(crate) fn new(size: f32, is_strong: bool) -> Self {
        let bytes = if is_strong { MEDIUM } else { REGULAR };
        let face = Face::parse(bytes, 0).expect("invariant: the font is part of the program");
        let scale = size / f32::from(face.units_per_em());
        Self { face, scale }
    }

    /// Pixels per font unit.
    pub(crate) const fn scale(&self) -> f32 {
        self.scale
    }

    /// Returns the width of a text in pixels.
    pub(crate) fn length(&self, text: &str) -> f32 {
        text.chars().map(|letter| self.advance(self.glyph(letter))).sum()
    }

    /// Returns the glyphs of a text, each with its starting position.
    pub(crate) fn glyphs(&self, text: &str) -> Vec<(GlyphId, f32)> {
        let mut x = 0.0;
        let place = |letter| {
            let glyph = self.glyph(letter);
            let begin = x;
            x += self.advance(glyph);
            (glyph, begin)
        };
        text.chars().map(place).collect()
    }

    /// Draws the outline of a glyph, in font units.
    pub(crate) fn outline(&self, glyph: GlyphId, builder: &mut dyn OutlineBuilder) {
        // A space has no outline.
        let _ = self.face.outline_glyph(glyph, builder);
    }

    /// Characters that the font lacks are shown as its empty box.
    fn glyph(&self, letter: char) -> GlyphId {
        self.face.glyph_index(letter).unwrap_or_default()
    }

    fn advance(&self, glyph: GlyphId) -> f32 {
        f32::from(self.face.glyph_hor_advance(glyph).unwrap_or_default()) * self.scale
    }
}

/// Wraps a text between words into lines of at most `most` pixels. Words that are longer, and words joined by a no-break space, are
/// not split.
pub(crate) fn wrapped(font: &Font, text: &str, most: f32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if font.length(line) + font.length(" ") + font.length(word) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The same, but words that are longer than a line are split, too: no line is longer than `most`.
pub(crate) fn wrapped_anywhere(font: &Font, text: &str, most: f32) -> Vec<String> {
    let mut lines = Vec::new();
    for line in wrapped(font, text, most) {
        let mut part = String::new();
        for letter in line.chars() {
            if !part.is_empty() && font.length(&part) + font.length(letter.encode_utf8(&mut [0; 4])) > most {
                lines.push(std::mem::take(&mut part));
            }
            part.push(letter);
        }
        lines.push(part);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::{Font, wrapped, wrapped_anywhere};

    #[test]
    fn text_is_measured_and_wrapped() {
        let font = Font::new(12.0, false);
        assert!(font.length("iii") < font.length("MMM"));
        assert!((font.length("North, Mbit/s") - 73.0).abs() < 3.0);
        assert_eq!(wrapped(&font, "best single path, delay 10 ms", 110.0).len(), 2);
        assert_eq!(wrapped(&font, "indivisible", 10.0), ["indivisible"]);
        let parts = wrapped_anywhere(&font, "so indivisible", 30.0);
        assert_eq!(parts.concat(), "soindivisible");
        assert!(parts.iter().all(|part| font.length(part) <= 30.0), "{parts:?}");
    }
}

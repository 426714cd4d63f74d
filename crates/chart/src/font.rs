//! Font metrics and glyph outlines. How long is a text? Asked of Roboto, which is part of the program.

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

    /// Pixels per unit of the font.
    pub(crate) const fn scale(&self) -> f32 {
        self.scale
    }

    /// The length of a text in pixels.
    pub(crate) fn length(&self, text: &str) -> f32 {
        text.chars().map(|letter| self.advance(self.glyph(letter))).sum()
    }

    /// The glyphs of a text, each with where it begins.
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

    /// Draws the outline of a glyph, in units of the font.
    pub(crate) fn outline(&self, glyph: GlyphId, builder: &mut dyn OutlineBuilder) {
        // A blank has none.
        let _ = self.face.outline_glyph(glyph, builder);
    }

    /// Letters that the font does not have become its empty box.
    fn glyph(&self, letter: char) -> GlyphId {
        self.face.glyph_index(letter).unwrap_or_default()
    }

    fn advance(&self, glyph: GlyphId) -> f32 {
        f32::from(self.face.glyph_hor_advance(glyph).unwrap_or_default()) * self.scale
    }
}

/// Breaks a text into lines no longer than `most` pixels, between words; a longer word stays
/// whole, as do words with a no-break space between them.
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

#[cfg(test)]
mod tests {
    use super::{Font, wrapped};

    #[test]
    fn letters_have_lengths_and_long_texts_are_broken() {
        let font = Font::new(12.0, false);
        assert!(font.length("iii") < font.length("MMM"));
        assert!((font.length("North, Mbit/s") - 73.0).abs() < 3.0);
        assert_eq!(wrapped(&font, "best single path, delay 10 ms", 110.0).len(), 2);
        assert_eq!(wrapped(&font, "indivisible", 10.0), ["indivisible"]);
    }
}

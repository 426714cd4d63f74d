//! Colour palette. Which colours? Eight that colour-blind readers can distinguish on white and on black.
//!
//! The hues are those of Okabe and Ito (Color Universal Design, 2008), darkened for white paper and lightened for dark
//! screens until each has a contrast of at least 3 : 1, which WCAG 2.2 §1.4.11 asks of graphics.

/// A colour for light and for dark backgrounds, as red, green, blue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shade {
    /// On a light background.
    pub light: [u8; 3],
    /// On a dark background.
    pub dark: [u8; 3],
}

const fn shade(light: u32, dark: u32) -> Shade {
    Shade {
        light: rgb(light),
        dark: rgb(dark),
    }
}

const fn rgb(number: u32) -> [u8; 3] {
    let [_, red, green, blue] = number.to_be_bytes();
    [red, green, blue]
}

/// Series colours in the order of use.
pub const COLOURS: [Shade; 8] = [
    shade(0x00_72b2, 0x4d_b2f2), // blue
    shade(0xd5_5e00, 0xff_8b3d), // vermilion
    shade(0x00_8f68, 0x2c_c79a), // bluish green
    shade(0xb0_558a, 0xe5_9ac6), // reddish purple
    shade(0x9a_7000, 0xe6_b93c), // ochre
    shade(0x2e_8fc4, 0x9a_d6fa), // sky blue
    shade(0x7a_4b2a, 0xc9_9a74), // brown
    shade(0x6b_6b6b, 0xb5_b5b5), // grey
];

/// Texts, axes and reference lines.
pub const NEUTRAL: Shade = shade(0x33_3a42, 0xd5_dae0);
/// Ticks and other secondary elements.
pub(crate) const MUTED: Shade = shade(0x5f_6872, 0x9a_a4ae);
/// Grid lines.
pub(crate) const GRID: Shade = shade(0xe3_e6ea, 0x33_3a42);
/// Background.
pub(crate) const PAPER: Shade = shade(0xff_ffff, 0x16_191d);

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance by WCAG 2.2.
    fn luminance(colour: [u8; 3]) -> f64 {
        let linear = |part: u8| {
            let share = f64::from(part) / 255.0;
            if share <= 0.04045 {
                share / 12.92
            } else {
                ((share + 0.055) / 1.055).powf(2.4)
            }
        };
        let [red, green, blue] = colour.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn every_colour_has_enough_contrast_on_both_backgrounds() {
        for shade in COLOURS.iter().chain([&NEUTRAL, &MUTED]) {
            let (light, dark) = (
                contrast(shade.light, PAPER.light),
                contrast(shade.dark, PAPER.dark),
            );
            assert!(light >= 3.0 && dark >= 3.0, "{shade:02x?}: {light:.2} {dark:.2}");
        }
    }
}

//! Formatting of quantities in decimal units, and of untrusted text without terminal control characters.

use crate::transfer::is_invisible;

/// `20.0 MB`
pub(crate) fn bytes_text(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        _ => scaled(bytes as f64, "B"),
    }
}

/// `48.1 Mbit/s`
pub(crate) fn rate_text(bits_per_second: f64) -> String {
    scaled(bits_per_second, "bit/s")
}

fn scaled(amount: f64, unit: &str) -> String {
    const STEPS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    // A value that would round to 1000.0 is shown as 1.0 of the next unit.
    let step = STEPS.iter().find(|(size, _)| amount >= size * 0.999_95);
    let (size, prefix) = step.copied().unwrap_or((1.0, ""));
    let decimals = if amount / size >= 1e5 { 0 } else { 1 };
    format!("{:.decimals$} {prefix}{unit}", amount / size)
}

/// The text without control and invisible characters, as it may come from the peer.
pub(crate) fn printable(text: &str) -> String {
    let shown = |letter: char| {
        if letter.is_control() || is_invisible(letter) {
            '\u{fffd}'
        } else {
            letter
        }
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_one_decimal_and_a_decimal_prefix() {
        assert_eq!(bytes_text(999), "999 bytes");
        assert_eq!(bytes_text(1_000), "1.0 kB");
        assert_eq!(bytes_text(20_000_000), "20.0 MB");
        assert_eq!(bytes_text(999_999), "1.0 MB");
        assert_eq!(rate_text(48.13e6), "48.1 Mbit/s");
        assert_eq!(rate_text(0.0), "0.0 bit/s");
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(
            printable("ok \u{1b}[2J\n\u{202e}x"),
            "ok \u{fffd}[2J\u{fffd}\u{fffd}x"
        );
    }
}

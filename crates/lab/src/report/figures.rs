//! Formatting of numbers with about four significant digits.

use anabranch_chart::grouped;

/// A number with about four significant digits and thousands separators.
#[must_use]
pub fn figure(number: f64) -> String {
    let decimals = match number.abs() {
        size if size >= 999.95 => 0,
        size if size >= 99.995 => 1,
        size if size >= 9.9995 => 2,
        size if size >= 0.01 || size == 0.0 => 3,
        _ => 5,
    };
    grouped(&format!("{number:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn numbers_have_about_four_significant_digits() {
        let numbers = [0.0, 0.00123, 0.5, 1.2345, 19.2042, 144.156, 1_864_135.0, -12.5];
        let expected = [
            "0.000",
            "0.00123",
            "0.500",
            "1.234",
            "19.20",
            "144.2",
            "1,864,135",
            "−12.50",
        ];
        assert_eq!(numbers.map(figure), expected);
    }
}

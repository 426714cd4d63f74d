//! Integer arithmetic for windows: the same result on every platform, without floating point.

/// Largest integer whose cube is at most `value`.
pub(crate) fn cube_root(value: u128) -> u64 {
    let mut root: u128 = 0;
    // 43 bits suffice: 2^43 cubed exceeds 2^128.
    for bit in (0..43).rev() {
        let candidate = root | (1 << bit);
        let cube = candidate
            .checked_mul(candidate)
            .and_then(|square| square.checked_mul(candidate));
        if cube.is_some_and(|cube| cube <= value) {
            root = candidate;
        }
    }
    root as u64
}

/// `a · b / c` without overflow on the way, rounded down, saturating; `u64::MAX` if `c` is 0.
pub(crate) fn mul_div(a: u64, b: u64, c: u64) -> u64 {
    if c == 0 {
        return u64::MAX;
    }
    match a.checked_mul(b) {
        // The common case, an order of magnitude faster than 128-bit division.
        Some(product) => product / c,
        None => u64::try_from(u128::from(a) * u128::from(b) / u128::from(c)).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::{cube_root, mul_div};

    #[test]
    fn cube_root_is_rounded_down() {
        for value in (0..5_000).chain([u128::MAX, 1 << 126, 10_u128.pow(30) - 1]) {
            let root = u128::from(cube_root(value));
            assert!(root.pow(3) <= value);
            let above = (root + 1).checked_pow(3);
            assert!(above.is_none_or(|cube| cube > value), "{value}");
        }
    }

    #[test]
    fn products_beyond_64_bits_are_divided_exactly() {
        assert_eq!(mul_div(1 << 60, 48, 64), 3 << 58);
        assert_eq!(mul_div(7, 3, 2), 10);
        assert_eq!(mul_div(u64::MAX, 2, 1), u64::MAX);
    }
}

//! Random variables: Bernoulli trials, exponentially distributed times, normal variables, and the functions they need.
//!
//! All use only operations that IEEE 754 defines exactly, so results do not depend on a platform's `libm`.

use core::time::Duration;

use anabranch_types::Rng;

/// A probability, stored as a multiple of 2⁻⁶³ so that 0 means never and 1 means always.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Probability(u64);

const CERTAIN: u64 = 1 << 63;

impl Probability {
    /// Probability 0.
    pub const NEVER: Self = Self(0);
    /// Probability 1.
    pub const ALWAYS: Self = Self(CERTAIN);

    /// The probability `fraction`, clamped to 0..=1; NaN becomes 0.
    #[must_use]
    pub const fn of(fraction: f64) -> Self {
        Self((fraction.clamp(0.0, 1.0) * CERTAIN as f64) as u64)
    }

    /// The probability as a fraction from 0 to 1.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64 / CERTAIN as f64
    }

    /// One Bernoulli trial. Draws no random number if the probability is 0.
    pub fn happens(self, rng: &mut Rng) -> bool {
        self != Self::NEVER && rng.next_u64() >> 1 < self.0
    }
}

/// An exponentially distributed time with the given mean: the gaps of a Poisson process.
#[must_use]
pub fn exponential(mean: Duration, rng: &mut Rng) -> Duration {
    let nanos = -ln(1.0 - rng.unit()) * mean.as_nanos() as f64;
    Duration::from_nanos(nanos as u64)
}

/// A standard normal variable, by G. Marsaglia's polar method.
pub(crate) fn standard_normal(rng: &mut Rng) -> f64 {
    loop {
        let (one, other) = (2.0 * rng.unit() - 1.0, 2.0 * rng.unit() - 1.0);
        let square = one * one + other * other;
        if square > 0.0 && square < 1.0 {
            return one * (-2.0 * ln(square) / square).sqrt();
        }
    }
}

/// `value^(−1/3)` for a value from 1/1,000 to 1, by Newton's method.
pub(crate) fn reciprocal_cube_root(value: f64) -> f64 {
    // From 1, which is below the root, each step grows by at most a third until it converges quadratically.
    (0..20).fold(1.0, |root: f64, _| {
        root * (4.0 - value * root * root * root) / 3.0
    })
}

/// The natural logarithm of a positive normal number, by ln(m·2ᵉ) = e·ln 2 + 2·artanh((m − 1)/(m + 1)).
pub(crate) fn ln(value: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    const BIAS: u64 = 1023;
    let bits = value.to_bits();
    let exponent = (bits >> 52) as f64 - BIAS as f64;
    let mantissa = f64::from_bits((bits & MANTISSA) | (BIAS << 52));
    let step = (mantissa - 1.0) / (mantissa + 1.0);
    // The step is below 1/3, so each term is at most a ninth of the one before: 18 of them exhaust an f64.
    let (mut sum, mut power) = (0.0, step);
    for odd in (1..36_u32).step_by(2) {
        sum += power / f64::from(odd);
        power *= step * step;
    }
    exponent * core::f64::consts::LN_2 + 2.0 * sum
}

/// e to the power `value`, from −700 to 700, by e^x = 2^k · e^(x − k·ln 2).
pub(crate) fn exp(value: f64) -> f64 {
    const BIAS: f64 = 1_023.0;
    let power = (value * core::f64::consts::LOG2_E).round();
    let rest = value - power * core::f64::consts::LN_2;
    // The rest is at most 0.35: the eighteenth term is below 10⁻²³.
    let sum = (1..=18)
        .rev()
        .fold(1.0, |sum, term| 1.0 + rest * sum / f64::from(term));
    sum * f64::from_bits(((power + BIAS) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::{Probability, exp, exponential, ln, reciprocal_cube_root};
    use anabranch_types::Seed;
    use std::time::Duration;

    #[test]
    fn probabilities_zero_and_one_are_exact() {
        let mut rng = Seed(1).rng();
        assert!((0..10_000).all(|_| Probability::of(1.0).happens(&mut rng)));
        assert!((0..10_000).all(|_| !Probability::of(0.0).happens(&mut rng)));
        assert_eq!(Probability::of(f64::NAN), Probability::NEVER);
    }

    #[test]
    fn logarithm_agrees_with_std() {
        for value in [1e-300, 1e-9, 0.1, 0.5, 0.999_999, 1.0, 1.999_999, 42.0] {
            assert!(
                (ln(value) - f64::ln(value)).abs() <= 1e-14 * f64::ln(value).abs().max(1.0),
                "{value}"
            );
        }
    }

    #[test]
    fn reciprocal_cube_root_agrees_with_std() {
        for value in [1.0, 0.9, 0.5, 0.1, 0.02, 0.01, 0.001] {
            let expected = 1.0 / f64::cbrt(value);
            assert!(
                (reciprocal_cube_root(value) - expected).abs() < 1e-13 * expected,
                "{value}"
            );
        }
    }

    #[test]
    fn exponential_function_agrees_with_std() {
        for value in [-600.0, -20.0, -1.0, -1e-9, 0.0, 0.3, 0.35, 1.0, 42.0, 600.0] {
            assert!((exp(value) / f64::exp(value) - 1.0).abs() < 1e-13, "{value}");
        }
    }

    #[test]
    fn exponential_times_have_expected_mean_and_variance() {
        let mut rng = Seed(2).rng();
        let mean = Duration::from_micros(100);
        let times: Vec<f64> = (0..200_000)
            .map(|_| exponential(mean, &mut rng).as_secs_f64() * 1e6)
            .collect();
        let average = times.iter().sum::<f64>() / times.len() as f64;
        let variance = times.iter().map(|time| (time - average).powi(2)).sum::<f64>() / times.len() as f64;
        assert!((average - 100.0).abs() < 1.0, "mean {average}");
        assert!((variance - 10_000.0).abs() < 300.0, "variance {variance}");
    }
}

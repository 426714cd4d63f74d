//! Deterministic randomness: one seed, split by label.

use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// The seed of all randomness of a component.
///
/// [`Seed::split`] gives each sub-component its own generator, so that adding one does not change the numbers of the
/// others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of the sub-component `label`: independent of the seeds of other labels.
    #[must_use]
    pub fn split(self, label: &str) -> Self {
        // FNV-1a over the label, then one round of SplitMix64 to spread the bits.
        let hash = label.bytes().fold(self.0 ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(mix(hash))
    }

    /// The seed of the `index`-th of several equal sub-components.
    #[must_use]
    pub const fn nth(self, index: u64) -> Self {
        Self(mix(self.0 ^ mix(index.wrapping_add(0x9e37_79b9_7f4a_7c15))))
    }

    /// A generator with this seed.
    #[must_use]
    pub fn rng(self) -> Rng {
        Rng(Pcg64Mcg::seed_from_u64(self.0))
    }
}

const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A deterministic generator (PCG XSL 128/64), the same on every platform.
///
/// Not for secrets: tags and cookie keys take their entropy from the seed, which a real driver must get from
/// the operating system.
#[derive(Clone, Debug)]
pub struct Rng(Pcg64Mcg);

impl Rng {
    /// The next 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Fills `bytes` with random bits.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    /// A number in `0..bound`; 0 if `bound` is 0. The bias is below 2⁻³² for bounds that fit 32 bits.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// `true` with a probability of `numerator / denominator`.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// A number in `0.0..1.0` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::Seed;

    #[test]
    fn same_seed_gives_same_numbers_and_labels_differ() {
        let seed = Seed(7);
        assert_eq!(seed.rng().next_u64(), seed.rng().next_u64());
        assert_ne!(
            seed.split("loss").rng().next_u64(),
            seed.split("delay").rng().next_u64()
        );
        assert_ne!(seed.nth(0), seed.nth(1));
    }

    #[test]
    fn bounded_numbers_stay_below_their_bound() {
        let mut rng = Seed(1).rng();
        assert!((0..1_000).all(|_| rng.below(6) < 6));
        assert_eq!(rng.below(0), 0);
    }
}

//! Quantities with units in plans: `10Mbit`, `1ms`, `64KiB`, `0.25%`.
//!
//! Each type reads the text that it writes, so a resolved plan can be read again. Numbers without unit need no quotes.

use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use anabranch_policy::{BufferSize, SizeRange};
use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use serde::{Serialize, Serializer};

/// Units with their factors.
pub(super) type Units = &'static [(&'static str, f64)];

/// A quantity written as a number and a unit.
pub(super) trait Quantity: Sized {
    /// Description for error messages.
    const EXPECTED: &'static str;
    /// The units; the empty one if the unit is optional.
    const UNITS: Units;

    /// The quantity of `amount` base units; `None` if out of range.
    fn of(amount: f64) -> Option<Self>;
}

/// A rate above zero, in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate(pub anabranch_types::Rate);

impl Quantity for Rate {
    const EXPECTED: &'static str = "a rate above zero such as \"10Mbit\" or \"1.5Gbit\"";
    const UNITS: Units = &[("bit", 1.0), ("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9)];

    fn of(amount: f64) -> Option<Self> {
        (1.0..=1e12)
            .contains(&amount)
            .then(|| Self(anabranch_types::Rate::bits_per_second(amount.round() as u64)))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.as_bits_per_second();
        let units = [(1_000_000, "Mbit"), (1_000, "kbit"), (1, "bit")];
        write_in(f, bits, &units)
    }
}

/// A time from zero to a year.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Time(pub Duration);

impl Quantity for Time {
    const EXPECTED: &'static str = "a time such as \"300s\", \"10ms\" or \"0s\"";
    const UNITS: Units = &[
        ("ns", 1.0),
        ("us", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("min", 60e9),
        ("h", 3_600e9),
    ];

    fn of(amount: f64) -> Option<Self> {
        (0.0..=3.2e16)
            .contains(&amount)
            .then(|| Self(Duration::from_nanos(amount.round() as u64)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos() as u64;
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
        write_in(f, nanos, &units)
    }
}

/// Bytes, at least one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size(pub u64);

impl Quantity for Size {
    const EXPECTED: &'static str = "a size above zero such as \"64KiB\", \"2MB\" or 1452";
    const UNITS: Units = &[
        ("", 1.0),
        ("b", 1.0),
        ("kb", 1e3),
        ("mb", 1e6),
        ("gb", 1e9),
        ("kib", 1_024.0),
        ("mib", 1_048_576.0),
        ("gib", 1_073_741_824.0),
    ];

    fn of(amount: f64) -> Option<Self> {
        (1.0..=1e15)
            .contains(&amount)
            .then(|| Self(amount.round() as u64))
    }
}

/// Size of a send or receive buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// This size.
    Of(Size),
    /// The buffer sizes itself.
    Auto,
}

impl Buffer {
    /// The size, or the largest one of a buffer that sizes itself, in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Of(Size(bytes)) => bytes,
            Self::Auto => SizeRange::DEFAULT.max,
        }
    }

    /// As the core knows it.
    pub(crate) const fn size(self) -> BufferSize {
        match self {
            Self::Of(Size(bytes)) => BufferSize::Fixed(bytes),
            Self::Auto => BufferSize::AUTO,
        }
    }
}

struct BufferReader;

impl Visitor<'_> for BufferReader {
    type Value = Buffer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, or \"auto\"", Size::EXPECTED)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Buffer, E> {
        if text == "auto" {
            return Ok(Buffer::Auto);
        }
        let expected = Size::EXPECTED;
        let found = || E::custom(format_args!("expected {expected}, or \"auto\", found `{text}`"));
        parse(text).map(Buffer::Of).ok_or_else(found)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Buffer, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Buffer, E> {
        self.visit_str(&number.to_string())
    }
}

impl<'de> Deserialize<'de> for Buffer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BufferReader)
    }
}

impl Serialize for Buffer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Of(size) => size.serialize(serializer),
            Self::Auto => serializer.serialize_str("auto"),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in(f, self.0, &[(1_048_576, "MiB"), (1_024, "KiB"), (1, "")])
    }
}

/// A share from 0 to 1.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Share(pub f64);

impl Quantity for Share {
    const EXPECTED: &'static str = "a share such as \"0.25%\" or 0.0025";
    const UNITS: Units = &[("%", 0.01), ("", 1.0)];

    fn of(amount: f64) -> Option<Self> {
        (0.0..=1.0).contains(&amount).then_some(Self(amount))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A whole number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Whole(pub u32);

impl Quantity for Whole {
    const EXPECTED: &'static str = "a whole number such as 100";
    const UNITS: Units = &[("", 1.0)];

    fn of(amount: f64) -> Option<Self> {
        (amount.fract() == 0.0 && amount <= f64::from(u32::MAX)).then_some(Self(amount as u32))
    }
}

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Writes `amount` in the largest unit that needs no fraction.
fn write_in(f: &mut fmt::Formatter<'_>, amount: u64, units: &[(u64, &str)]) -> fmt::Result {
    let whole = |(size, _): &&(u64, &str)| amount.is_multiple_of(*size) && amount >= *size;
    let fallback = units.last().copied().unwrap_or((1, ""));
    let (size, unit) = units.iter().find(whole).copied().unwrap_or(fallback);
    write!(f, "{}{unit}", amount / size)
}

fn parse<Q: Quantity>(text: &str) -> Option<Q> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.parse().ok()?;
    let (_, factor) = Q::UNITS.iter().find(|(name, _)| *name == unit.trim_start())?;
    Q::of(number * factor)
}

/// Reads a quantity from a string, or from a number if the unit is optional.
struct Reader<Q>(PhantomData<Q>);

impl<Q: Quantity> Reader<Q> {
    fn read<E: serde::de::Error>(text: &str) -> Result<Q, E> {
        parse(text).ok_or_else(|| E::custom(format_args!("expected {}, found `{text}`", Q::EXPECTED)))
    }
}

impl<Q: Quantity> Visitor<'_> for Reader<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Q::EXPECTED)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Q, E> {
        Self::read(text)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Q, E> {
        Self::read(&number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Q, E> {
        Self::read(&number.to_string())
    }
}

struct NumberReader;

impl Visitor<'_> for NumberReader {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<f64, E> {
        let expected = |_| E::custom(format_args!("expected a number, found `{text}`"));
        text.parse().map_err(expected)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<f64, E> {
        Ok(number as f64)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<f64, E> {
        Ok(number)
    }
}

/// Reads a number, also from text, as sweeps and draws write it.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    deserializer.deserialize_any(NumberReader)
}

/// As [`number`], of a key that may be missing.
pub(super) fn optional_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    number(deserializer).map(Some)
}

macro_rules! written {
    ($($quantity:ty)+) => {$(
        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Reader(PhantomData))
            }
        }

        impl Serialize for $quantity {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )+};
}

written!(Rate Time Size Share Whole);

/// Rate limit of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateLimit {
    /// Limited to this rate.
    At(Rate),
    /// Unlimited.
    Unlimited,
}

impl<'de> Deserialize<'de> for RateLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "unlimited" {
            return Ok(Self::Unlimited);
        }
        let expected = || {
            let expected = Rate::EXPECTED;
            D::Error::custom(format_args!(
                "expected {expected}, or \"unlimited\", found `{text}`"
            ))
        };
        parse(&text).map(Self::At).ok_or_else(expected)
    }
}

impl Serialize for RateLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::At(rate) => rate.serialize(serializer),
            Self::Unlimited => serializer.serialize_str("unlimited"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;
    use serde::de::value::{Error, StrDeserializer};

    use super::{Buffer, Quantity, Rate, Share, Size, Time, Whole, parse};

    fn round_trip<Q: Quantity + ToString>(text: &str) -> Option<String> {
        let quantity: Q = parse(text)?;
        let written = quantity.to_string();
        assert_eq!(
            parse::<Q>(&written).map(|again| again.to_string()),
            Some(written.clone())
        );
        Some(written)
    }

    #[test]
    fn written_quantities_can_be_read_again() {
        assert_eq!(round_trip::<Rate>("10 mbit").as_deref(), Some("10Mbit"));
        assert_eq!(round_trip::<Rate>("7680bit").as_deref(), Some("7680bit"));
        assert_eq!(round_trip::<Time>("0.5ms").as_deref(), Some("500us"));
        assert_eq!(round_trip::<Time>("0s").as_deref(), Some("0ns"));
        assert_eq!(round_trip::<Size>("1864135").as_deref(), Some("1864135"));
        assert_eq!(round_trip::<Share>("0.25%").as_deref(), Some("0.0025"));
        assert_eq!(round_trip::<Whole>("100").as_deref(), Some("100"));
    }

    #[test]
    fn buffer_has_a_size_or_sizes_itself() {
        let read = |text| Buffer::deserialize(StrDeserializer::<Error>::new(text));
        assert_eq!(read("64KiB"), Ok(Buffer::Of(Size(65_536))));
        assert_eq!(read("auto"), Ok(Buffer::Auto));
        assert!(read("none").is_err() && read("0").is_err());
        assert_eq!(Buffer::Auto.bytes(), 64 << 20);
    }

    #[test]
    fn invalid_quantities_are_refused() {
        assert_eq!(round_trip::<Rate>("-5Mbit"), None);
        assert_eq!(round_trip::<Rate>("0Mbit"), None);
        assert_eq!(round_trip::<Rate>("5"), None);
        assert_eq!(round_trip::<Time>("3 parsecs"), None);
        assert_eq!(round_trip::<Share>("101%"), None);
        assert_eq!(round_trip::<Whole>("1.5"), None);
    }
}

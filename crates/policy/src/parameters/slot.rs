//! Parameter values: words, numbers, times and shares, each read from text and written back.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;

/// Why a parameter was not set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The algorithm has no parameter of this name.
    Name,
    /// The parameter cannot take this value.
    Value,
}

/// A reference to the value of one parameter, with its valid range.
#[derive(Debug)]
pub struct Slot<'a>(Kind<'a>);

#[derive(Debug)]
enum Kind<'a> {
    Text(&'a mut dyn Text),
    Number(&'a mut dyn Whole, RangeInclusive<u64>),
    Time(&'a mut Duration, RangeInclusive<Duration>),
    Thousandths(&'a mut u32, RangeInclusive<u32>),
}

/// A value with its own text form.
pub trait Text: fmt::Debug {
    /// Reads `text`; changes nothing if that is none of its values.
    ///
    /// # Errors
    ///
    /// [`Refused::Value`].
    fn read(&mut self, text: &str) -> Result<(), Refused>;

    /// The text that [`Text::read`] would read as this value.
    fn write(&self) -> String;
}

impl<'a> Slot<'a> {
    /// A value with its own text form, such as one of a few words.
    pub fn text(value: &'a mut dyn Text) -> Self {
        Self(Kind::Text(value))
    }

    /// A whole number within `range`.
    pub(crate) fn number(value: &'a mut dyn Whole, range: RangeInclusive<u64>) -> Self {
        Self(Kind::Number(value, range))
    }

    /// A time within `range`, such as `200ms` or `30s`.
    pub(crate) fn time(value: &'a mut Duration, range: RangeInclusive<Duration>) -> Self {
        Self(Kind::Time(value, range))
    }

    /// A share such as `0.5`, kept in thousandths.
    pub(crate) fn thousandths(value: &'a mut u32, range: RangeInclusive<u32>) -> Self {
        Self(Kind::Thousandths(value, range))
    }

    /// Reads `text`.
    ///
    /// # Errors
    ///
    /// [`Refused::Value`] if it is not valid; then nothing is changed.
    pub fn set(self, text: &str) -> Result<(), Refused> {
        match self.0 {
            Kind::Text(value) => value.read(text)?,
            Kind::Number(value, range) => value.put(within(text.parse().ok(), &range)?),
            Kind::Time(value, range) => *value = within(time(text), &range)?,
            Kind::Thousandths(value, range) => *value = within(thousandths(text), &range)?,
        }
        Ok(())
    }

    /// The text that [`Slot::set`] would read as the present value.
    #[must_use]
    pub fn show(&self) -> String {
        match &self.0 {
            Kind::Text(value) => value.write(),
            Kind::Number(value, _) => value.get().to_string(),
            Kind::Time(value, _) if value.subsec_nanos() == 0 && value.as_secs() > 0 => {
                format!("{}s", value.as_secs())
            }
            Kind::Time(value, _) if value.subsec_nanos() % 1_000_000 == 0 => {
                format!("{}ms", value.as_millis())
            }
            Kind::Time(value, _) => format!("{}us", value.as_micros()),
            Kind::Thousandths(value, _) => share(**value),
        }
    }
}

fn within<T: PartialOrd>(value: Option<T>, range: &RangeInclusive<T>) -> Result<T, Refused> {
    value.filter(|value| range.contains(value)).ok_or(Refused::Value)
}

/// A number of `us`, `ms` or `s`.
fn time(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = text.split_at(split);
    let nanos_per_unit = match unit {
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    let count: u64 = digits.parse().ok()?;
    count.checked_mul(nanos_per_unit).map(Duration::from_nanos)
}

/// A decimal number with at most three decimal places, in thousandths.
fn thousandths(text: &str) -> Option<u32> {
    let (whole, places) = text.split_once('.').unwrap_or((text, ""));
    if places.len() > 3 || !places.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let whole: u32 = whole.parse().ok()?;
    let places: u32 = format!("{places:0<3}").parse().ok()?;
    whole.checked_mul(1_000)?.checked_add(places)
}

fn share(thousandths: u32) -> String {
    let text = format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
    let short = text.trim_end_matches('0');
    // At least one decimal place, so that it reads as a share.
    if short.ends_with('.') {
        format!("{short}0")
    } else {
        short.to_string()
    }
}

/// A value that is one of a few words.
pub(crate) trait Word: Copy + PartialEq + fmt::Debug + 'static {
    /// The words and their values; of several words for one value the first is shown.
    const WORDS: &'static [(&'static str, Self)];
}

impl<T: Word> Text for T {
    fn read(&mut self, text: &str) -> Result<(), Refused> {
        let meant = T::WORDS.iter().find(|(word, _)| *word == text);
        *self = meant.ok_or(Refused::Value)?.1;
        Ok(())
    }

    fn write(&self) -> String {
        let word = T::WORDS.iter().find(|(_, meant)| meant == self);
        word.map(|(word, _)| *word).unwrap_or_default().to_string()
    }
}

impl Word for bool {
    const WORDS: &'static [(&'static str, Self)] = &[("on", true), ("off", false)];
}

/// An unsigned number of any width.
pub(crate) trait Whole: fmt::Debug {
    fn get(&self) -> u64;
    /// `value` is within the range of the parameter, which must be within that of the type.
    fn put(&mut self, value: u64);
}

macro_rules! whole {
    ($($number:ty)+) => {$(
        impl Whole for $number {
            fn get(&self) -> u64 {
                u64::from(*self)
            }

            fn put(&mut self, value: u64) {
                *self = Self::try_from(value).unwrap_or(Self::MAX);
            }
        }
    )+};
}

whole!(u8 u16 u32 u64);

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::{Refused, Slot};

    #[test]
    fn shown_values_can_be_set_again() {
        let mut time = Duration::ZERO;
        for text in ["250us", "200ms", "30s", "0ms"] {
            Slot::time(&mut time, Duration::ZERO..=Duration::from_secs(60))
                .set(text)
                .unwrap();
            assert_eq!(Slot::time(&mut time, Duration::ZERO..=Duration::MAX).show(), text);
        }
        let mut share = 0;
        for (text, value) in [("0.5", 500), ("1.0", 1_000), ("0.875", 875), ("1.2", 1_200)] {
            Slot::thousandths(&mut share, 0..=2_000).set(text).unwrap();
            assert_eq!(share, value);
            assert_eq!(Slot::thousandths(&mut share, 0..=2_000).show(), text);
        }
    }

    #[test]
    fn invalid_values_change_nothing() {
        let mut number = 7_u16;
        for text in ["", "-1", "0", "101", "7.0", "99999999999999999999"] {
            assert_eq!(Slot::number(&mut number, 1..=100).set(text), Err(Refused::Value));
        }
        assert_eq!(number, 7);
        let mut share = 500;
        for text in ["", ".", "-0.1", "0.1234", "1e3", "2.001", "0.+5"] {
            assert_eq!(
                Slot::thousandths(&mut share, 0..=2_000).set(text),
                Err(Refused::Value),
                "{text}"
            );
        }
        assert_eq!(share, 500);
        let mut time = Duration::ZERO;
        for text in ["", "5", "ms", "1 s", "18446744073709551615s", "2s"] {
            let limits = Duration::ZERO..=Duration::from_secs(1);
            assert_eq!(
                Slot::time(&mut time, limits).set(text),
                Err(Refused::Value),
                "{text}"
            );
        }
        assert_eq!(time, Duration::ZERO);
    }
}

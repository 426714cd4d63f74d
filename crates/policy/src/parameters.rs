//! How is a parameter of an algorithm named, described and set by text?

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// One parameter of an algorithm, as the documentation and the command line show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// The name that users type.
    pub name: &'static str,
    /// Its value unless set, as users would type it.
    pub default: &'static str,
    /// What it means and what may be put in.
    pub meaning: &'static str,
}

/// The parameters of one algorithm.
pub trait Parameters: Copy + Default + PartialEq + fmt::Debug + 'static {
    /// What can be set.
    const LIST: &'static [Parameter];

    /// Sets the parameter `name` to what `value` says.
    ///
    /// # Errors
    ///
    /// [`Refused`] if there is no such parameter, or if it cannot take this value.
    fn set(&mut self, name: &str, value: &str) -> Result<(), Refused>;
}

/// Why a parameter was not set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The algorithm has no parameter of this name.
    Name,
    /// The parameter cannot take this value.
    Value,
}

/// Of an algorithm that has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NoParameters;

impl Parameters for NoParameters {
    const LIST: &'static [Parameter] = &[];

    fn set(&mut self, _name: &str, _value: &str) -> Result<(), Refused> {
        Err(Refused::Name)
    }
}

/// A parameter that is one of a few words.
pub(crate) trait Word: Copy + 'static {
    /// The words and what they stand for.
    const WORDS: &'static [(&'static str, Self)];
}

pub(crate) fn word<T: Word>(slot: &mut T, value: &str) -> Result<(), Refused> {
    let (_, meant) = T::WORDS
        .iter()
        .find(|(word, _)| *word == value)
        .ok_or(Refused::Value)?;
    *slot = *meant;
    Ok(())
}

/// A whole number within `range`.
pub(crate) fn number<T: FromStr + PartialOrd>(
    slot: &mut T,
    value: &str,
    range: core::ops::RangeInclusive<T>,
) -> Result<(), Refused> {
    let number = value.parse().map_err(|_| Refused::Value)?;
    if !range.contains(&number) {
        return Err(Refused::Value);
    }
    *slot = number;
    Ok(())
}

/// A time of at most `longest`: `200ms` or `30s`.
pub(crate) fn time(slot: &mut Duration, value: &str, longest: Duration) -> Result<(), Refused> {
    let (digits, nanos_per_unit) = match value.strip_suffix("ms") {
        Some(digits) => (digits, 1_000_000),
        None => (value.strip_suffix('s').ok_or(Refused::Value)?, 1_000_000_000),
    };
    let count: u64 = digits.parse().map_err(|_| Refused::Value)?;
    let time = Duration::from_nanos(count.checked_mul(nanos_per_unit).ok_or(Refused::Value)?);
    if time > longest {
        return Err(Refused::Value);
    }
    *slot = time;
    Ok(())
}

impl Word for bool {
    const WORDS: &'static [(&'static str, Self)] = &[("on", true), ("off", false)];
}

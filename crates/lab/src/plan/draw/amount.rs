//! Ends of distributions: numbers with a unit, or multiples of what the path has. Which number does `2BDP` stand for?

use core::ops::Range;

use toml::de::DeValue;

use super::super::error::Problem;
use super::super::quantity::{Quantity as _, Rate, Share, Size, Time};
use super::super::tree::{Table, Value};

/// What is counted, and so how a drawn number is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// Whole numbers without unit.
    Whole,
    /// Numbers without unit.
    Number,
    /// bit/s.
    Rate,
    /// Nanoseconds.
    Time,
    /// Bytes.
    Size,
    /// Shares from 0 to 1.
    Share,
}

/// A multiple of what a path has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Multiple {
    /// Of the product of its rate and twice its one-way delay.
    Product,
    /// Of its one-way delay.
    Delay,
}

/// An end of a distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Amount {
    number: f64,
    pub(super) unit: Unit,
    of: Option<Multiple>,
}

/// What a path has, for ends that are multiples of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Link {
    /// In bit/s.
    rate: Option<f64>,
    /// One-way, in nanoseconds.
    delay: f64,
}

/// Bytes of a packet, where a queue counts packets.
const PACKET: f64 = 1_500.0;

const EXPECTED: &str = "expected a number, a quantity such as \"10Mbit\", \"5ms\", \"64KiB\" or \"1%\", or a multiple such as \"2BDP\" or \
                        \"0.5delay\" of what the path has";

impl Amount {
    /// Reads an end of the distribution for `key`, which tells whether a queue counts packets or bytes.
    pub(super) fn read(value: &Value<'_>, key: &str) -> Result<Self, Problem> {
        let read = match value.get_ref() {
            DeValue::Integer(number) => plain(&number.to_string(), Unit::Whole),
            DeValue::Float(number) => plain(number.as_str(), Unit::Number),
            DeValue::String(text) => Self::parse(text, key),
            _ => None,
        };
        read.ok_or_else(|| Problem::new(value.span(), EXPECTED))
    }

    fn parse(text: &str, key: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let number: f64 = number.parse().ok()?;
        let amount = |factor: f64, unit: Unit| Self {
            number: number * factor,
            unit,
            of: None,
        };
        match unit.trim_start() {
            "" => {
                return plain(
                    &text,
                    if text.contains('.') {
                        Unit::Number
                    } else {
                        Unit::Whole
                    },
                );
            }
            "bdp" => {
                let unit = if key == "bytes" { Unit::Size } else { Unit::Whole };
                return Some(Self {
                    of: Some(Multiple::Product),
                    ..amount(1.0, unit)
                });
            }
            "delay" => {
                return Some(Self {
                    of: Some(Multiple::Delay),
                    ..amount(1.0, Unit::Time)
                });
            }
            _ => {}
        }
        let kinds = [
            (Rate::UNITS, Unit::Rate),
            (Time::UNITS, Unit::Time),
            (Size::UNITS, Unit::Size),
            (Share::UNITS, Unit::Share),
        ];
        kinds.iter().find_map(|(units, kind)| {
            let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
            Some(amount(*factor, *kind))
        })
    }

    /// Whether it is a multiple of what the path has.
    pub(super) const fn is_relative(self) -> bool {
        self.of.is_some()
    }

    /// The unit of a distribution between this end and the other; `None` if they count different things.
    pub(super) fn unit_with(self, other: Self) -> Option<Unit> {
        match (self.unit, other.unit) {
            (one, two) if one == two => Some(one),
            (Unit::Whole, Unit::Number) | (Unit::Number, Unit::Whole) => Some(Unit::Number),
            (Unit::Whole | Unit::Number, unit @ (Unit::Size | Unit::Share))
            | (unit @ (Unit::Size | Unit::Share), Unit::Whole | Unit::Number) => Some(unit),
            _ => None,
        }
    }

    /// Its number for a path.
    pub(super) fn of(self, link: Link, place: &Range<usize>) -> Result<f64, Problem> {
        match self.of {
            None => Ok(self.number),
            Some(Multiple::Delay) => Ok(self.number * link.delay),
            Some(Multiple::Product) => {
                let rate = link.rate.ok_or_else(|| {
                    let text = "a multiple of the product of rate and round-trip time (`BDP`) needs a path with a `rate`";
                    Problem::new(place.clone(), text)
                })?;
                let bytes = self.number * rate / 8.0 * 2.0 * link.delay / 1e9;
                Ok(if self.unit == Unit::Size {
                    bytes
                } else {
                    bytes / PACKET
                })
            }
        }
    }
}

fn plain(text: &str, unit: Unit) -> Option<Amount> {
    let number: f64 = text.parse().ok()?;
    number.is_finite().then_some(Amount {
        number,
        unit,
        of: None,
    })
}

impl Link {
    /// What the path `table` has.
    pub(super) fn of(table: &Table<'_>) -> Self {
        let amount = |key: &str, unit: Unit| {
            let amount = Amount::read(table.get(key)?, key).ok()?;
            (amount.unit == unit && !amount.is_relative()).then_some(amount.number)
        };
        Self {
            rate: amount("rate", Unit::Rate),
            delay: amount("delay", Unit::Time).unwrap_or(0.0),
        }
    }
}

impl Unit {
    /// `number` to three significant digits, as plans write it.
    pub(super) fn text(self, number: f64) -> String {
        let scaled = |units: &[(f64, &str)]| {
            let (size, unit) = units
                .iter()
                .find(|(size, _)| rounded(number) >= *size)
                .or_else(|| units.last())
                .copied()
                .unwrap_or((1.0, ""));
            format!("{}{unit}", rounded(number / size))
        };
        match self {
            Self::Whole => rounded(number).round().to_string(),
            Self::Number => rounded(number).to_string(),
            Self::Rate => scaled(&[(1e6, "Mbit"), (1e3, "kbit"), (1.0, "bit")]),
            Self::Time => scaled(&[(1e6, "ms"), (1e3, "us"), (1.0, "ns")]),
            Self::Size if number < 1_024.0 => number.round().to_string(),
            Self::Size => scaled(&[(1_024.0, "KiB")]),
            Self::Share => format!("{}%", rounded(number * 100.0)),
        }
    }
}

/// The number with three significant digits.
fn rounded(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::{Amount, Link, Unit};

    #[test]
    fn drawn_numbers_are_written_with_three_digits() {
        for (unit, number, text) in [
            (Unit::Rate, 37_249_123.0, "37.2Mbit"),
            (Unit::Rate, 912_345.0, "912kbit"),
            (Unit::Time, 1.234e6, "1.23ms"),
            (Unit::Time, 4.996e8, "500ms"),
            (Unit::Size, 8_388_608.0, "8190KiB"),
            (Unit::Size, 700.4, "700"),
            (Unit::Share, 0.001_234, "0.123%"),
            (Unit::Whole, 1_234.6, "1230"),
            (Unit::Number, 2.345_6, "2.35"),
        ] {
            assert_eq!(unit.text(number), text);
        }
    }

    #[test]
    fn multiples_follow_the_path() {
        let link = Link {
            rate: Some(30e6),
            delay: 20e6,
        };
        // 30 Mbit/s for 40 ms: 150,000 bytes
        for (text, key, number) in [
            ("2BDP", "packets", 200.0),
            ("0.1BDP", "bytes", 15_000.0),
            ("0.5delay", "normal", 10e6),
            ("64KiB", "bytes", 65_536.0),
        ] {
            let amount = Amount::parse(text, key).unwrap();
            assert!(
                (amount.of(link, &(0..0)).unwrap() - number).abs() < 1e-6,
                "{text}"
            );
        }
        assert!(
            Amount::parse("1BDP", "packets")
                .unwrap()
                .of(Link::default(), &(0..0))
                .is_err()
        );
    }
}

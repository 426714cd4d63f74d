//! Parsers of quantities: `20MB`, `10Mbit`, `30ms`.

use std::time::Duration;

use anabranch::Rate;

/// A unit and its factor.
type Unit = (&'static str, f64);

const SIZES: &[Unit] = &[
    ("", 1.0),
    ("b", 1.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("tib", 1_099_511_627_776.0),
];

const RATES: &[Unit] = &[
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("mbit/s", 1e6),
    ("gbit/s", 1e9),
];

const TIMES: &[Unit] = &[
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("h", 3600.0),
];

/// Maximum time in seconds: one year.
const MAX_SECONDS: f64 = 31_536_000.0;

/// Bytes: `20MB`, `64KiB`, `1000`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let bytes = quantity(text, SIZES).ok_or("expected a size such as 20MB, 64KiB or 1000")?;
    if (1.0..=9e18).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err("a size must be between 1 byte and 9 EB".into())
    }
}

/// A time above zero: `15s`, `300ms`, `2min`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration = parse_delay(text)?;
    if duration.is_zero() {
        Err("a time must be longer than zero".into())
    } else {
        Ok(duration)
    }
}

/// A time that may be zero.
pub(crate) fn parse_delay(text: &str) -> Result<Duration, String> {
    let seconds = quantity(text, TIMES).ok_or("expected a time such as 15s, 300ms or 2min")?;
    if seconds <= MAX_SECONDS {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("a time must be below a year".into())
    }
}

/// `10Mbit`, `1.5Gbit/s`.
pub(crate) fn parse_rate(text: &str) -> Result<Rate, String> {
    let bits = quantity(text, RATES).ok_or("expected a rate such as 10Mbit or 1.5Gbit")?;
    let range = 1e4..=1e11;
    if range.contains(&bits) {
        Ok(Rate::bits_per_second(bits as u64))
    } else {
        Err("a rate must be between 10kbit and 100Gbit".into())
    }
}

/// A share between 0 and 1: `0.5%`.
pub(super) fn parse_share(text: &str) -> Result<f64, String> {
    let percent = quantity(text, &[("%", 1.0)]).ok_or("expected a loss such as 0.5%")?;
    if (0.0..100.0).contains(&percent) {
        Ok(percent / 100.0)
    } else {
        Err("a loss must be below 100%".into())
    }
}

/// A non-negative number with a unit, case-insensitive.
fn quantity(text: &str, units: &[Unit]) -> Option<f64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().ok()?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    Some(number * factor)
}

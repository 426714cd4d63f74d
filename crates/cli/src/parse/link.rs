//! Parser of emulated paths: `10Mbit,10ms,0.5%` is rate, one-way delay, and optional loss.

use std::fmt;
use std::time::Duration;

use anabranch::Rate;

use super::quantity::{parse_delay, parse_rate, parse_share};

/// An emulated path, the same in both directions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ShapedPath {
    /// Rate of IP packets.
    pub(crate) rate: Rate,
    /// One-way delay.
    pub(crate) delay: Duration,
    /// Loss rate from 0 to 1.
    pub(crate) loss: f64,
}

/// `RATE,DELAY[,LOSS]`
pub(crate) fn parse_path(text: &str) -> Result<ShapedPath, String> {
    let parts: Vec<&str> = text.split(',').collect();
    let (rate, delay, loss) = match parts[..] {
        [rate, delay] => (rate, delay, None),
        [rate, delay, loss] => (rate, delay, Some(loss)),
        _ => return Err("expected RATE,DELAY or RATE,DELAY,LOSS such as 10Mbit,10ms,0.5%".into()),
    };
    let loss = loss.map_or(Ok(0.0), parse_share)?;
    Ok(ShapedPath {
        rate: parse_rate(rate)?,
        delay: parse_delay(delay)?,
        loss,
    })
}

impl fmt::Display for ShapedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabits = self.rate.as_bits_per_second() as f64 / 1e6;
        write!(f, "{megabits} Mbit/s, {} ms", self.delay.as_secs_f64() * 1e3)?;
        if self.loss > 0.0 {
            write!(f, ", {}% loss", self.loss * 100.0)?;
        }
        Ok(())
    }
}

//! Parser of emulated paths: `10Mbit,10ms~2ms,0.5%` is rate, one-way delay with optional jitter, and optional loss.

use std::fmt;
use std::time::Duration;

use anabranch::Rate;
use anabranch_emu::netsim::link::{DelayVariation, Distribution, Loss};
use anabranch_emu::netsim::{LinkConfig, Probability};

use super::quantity::{parse_delay, parse_rate, parse_share};

/// An emulated path, the same in both directions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ShapedPath {
    /// Rate of IP packets.
    pub(crate) rate: Rate,
    /// One-way delay.
    pub(crate) delay: Duration,
    /// Standard deviation of the normal distribution that delays follow. Packets overtake one another.
    pub(crate) jitter: Duration,
    /// Loss rate from 0 to 1.
    pub(crate) loss: f64,
}

impl ShapedPath {
    /// One direction of the path, with the default queue.
    pub(crate) fn link(&self) -> LinkConfig {
        let link = LinkConfig::new(self.rate, self.delay);
        let link = match self.jitter {
            Duration::ZERO => link,
            deviation => link.variation(DelayVariation {
                deviation,
                distribution: Distribution::Normal,
            }),
        };
        link.loss(match self.loss {
            none if none <= 0.0 => Loss::None,
            share => Loss::Bernoulli(Probability::of(share)),
        })
    }
}

/// `RATE,DELAY[~JITTER][,LOSS]`
pub(crate) fn parse_path(text: &str) -> Result<ShapedPath, String> {
    let parts: Vec<&str> = text.split(',').collect();
    let (rate, delay, loss) = match parts[..] {
        [rate, delay] => (rate, delay, None),
        [rate, delay, loss] => (rate, delay, Some(loss)),
        _ => return Err("expected RATE,DELAY or RATE,DELAY,LOSS such as 10Mbit,10ms,0.5%".into()),
    };
    let (delay, jitter) = match delay.split_once('~') {
        Some((delay, jitter)) => (delay, parse_delay(jitter)?),
        None => (delay, Duration::ZERO),
    };
    let loss = loss.map_or(Ok(0.0), parse_share)?;
    Ok(ShapedPath {
        rate: parse_rate(rate)?,
        delay: parse_delay(delay)?,
        jitter,
        loss,
    })
}

impl fmt::Display for ShapedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabits = self.rate.as_bits_per_second() as f64 / 1e6;
        write!(f, "{megabits} Mbit/s, {} ms", self.delay.as_secs_f64() * 1e3)?;
        if !self.jitter.is_zero() {
            write!(f, " ± {} ms", self.jitter.as_secs_f64() * 1e3)?;
        }
        if self.loss > 0.0 {
            write!(f, ", {}% loss", self.loss * 100.0)?;
        }
        Ok(())
    }
}

//! Kinds of traffic: `constant`, `poisson` or `on-off:500ms,1s`.

use serde::{Deserialize, Serialize};

use super::quantity::{parse_delay, parse_duration};

/// When messages are sent.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub(crate) enum Traffic {
    /// As fast as the paths allow, or evenly spaced at a rate.
    Constant,
    /// As a Poisson process with a mean rate.
    Poisson,
    /// As `Constant` for a time, then nothing for a time, and so on.
    OnOff { on_seconds: f64, off_seconds: f64 },
}

/// `constant`, `poisson` or `on-off:500ms,1s`.
pub(crate) fn parse_traffic(text: &str) -> Result<Traffic, String> {
    let expected = || "expected constant, poisson or on-off:TIME,TIME".to_owned();
    match text {
        "constant" => Ok(Traffic::Constant),
        "poisson" => Ok(Traffic::Poisson),
        _ => {
            let times = text
                .strip_prefix("on-off:")
                .and_then(|times| times.split_once(','));
            let (on, off) = times.ok_or_else(expected)?;
            Ok(Traffic::OnOff {
                on_seconds: parse_duration(on)?.as_secs_f64(),
                off_seconds: parse_delay(off)?.as_secs_f64(),
            })
        }
    }
}

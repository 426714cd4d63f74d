//! Bounds of the retransmission timeout (RFC 9260 §6.3.1).

use core::time::Duration;

use crate::parameters::{Parameter, Parameters, Slot};

/// Bounds of the retransmission timeout (RFC 9260 §6.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoParameters {
    /// RTO.Initial: the timeout before the first RTT sample.
    pub initial: Duration,
    /// RTO.Min.
    pub min: Duration,
    /// RTO.Max, back-off included.
    pub max: Duration,
    /// Least margin over the smoothed RTT: what four times its variation is at least (RFC 6298 §2.3, G).
    pub margin: Duration,
}

impl RtoParameters {
    //= rfc9260 16-2
    /// RTO.Initial 1 s, RTO.Min 1 s, RTO.Max 60 s (RFC 9260 §16), and as margin the granularity of the clock.
    pub const RFC9260: Self = Self {
        initial: Duration::from_secs(1),
        min: Duration::from_secs(1),
        max: Duration::from_secs(60),
        margin: GRANULARITY,
    };

    /// RTO.Min 400 ms: above the SACK delay of 200 ms with a margin for jitter, and a failed path stalls the association
    /// for less than half as long as with the one second of the RFC. The margin is 200 ms at any RTT: the RTT of a path without a queue
    /// hardly varies, and a queue that slow start fills within a round trip would let the timer expire.
    pub const RESPONSIVE: Self = Self {
        initial: Duration::from_secs(1),
        min: Duration::from_millis(400),
        max: Duration::from_secs(60),
        margin: Duration::from_millis(200),
    };
}

impl Default for RtoParameters {
    fn default() -> Self {
        Self::RFC9260
    }
}

/// The timer granularity of drivers: the clock granularity G of RFC 9260 §6.3.1, as RFC 6298 uses it.
const GRANULARITY: Duration = Duration::from_millis(1);

/// Upper bound of every timeout.
const LONGEST: Duration = Duration::from_secs(3_600);
/// Lower bound: a timer that expires at once would never end.
const SHORTEST: Duration = Duration::from_millis(1);

impl Parameters for RtoParameters {
    const LIST: &'static [Parameter] = &[
        Parameter {
            name: "initial",
            default: "1s",
            meaning: "timeout before the first RTT sample (RTO.Initial), 1ms to 3600s",
        },
        Parameter {
            name: "min",
            default: "1s",
            meaning: "shortest timeout (RTO.Min), 1ms to 3600s",
        },
        Parameter {
            name: "max",
            default: "60s",
            meaning: "longest timeout (RTO.Max), 1ms to 3600s",
        },
        Parameter {
            name: "margin",
            default: "1ms",
            meaning: "least margin over the smoothed round-trip time, 1ms to 3600s",
        },
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        let value = match name {
            "initial" => &mut self.initial,
            "min" => &mut self.min,
            "max" => &mut self.max,
            "margin" => &mut self.margin,
            _ => return None,
        };
        Some(Slot::time(value, SHORTEST..=LONGEST))
    }
}

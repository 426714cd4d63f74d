//! SACK delay. How long may an acknowledgement be delayed?

use core::time::Duration;

use anabranch_types::Instant;

use crate::parameters::{Parameter, Parameters, Slot};
use crate::{AckWhen, Arrival};

/// Upper bound of the delay that may be configured (RFC 9260 §6.2).
const LONGEST: Duration = Duration::from_millis(500);

/// How long a SACK may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayParameters {
    /// A SACK is sent after this many packets at the latest.
    pub packets: u32,
    /// A SACK is sent after this time at the latest (SACK.Delay, RFC 9260 §16); more than 500 ms count as 500 ms.
    pub delay: Duration,
}

impl DelayParameters {
    /// The default values.
    pub const DEFAULT: Self = Self {
        packets: 2,
        delay: Duration::from_millis(200),
    };
}

impl Default for DelayParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for DelayParameters {
    const LIST: &'static [Parameter] = &[
        Parameter {
            name: "packets",
            default: "2",
            meaning: "acknowledge after this many packets at the latest, 1 to 1000",
        },
        Parameter {
            name: "delay",
            default: "200ms",
            meaning: "acknowledge after this time at the latest, 0ms to 500ms",
        },
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        Some(match name {
            "packets" => Slot::number(&mut self.packets, 1..=1_000),
            "delay" => Slot::time(&mut self.delay, Duration::ZERO..=LONGEST),
            _ => return None,
        })
    }
}

/// Delays acknowledgements, counted from the first unacknowledged packet.
#[derive(Debug)]
pub(super) struct Delay {
    parameters: DelayParameters,
    deadline: Instant,
}

impl Delay {
    pub(super) const fn new(parameters: DelayParameters) -> Self {
        Self {
            parameters,
            deadline: Instant::ZERO,
        }
    }

    //= rfc9260 5.1-20, 5.1.5-7, 6.2-7, 6.2-8, 6.2-9
    pub(super) fn on_packet(&mut self, arrival: &Arrival, now: Instant) -> AckWhen {
        if arrival.packets_since_sack <= 1 {
            self.deadline = now + self.parameters.delay.min(LONGEST);
        }
        if arrival.packets_since_sack >= self.parameters.packets || self.deadline <= now {
            return AckWhen::Now;
        }
        AckWhen::By(self.deadline)
    }
}

//= rfc9260 5.1-19, 6.2-20, 6.2-21
/// Whether the SACK for this packet must not be delayed by any policy.
///
/// That is so for the first packet, so that the sender gets an RTT sample early; for a duplicate, which shows that the
/// SACK was lost and the peer's RTO has expired (RFC 9260 §6.2); and where the sender asked for it (I bit).
pub(super) const fn is_urgent(arrival: &Arrival) -> bool {
    arrival.first || arrival.duplicate || arrival.immediate
}

//! Parameters of SACKs. How much of a SACK is written, processed and remembered?

use crate::parameters::{Parameter, Parameters, Slot};

/// Parameters of `sack-handling = outstanding-array` (D. Sarnow, "SACK Handling for CMT-SCTP in the FreeBSD Kernel", HAW
/// Hamburg 2017, §5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutstandingArrayParameters {
    /// Initial entries of the array.
    pub initial: u32,
    /// Entries beyond which it does not grow: what is not in it is found by walking the queue.
    pub limit: u32,
}

impl Default for OutstandingArrayParameters {
    fn default() -> Self {
        Self {
            initial: 256,
            limit: 1_024,
        }
    }
}

impl Parameters for OutstandingArrayParameters {
    const LIST: &'static [Parameter] = &[
        Parameter {
            name: "initial",
            default: "256",
            meaning: "initial entries of the array, 1 to 1048576",
        },
        Parameter {
            name: "limit",
            default: "1024",
            meaning: "entries beyond which the array does not grow, 1 to 1048576",
        },
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        let value = match name {
            "initial" => &mut self.initial,
            "limit" => &mut self.limit,
            _ => return None,
        };
        Some(Slot::number(value, 1..=1 << 20))
    }
}

/// Parameters of `sack-window = fixed`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SackWindowParameters {
    /// TSNs above the cumulative one that are reported.
    pub tsns: u32,
}

/// About as many as Sarnow 2017 §6.2.2 found necessary to match a SACK without a window.
const TSNS: u32 = 1_000;

const TSNS_PARAMETER: Parameter = Parameter {
    name: "tsns",
    default: "1000",
    meaning: "TSNs in a window, 1 to 65535",
};

impl Default for SackWindowParameters {
    fn default() -> Self {
        Self { tsns: TSNS }
    }
}

impl Parameters for SackWindowParameters {
    const LIST: &'static [Parameter] = &[TSNS_PARAMETER];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        (name == "tsns").then(|| Slot::number(&mut self.tsns, 1..=65_535))
    }
}

/// Parameters of `sack-window = sliding`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlidingWindowParameters {
    /// TSNs in a window.
    pub tsns: u32,
    /// How many windows above the first are processed in turn.
    pub windows: u32,
}

impl Default for SlidingWindowParameters {
    fn default() -> Self {
        Self {
            tsns: TSNS,
            windows: 4,
        }
    }
}

impl Parameters for SlidingWindowParameters {
    const LIST: &'static [Parameter] = &[
        TSNS_PARAMETER,
        Parameter {
            name: "windows",
            default: "4",
            meaning: "windows above the first that are processed in turn, 1 to 1000",
        },
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        match name {
            "tsns" => Some(Slot::number(&mut self.tsns, 1..=65_535)),
            "windows" => Some(Slot::number(&mut self.windows, 1..=1_000)),
            _ => None,
        }
    }
}

/// Parameters of `gap-limit = fixed`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GapLimitParameters {
    /// Largest number of gap ack blocks in one SACK.
    pub blocks: u32,
}

impl Default for GapLimitParameters {
    fn default() -> Self {
        Self { blocks: 32 }
    }
}

impl Parameters for GapLimitParameters {
    const LIST: &'static [Parameter] = &[Parameter {
        name: "blocks",
        default: "32",
        meaning: "largest number of gap ack blocks in one SACK, 1 to 65535",
    }];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        (name == "blocks").then(|| Slot::number(&mut self.blocks, 1..=65_535))
    }
}

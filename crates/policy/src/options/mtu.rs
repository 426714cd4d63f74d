//! Parameters of path MTU discovery (RFC 8899).

use core::time::Duration;

use crate::parameters::{Parameter, Parameters, Slot};

/// Parameters of the search (RFC 8899 §5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MtuSearchParameters {
    /// BASE_PLPMTU: the initial size of IP packets in bytes. With IPv6 at least 1,280.
    pub base: u16,
    /// PMTU_RAISE_TIMER: the time after which a larger size is probed again.
    pub raise_after: Duration,
}

impl MtuSearchParameters {
    /// The default values.
    pub const DEFAULT: Self = Self {
        base: 1_200,
        raise_after: Duration::from_secs(600),
    };
}

impl Default for MtuSearchParameters {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Parameters for MtuSearchParameters {
    const LIST: &'static [Parameter] = &[
        Parameter {
            name: "base",
            default: "1200",
            meaning: "size of IP packets that nearly every path carries, in bytes (BASE_PLPMTU of RFC 8899), 576 to 65535",
        },
        Parameter {
            name: "raise",
            default: "600s",
            meaning: "time after which a larger size is tried again (PMTU_RAISE_TIMER of RFC 8899), 1s to 86400s",
        },
    ];

    fn slot(&mut self, name: &str) -> Option<Slot<'_>> {
        match name {
            "base" => Some(Slot::number(&mut self.base, 576..=u16::MAX.into())),
            "raise" => {
                let range = Duration::from_secs(1)..=Duration::from_secs(86_400);
                Some(Slot::time(&mut self.raise_after, range))
            }
            _ => None,
        }
    }
}

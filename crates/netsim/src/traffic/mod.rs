//! Cross traffic: open-loop sources that load a link and need no receiver.

mod arrivals;

pub use arrivals::{Arrivals, Pattern};

use anabranch_types::{Instant, Rate};

use crate::LinkId;

/// A source of equal packets that cross one link and are then discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// The loaded link.
    pub link: LinkId,
    /// Arrival process of the packets.
    pub pattern: Pattern,
    /// Mean rate in bits of IP; for [`Pattern::OnOff`] the rate of on-periods.
    pub rate: Rate,
    /// Size of each IP packet in bytes.
    pub packet_bytes: u32,
    /// Start time; the first packet comes one gap later.
    pub from: Instant,
    /// Stop time.
    pub until: Instant,
}

impl Source {
    /// A source that never stops, with packets of 1,500 bytes.
    #[must_use]
    pub const fn endless(link: LinkId, pattern: Pattern, rate: Rate) -> Self {
        Self {
            link,
            pattern,
            rate,
            packet_bytes: 1_500,
            from: Instant::ZERO,
            until: Instant::MAX,
        }
    }
}

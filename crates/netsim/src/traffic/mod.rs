//! Who else uses the link? Sources that only load it and care for no answer.

mod arrivals;

pub use arrivals::{Arrivals, Pattern};

use anabranch_types::{Instant, Rate};

use crate::LinkId;

/// A source of equal packets that cross one link and vanish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// The link that the packets load.
    pub link: LinkId,
    /// The rhythm of the packets.
    pub pattern: Pattern,
    /// Mean rate in bits of IP; that of the periods of activity in the case of [`Pattern::OnOff`].
    pub rate: Rate,
    /// Bytes of IP in each packet.
    pub packet_bytes: u32,
    /// When the source starts; its first packet comes one gap later.
    pub from: Instant,
    /// When it stops.
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

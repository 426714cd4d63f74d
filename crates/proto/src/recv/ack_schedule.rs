//! Delayed acknowledgement: when a SACK is sent. The ack policy decides, except where RFC 9260 §6.2 requires an immediate SACK.

use core::time::Duration;

use anabranch_policy::{AckPolicy, AckWhen, Arrival};
use anabranch_types::{Instant, PathId, UnwrappedTsn};

//= rfc9260 6.2-14, 6.2-15
/// RFC 9260 §6.2: the delay of an acknowledgement MUST NOT exceed 500 ms, whatever a policy says.
const MAX_DELAY: Duration = Duration::from_millis(500);

/// Whether the next packet carries a SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SackWanted {
    /// No SACK is needed.
    No,
    /// A SACK is bundled with a packet that is sent anyway.
    May,
    /// A SACK is due, also in a packet of its own.
    Must,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    Never,
    By(Instant),
    Now,
}

/// Effects of the DATA chunks of the current packet.
#[derive(Debug, Default)]
struct PacketSoFar {
    /// The highest TSN that is new.
    highest_new: Option<UnwrappedTsn>,
    duplicate: bool,
    dropped: bool,
    gaps_changed: bool,
    immediate: bool,
}

/// Collects the effects of a packet, asks the policy, and keeps its decision until a SACK is sent.
#[derive(Debug)]
pub(super) struct AckSchedule {
    due: Due,
    packet: PacketSoFar,
    first_packet_seen: bool,
    packets_since_sack: u32,
    last_data_path: PathId,
}

impl AckSchedule {
    pub(super) fn new() -> Self {
        Self {
            due: Due::Never,
            packet: PacketSoFar::default(),
            first_packet_seen: false,
            packets_since_sack: 0,
            last_data_path: PathId::default(),
        }
    }

    pub(super) fn on_new(&mut self, tsn: UnwrappedTsn, gaps_changed: bool) {
        self.packet.highest_new = self.packet.highest_new.max(Some(tsn));
        self.packet.gaps_changed |= gaps_changed;
    }

    //= rfc9260 6.2-22
    pub(super) fn on_duplicate(&mut self) {
        self.packet.duplicate = true;
    }

    //= rfc9260 6.2-4, 6.2-5
    pub(super) fn on_dropped(&mut self) {
        self.packet.dropped = true;
    }

    //= rfc8260 2.1-3
    pub(super) fn on_immediate(&mut self, immediate: bool) {
        self.packet.immediate |= immediate;
    }

    //= rfc9260 6.2-10, 6.2-11
    /// Ends a packet; `lowest_missing` is the first missing TSN, if there is a gap. Returns whether one of its chunks had the I
    /// bit.
    pub(super) fn packet_done(
        &mut self,
        path: PathId,
        lowest_missing: Option<UnwrappedTsn>,
        policy: &mut dyn AckPolicy,
        now: Instant,
    ) -> bool {
        let packet = core::mem::take(&mut self.packet);
        self.last_data_path = path;
        self.packets_since_sack = self.packets_since_sack.saturating_add(1);
        let first = !core::mem::replace(&mut self.first_packet_seen, true);
        let answer = policy.on_packet(
            &Arrival {
                path,
                first,
                duplicate: packet.duplicate,
                lowest_missing,
                highest_new: packet.highest_new,
                gaps_changed: packet.gaps_changed,
                immediate: packet.immediate,
                packets_since_sack: self.packets_since_sack,
            },
            now,
        );
        // RFC 9260 §6.2: a dropped chunk, and a packet with duplicates and no new data, MUST be followed by an immediate SACK.
        let no_choice = packet.dropped || (packet.duplicate && packet.highest_new.is_none());
        match answer {
            _ if no_choice => self.force(),
            AckWhen::Now => self.force(),
            AckWhen::By(at) => self.delay_until(at.min(now + MAX_DELAY)),
        }
        packet.immediate
    }

    /// Makes a SACK due at once.
    pub(super) fn force(&mut self) {
        self.due = Due::Now;
    }

    pub(super) fn wanted(&self, now: Instant) -> SackWanted {
        match self.due {
            Due::Never => SackWanted::No,
            Due::By(at) if now < at => SackWanted::May,
            Due::By(_) | Due::Now => SackWanted::Must,
        }
    }

    /// The time at which a delayed SACK becomes due; `None` also if one is due already, as it needs no timer.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.due {
            Due::By(at) => Some(at),
            Due::Never | Due::Now => None,
        }
    }

    pub(super) fn on_sack_sent(&mut self) {
        self.due = Due::Never;
        self.packets_since_sack = 0;
    }

    pub(super) fn packets_since_sack(&self) -> u32 {
        self.packets_since_sack
    }

    pub(super) fn last_data_path(&self) -> PathId {
        self.last_data_path
    }

    fn delay_until(&mut self, at: Instant) {
        self.due = match self.due {
            Due::Never => Due::By(at),
            Due::By(earlier) => Due::By(earlier.min(at)),
            Due::Now => Due::Now,
        };
    }
}

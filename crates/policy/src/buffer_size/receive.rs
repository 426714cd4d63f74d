//! Receive buffer that sizes itself. How much may the peer send before the application has received it?
//!
//! Source: Linux, `tcp_rcv_space_adjust`; M. Fisk and W. Feng, "Dynamic right-sizing in TCP", 2001.
//!
//! Idea: a window limits a peer to one window in each round trip. So what an application could receive in a round trip is counted, and the
//! buffer has room for twice as much: if the window was the limit, it doubles in each round trip, until it is not. Twice also
//! covers the round trip in which a lost chunk is retransmitted. While what becomes readable still grows, as in slow start, there is room for
//! what a faster peer sends until the larger window reaches it.
//!
//! ```text
//! round  = longest smoothed round-trip time of the active paths, 10 ms to 2 s, with several of them at least 150 ms
//! growth = 2 × (readable − readable in the round before), at most readable, 0 if it has not grown
//! size   = max(size, 2 × (readable + growth)), within the range
//! ```
//!
//! Several paths are one buffer. Chunks of a fast path wait for those of a slow one, so the round trip is that of the slowest, whether it
//! carries data or not: a path scheduler uses it only if the window suffices. What waited for a gap becomes
//! readable at once, and so counts in one round: the rate times the time that the gap lasted.
//!
//! If a path fails, the chunks that it had wait until it is found out. So that the others can go on meanwhile, a round with several paths
//! has at least 150 ms, and the buffer what comes in 300 ms.
//!
//! Deviations: Linux counts what an application has copied, so one that reads in bursts, however rarely, gets room for more and more. Here a round
//! counts only if the application had taken nearly everything at some time in it. And rounds begin with a packet, so a pause of the peer
//! is not part of one. The buffer never becomes smaller: an advertised window is not taken back.

use core::time::Duration;

use anabranch_types::Instant;

use super::SizeRange;
use crate::PathFacts;

/// Shortest round: below, what is measured is how packets and the application take turns.
const SHORTEST_ROUND: Duration = Duration::from_millis(10);

/// Shortest round with several paths, of which one may fail.
const SHORTEST_OF_SEVERAL: Duration = Duration::from_millis(150);

/// Longest round. Round-trip times come from heartbeats here, which a peer may answer late to get a large buffer.
const LONGEST_ROUND: Duration = Duration::from_secs(2);

/// What may be unread of a buffer whose application keeps up: one part of this many.
const KEEPS_UP: u64 = 8;

/// What the size of the receive buffer depends on, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiveFacts {
    /// Became readable for the application, in total.
    pub readable: u64,
    /// Of these, not read yet.
    pub unread: u64,
    /// The size so far.
    pub size: u64,
    /// Whether memory is scarce.
    pub scarce: bool,
}

/// Sizes the receive buffer of an association.
#[derive(Clone, Debug, Default)]
pub struct ReceiveSizing {
    /// [`ReceiveFacts::readable`] after the last packet.
    readable: u64,
    round: Option<Round>,
}

/// The round that is being measured.
#[derive(Clone, Copy, Debug)]
struct Round {
    ends: Instant,
    length: Duration,
    /// What had become readable before it.
    readable: u64,
    /// The least that was unread at the arrival of a packet.
    least_unread: u64,
    /// What became readable in the round before.
    before: u64,
}

impl ReceiveSizing {
    /// A packet with data was processed. Returns the size of the buffer from now on.
    pub fn on_packet(
        &mut self,
        range: &SizeRange,
        facts: &ReceiveFacts,
        paths: &[PathFacts],
        now: Instant,
    ) -> u64 {
        // The first packet is only where counting begins.
        let before_packet = if self.round.is_some() {
            self.readable
        } else {
            facts.readable
        };
        let came = facts.readable.saturating_sub(before_packet);
        self.readable = facts.readable;
        let unread = facts.unread.saturating_sub(came);
        let (mut size, mut before) = (facts.size, 0);
        if let Some(round) = &mut self.round {
            round.least_unread = round.least_unread.min(unread);
            if now < round.ends {
                return size;
            }
            before = before_packet.saturating_sub(round.readable);
            let keeps_up = round.least_unread <= size / KEEPS_UP;
            if keeps_up && !facts.scarce {
                size = size.max(range.clamp(wanted(before, round.before)));
            }
        }
        self.round = longest_round(paths).map(|length| Round {
            ends: now + length,
            length,
            readable: before_packet,
            least_unread: unread,
            before,
        });
        size
    }

    /// Whether no packet has come for a round, so that nothing is lost if counting starts again.
    #[must_use]
    pub fn is_idle(&self, now: Instant) -> bool {
        self.round.is_none_or(|round| now >= round.ends + round.length)
    }
}

/// The size for a peer that sent `readable` bytes in a round, after `before` in the one before.
fn wanted(readable: u64, before: u64) -> u64 {
    let growth = readable.saturating_sub(before).saturating_mul(2).min(readable);
    readable.saturating_add(growth).saturating_mul(2)
}

/// The longest smoothed round-trip time of the active paths; `None` before there is one.
fn longest_round(paths: &[PathFacts]) -> Option<Duration> {
    let active = || paths.iter().filter(|path| path.is_active());
    let longest = active().filter_map(|path| path.srtt()).max()?;
    let shortest = if active().nth(1).is_some() {
        SHORTEST_OF_SEVERAL
    } else {
        SHORTEST_ROUND
    };
    Some(longest.clamp(shortest, LONGEST_ROUND))
}

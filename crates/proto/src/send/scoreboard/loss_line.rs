//! Which chunks does a loss line cut off? Those at the heads of the two lists, each touched once.

use anabranch_policy::{LossCause, LossLine};
use anabranch_types::{PathId, UnwrappedTsn};

use super::Scoreboard;
use super::record::{Order, Sent, State};

/// What was lost at one moment on one path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Lost {
    /// Bytes of chunks, headers and padding included.
    pub(crate) bytes: u64,
    /// How many chunks.
    pub(crate) chunks: u32,
    /// The highest TSN among them.
    pub(crate) highest: Option<UnwrappedTsn>,
}

impl Scoreboard {
    /// Everything in flight on `path` below `line` waits for retransmission from now on.
    pub(crate) fn lose(&mut self, path: PathId, line: LossLine) -> Lost {
        let is_late = |sent: &Sent| line.sent_before.is_some_and(|moment| sent.sent_at < moment);
        let mut lost = Lost::default();
        self.lose_while(
            path,
            Order::First,
            LossCause::FastRetransmit,
            &mut lost,
            |tsn, sent| line.below.is_some_and(|below| tsn < below) || is_late(sent),
        );
        self.lose_while(
            path,
            Order::Again,
            LossCause::FastRetransmit,
            &mut lost,
            |_, sent| line.resent_before.is_some_and(|bound| sent.transmission < bound) || is_late(sent),
        );
        lost
    }

    /// Everything in flight on `path` waits for retransmission from now on: its timer expired
    /// (RFC 9260 §6.3.3 E3), or the path is gone.
    pub(crate) fn lose_all(&mut self, path: PathId) -> Lost {
        let mut lost = Lost::default();
        self.lose_while(path, Order::First, LossCause::Timeout, &mut lost, |_, _| true);
        self.lose_while(path, Order::Again, LossCause::Timeout, &mut lost, |_, _| true);
        lost
    }

    fn lose_while(
        &mut self,
        path: PathId,
        order: Order,
        cause: LossCause,
        lost: &mut Lost,
        is_lost: impl Fn(UnwrappedTsn, &Sent) -> bool,
    ) {
        while let Some(tsn) = self.flights.head(path, order) {
            let sent = &mut self.ring[tsn];
            let State::InFlight(links) = sent.state else { break };
            if !is_lost(tsn, sent) {
                break;
            }
            sent.state = State::Lost(cause);
            sent.timed_out |= cause == LossCause::Timeout;
            self.payload_in_flight -= sent.chunk.payload_bytes();
            self.payload_lost += sent.chunk.payload_bytes();
            lost.bytes += sent.chunk.bytes();
            lost.chunks += 1;
            lost.highest = lost.highest.max(Some(tsn));
            self.flights.land(&mut self.ring, tsn, links);
            self.lost.insert(tsn);
        }
    }
}

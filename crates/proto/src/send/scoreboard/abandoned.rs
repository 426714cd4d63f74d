//! Abandoned chunks (RFC 3758 §3.5 A2). They count as acknowledged, without credit for any path.
//!
//! They are treated like chunks that an NR-SACK has reported: their user data is freed, no SACK can take that back, and the record
//! waits for the cumulative acknowledgement.

use core::mem;

use anabranch_types::{Instant, IntervalSet, MessageId, PathId, SendNumber, UnwrappedTsn};
use bytes::Bytes;

use super::Scoreboard;
use super::record::{Sent, State};
use crate::send::chunk::Chunk;

impl Scoreboard {
    /// The message of an outstanding TSN.
    pub(crate) fn message_of(&self, tsn: UnwrappedTsn) -> MessageId {
        self.ring[tsn].chunk.message
    }

    /// Message and number of transmissions of a TSN with a record.
    pub(crate) fn transmissions(&self, tsn: UnwrappedTsn) -> Option<(MessageId, u32)> {
        let sent = self.ring.get(tsn)?;
        Some((sent.chunk.message, sent.transmissions.into()))
    }

    /// The chunk of a TSN with a record.
    pub(crate) fn chunk(&self, tsn: UnwrappedTsn) -> Option<&Chunk> {
        self.ring.get(tsn).map(|sent| &sent.chunk)
    }

    /// The end of the non-renegable TSNs from `first` on, which is abandoned.
    pub(crate) fn kept_through(&self, first: u64) -> u64 {
        self.gaps
            .kept
            .range_with(first)
            .map_or(first + 1, |range| range.end)
    }

    //= rfc3758 3.5-2, 3.5-3, 3.5-4
    /// Abandons the chunk `tsn` if it belongs to `message`; returns whether it does.
    pub(crate) fn abandon(&mut self, tsn: UnwrappedTsn, message: MessageId) -> bool {
        let Some(sent) = self.ring.get(tsn).filter(|sent| sent.chunk.message == message) else {
            return false;
        };
        let first_path = sent.first_path;
        if !sent.has_arrived() {
            self.withdraw(tsn);
            self.flights.arrival_mut(first_path).arrived(tsn);
        }
        let sent = &mut self.ring[tsn];
        if sent.state != State::Kept {
            self.flights.release(sent.path, sent.chunk.bytes());
            self.payload_held -= sent.chunk.payload_bytes();
            sent.chunk.payload = Bytes::new();
            sent.state = State::Kept;
        }
        self.settle_abandoned(tsn);
        true
    }

    /// Adds a TSN that is abandoned from the start.
    pub(crate) fn put_skipped(&mut self, chunk: Chunk) -> UnwrappedTsn {
        let mut sent = Sent::new(chunk, PathId::default(), SendNumber(0), Instant::ZERO);
        sent.state = State::Kept;
        let tsn = self.ring.push(sent);
        self.settle_abandoned(tsn);
        tsn
    }

    /// Notes that no SACK has to report `tsn`, or can take it back.
    fn settle_abandoned(&mut self, tsn: UnwrappedTsn) {
        let gaps = self.gaps.make_mut();
        gaps.kept.insert(tsn.0..tsn.0 + 1);
        let mut reported: IntervalSet = mem::take(&mut gaps.reported).into_iter().collect();
        reported.insert(tsn.0..tsn.0 + 1);
        gaps.reported.extend(reported.iter());
    }
}

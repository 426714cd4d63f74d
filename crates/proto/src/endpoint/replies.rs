//! Replies to unverified peers, without state and limited in length and number.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use anabranch_types::{ChannelId, PathAddr, VerificationTag};
use anabranch_wire::{CommonHeader, OutboundAbort, PacketBuilder, WriteChunk};

use super::inbound::Inbound;
use crate::input::contains_abort;

/// Amplification limit: before its address is verified, a peer gets at most this many times the bytes that it sent. That is too
/// little for useful reflection attacks (RFC 9000 §8.1 has the same factor).
pub(crate) const MAX_AMPLIFICATION: usize = 3;

/// Queue of packets to unverified peers.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    queue: VecDeque<(ChannelId, PathAddr, Vec<u8>)>,
    unanswered: u64,
}

impl Replies {
    /// Maximum number of queued replies; further packets get none.
    const LIMIT: usize = 256;

    //= rfc9260 3-1, 6.10-8, 9.1-5
    /// Replies to `inbound` with one chunk, unless it contains an ABORT (RFC 9260 §9.1).
    pub(crate) fn push(&mut self, inbound: &Inbound<'_>, tag: VerificationTag, chunk: &impl WriteChunk) {
        if contains_abort(inbound.packet) {
            return;
        }
        if self.queue.len() >= Self::LIMIT {
            self.unanswered += 1;
            return;
        }
        let header = inbound.packet.header();
        let header = CommonHeader {
            source_port: header.destination_port,
            destination_port: header.source_port,
            tag,
        };
        let mut bytes = Vec::new();
        let mut reply = PacketBuilder::new(&mut bytes, header, inbound.packet.len() * MAX_AMPLIFICATION);
        if reply.push(chunk).is_ok() {
            reply.finish_unsealed();
            //= rfc9260 5.1-3, 5.1-12, 5.1.2-7
            self.queue.push_back((inbound.channel, inbound.arrival, bytes));
        } else {
            self.unanswered += 1;
        }
    }

    /// Number of replies not sent, because too many were queued or the reply would have been too long.
    pub(crate) const fn unanswered(&self) -> u64 {
        self.unanswered
    }

    /// Replies with an ABORT that has the peer's tag.
    pub(crate) fn abort(&mut self, inbound: &Inbound<'_>, tag: VerificationTag, causes: Vec<u8>) {
        self.push(
            inbound,
            tag,
            &OutboundAbort {
                tag_reflected: false,
                causes,
            },
        );
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<(ChannelId, PathAddr, Vec<u8>)> {
        self.queue.pop_front()
    }
}

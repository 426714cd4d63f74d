//! Replies to unverified peers. What is answered without state? Little, and seldom.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use anabranch_types::{PathAddr, VerificationTag};
use anabranch_wire::{CommonHeader, OutboundAbort, PacketBuilder, WriteChunk};

use super::inbound::Inbound;
use crate::input::contains_abort;

/// Before its address is verified, a peer gets at most this many times the bytes that it sent: less than
/// what makes reflection worth an attacker's while (RFC 9000 §8.1 sets the same factor).
pub(crate) const MAX_AMPLIFICATION: usize = 3;

/// Packets that wait to be sent to unverified peers.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    queue: VecDeque<(PathAddr, Vec<u8>)>,
    unanswered: u64,
}

impl Replies {
    /// More wait for the socket than this: further ones are not answered.
    const LIMIT: usize = 256;

    //= rfc9260 3-1, 6.10-8, 9.1-5
    /// Answers `inbound` with one chunk, unless it holds an ABORT (RFC 9260 §9.1).
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
            self.queue.push_back((inbound.arrival, bytes));
        } else {
            self.unanswered += 1;
        }
    }

    /// How many answers were not given: too many waited, or they would have been too long.
    pub(crate) const fn unanswered(&self) -> u64 {
        self.unanswered
    }

    /// Answers with an ABORT that the peer recognises by its own tag.
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

    pub(crate) fn pop(&mut self) -> Option<(PathAddr, Vec<u8>)> {
        self.queue.pop_front()
    }
}

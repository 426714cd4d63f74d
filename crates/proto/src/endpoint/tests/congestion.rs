//! Tests of congestion control of an association (RFC 9260 §7.2): effects of SACKs, losses and idle periods on cwnd.

use core::time::Duration;

use anabranch_policy::PolicyRecipe;
use anabranch_wire::{GapBlock, OutboundSack};

use super::*;

/// Congestion control exactly as in RFC 9260, with 1,460 bytes of chunks in a full packet and no limit to bursts.
fn rfc9260_config() -> AssociationConfig {
    let mut policies = PolicyRecipe::rfc9260();
    for (name, value) in [("pmtu", "fixed"), ("burst", "unlimited"), ("cc.growth", "cuc-v2")] {
        policies.set(name, value).expect("a choice of the catalog");
    }
    AssociationConfig { policies, ..config() }
}

/// An endpoint whose peer has an unlimited window, and the verification tag of packets to the endpoint.
struct Transfer {
    endpoint: Endpoint,
    tag: VerificationTag,
    /// The number of the next DATA chunk, counted from 0.
    sent: u32,
    now: Instant,
}

impl Transfer {
    fn established() -> Self {
        let mut endpoint = endpoint_with(rfc9260_config());
        let tag = accept_peer(&mut endpoint, 5, &[]);
        Self {
            endpoint,
            tag,
            sent: 0,
            now: START,
        }
    }

    fn facts(&self) -> &anabranch_policy::PathFacts {
        let association = self.endpoint.associations().next().expect("one");
        &association.path_facts()[0]
    }

    fn chunk(&self) -> u64 {
        self.facts().max_data_chunk.into()
    }

    /// Enqueues messages that fill one packet each. Returns how many chunks are sent.
    fn send_messages(&mut self, messages: u32) -> u32 {
        let payload = usize::from(self.facts().max_data_chunk) - Data::HEADER_LEN;
        self.send_messages_of(messages, payload)
    }

    fn send_messages_of(&mut self, messages: u32, payload: usize) -> u32 {
        let id = self
            .endpoint
            .associations()
            .map(Association::id)
            .next()
            .expect("one");
        let mut association = self.endpoint.association_mut(id).expect("it lives");
        for _ in 0..messages {
            let message = Message::new(StreamId(0), vec![7; payload]);
            association.send(message).expect("room");
        }
        drop(association);
        let packets = poll_packets(&mut self.endpoint, self.now);
        self.count_data(&packets)
    }

    fn count_data(&mut self, packets: &[Vec<u8>]) -> u32 {
        let left = kinds(packets)
            .into_iter()
            .filter(|kind| *kind == kind::DATA)
            .count() as u32;
        self.sent += left;
        left
    }

    /// A SACK arrives for the first `cumulative` chunks and for `blocks` above them. Returns how many chunks are sent.
    fn acknowledge(&mut self, cumulative: u32, blocks: &[GapBlock]) -> u32 {
        let sack = self.sack(cumulative, blocks);
        self.receive(&sack)
    }

    fn sack<'a>(&self, cumulative: u32, blocks: &'a [GapBlock]) -> OutboundSack<'a> {
        OutboundSack {
            cumulative: Tsn(self.tag.0.wrapping_add(cumulative).wrapping_sub(1)),
            a_rwnd: 10_000_000,
            packet_count: None,
            blocks,
            duplicates: &[],
        }
    }

    /// This SACK arrives. Returns how many chunks are sent.
    fn receive(&mut self, sack: &OutboundSack<'_>) -> u32 {
        self.now += Duration::from_millis(1);
        let packets = deliver(&mut self.endpoint, self.now, peer(2), self.tag, sack);
        self.count_data(&packets)
    }

    /// Slow start up to a cwnd of `chunks` full chunks, all in flight. Returns how many chunks were acknowledged.
    fn with_full_window(chunks: u32) -> (Self, u32) {
        let mut transfer = Self::established();
        transfer.send_messages(2_000);
        let mut acknowledged = 0;
        while transfer.facts().cwnd < u64::from(chunks) * transfer.chunk() {
            acknowledged += 1;
            transfer.acknowledge(acknowledged, &[]);
        }
        (transfer, acknowledged)
    }
}

const fn block(start: u16, end: u16) -> GapBlock {
    GapBlock { start, end }
}

//= rfc9260 7.2.1-4
/// RFC 9260 §6.1 B: 4,404 bytes hold three chunks and a part of the fourth.
#[test]
fn cwnd_is_exceeded_by_less_than_one_packet() {
    let mut transfer = Transfer::established();
    assert_eq!((transfer.facts().cwnd, transfer.chunk()), (4_404, 1_460));
    assert_eq!(transfer.send_messages(10), 4);
    assert_eq!(transfer.facts().in_flight, 4 * 1_460);
}

//= rfc9260 7.2-4
#[test]
fn padding_counts_as_in_flight() {
    let mut transfer = Transfer::established();
    transfer.send_messages_of(1, 101);
    assert_eq!(transfer.facts().in_flight, Data::HEADER_LEN as u64 + 104);
}

//= rfc9260 7.2.4-6
#[test]
fn losses_of_one_window_reduce_cwnd_once() {
    let (mut transfer, acked) = Transfer::with_full_window(20);
    let before = transfer.facts().cwnd;
    // Chunk 0 behind the cumulative TSN is lost, then chunk 5.
    for end in [2, 3, 4] {
        transfer.acknowledge(acked, &[block(2, end)]);
    }
    let cut = transfer.facts().cwnd;
    assert_eq!((cut, transfer.facts().ssthresh), (before / 2, before / 2));
    for end in [7, 8, 9] {
        transfer.acknowledge(acked, &[block(2, 5), block(7, end)]);
    }
    let lost = transfer.facts().lost_chunks;
    assert_eq!(
        (lost, transfer.facts().cwnd, transfer.facts().ssthresh),
        (2, cut, cut)
    );
}

//= rfc9260 7.2.4-7
#[test]
fn sack_grows_cwnd_before_its_loss_reduces_it() {
    let (mut transfer, acked) = Transfer::with_full_window(20);
    let before = transfer.facts().cwnd;
    for end in [3, 4] {
        transfer.acknowledge(acked, &[block(3, end)]);
    }
    assert_eq!(transfer.facts().cwnd, before, "slow start does not grow by gaps");
    // The cumulative TSN advances by one, and the chunk behind it is missing for the third time.
    transfer.acknowledge(acked + 1, &[block(2, 4)]);
    assert_eq!(transfer.facts().lost_chunks, 1);
    let grown = before + transfer.chunk();
    assert_eq!(transfer.facts().cwnd, grown / 2);
}

//= rfc9260 7.1-1, 7.2.1-10, 7.2.1-11, 7.2.2-3
#[test]
fn idle_path_halves_its_cwnd_once_per_rto() {
    let (mut transfer, _) = Transfer::with_full_window(40);
    let mut acknowledged = 0;
    while acknowledged < transfer.sent {
        acknowledged = transfer.sent;
        transfer.acknowledge(acknowledged, &[]);
    }
    let (before, rto) = (transfer.facts().cwnd, transfer.facts().rto());
    transfer.now += 2 * rto + rto / 2;
    transfer.send_messages(1);
    assert_eq!(transfer.facts().cwnd, before / 4);
    assert_eq!(transfer.facts().ssthresh, before);
}

/// A full window whose first chunk was lost and retransmitted, at a receiver whose SACKs have room for one gap ack block; and how many
/// chunks were acknowledged.
fn with_truncated_sacks() -> (Transfer, u32) {
    let (mut transfer, acked) = Transfer::with_full_window(20);
    for end in [2, 3, 4] {
        transfer.acknowledge(acked, &[block(2, end)]);
    }
    (transfer, acked)
}

#[test]
fn truncated_sack_without_news_makes_room_for_a_packet() {
    let (mut transfer, acked) = with_truncated_sacks();
    let (before, chunk) = (transfer.facts().in_flight, transfer.chunk());
    transfer.acknowledge(acked, &[block(2, 4)]);
    assert_eq!(transfer.facts().in_flight, before - chunk);
    let sent: Vec<u32> = (0..20)
        .map(|_| transfer.acknowledge(acked, &[block(2, 4)]))
        .collect();
    assert_eq!(sent.last(), Some(&1), "{sent:?}");
    assert!(transfer.facts().in_flight <= transfer.facts().cwnd + chunk);
}

#[test]
fn reported_chunks_take_back_the_room_that_truncated_sacks_made() {
    let (mut transfer, acked) = with_truncated_sacks();
    let before = transfer.facts().in_flight;
    for _ in 0..5 {
        transfer.acknowledge(acked, &[block(2, 4)]);
    }
    // The retransmission has arrived, and five chunks above the block.
    transfer.acknowledge(acked + 9, &[]);
    let retransmitted = 1;
    let outstanding = u64::from(transfer.sent - retransmitted - acked - 9) * transfer.chunk();
    assert_eq!(transfer.facts().in_flight, outstanding);
    assert!(outstanding <= before);
}

#[test]
fn sack_with_another_cause_than_arrivals_makes_no_room() {
    let (mut transfer, acked) = with_truncated_sacks();
    let before = transfer.facts().in_flight;
    let blocks = [block(2, 4)];
    let sack = transfer.sack(acked, &blocks);
    let duplicates = [Tsn(sack.cumulative.0.wrapping_add(2))];
    let for_duplicates = OutboundSack {
        duplicates: &duplicates,
        ..sack
    };
    let for_window = OutboundSack {
        a_rwnd: 11_000_000,
        ..sack
    };
    let shorter = [block(2, 3)];
    let overtaken = OutboundSack {
        a_rwnd: 11_000_000,
        blocks: &shorter,
        ..sack
    };
    for sack in [for_duplicates, for_window, overtaken] {
        transfer.receive(&sack);
        assert_eq!(transfer.facts().in_flight, before, "{sack:?}");
    }
}

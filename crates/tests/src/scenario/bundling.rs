//! Bundling of small messages (RFC 9260 §6.10). What do they cost on the wire?

use anabranch_sim::app::Streams;
use anabranch_sim::{Direction, Side};
use anabranch_wire::Packet;
use anabranch_wire::chunk::kind;

use crate::fixture::{Pair, mbit, ms};

/// Lengths of the packets with DATA if Alice sends `count` messages of `bytes` bytes at once.
fn packets_of(count: u64, bytes: usize) -> Vec<usize> {
    let mut pair = Pair::one_path(mbit(10), ms(20)).connected();
    pair.run_for(ms(100));
    pair.alice().send_messages(count, bytes, Streams::in_turn(2));
    pair.run_for(ms(100));
    let log = pair.simulation.host(Side::Near).log();
    let sent = log.packets().filter(|packet| packet.direction == Direction::Sent);
    sent.filter(|packet| {
        let packet = Packet::parse(&packet.bytes).unwrap();
        packet.chunks().flatten().any(|chunk| chunk.kind == kind::DATA)
    })
    .map(|packet| packet.bytes.len())
    .collect()
}

/// T. Andersson, "Single SCTP Association with Multiple Streams vs. Multiple TCP Connections" (Karlstad 2005): n
/// chunks in one packet cost 12 + 16 n bytes of headers, where n segments of TCP cost 32 n.
#[test]
fn bundled_message_costs_one_data_chunk_header() {
    for (count, headers) in (1..).zip([28, 44, 60, 76, 92]) {
        let payload = 40 * count as usize;
        assert_eq!(packets_of(count, 40), [headers + payload]);
    }
}

//= rfc9260 3.3.1-8, 3.3.1-9, 3.3.1-10
#[test]
fn data_chunk_is_padded_to_four_bytes() {
    assert_eq!(packets_of(2, 41), [12 + 2 * (16 + 44)]);
}

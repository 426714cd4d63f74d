//! Tests of the packet builder: packets stay within their limit.

use alloc::vec;
use alloc::vec::Vec;

use anabranch_types::{Ppid, Ssn, StreamId, Tsn, VerificationTag};

use super::{NoRoom, PacketBuilder};
use crate::{CommonHeader, CookieAck, CookieEcho, Data, DataFlags, Packet, Pad, Shutdown, WriteChunk};

const HEADER: CommonHeader = CommonHeader {
    source_port: 5000,
    destination_port: 5001,
    tag: VerificationTag(0x0a1b_2c3d),
};

fn data(payload: &[u8]) -> Data<'_> {
    Data {
        tsn: Tsn(17),
        stream: StreamId(0),
        ssn: Ssn(0),
        ppid: Ppid(0),
        flags: DataFlags::WHOLE,
        payload,
    }
}

//= rfc9260 6.10-1, 6.10-5
#[test]
fn a_chunk_as_large_as_room_fits_but_not_one_byte_more() {
    for limit in 12..80 {
        let mut buffer = Vec::new();
        let mut packet = PacketBuilder::new(&mut buffer, HEADER, limit);
        let room = packet.room();
        assert!(room <= limit - packet.len());
        let payload = vec![7; room + 1];
        if room > Data::HEADER_LEN {
            assert_eq!(packet.push(&data(&payload[Data::HEADER_LEN..])), Err(NoRoom));
            assert!(packet.is_empty(), "nothing is written partially");
            assert_eq!(packet.push(&data(&payload[Data::HEADER_LEN + 1..])), Ok(()));
            assert_eq!(packet.room(), 0);
        }
        assert!(packet.finish() <= limit);
    }
}

//= rfc4895 5.1-4, 5.1-5
//= rfc9260 3.2-1, 3.2-2, 3.2-3
#[test]
fn padded_chunks_can_be_read_again() {
    let mut buffer = Vec::new();
    let mut packet = PacketBuilder::new(&mut buffer, HEADER, 1_200);
    packet
        .push(&CookieEcho {
            cookie: &[1, 2, 3, 4, 5],
        })
        .expect("room");
    packet.push(&data(b"x")).expect("room");
    assert_eq!(packet.finish(), 12 + 12 + 20);
    assert_eq!(buffer[12..24], [10, 0, 0, 9, 1, 2, 3, 4, 5, 0, 0, 0]);
    let kinds: Vec<u8> = Packet::parse(&buffer)
        .expect("a sealed packet")
        .chunks()
        .flatten()
        .map(|chunk| chunk.kind)
        .collect();
    assert_eq!(kinds, [10, 0]);
}

#[test]
fn several_packets_fit_in_one_buffer() {
    let mut buffer = Vec::new();
    let lengths: Vec<usize> = (0..3)
        .map(|tsn| {
            let mut packet = PacketBuilder::new(&mut buffer, HEADER, 100);
            packet.push(&Shutdown { cumulative: Tsn(tsn) }).expect("room");
            packet.finish()
        })
        .collect();
    assert_eq!(lengths, [20, 20, 20]);
    assert!(buffer.chunks(20).all(|bytes| Packet::parse(bytes).is_ok()));
}

#[test]
fn a_packet_without_chunks_is_removed() {
    let mut buffer = vec![1, 2, 3];
    assert_eq!(PacketBuilder::new(&mut buffer, HEADER, 100).finish(), 0);
    assert_eq!(buffer, [1, 2, 3]);
}

#[test]
fn a_limit_below_the_header_leaves_no_room() {
    let mut buffer = Vec::new();
    let mut packet = PacketBuilder::new(&mut buffer, HEADER, 0);
    assert_eq!(packet.room(), 0);
    assert_eq!(packet.push(&CookieAck), Err(NoRoom));
}

#[test]
fn a_chunk_beyond_the_16_bit_length_is_refused() {
    let mut buffer = Vec::new();
    let mut packet = PacketBuilder::new(&mut buffer, HEADER, 200_000);
    let payload = vec![0; usize::from(u16::MAX)];
    assert_eq!(packet.push(&data(&payload)), Err(NoRoom));
    assert_eq!(packet.push(&Pad { length: u16::MAX - 4 }), Ok(()));
    assert_eq!(packet.len(), 12 + 65_536);
}

#[test]
fn writing_data_to_a_large_buffer_allocates_nothing() {
    let mut buffer = Vec::with_capacity(1_500);
    let before = buffer.as_ptr();
    let chunk = data(&[9; 1_400]);
    let mut packet = PacketBuilder::new(&mut buffer, HEADER, 1_500);
    packet.push(&chunk).expect("room");
    assert_eq!(packet.finish(), 12 + chunk.wire_len());
    assert_eq!(buffer.as_ptr(), before);
}

//! Tests of the dissector: readable lines for any bytes.

use anabranch_types::{Ppid, Ssn, StreamId, Tsn, VerificationTag};

use super::line;
use crate::captures::{self, bytes};
use crate::{CommonHeader, Data, DataFlags, GapBlock, OutboundSack, PacketBuilder};

#[test]
fn chunks_of_one_packet_stand_on_one_line() {
    let header = CommonHeader {
        source_port: 5000,
        destination_port: 5001,
        tag: VerificationTag(0x0a1b_2c3d),
    };
    let mut buffer = alloc::vec::Vec::new();
    let mut packet = PacketBuilder::new(&mut buffer, header, 1_500);
    let blocks = [GapBlock { start: 2, end: 3 }, GapBlock { start: 7, end: 7 }];
    let duplicates = [Tsn(12)];
    packet
        .push(&OutboundSack {
            cumulative: Tsn(16),
            a_rwnd: 1,
            packet_count: None,
            blocks: &blocks,
            duplicates: &duplicates,
        })
        .expect("room");
    packet
        .push(&Data {
            tsn: Tsn(17),
            stream: StreamId(0),
            ssn: Ssn(3),
            ppid: Ppid(0),
            flags: DataFlags::WHOLE,
            payload: &[0; 1_400],
        })
        .expect("room");
    packet.finish();
    assert_eq!(
        line(&buffer),
        "5000>5001 tag=0a1b2c3d SACK cum=16 rwnd=1 gaps=2-3,7-7 dup=1 | DATA tsn=17 sid=0 ssn=3 len=1400 BE"
    );
}

#[test]
fn a_wrong_checksum_is_reported_after_the_chunks() {
    let mut packet = bytes(captures::COOKIE_ACK);
    packet[8] ^= 1;
    assert_eq!(
        line(&packet),
        "5001>5000 tag=bb652475 COOKIE-ACK (wrong checksum)"
    );
}

#[test]
fn undecodable_bytes_are_marked() {
    let mut packet = bytes(captures::SHUTDOWN);
    packet[15] = 7;
    assert_eq!(
        line(&packet),
        "5000>5001 tag=4bc33d74 !truncated field at byte 16 (wrong checksum)"
    );
    packet[15] = 200;
    assert_eq!(
        line(&packet),
        "5000>5001 tag=4bc33d74 !truncated field at byte 16 (wrong checksum)"
    );
}

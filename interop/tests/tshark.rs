//! Tests of the tshark check: errors in a capture must be reported.

use std::io;

use anabranch_interop::TsharkReport;
use anabranch_interop::tools::TSHARK;
use anabranch_netsim::capture::{Direction, PcapngWriter};
use anabranch_netsim::{Datagram, Protocol};
use anabranch_types::{Ecn, Instant, PathAddr, Tsn, VerificationTag};
use anabranch_wire::{CommonHeader, PacketBuilder, Shutdown, checksum};

const OWN_PORT: u16 = 40_000;

fn packet() -> Vec<u8> {
    let header = CommonHeader {
        source_port: 1,
        destination_port: 2,
        tag: VerificationTag(3),
    };
    let mut bytes = Vec::new();
    let mut packet = PacketBuilder::new(&mut bytes, header, 100);
    packet.push(&Shutdown { cumulative: Tsn(4) }).expect("room");
    packet.finish();
    bytes
}

fn report_on(packets: &[Vec<u8>]) -> io::Result<Option<TsharkReport>> {
    let Some(tshark) = TSHARK.find() else {
        return Ok(None);
    };
    let record = tempfile::NamedTempFile::new()?;
    let mut recorder = PcapngWriter::new(record.reopen()?)?;
    let interface = recorder.add_interface("loopback")?;
    let path = PathAddr {
        local: ([127, 0, 0, 1], OWN_PORT).into(),
        remote: ([127, 0, 0, 1], OWN_PORT + 1).into(),
    };
    for payload in packets {
        let datagram = Datagram {
            path,
            protocol: Protocol::SCTP,
            ecn: Ecn::NotCapable,
            may_fragment: false,
            payload: payload.clone(),
        };
        recorder.write(Instant::ZERO, interface, Direction::Out, &datagram)?;
    }
    recorder.finish()?;
    TsharkReport::of(&tshark, record.path(), OWN_PORT).map(Some)
}

#[test]
fn valid_packet_is_clean() -> io::Result<()> {
    let Some(report) = report_on(&[packet()])? else {
        return Ok(());
    };
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(report.good_checksums, 1);
    Ok(())
}

#[test]
fn wrong_checksum_is_reported() -> io::Result<()> {
    let mut damaged = packet();
    damaged[15] ^= 1;
    let Some(report) = report_on(&[packet(), damaged])? else {
        return Ok(());
    };
    assert_eq!(
        (report.good_checksums, report.bad_checksums.len()),
        (1, 1),
        "{report:?}"
    );
    Ok(())
}

#[test]
fn too_short_chunk_is_reported() -> io::Result<()> {
    let mut short = packet();
    short.truncate(16);
    short[15] = 4;
    checksum::seal(&mut short);
    let Some(report) = report_on(&[packet(), short])? else {
        return Ok(());
    };
    assert_eq!(report.good_checksums, 2);
    assert_eq!(report.expert_errors.len(), 1, "{report:?}");
    Ok(())
}

#[test]
fn truncated_chunk_is_reported() -> io::Result<()> {
    let mut short = packet();
    short.truncate(18);
    checksum::seal(&mut short);
    let Some(report) = report_on(&[packet(), short])? else {
        return Ok(());
    };
    assert!(!report.is_clean(), "{report:?}");
    Ok(())
}

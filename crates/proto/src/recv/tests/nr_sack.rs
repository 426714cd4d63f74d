//! Tests of NR-SACK: which TSNs are non-renegable if only deliverable data is.

use super::*;

/// A receiver that reports deliverable data as non-renegable. The initial TSN is 10.
fn host() -> Host {
    let mut host = Host::new();
    host.receiver = host
        .receiver
        .with_nr_sack(NrSackChoice::named("delivered").expect("a name of the catalog"));
    host
}

fn on(stream: u16, data: Data<'_>) -> Data<'_> {
    Data {
        stream: StreamId(stream),
        ..data
    }
}

/// The NR-SACK sent now, as text, from its gap blocks on.
fn sack(host: &mut Host, size: usize) -> String {
    let header = CommonHeader {
        source_port: 1,
        destination_port: 2,
        tag: VerificationTag(3),
    };
    let mut buffer = Vec::new();
    let mut builder = PacketBuilder::new(&mut buffer, header, size);
    let form = SackForm {
        non_renegable: NonRenegable::Deliverable,
        ..SackForm::of(&host.recipe)
    };
    assert!(host.receiver.write_sack(&mut builder, form));
    builder.finish();
    let line = dissect::line(&buffer);
    line.split_once("NR-SACK ").expect("an NR-SACK").1.to_string()
}

#[test]
fn only_deliverable_tsns_are_nr_acked() {
    let mut host = host();
    host.packet(&[on(0, message(11, 1, b"later"))]);
    host.packet(&[on(1, message(12, 0, b"first of its stream"))]);
    host.packet(&[unordered(13, b"whenever")]);
    assert_eq!(sack(&mut host, 1_200), "cum=9 rwnd=9968 gaps=2-2 nr=3-4");
    host.packet(&[on(0, message(10, 0, b"first"))]);
    assert_eq!(sack(&mut host, 1_200), "cum=13 rwnd=9963");
}

#[test]
fn gap_acked_tsn_is_nr_acked_once_deliverable() {
    let mut host = host();
    host.packet(&[on(1, message(13, 1, b"second"))]);
    assert!(sack(&mut host, 1_200).ends_with("gaps=4-4"));
    host.packet(&[on(1, message(12, 0, b"first"))]);
    assert!(sack(&mut host, 1_200).ends_with("nr=3-4"));
}

#[test]
fn truncated_nr_sack_keeps_the_lowest_blocks() {
    let mut host = host();
    for (tsn, ssn) in [(11, 1), (12, 2), (15, 3)] {
        host.packet(&[on(0, message(tsn, ssn, b"waits"))]);
    }
    host.packet(&[unordered(13, b"does not")]);
    // Common header, NR-SACK without blocks, two blocks.
    let told = sack(&mut host, 12 + 20 + 2 * 4);
    assert!(told.ends_with("gaps=2-3 nr=4-4"), "{told}");
}

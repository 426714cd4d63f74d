//! Tests of each cause: written and read again, and malformed.

use alloc::string::ToString;

use anabranch_types::{StreamId, Tsn};

use super::{Cause, CauseWriter, Causes, RawCause, kind};
use crate::{DecodeErrorKind, HmacId, Parameters};

#[test]
fn causes_are_read_as_written() {
    let address = [0, 5, 0, 8, 10, 0, 0, 1];
    for (cause, text) in [
        (Cause::InvalidStream(StreamId(7)), "invalid stream 7"),
        (Cause::StaleCookie { staleness: 5_000 }, "stale cookie by 5000 us"),
        (Cause::OutOfResource, "out of resource"),
        (
            Cause::UnresolvableAddress(&address),
            "unresolvable address 000500080a000001",
        ),
        (
            Cause::UnrecognizedChunk(&[0xfe, 0, 0, 4]),
            "unrecognized chunk fe000004",
        ),
        (Cause::InvalidMandatoryParameter, "invalid mandatory parameter"),
        (
            Cause::UnrecognizedParameters(&[0xc0, 0, 0, 4]),
            "unrecognized parameters c0000004",
        ),
        (Cause::NoUserData(Tsn(3)), "no user data tsn=3"),
        (Cause::CookieWhileShuttingDown, "cookie while shutting down"),
        (
            Cause::RestartWithNewAddresses(Parameters::new(&address)),
            "restart with new addresses [ipv4 10.0.0.1]",
        ),
        (Cause::UserInitiatedAbort(b"bye\n"), "user abort \"bye\\n\""),
        (Cause::ProtocolViolation(b"why"), "protocol violation \"why\""),
        (
            Cause::DeleteLastAddress(&address),
            "last address not deleted 000500080a000001",
        ),
        (
            Cause::ResourceShortage(&address),
            "resource shortage 000500080a000001",
        ),
        (
            Cause::DeleteSourceAddress(&address),
            "source address not deleted 000500080a000001",
        ),
        (Cause::IllegalAsconfAck, "illegal ASCONF-ACK"),
        (
            Cause::NoAuthorization(&address),
            "no authorization 000500080a000001",
        ),
        (Cause::UnsupportedHmac(HmacId(7)), "unsupported hmac 7"),
    ] {
        let list = CauseWriter::one(cause);
        assert_eq!(Causes::new(&list).to_string(), alloc::format!("[{text}]"));
        let mut causes = Causes::new(&list).iter();
        let decoded = causes
            .next()
            .expect("a cause")
            .and_then(RawCause::decode)
            .expect("well formed");
        assert_eq!(CauseWriter::one(decoded), list);
        assert!(causes.next().is_none());
    }
}

#[test]
fn missing_parameters_are_named_by_type() {
    let mut writer = CauseWriter::new();
    writer.push_missing_parameters(&[7, 5, 6]);
    let list = writer.finish();
    assert_eq!(list, [0, 2, 0, 14, 0, 0, 0, 3, 0, 7, 0, 5, 0, 6]);
    assert_eq!(Causes::new(&list).to_string(), "[missing parameters 7 5 6]");
}

#[test]
fn a_count_of_missing_parameters_beyond_the_cause_is_refused() {
    for count in [2_u32, u32::MAX] {
        let value = [&count.to_be_bytes()[..], &[0, 7]].concat();
        let raw = RawCause::new(kind::MISSING_PARAMETERS, &value, &[], 0);
        assert_eq!(
            raw.decode().map_err(|error| error.kind),
            Err(DecodeErrorKind::Truncated)
        );
    }
}

#[test]
fn an_unknown_cause_is_kept_whole() {
    let list = [0x01, 0x06, 0, 6, 0, 1];
    let raw = Causes::new(&list)
        .iter()
        .next()
        .expect("a cause")
        .expect("well formed");
    assert_eq!((raw.kind, raw.bytes), (0x0106, &list[..]));
    assert_eq!(raw.decode().expect("well formed").to_string(), "cause 262 len=2");
}

//= rfc4895 4.1-1, 4.1-2, 4.1-3, 4.1-4
#[test]
fn unsupported_hmac_is_written_as_rfc_4895_draws_it() {
    let mut causes = CauseWriter::new();
    causes.push(Cause::UnsupportedHmac(HmacId(9)));
    causes.push(Cause::OutOfResource);
    assert_eq!(causes.finish(), [1, 5, 0, 6, 0, 9, 0, 0, 0, 4, 0, 4]);
}

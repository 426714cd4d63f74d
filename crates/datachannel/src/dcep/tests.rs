//! Messages of DCEP: encoding, decoding and errors.

use alloc::vec;

use super::*;

fn options() -> ChannelOptions {
    ChannelOptions::new("zwölf")
        .protocol("chat")
        .unordered()
        .reliability(ChannelReliability::Retransmissions(3))
        .priority(512)
}

/// The bytes of RFC 8832 §5.1 for [`options`].
fn bytes() -> Vec<u8> {
    let mut bytes = vec![3, 0x81, 2, 0, 0, 0, 0, 3, 0, 6, 0, 4];
    bytes.extend("zwölfchat".as_bytes());
    bytes
}

fn error_of(bytes: &[u8]) -> (usize, ParseErrorKind) {
    let error = DcepMessage::parse(bytes).expect_err("a malformed message");
    (error.position, error.kind)
}

#[test]
fn open_has_the_layout_of_the_standard() {
    let message = DcepMessage::Open(options());
    assert_eq!(message.encode().expect("short strings"), bytes());
    assert_eq!(DcepMessage::parse(&bytes()), Ok(message));
}

//= rfc8832 5.1-1, 5.1-2
#[test]
fn reliability_parameter_of_reliable_channels_is_zero_and_ignored() {
    let message = DcepMessage::Open(ChannelOptions::new(""));
    let mut encoded = message.encode().expect("short strings").to_vec();
    assert_eq!(encoded, [3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    encoded[7] = 9;
    assert_eq!(DcepMessage::parse(&encoded), Ok(message));
}

#[test]
fn every_channel_type_survives_the_wire() {
    let reliabilities = [
        ChannelReliability::Reliable,
        ChannelReliability::Retransmissions(0),
        ChannelReliability::Lifetime(u32::MAX),
    ];
    for (reliability, ordered) in reliabilities
        .into_iter()
        .flat_map(|one| [(one, true), (one, false)])
    {
        let message = DcepMessage::Open(ChannelOptions {
            ordered,
            ..options().reliability(reliability)
        });
        let encoded = message.encode().expect("short strings");
        assert_eq!(DcepMessage::parse(&encoded), Ok(message));
    }
}

#[test]
fn ack_is_one_byte() {
    assert_eq!(DcepMessage::Ack.encode().expect("no strings"), [2][..]);
    assert_eq!(DcepMessage::parse(&[2]), Ok(DcepMessage::Ack));
}

#[test]
fn longest_strings_are_accepted() {
    let longest = "x".repeat(65_535);
    let message = DcepMessage::Open(ChannelOptions::new(longest.clone()).protocol(longest.clone()));
    let encoded = message.encode().expect("strings of the maximum length");
    assert_eq!(DcepMessage::parse(&encoded), Ok(message));
    assert_eq!(
        DcepMessage::Open(ChannelOptions::new(longest + "x")).encode(),
        None
    );
}

#[test]
fn malformed_messages_are_refused_with_position() {
    assert_eq!(error_of(&[]), (0, ParseErrorKind::TooShort));
    assert_eq!(error_of(&[0]), (0, ParseErrorKind::MessageType(0)));
    for length in 1..bytes().len() {
        assert_eq!(
            error_of(&bytes()[..length]).1,
            ParseErrorKind::TooShort,
            "{length}"
        );
    }
    let with = |position: usize, value: u8| {
        let mut bytes = bytes();
        bytes[position] = value;
        bytes
    };
    assert_eq!(error_of(&with(1, 0x7f)), (1, ParseErrorKind::ChannelType(0x7f)));
    assert_eq!(error_of(&with(9, 2)), (18, ParseErrorKind::TooLong));
    assert_eq!(error_of(&with(11, 5)), (18, ParseErrorKind::TooShort));
    assert_eq!(error_of(&with(14, 0xff)), (12, ParseErrorKind::Text));
}

//! Known answers of the key derivation, and malformed key logs. `tests/key_log.rs` opens packets of connections.

use super::{Generation, KeyLog, KeyLogError, MAX_UPDATES, Suite, bytes_of};

const SECRET: &str = "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b";

#[test]
fn keys_are_those_of_rfc_9001_a_5() {
    let suite = Suite::of(32).unwrap()[1];
    let keys = Generation::new(suite, bytes_of(SECRET).unwrap());
    let key = "c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8";
    assert_eq!(Some(&keys.key), bytes_of(key).as_ref());
    assert_eq!(Some(&keys.iv), bytes_of("e0459b3474bdd0e44a41c144").as_ref());
    let updated = "1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9";
    assert_eq!(Some(keys.updated().secret), bytes_of(updated));
}

#[test]
fn malformed_lines_are_named() {
    let parse = |text: &str| KeyLog::parse(text).map(|_| ()).unwrap_err();
    let random = "00".repeat(32);
    assert_eq!(parse(""), KeyLogError::NoSecrets);
    assert_eq!(
        parse(&format!("EXPORTER_SECRET {random} {SECRET}")),
        KeyLogError::NoSecrets
    );
    let line = format!("CLIENT_TRAFFIC_SECRET_0 {random} {SECRET}");
    assert!(KeyLog::parse(&format!("# a comment\n\n{line}\n")).is_ok());
    for wrong in [
        &line[1..line.len()],
        &line[..line.len() - 1],
        &line[..line.len() - 2],
        &format!("{line} x"),
        "CLIENT_TRAFFIC_SECRET_0",
        &line.replace("9a", "xy"),
        &line.replace("9a", "\u{e9}"),
    ] {
        let expected = if wrong.starts_with("LIENT") {
            KeyLogError::NoSecrets
        } else {
            KeyLogError::Line(1)
        };
        assert_eq!(parse(wrong), expected, "{wrong}");
    }
}

/// Packets of other protocols are many in a capture, and each costs tries, not key derivations.
#[test]
fn keys_of_later_updates_are_derived_once() {
    let text = format!("CLIENT_TRAFFIC_SECRET_0 {} {SECRET}", "00".repeat(32));
    let mut log = KeyLog::parse(&text).unwrap();
    let derived = |log: &KeyLog| -> Vec<_> {
        let lists = log.candidates.iter().map(|candidate| &candidate.generations);
        lists
            .map(|generations| (generations.len(), generations.as_ptr()))
            .collect()
    };
    let foreign = |number: u8| [[0x63, number].as_slice(), &[7; 60]].concat();
    assert_eq!(log.open(&foreign(0)), None);
    let before = derived(&log);
    assert!(before.iter().all(|(count, _)| *count == MAX_UPDATES));
    for number in 1..100 {
        assert_eq!(log.open(&foreign(number)), None);
    }
    assert_eq!(derived(&log), before);
}

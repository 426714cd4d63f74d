//! Tests of the parsers.

use std::time::Duration;

use anabranch::Rate;

use super::*;

fn addresses(text: &str) -> Vec<String> {
    parse_to(text)
        .unwrap()
        .hosts
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn address_without_port_has_the_default_port() {
    assert_eq!(
        addresses("192.0.2.1,server.example:7"),
        ["192.0.2.1:9899", "server.example:7"]
    );
    assert_eq!(
        addresses("2001:db8::1,[::1],[::2]:7"),
        ["[2001:db8::1]:9899", "[::1]:9899", "[::2]:7"]
    );
}

#[test]
fn link_local_address_has_a_device() {
    assert_eq!(
        addresses("fe80::1%eth0,[fe80::1%wlan0]:7"),
        ["[fe80::1%eth0]:9899", "[fe80::1%wlan0]:7"]
    );
    let locals = parse_listen("fe80::1%lo,[fe80::2%lo]:7").unwrap().0;
    // The loopback device is the first that a system has.
    assert_eq!(
        locals,
        [
            "[fe80::1%1]:9899".parse().unwrap(),
            "[fe80::2%1]:7".parse().unwrap()
        ]
    );
    assert!(parse_listen("fe80::1%no-such").unwrap_err().contains("no device"));
    assert!(
        parse_listen("fe80::1%lo,fe80::1%lo")
            .unwrap_err()
            .contains("twice")
    );
}

#[test]
fn invalid_addresses_are_refused() {
    for text in [
        "",
        "a,,b",
        "host:70000",
        "host:",
        "[::1",
        "[::1]9",
        "[host]:9",
        ":9",
        "a b",
        "a/b",
        "1:2:3",
        "fe80::1%",
        "192.0.2.1%eth0",
    ] {
        assert!(parse_to(text).is_err(), "{text}");
    }
    assert!(parse_to("192.0.2.1:1,192.0.2.1:2").unwrap_err().contains("twice"));
}

#[test]
fn key_before_addresses_is_read() {
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let peer = parse_to(&format!("{key}@192.0.2.1,server.example:9900")).unwrap();
    assert_eq!(
        (peer.key.unwrap().to_string(), peer.hosts.len()),
        (key.to_owned(), 2)
    );
    assert!(parse_to("192.0.2.1").unwrap().key.is_none());
    for text in ["short@192.0.2.1", "@192.0.2.1", &format!("{key}@")] {
        assert!(parse_to(text).is_err(), "{text}");
    }
}

#[test]
fn local_addresses_must_be_numeric() {
    assert_eq!(
        parse_from("192.0.2.1").unwrap().0,
        [Origin::Address("192.0.2.1:0".parse().unwrap())]
    );
    assert_eq!(parse_listen("[::]").unwrap().0, ["[::]:9899".parse().unwrap()]);
    assert!(parse_listen("server.example").is_err());
    assert!(parse_listen("::1,[::1]:7").unwrap_err().contains("twice"));
}

#[test]
fn sizes_have_decimal_and_binary_units() {
    assert_eq!(parse_size("20MB"), Ok(20_000_000));
    assert_eq!(parse_size("64 KiB"), Ok(65_536));
    assert_eq!(parse_size("1.5kb"), Ok(1_500));
    assert_eq!(parse_size("7"), Ok(7));
    for text in [
        "",
        "MB",
        "-1",
        "0",
        "0.1",
        "1e3",
        "20MBit",
        "99999999TB",
        "1.2.3",
        "NaN",
        "inf",
    ] {
        assert!(parse_size(text).is_err(), "{text}");
    }
}

#[test]
fn times_need_a_unit_and_have_a_limit() {
    assert_eq!(parse_duration("300ms"), Ok(Duration::from_millis(300)));
    assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1_500)));
    assert_eq!(parse_duration("2min"), Ok(Duration::from_secs(120)));
    for text in ["", "3", "0s", "-1s", "9999999999999h", "1 fortnight"] {
        assert!(parse_duration(text).is_err(), "{text}");
    }
}

#[test]
fn path_is_rate_delay_and_optional_jitter_and_loss() {
    let path = parse_path("10Mbit,10ms,0.5%").unwrap();
    assert_eq!(
        path,
        ShapedPath {
            rate: Rate::mbit(10),
            delay: Duration::from_millis(10),
            jitter: Duration::ZERO,
            loss: 0.005
        }
    );
    assert_eq!(path.to_string(), "10 Mbit/s, 10 ms, 0.5% loss");
    let path = parse_path("40Mbit,30ms~5ms").unwrap();
    assert_eq!(path.to_string(), "40 Mbit/s, 30 ms ± 5 ms");
    assert_eq!(parse_path("1.5Gbit/s,0ms").unwrap().delay, Duration::ZERO);
    for text in [
        "",
        "10Mbit",
        "10ms,10Mbit",
        "10Mbit,10ms,100%",
        "10Mbit,10ms,1%,",
        "10Mbit,10ms~,1%",
        "0Mbit,1ms",
        "10MB,1ms",
    ] {
        assert!(parse_path(text).is_err(), "{text}");
    }
}

#[test]
fn origins_are_addresses_and_devices() {
    let origins = parse_from("wwan0, 192.0.2.1:7,enp3s0").unwrap().0;
    assert_eq!(
        origins,
        [
            Origin::Device("wwan0".to_owned()),
            Origin::Address("192.0.2.1:7".parse().unwrap()),
            Origin::Device("enp3s0".to_owned()),
        ]
    );
    assert!(parse_from("eth0,eth0").unwrap_err().contains("twice"));
    for text in ["", "a/b", "no such device at all", "wwan0,"] {
        assert!(parse_from(text).is_err(), "{text}");
    }
}

#[test]
fn place_of_the_live_view_is_a_port_or_an_address() {
    for (text, address) in [
        ("9898", "127.0.0.1:9898"),
        ("192.0.2.1", "192.0.2.1:0"),
        ("192.0.2.1:80", "192.0.2.1:80"),
        ("[::1]:80", "[::1]:80"),
        ("[::]", "[::]:0"),
        ("::1", "[::1]:0"),
    ] {
        assert_eq!(parse_dashboard(text).unwrap().to_string(), address);
    }
    for text in ["", "localhost:80", "99999", "192.0.2.1:", "http://127.0.0.1"] {
        assert!(
            parse_dashboard(text).unwrap_err().contains("such as 9898"),
            "{text}"
        );
    }
}

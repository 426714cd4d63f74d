//! Tests of safe file names. Can any name leave the folder or be displayed as another one?

use super::*;

#[test]
fn ordinary_names_stay_as_they_are() {
    for name in [
        "a",
        "big.iso",
        "Übung 7 (Lösung).pdf",
        "档案.tar.gz",
        "-rf",
        "2026-01-01T10:00",
        "console",
        "com",
        "com10",
        "nulls.txt",
    ] {
        assert_eq!(FileName::parse(name).unwrap().as_str(), name);
    }
}

#[test]
fn no_name_leaves_the_folder() {
    let separated = [
        "/etc/passwd",
        "../x",
        "a/b",
        "a\\b",
        "..\\x",
        "\\\\host\\share",
        "C:\\x",
        "a/",
        "/",
    ];
    for name in separated {
        assert_eq!(FileName::parse(name), Err(BadName::Separator), "{name}");
    }
    for name in [".", "..", "...", ".bashrc", ".ssh"] {
        assert_eq!(FileName::parse(name), Err(BadName::Dot), "{name}");
    }
}

#[test]
fn no_name_speaks_to_the_terminal_or_hides_its_ending() {
    for name in [
        "a\0b",
        "a\nb",
        "\u{1b}[2J",
        "a\u{7f}",
        "a\u{85}b",
        "invoice\u{202e}gpj.exe",
        "a\u{200b}b",
        "\u{feff}a",
    ] {
        assert_eq!(FileName::parse(name), Err(BadName::Control), "{name:?}");
    }
}

#[test]
fn no_name_is_a_device_or_becomes_another_name_elsewhere() {
    for name in [
        "NUL",
        "nul.txt",
        "Con",
        "aux.tar.gz",
        "COM1",
        "lpt9.log",
        "com²",
        "prn .txt",
    ] {
        assert_eq!(FileName::parse(name), Err(BadName::Device), "{name}");
    }
    for name in ["a.", "a ", " a", "a. .", "\u{a0}a"] {
        assert_eq!(FileName::parse(name), Err(BadName::Edge), "{name:?}");
    }
}

#[test]
fn length_is_counted_in_bytes_as_file_systems_do() {
    assert!(FileName::parse(&"a".repeat(255)).is_ok());
    assert_eq!(FileName::parse(&"a".repeat(256)), Err(BadName::TooLong));
    assert_eq!(FileName::parse(&"ä".repeat(128)), Err(BadName::TooLong));
    assert_eq!(FileName::parse(""), Err(BadName::Empty));
}

//! Tests of safe file names. Can any name leave the folder or be displayed as another one?

use super::*;

#[test]
fn ordinary_file_names_are_unchanged() {
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
fn file_name_with_a_path_is_refused() {
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
fn file_name_with_control_characters_is_refused() {
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
fn device_and_trimmed_file_names_are_refused() {
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
fn file_name_above_255_bytes_is_refused() {
    assert!(FileName::parse(&"a".repeat(255)).is_ok());
    assert_eq!(FileName::parse(&"a".repeat(256)), Err(BadName::TooLong));
    assert_eq!(FileName::parse(&"ä".repeat(128)), Err(BadName::TooLong));
    assert_eq!(FileName::parse(""), Err(BadName::Empty));
}

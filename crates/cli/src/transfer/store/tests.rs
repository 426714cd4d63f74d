//! Tests of atomic file storage. Does a file appear either completely or not at all?

use std::fs;
use std::path::Path;

use anabranch::Bytes;
use tempfile::TempDir;

use super::*;

fn piece(offset: u64, bytes: &[u8]) -> Piece {
    let mut buffer = Piece::begin(offset);
    buffer.extend_from_slice(bytes);
    Piece::parse(Bytes::from(buffer)).unwrap()
}

fn digest(bytes: &[u8]) -> Digest {
    let mut hasher = Hasher::default();
    hasher.update(bytes);
    hasher.finish()
}

fn part(folder: &TempDir, overwrite: bool) -> PartFile {
    let folder = Folder {
        path: folder.path().to_owned(),
        overwrite,
        durable: true,
    };
    PartFile::create(folder, FileName::parse("a.bin").unwrap()).unwrap()
}

fn names(folder: &TempDir) -> Vec<String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn pieces_in_any_order_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..100_u8).collect();
    let mut part = part(&folder, false);
    for start in [70, 10, 90, 0, 30, 80, 50, 20, 60, 40] {
        part.write(&piece(start as u64, &content[start..start + 10]))
            .unwrap();
    }
    let stored = part.finish(100, digest(&content)).unwrap();
    assert_eq!(fs::read(stored.path).unwrap(), content);
    assert_eq!(names(&folder), ["a.bin"]);
}

#[test]
fn empty_file_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    part(&folder, false).finish(0, digest(b"")).unwrap();
    assert_eq!(names(&folder), ["a.bin"]);
}

#[test]
fn unfinished_file_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut part = part(&folder, false);
    part.write(&piece(0, b"x")).unwrap();
    assert_eq!(names(&folder).len(), 1);
    drop(part);
    assert!(names(&folder).is_empty());
}

#[test]
fn file_with_a_wrong_digest_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let mut part = part(&folder, false);
    part.write(&piece(0, b"x")).unwrap();
    assert!(matches!(part.finish(1, digest(b"y")), Err(StoreError::Corrupt)));
    assert!(names(&folder).is_empty());
}

#[test]
fn file_with_a_gap_is_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let mut part = part(&folder, false);
    part.write(&piece(0, b"x")).unwrap();
    part.write(&piece(2, b"z")).unwrap();
    let failed = part.finish(3, digest(b"x\0z"));
    assert!(matches!(failed, Err(StoreError::Violation(Violation::OtherSize))));
}

#[test]
fn overlapping_pieces_are_refused() {
    for (offset, bytes) in [
        (10, &b"0"[..]),
        (9, b"01"),
        (0, b"0123456789ab"),
        (11, b"01234567"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut part = part(&folder, false);
        part.write(&piece(10, b"0123")).unwrap();
        let failed = part.write(&piece(offset, bytes));
        assert!(
            matches!(failed, Err(StoreError::Violation(Violation::Duplicate))),
            "{offset}"
        );
    }
}

#[test]
fn thousands_of_separate_pieces_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut part = part(&folder, false);
    let failed = (1..10_000).find_map(|index| part.write(&piece(2 * index, b"x")).err());
    assert!(matches!(
        failed,
        Some(StoreError::Violation(Violation::Scattered))
    ));
}

#[test]
fn existing_file_is_replaced_only_with_overwrite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.bin");
    fs::write(&path, "old").unwrap();
    let name = FileName::parse("a.bin").unwrap();
    assert!(part(&folder, false).folder.check(&name).is_err());
    assert!(part(&folder, true).folder.check(&name).is_ok());

    assert!(matches!(
        part(&folder, false).finish(0, digest(b"")),
        Err(StoreError::Exists(_))
    ));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    part(&folder, true).finish(0, digest(b"")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"");
    assert_eq!(names(&folder), ["a.bin"]);
}

#[test]
fn symbolic_link_is_replaced_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let victim = NamedTempFile::new().unwrap();
    fs::write(victim.path(), "precious").unwrap();
    std::os::unix::fs::symlink(victim.path(), folder.path().join("a.bin")).unwrap();
    part(&folder, true).finish(0, digest(b"")).unwrap();
    assert_eq!(fs::read(victim.path()).unwrap(), b"precious");
}

#[test]
fn full_disk_is_named_in_the_error() {
    let error = StoreError::write(Path::new("/data"), io::ErrorKind::StorageFull.into());
    assert!(error.to_string().contains("the disk of /data is full"), "{error}");
}

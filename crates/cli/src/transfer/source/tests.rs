//! Tests of the file reader. Does it return exactly the bytes of the file?

use std::io::Write;
use std::path::Path;

use anabranch::Bytes;

use super::*;

fn temporary(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

fn read_all(source: Source) -> (Vec<u8>, Chunk) {
    let mut chunks = source.start();
    let mut bytes = Vec::new();
    loop {
        match chunks.blocking_recv().unwrap() {
            Chunk::Piece(buffer) => {
                let piece = Piece::parse(Bytes::from(buffer)).unwrap();
                assert_eq!(piece.range().start, bytes.len() as u64);
                bytes.extend_from_slice(piece.bytes());
            }
            end => return (bytes, end),
        }
    }
}

#[test]
fn file_is_read_in_pieces_then_size_and_digest() {
    let content: Vec<u8> = (0..3 * PIECE + 5).map(|index| (index % 251) as u8).collect();
    let file = temporary(&content);
    let (bytes, end) = read_all(Source::file(file.path()).unwrap());
    assert!(bytes == content);
    let mut hasher = Hasher::default();
    hasher.update(&content);
    let expected = hasher.finish();
    assert!(matches!(end, Chunk::End { size, digest } if size == content.len() as u64 && digest == expected));
}

#[test]
fn empty_file_is_read_without_pieces() {
    let file = temporary(b"");
    let (bytes, end) = read_all(Source::file(file.path()).unwrap());
    assert!(bytes.is_empty() && matches!(end, Chunk::End { size: 0, .. }));
}

/// The system reports a size of zero for this file.
#[test]
fn proc_file_is_read_to_its_end() {
    let (bytes, _) = read_all(Source::file(Path::new("/proc/self/status")).unwrap());
    assert!(bytes.starts_with(b"Name:"));
}

#[test]
fn first_limits_the_bytes_that_are_read() {
    let file = temporary(b"0123456789");
    let (bytes, _) = read_all(Source::file(file.path()).unwrap().first(4));
    assert_eq!(bytes, b"0123");
}

#[test]
fn shrinking_file_is_refused() {
    let file = temporary(b"0123456789");
    let source = Source::file(file.path()).unwrap();
    file.as_file().set_len(5).unwrap();
    assert!(matches!(
        read_all(source).1,
        Chunk::Failed(SourceError::Shrunk(_))
    ));
}

#[test]
fn folders_and_missing_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Source::file(folder.path()).is_err());
    assert!(Source::file(&folder.path().join("missing")).is_err());
}

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
fn a_file_arrives_in_pieces_with_size_and_digest_at_the_end() {
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
fn an_empty_file_is_an_end_without_pieces() {
    let file = temporary(b"");
    let (bytes, end) = read_all(Source::file(file.path()).unwrap());
    assert!(bytes.is_empty() && matches!(end, Chunk::End { size: 0, .. }));
}

/// The system reports a size of zero for this file.
#[test]
fn a_file_of_the_system_is_read_to_its_end() {
    let (bytes, _) = read_all(Source::file(Path::new("/proc/self/status")).unwrap());
    assert!(bytes.starts_with(b"Name:"));
}

#[test]
fn the_first_bytes_of_a_file_can_be_sent_alone() {
    let file = temporary(b"0123456789");
    let (bytes, _) = read_all(Source::file(file.path()).unwrap().first(4));
    assert_eq!(bytes, b"0123");
}

#[test]
fn a_file_that_shrinks_is_not_sent() {
    let file = temporary(b"0123456789");
    let source = Source::file(file.path()).unwrap();
    file.as_file().set_len(5).unwrap();
    assert!(matches!(
        read_all(source).1,
        Chunk::Failed(SourceError::Shrunk(_))
    ));
}

#[test]
fn neither_folders_nor_missing_files_can_be_sent() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Source::file(folder.path()).is_err());
    assert!(Source::file(&folder.path().join("missing")).is_err());
}

//! Tests of the file reader. Does it return exactly the bytes of the file?

use std::io::Write as _;

use anabranch::Bytes;

use super::*;

fn temporary(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// What the receiver gets from this offset on, holes as zeros; the number of bytes in holes; and the end.
fn read_all(plan: Plan, from: u64) -> (Vec<u8>, u64, Chunk) {
    let (jobs, mut chunks) = start(Arc::new(plan));
    jobs.send(Job { file: 0, from }).unwrap();
    let (mut bytes, mut holes) = (Vec::new(), 0);
    loop {
        match chunks.blocking_recv().unwrap() {
            Chunk::Piece(buffer) => {
                let piece = Piece::parse(Bytes::from(buffer)).unwrap();
                assert_eq!(piece.range().start, from + bytes.len() as u64);
                bytes.extend_from_slice(piece.bytes());
            }
            Chunk::Hole { range, .. } => {
                assert_eq!(range.start, from + bytes.len() as u64);
                holes += range.end - range.start;
                bytes.resize((range.end - from) as usize, 0);
            }
            end => return (bytes, holes, end),
        }
    }
}

fn plan(path: &Path) -> Plan {
    Plan::of(&[path.to_owned()], Some("a")).unwrap()
}

fn digest_of(content: &[u8]) -> Digest {
    let mut hasher = Hasher::default();
    hasher.update(content);
    hasher.finish()
}

#[test]
fn file_is_read_in_pieces_then_size_and_digest() {
    let content: Vec<u8> = (0..3 * PIECE + 5).map(|index| (index % 251) as u8).collect();
    let file = temporary(&content);
    for from in [0, 1, PIECE as u64, content.len() as u64] {
        let (bytes, _, end) = read_all(plan(file.path()), from);
        assert!(bytes == content[from as usize..]);
        let expected = digest_of(&content);
        assert!(
            matches!(end, Chunk::End { size, digest, .. } if size == content.len() as u64 && digest == expected)
        );
    }
}

#[test]
fn empty_file_is_read_without_pieces() {
    let file = temporary(b"");
    let (bytes, _, end) = read_all(plan(file.path()), 0);
    assert!(bytes.is_empty() && matches!(end, Chunk::End { size: 0, .. }));
}

#[test]
fn holes_are_not_read() {
    let file = temporary(b"");
    file.as_file().write_all_at(b"middle", 10_000_000).unwrap();
    file.as_file().set_len(20_000_000).unwrap();
    let mut content = vec![0; 20_000_000];
    content[10_000_000..10_000_006].copy_from_slice(b"middle");
    for from in [0, 5_000_000, 15_000_000] {
        let (bytes, holes, end) = read_all(plan(file.path()), from);
        assert!(bytes == content[from as usize..]);
        assert!(holes + 100_000 > 20_000_000 - from, "{holes}");
        let expected = digest_of(&content);
        assert!(matches!(end, Chunk::End { digest, .. } if digest == expected));
    }
}

/// The system reports a size of zero for this file.
#[test]
fn proc_file_is_read_to_its_end() {
    let (bytes, _, _) = read_all(plan(Path::new("/proc/self/status")), 0);
    assert!(bytes.starts_with(b"Name:"));
}

#[test]
fn first_limits_the_bytes_that_are_read() {
    let file = temporary(b"0123456789");
    let (bytes, _, _) = read_all(Plan::first_of(file.path(), "a", 4).unwrap(), 0);
    assert_eq!(bytes, b"0123");
}

#[test]
fn file_that_became_shorter_is_an_error() {
    let file = temporary(b"0123456789");
    let plan = plan(file.path());
    file.as_file().set_len(5).unwrap();
    let (_, _, end) = read_all(plan, 0);
    assert!(matches!(end, Chunk::Failed(SourceError::Shrunk(_))));
}

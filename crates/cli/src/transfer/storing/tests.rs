//! Tests of storing. Does a transfer appear either completely or not at all, and does it go on where it was?

use std::fs;
use std::path::Path;

use anabranch::Bytes;
use tempfile::TempDir;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::super::digest::Hasher;
use super::*;

const ID: &str = "0123456789abcdef";

/// A receiver without a network.
struct Stored {
    storing: Storing,
    replies: UnboundedReceiver<Reply>,
}

impl Stored {
    fn begin(target: &Path, entries: u64, size: u64, id: Option<&str>) -> Self {
        let folder = Folder {
            path: target.to_owned(),
            overwrite: false,
            durable: false,
            all_links: false,
            is_output: false,
        };
        let staging = Staging::open(&folder, id).unwrap();
        let announced = Announced {
            entries,
            size: Some(size),
            max_size: u64::MAX,
        };
        let (tell, replies) = unbounded_channel();
        let storing = Storing::begin(folder, staging, announced, tell, Arc::default());
        Self { storing, replies }
    }

    fn order(&mut self, order: Order) -> Result<(), StoreError> {
        self.storing.carry_out(order)?;
        while self.storing.is_behind() {
            self.storing.catch_up()?;
        }
        Ok(())
    }

    fn folder(&mut self, path: &str, mode: u32) -> Result<(), StoreError> {
        let mode = Some(mode);
        self.order(Order::Entry(Entry {
            mode,
            ..entry(path, Kind::Folder, None)
        }))
    }

    fn file(&mut self, path: &str, size: u64) -> Result<(), StoreError> {
        self.order(Order::Entry(entry(path, Kind::File, Some(size))))
    }

    fn piece(&mut self, file: u64, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let mut buffer = Piece::begin(file, offset);
        buffer.extend_from_slice(bytes);
        self.order(Order::Piece(Piece::parse(Bytes::from(buffer)).unwrap()))
    }

    fn end(&mut self, file: u64, content: &[u8]) -> Result<(), StoreError> {
        let size = content.len() as u64;
        let sha256 = digest(content);
        self.order(Order::End { file, size, sha256 })
    }

    fn said(&mut self) -> Vec<Control> {
        let replies = std::iter::from_fn(|| self.replies.try_recv().ok());
        let said = replies.filter_map(|reply| match reply {
            Reply::Say(control) => Some(control),
            Reply::Complete { .. } | Reply::Note(_) => None,
        });
        said.collect()
    }
}

fn entry(path: &str, kind: Kind, size: Option<u64>) -> Entry {
    Entry {
        path: path.to_owned(),
        kind,
        size,
        target: None,
        mode: Some(0o644),
        modified: Some(Time(1_700_000_000, 5)),
    }
}

fn digest(bytes: &[u8]) -> Digest {
    let mut hasher = Hasher::default();
    hasher.update(bytes);
    hasher.finish()
}

fn names(folder: &TempDir) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn pieces_in_any_order_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..100_u8).collect();
    let mut stored = Stored::begin(folder.path(), 1, 100, None);
    stored.file("a", 100).unwrap();
    for start in [70, 10, 90, 0, 30, 80, 50, 20, 60, 40] {
        stored
            .piece(0, start as u64, &content[start..start + 10])
            .unwrap();
    }
    stored.end(0, &content).unwrap();
    stored.order(Order::Done).unwrap();
    assert!(stored.storing.is_complete());
    let whole = stored.storing.commit().unwrap();
    assert_eq!(
        (whole.files, whole.size, whole.digest()),
        (1, 100, Some(digest(&content)))
    );
    whole.staging.discard();
    assert_eq!(names(&folder), ["a"]);
    assert_eq!(fs::read(folder.path().join("a")).unwrap(), content);
}

#[test]
fn transfer_without_an_id_is_removed_unless_it_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let mut stored = Stored::begin(folder.path(), 1, 2, None);
    stored.file("a", 2).unwrap();
    stored.piece(0, 0, b"x").unwrap();
    assert_eq!(names(&folder).len(), 1);
    stored.storing.pause();
    assert!(names(&folder).is_empty());
}

#[test]
fn file_with_another_digest_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut stored = Stored::begin(folder.path(), 1, 1, Some(ID));
    stored.file("a", 1).unwrap();
    stored.piece(0, 0, b"x").unwrap();
    assert!(matches!(stored.end(0, b"y"), Err(StoreError::Corrupt)));
    stored.storing.give_up();
    assert!(names(&folder).is_empty());
}

#[test]
fn overlapping_pieces_are_a_violation() {
    let folder = tempfile::tempdir().unwrap();
    let mut stored = Stored::begin(folder.path(), 1, 10, None);
    stored.file("a", 10).unwrap();
    stored.piece(0, 2, b"xx").unwrap();
    let again = stored.piece(0, 3, b"x");
    assert!(matches!(again, Err(StoreError::Violation(Violation::Duplicate))));
}

#[test]
fn interrupted_file_goes_on_behind_its_first_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let content = b"0123456789";
    let mut stored = Stored::begin(folder.path(), 2, 11, Some(ID));
    stored.file("a", 10).unwrap();
    stored.file("b", 1).unwrap();
    stored.piece(0, 0, &content[..4]).unwrap();
    // Behind a gap.
    stored.piece(0, 8, &content[8..]).unwrap();
    stored.piece(1, 0, b"b").unwrap();
    stored.end(1, b"b").unwrap();
    stored.storing.pause();

    let mut stored = Stored::begin(folder.path(), 2, 11, Some(ID));
    stored.file("a", 10).unwrap();
    stored.file("b", 1).unwrap();
    assert_eq!(
        stored.said(),
        [Control::Want { file: 0, from: 4 }, Control::Have { file: 1 }]
    );
    stored.piece(0, 4, &content[4..]).unwrap();
    stored.end(0, content).unwrap();
    stored.order(Order::Done).unwrap();
    stored.storing.commit().unwrap().staging.discard();
    assert_eq!(fs::read(folder.path().join("a")).unwrap(), content);
    assert_eq!(names(&folder).len(), 2);
}

/// After a power failure, what the journal said may be lost, although the file has been moved.
#[test]
fn file_whose_record_is_lost_is_received_again() {
    let folder = tempfile::tempdir().unwrap();
    let begin = || {
        let mut stored = Stored::begin(folder.path(), 3, 2, Some(ID));
        stored.folder("top", 0o755).unwrap();
        stored.file("top/a", 1).unwrap();
        stored.file("top/b", 1).unwrap();
        stored
    };
    let mut stored = begin();
    for (file, content) in [(1, b"a"), (2, b"b")] {
        stored.piece(file, 0, content).unwrap();
        stored.end(file, content).unwrap();
    }
    stored.storing.pause();
    let journal = folder.path().join(&names(&folder)[0]).join("complete");
    let text = fs::read_to_string(&journal).unwrap();
    let (first, _) = text.split_once('\n').unwrap();
    fs::write(&journal, format!("{first}\n")).unwrap();
    let mut stored = begin();
    let said = stored.said();
    assert_eq!(
        said[1..],
        [Control::Have { file: 1 }, Control::Want { file: 2, from: 0 }]
    );
}

/// The sender has changed them between two attempts.
#[test]
fn permissions_are_those_of_the_last_attempt() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let begin = |mode| {
        let mut stored = Stored::begin(folder.path(), 3, 3, Some(ID));
        stored.folder("top", mode | 0o100).unwrap();
        for (path, size) in [("top/a", 1), ("top/b", 2)] {
            let mode = Some(mode);
            let entry = Entry {
                mode,
                ..entry(path, Kind::File, Some(size))
            };
            stored.order(Order::Entry(entry)).unwrap();
        }
        stored
    };
    let mut stored = begin(0o400);
    stored.piece(1, 0, b"a").unwrap();
    stored.end(1, b"a").unwrap();
    stored.piece(2, 0, b"b").unwrap();
    stored.storing.pause();
    let mut stored = begin(0o640);
    assert_eq!(
        stored.said()[1..],
        [Control::Have { file: 1 }, Control::Want { file: 2, from: 1 }]
    );
    let permitted = stored.storing.staging.mode_of(0o777).as_raw_mode();
    stored.piece(2, 1, b"c").unwrap();
    stored.end(2, b"bc").unwrap();
    stored.order(Order::Done).unwrap();
    stored.storing.commit().unwrap().staging.discard();
    for (path, mode) in [("top", 0o740), ("top/a", 0o640), ("top/b", 0o640)] {
        let metadata = fs::metadata(folder.path().join(path)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, mode & permitted, "{path}");
    }
}

#[test]
fn file_of_another_size_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut stored = Stored::begin(folder.path(), 1, 10, Some(ID));
    stored.file("a", 10).unwrap();
    stored.piece(0, 0, b"0123").unwrap();
    stored.storing.pause();
    let mut stored = Stored::begin(folder.path(), 1, 11, Some(ID));
    stored.file("a", 11).unwrap();
    assert_eq!(stored.said(), [Control::Want { file: 0, from: 0 }]);
}

/// The program was killed between the two moves, or before the sender learned of them.
#[test]
fn committed_transfer_is_confirmed_again() {
    let folder = tempfile::tempdir().unwrap();
    for attempt in 0..2 {
        let mut stored = Stored::begin(folder.path(), 1, 1, Some(ID));
        stored.file("a", 1).unwrap();
        if attempt == 0 {
            stored.piece(0, 0, b"x").unwrap();
            stored.end(0, b"x").unwrap();
        } else {
            assert_eq!(stored.said(), [Control::Have { file: 0 }]);
        }
        stored.order(Order::Done).unwrap();
        let whole = stored.storing.commit().unwrap();
        assert_eq!(whole.digest(), Some(digest(b"x")));
        // Not discarded: the sender does not know.
        drop(whole);
        // Nothing more has to fit on the disk.
        assert_eq!(super::super::staging::used(folder.path(), ID), u64::MAX);
    }
    let other = Stored::begin(folder.path(), 1, 1, None).file("a", 1);
    assert!(matches!(other, Err(StoreError::Exists(_))));
}

/// The sender does not know that all is stored, and the user of the receiver has it already.
#[test]
fn stored_file_that_has_changed_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let begin = || {
        let mut stored = Stored::begin(folder.path(), 2, 1, Some(ID));
        stored.folder("top", 0o755).unwrap();
        stored
    };
    let store = |mut stored: Stored| {
        stored.file("top/a", 1).unwrap();
        stored.piece(1, 0, b"x").unwrap();
        stored.end(1, b"x").unwrap();
        stored.order(Order::Done).unwrap();
        drop(stored.storing.commit().unwrap());
    };
    store(begin());
    let path = folder.path().join("top/a");
    fs::write(&path, "precious").unwrap();
    let changed = begin().file("top/a", 1);
    assert!(matches!(changed, Err(StoreError::Changed(_))));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    // What the user has taken away is stored again.
    fs::rename(folder.path().join("top"), folder.path().join("taken")).unwrap();
    store(begin());
    assert_eq!(fs::read(&path).unwrap(), b"x");
}

/// As above, but the user lets files be replaced: that takes one attempt.
#[test]
fn stored_file_that_has_changed_is_replaced_if_the_user_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let begin = || {
        let mut stored = Stored::begin(folder.path(), 5, 2, Some(ID));
        stored.storing.folder.overwrite = true;
        stored.folder("top", 0o755).unwrap();
        stored.file("top/a", 1).unwrap();
        stored.folder("top/inner", 0o755).unwrap();
        stored.folder("top/other", 0o755).unwrap();
        stored
    };
    let mut stored = begin();
    stored.file("top/inner/b", 1).unwrap();
    for (file, content) in [(1, b"a"), (4, b"b")] {
        stored.piece(file, 0, content).unwrap();
        stored.end(file, content).unwrap();
    }
    stored.order(Order::Done).unwrap();
    drop(stored.storing.commit().unwrap());
    let path = folder.path().join("top/inner/b");
    fs::write(&path, "changed").unwrap();

    let mut stored = begin();
    stored.file("top/inner/b", 1).unwrap();
    assert_eq!(stored.said()[1], Control::Have { file: 1 });
    stored.piece(4, 0, b"b").unwrap();
    stored.end(4, b"b").unwrap();
    stored.order(Order::Done).unwrap();
    stored.storing.commit().unwrap().staging.discard();
    assert_eq!(fs::read(&path).unwrap(), b"b");
    assert_eq!(fs::read(folder.path().join("top/a")).unwrap(), b"a");
    assert_eq!(names(&folder), ["top"]);
}

/// Only root can take something out of such a folder.
#[test]
fn folder_that_may_not_be_written_is_merged() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("top/inner");
    fs::create_dir_all(&inner).unwrap();
    let mut stored = Stored::begin(folder.path(), 3, 1, None);
    stored.storing.folder.overwrite = true;
    stored.folder("top", 0o755).unwrap();
    stored.folder("top/inner", 0o555).unwrap();
    stored.file("top/inner/a", 1).unwrap();
    stored.piece(2, 0, b"x").unwrap();
    stored.end(2, b"x").unwrap();
    stored.order(Order::Done).unwrap();
    stored.storing.commit().unwrap().staging.discard();
    assert_eq!(fs::read(inner.join("a")).unwrap(), b"x");
    assert_eq!(fs::metadata(&inner).unwrap().permissions().mode() & 0o222, 0);
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn session_that_holds_the_transfer_keeps_out_others() {
    let folder = tempfile::tempdir().unwrap();
    let stored = Stored::begin(folder.path(), 1, 1, Some(ID));
    let folder = stored.storing.folder.clone();
    assert!(matches!(Staging::open(&folder, Some(ID)), Err(StoreError::InUse)));
    drop(stored);
    assert!(Staging::open(&folder, Some(ID)).is_ok());
}

#[test]
fn paths_of_a_transfer_take_limited_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut stored = Stored::begin(folder.path(), u64::MAX, 0, None);
    stored.storing.paths = MAX_PATHS - 2 * PATH_OVERHEAD - "top".len() - "top/a".len();
    stored
        .order(Order::Entry(entry("top", Kind::Folder, None)))
        .unwrap();
    stored
        .order(Order::Entry(entry("top/a", Kind::Folder, None)))
        .unwrap();
    let further = stored.order(Order::Entry(entry("top/b", Kind::Folder, None)));
    assert!(matches!(further, Err(StoreError::TooMany)));
}

/// A file system that takes two names for one shows an entry under a name that has not been sent.
#[test]
fn twin_of_an_entry_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [Kind::File, Kind::Folder] {
        let mut stored = Stored::begin(folder.path(), 2, 1, None);
        stored
            .order(Order::Entry(entry("top", Kind::Folder, None)))
            .unwrap();
        let place = enter(&stored.storing.staging.tree, std::iter::once("top")).unwrap();
        drop(super::super::beneath::open_file(&place, "a", 0o644).unwrap());
        let size = (kind == Kind::File).then_some(1);
        let twin = stored.order(Order::Entry(entry("top/a", kind, size)));
        assert!(matches!(twin, Err(StoreError::Twin(_))), "{twin:?}");
    }
    // The twin appears while the file arrives.
    let mut stored = Stored::begin(folder.path(), 2, 1, None);
    stored
        .order(Order::Entry(entry("top", Kind::Folder, None)))
        .unwrap();
    stored.file("top/a", 1).unwrap();
    let place = enter(&stored.storing.staging.tree, std::iter::once("top")).unwrap();
    drop(super::super::beneath::open_file(&place, "a", 0o644).unwrap());
    stored.piece(1, 0, b"x").unwrap();
    let twin = stored.end(1, b"x");
    assert!(matches!(twin, Err(StoreError::Twin(_))), "{twin:?}");
}

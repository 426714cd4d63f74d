//! Staging folder. Where is a transfer kept until it is complete? In a hidden folder beside its target, which outlives the
//! program if the sender can go on.
//!
//! | name | contents |
//! |---|---|
//! | `tree` | complete entries under their own names |
//! | `parts` | files that are not complete, by the hash of their path; how far each is valid, beside it |
//! | `complete` | SHA-256 and path of each file in `tree`, as `sha256sum` prints them |
//! | `committed` | exists once entries are moved from `tree` to the target |

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, flock, fstat, mkdirat, unlinkat};
use rustix::io::Errno;

use super::beneath::{enter, make_folder, move_new, names, open_file, open_root, status, sync};
use super::digest::{Digest, Hasher};
use super::error::StoreError;
use super::store::Folder;
use super::tree_path::TreePath;

const PREFIX: &str = ".anabranch-";
const SUFFIX: &str = ".part";

/// A staging folder, locked. Dropped without [`Staging::discard`], it remains if the transfer can be resumed and has begun.
#[derive(Debug)]
pub(crate) struct Staging {
    path: PathBuf,
    root: OwnedFd,
    pub(super) target: OwnedFd,
    pub(super) tree: OwnedFd,
    pub(super) parts: OwnedFd,
    journal: File,
    complete: BTreeMap<String, Digest>,
    /// Whether entries have been moved to the target. No other session changes that: the folder is locked.
    committed: bool,
    /// Permissions that the user's umask lets entries have.
    permitted: u32,
    keeps: bool,
}

impl Staging {
    /// Opens the staging folder of the transfer with this id, or a new one that cannot be resumed.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::InUse`] if another session has the folder.
    pub(super) fn open(folder: &Folder, id: Option<&str>) -> Result<Self, StoreError> {
        let failed = |error: io::Error| StoreError::write(&folder.path, error);
        let target = open_root(&folder.path).map_err(failed)?;
        let name = match id {
            Some(id) => name_of(id),
            None => unique_name(&folder.path).map_err(failed)?,
        };
        let root = locked(&target, &name, folder)?;
        let opened = || -> io::Result<_> {
            let tree = make_folder(&root, "tree")?;
            let parts = make_folder(&root, "parts")?;
            let mut journal = open_file(&root, "complete", 0o600)?;
            let complete = read_journal(&mut journal)?;
            let permitted = fstat(&tree)?.st_mode & 0o777;
            let committed = status(&root, "committed")?.is_some();
            Ok((tree, parts, journal, complete, permitted, committed))
        };
        let (tree, parts, journal, complete, permitted, committed) = opened().map_err(failed)?;
        remove_unrecorded(&tree, "", &complete).map_err(failed)?;
        Ok(Self {
            path: folder.path.join(name),
            root,
            target,
            tree,
            parts,
            journal,
            complete,
            committed,
            permitted,
            keeps: id.is_some(),
        })
    }

    /// The digest of a complete file, if it arrived under exactly this path.
    pub(super) fn digest_of(&self, path: &TreePath) -> Option<Digest> {
        self.complete.get(path.as_str()).copied()
    }

    /// Moves a file from `parts` into `tree`.
    pub(super) fn complete(&mut self, part: &str, path: &TreePath, digest: Digest) -> io::Result<()> {
        let parent = enter(&self.tree, path.parents())?;
        // Recorded first: a file without a record would be received again.
        self.journal.write_all(format!("{digest}  {path}\n").as_bytes())?;
        self.complete.insert(path.as_str().to_owned(), digest);
        move_new((&self.parts, part), (&parent, path.name()))
    }

    /// Whether entries have been moved to the target.
    pub(super) const fn is_committed(&self) -> bool {
        self.committed
    }

    /// Notes that entries are moved to the target from now on. If that is to outlive a power failure, so must the records of what
    /// they are: with either of both alone, they would seem to belong to somebody else.
    pub(super) fn set_committed(&mut self, durable: bool) -> io::Result<()> {
        let mark = open_file(&self.root, "committed", 0o600)?;
        self.committed = true;
        if durable {
            self.journal.sync_all()?;
            mark.sync_all()?;
            sync(&self.root)?;
        }
        Ok(())
    }

    /// What was moved to the target belongs to the user from now on.
    pub(super) fn begin_again(&mut self) -> io::Result<()> {
        match unlinkat(&self.root, "committed", AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        self.committed = false;
        Ok(())
    }

    /// The permissions of an entry, as far as the user's umask lets them.
    pub(super) fn mode_of(&self, wanted: u32) -> Mode {
        Mode::from_raw_mode(self.permitted & wanted)
    }

    /// Removes the folder with everything in it.
    pub(crate) fn discard(mut self) {
        self.keeps = false;
    }

    /// From now on, the folder is removed when dropped.
    pub(super) fn give_up(&mut self) {
        self.keeps = false;
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.keeps {
            // First: with it alone, what has been moved would seem to have changed.
            let _ = unlinkat(&self.root, "committed", AtFlags::empty());
            let _ = fs::remove_dir_all(&self.path);
            return;
        }
        // Nothing is kept of a transfer that has not begun; a folder that is not empty is not removed.
        if self.complete.is_empty() && !self.committed {
            for name in ["tree", "parts"] {
                if unlinkat(&self.root, name, AtFlags::REMOVEDIR).is_err() {
                    return;
                }
            }
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Removes staging folders that nobody has used for `age`.
pub(crate) fn remove_old(folder: &Path, age: Duration) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_staging = name
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        let used = [
            entry.path(),
            entry.path().join("parts"),
            entry.path().join("complete"),
        ]
        .iter()
        .filter_map(|path| path.symlink_metadata().ok()?.modified().ok())
        .max();
        let is_old = used.and_then(|used| SystemTime::now().duration_since(used).ok());
        if is_staging && is_old.is_some_and(|unused| unused >= age) && is_unlocked(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Bytes on the disk in the staging folder of a transfer, or all if it has been stored already.
pub(super) fn used(folder: &Path, id: &str) -> u64 {
    let staging = folder.join(name_of(id));
    if staging.join("committed").exists() {
        return u64::MAX;
    }
    disk_usage(&staging).unwrap_or(0)
}

fn name_of(id: &str) -> String {
    format!("{PREFIX}{}{SUFFIX}", key(id))
}

fn is_unlocked(path: &Path) -> bool {
    File::open(path).is_ok_and(|folder| flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok())
}

/// A short name for what can be long.
pub(super) fn key(text: &str) -> String {
    let mut hasher = Hasher::default();
    hasher.update(text.as_bytes());
    let mut key = hasher.finish().to_string();
    key.truncate(32);
    key
}

fn unique_name(folder: &Path) -> io::Result<String> {
    let made = tempfile::Builder::new()
        .prefix(PREFIX)
        .suffix(SUFFIX)
        .tempdir_in(folder)?;
    let path = made.keep();
    let name = path.file_name().unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

/// Opens and locks a staging folder, and makes it if it is missing.
fn locked(target: &OwnedFd, name: &str, folder: &Folder) -> Result<OwnedFd, StoreError> {
    let failed = |error: Errno| StoreError::write(&folder.path, error.into());
    loop {
        match mkdirat(target, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        let root = enter(target, std::iter::once(name));
        let root = root.map_err(|error| StoreError::write(&folder.path, error))?;
        match flock(&root, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(StoreError::InUse),
            Err(error) => return Err(failed(error)),
        }
        // The session that had the lock may have removed the folder.
        let ours = fstat(&root).map_err(failed)?;
        let named = status(target, name).map_err(|error| StoreError::write(&folder.path, error))?;
        if named.is_some_and(|named| named.st_ino == ours.st_ino) {
            return Ok(root);
        }
    }
}

/// Reads the complete lines; what follows them was cut off when the program was killed.
fn read_journal(journal: &mut File) -> io::Result<BTreeMap<String, Digest>> {
    let mut complete = BTreeMap::new();
    let mut reader = BufReader::new(&*journal);
    let (mut line, mut valid) = (String::new(), 0);
    while let Ok(read) = reader.read_line(&mut line) {
        let Some((digest, path)) = line.strip_suffix('\n').and_then(|line| line.split_once("  ")) else {
            break;
        };
        let Some(digest) = Digest::parse(digest) else {
            break;
        };
        complete.insert(path.to_owned(), digest);
        valid += read as u64;
        line.clear();
    }
    journal.set_len(valid)?;
    io::Seek::seek(journal, io::SeekFrom::End(0))?;
    Ok(complete)
}

/// Removes files from the tree whose records were lost in a power failure: nothing says that they are whole.
fn remove_unrecorded(folder: &OwnedFd, above: &str, complete: &BTreeMap<String, Digest>) -> io::Result<()> {
    for name in names(folder)? {
        let path = format!("{above}{name}");
        let there = status(folder, &name)?;
        match there.map(|there| FileType::from_raw_mode(there.st_mode)) {
            Some(FileType::Directory) => {
                let inner = enter(folder, std::iter::once(&*name))?;
                remove_unrecorded(&inner, &format!("{path}/"), complete)?;
            }
            Some(FileType::RegularFile) if !complete.contains_key(&path) => {
                unlinkat(folder, &name, AtFlags::empty())?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn disk_usage(path: &Path) -> io::Result<u64> {
    let metadata = path.symlink_metadata()?;
    let mut used = metadata.blocks().saturating_mul(512);
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            used = used.saturating_add(disk_usage(&entry?.path())?);
        }
    }
    Ok(used)
}

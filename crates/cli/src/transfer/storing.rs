//! Storing of a transfer. What does the receiver do with each message? Decides which files it needs, keeps incomplete ones in
//! the staging folder, and gives all entries their place when everything is complete.

mod commit;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, Stat, chmodat, readlinkat, symlinkat, unlinkat};
use rustix::io::Errno;
use tokio::sync::mpsc::UnboundedSender;

use super::beneath::{enter, make_folder, set_link_time, status};
use super::control::Control;
use super::digest::Digest;
use super::entry::{Entry, Kind, Time};
use super::error::{StoreError, Violation};
use super::part::{Part, Unwritten};
use super::piece::{Hole, Piece};
use super::staging::Staging;
use super::store::Folder;
use super::tree_path::{TreePath, is_target};

/// Maximum number of files that the sender may have announced and not completed.
pub(super) const MAX_INCOMPLETE: usize = 2_048;

/// Maximum number of incomplete files that are open at once.
const MAX_OPEN: usize = 16;

/// Maximum memory for the paths of a transfer in bytes; half a million of common length fit.
const MAX_PATHS: usize = 64 << 20;

/// Memory that a path takes beside its letters, in bytes.
const PATH_OVERHEAD: usize = 64;

/// What the offer says of the whole transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announced {
    pub(super) entries: u64,
    /// Bytes of all files; absent if the sender does not know it.
    pub(super) size: Option<u64>,
    /// Limit of the user.
    pub(super) max_size: u64,
}

/// A message of the sender.
#[derive(Debug)]
pub(super) enum Order {
    Entry(Entry),
    Piece(Piece),
    Hole(Hole),
    End { file: u64, size: u64, sha256: Digest },
    Done,
}

/// What the sender, or the user, is to be told.
#[derive(Debug)]
pub(crate) enum Reply {
    Say(Control),
    /// A file is complete and verified.
    Complete {
        path: String,
        size: u64,
        from: u64,
        sha256: Digest,
    },
    /// Something was left out.
    Note(String),
}

/// State of the entries of a transfer.
#[derive(Debug)]
pub(super) struct Storing {
    folder: Folder,
    announced: Announced,
    staging: Staging,
    replies: UnboundedSender<Reply>,
    /// Bytes that have arrived, for the progress.
    received: Arc<AtomicU64>,
    entries: u64,
    /// Memory that the paths take, in bytes.
    paths: usize,
    /// Sum of the sizes of the files so far.
    size: u64,
    files: u64,
    tops: BTreeMap<String, (Kind, Option<Digest>)>,
    folders: Vec<(TreePath, Entry)>,
    parts: BTreeMap<u64, Part>,
    keys: BTreeSet<String>,
    open: VecDeque<u64>,
    behind: VecDeque<u64>,
    is_done: bool,
}

impl Storing {
    pub(super) fn begin(
        folder: Folder,
        staging: Staging,
        announced: Announced,
        replies: UnboundedSender<Reply>,
        received: Arc<AtomicU64>,
    ) -> Self {
        Self {
            folder,
            announced,
            staging,
            replies,
            received,
            entries: 0,
            paths: 0,
            size: 0,
            files: 0,
            tops: BTreeMap::new(),
            folders: Vec::new(),
            parts: BTreeMap::new(),
            keys: BTreeSet::new(),
            open: VecDeque::new(),
            behind: VecDeque::new(),
            is_done: false,
        }
    }

    pub(super) fn carry_out(&mut self, order: Order) -> Result<(), StoreError> {
        match order {
            Order::Entry(entry) => self.on_entry(entry),
            Order::Piece(piece) => {
                let (file, range) = (piece.file(), piece.range());
                self.on_range(file, range.end, |part, staging| part.write(staging, &piece))?;
                self.received
                    .fetch_add(range.end - range.start, Ordering::Relaxed);
                Ok(())
            }
            Order::Hole(hole) => {
                let (file, range) = (hole.file(), hole.range());
                self.on_range(file, range.end, |part, staging| part.skip(staging, &hole))?;
                self.received
                    .fetch_add(range.end - range.start, Ordering::Relaxed);
                Ok(())
            }
            Order::End { file, size, sha256 } => self.on_end(file, size, sha256),
            Order::Done if self.entries == self.announced.entries => {
                self.is_done = true;
                Ok(())
            }
            Order::Done => Err(Violation::OutOfTurn.into()),
        }
    }

    /// Whether bytes wait to be hashed.
    pub(super) fn is_behind(&self) -> bool {
        !self.behind.is_empty()
    }

    /// Whether the whole transfer has arrived.
    pub(super) fn is_complete(&self) -> bool {
        self.is_done && self.parts.is_empty()
    }

    /// Hashes some of the bytes that wait, and completes the file if these were the last.
    pub(super) fn catch_up(&mut self) -> Result<(), StoreError> {
        let Some(number) = self.behind.front().copied() else {
            return Ok(());
        };
        self.touch(number);
        let output = self.folder.is_output;
        let Some(part) = self.parts.get_mut(&number) else {
            self.behind.pop_front();
            return Ok(());
        };
        let caught_up = part.catch_up(&self.staging, output);
        caught_up.map_err(|error| {
            if output {
                StoreError::Output(error)
            } else {
                self.folder.failed(error)
            }
        })?;
        let Some(part) = self.parts.get(&number).filter(|part| !part.is_behind()) else {
            return Ok(());
        };
        self.behind.pop_front();
        if part.is_whole() {
            self.complete(number)?;
        }
        Ok(())
    }

    fn say(&self, control: Control) {
        self.tell(Reply::Say(control));
    }

    fn tell(&self, reply: Reply) {
        // The receiver of the channel is gone when the transfer has failed.
        let _ = self.replies.send(reply);
    }

    fn on_entry(&mut self, entry: Entry) -> Result<(), StoreError> {
        let file = self.entries;
        self.entries += 1;
        if self.is_done || file >= self.announced.entries || self.parts.len() >= MAX_INCOMPLETE {
            return Err(Violation::OutOfTurn.into());
        }
        self.paths += entry.path.len() + PATH_OVERHEAD;
        if self.paths > MAX_PATHS {
            return Err(StoreError::TooMany);
        }
        let path =
            TreePath::parse(&entry.path).map_err(|error| StoreError::Path(entry.path.clone(), error))?;
        if path.is_top() {
            self.on_top(&path, &entry)?;
        } else if !self.tops.contains_key(path.top()) {
            return Err(Violation::OutOfTurn.into());
        }
        if self.folder.is_output && (entry.kind != Kind::File || self.announced.entries != 1) {
            return Err(StoreError::OneFile);
        }
        let place = self
            .place_of(&path)
            .map_err(|error| self.path_failed(&path, error))?;
        let there = status(&place, path.name()).map_err(|error| self.path_failed(&path, error))?;
        match entry.kind {
            Kind::Folder => self.on_folder(file, path, entry, &place, there.as_ref()),
            Kind::Link => self.on_link(file, &path, &entry, &place, there.as_ref()),
            Kind::File => self.on_file(file, path, entry, &place, there.as_ref()),
        }
    }

    /// A name in the folder of the user must be free, or may be replaced.
    fn on_top(&mut self, path: &TreePath, entry: &Entry) -> Result<(), StoreError> {
        let is_ours = self
            .is_moved(path.top())
            .map_err(|error| self.folder.failed(error))?;
        if !is_ours {
            self.folder.check(path.as_str())?;
        }
        let top = (entry.kind, None);
        match self.tops.insert(path.as_str().to_owned(), top) {
            None => Ok(()),
            Some(_) => Err(Violation::Duplicate.into()),
        }
    }

    /// Whether an earlier session has moved this name from the staging folder to its place.
    fn is_moved(&self, top: &str) -> io::Result<bool> {
        Ok(self.staging.is_committed()
            && status(&self.staging.tree, top)?.is_none()
            && status(&self.staging.target, top)?.is_some())
    }

    /// The folder in which the entry is, or is to be made.
    fn place_of(&self, path: &TreePath) -> io::Result<OwnedFd> {
        let base = if self.is_moved(path.top())? {
            &self.staging.target
        } else {
            &self.staging.tree
        };
        enter(base, path.parents())
    }

    fn on_folder(
        &mut self,
        file: u64,
        path: TreePath,
        entry: Entry,
        place: &OwnedFd,
        there: Option<&Stat>,
    ) -> Result<(), StoreError> {
        if there.is_some_and(|there| !FileType::from_raw_mode(there.st_mode).is_dir()) {
            return Err(StoreError::Twin(path.to_string()));
        }
        let made = match there {
            None => make_folder(place, path.name()).map(drop),
            Some(_) => self.open_up(place, &path),
        };
        made.map_err(|error| self.path_failed(&path, error))?;
        self.folders.push((path, entry));
        self.say(Control::Have { file });
        Ok(())
    }

    /// An earlier session may have been killed when it had given the folder its permissions, which may not let us store in it.
    fn open_up(&self, place: &OwnedFd, path: &TreePath) -> io::Result<()> {
        if self.is_moved(path.top())? {
            return Ok(());
        }
        let mode = self.staging.mode_of(0o777) | Mode::RWXU;
        Ok(chmodat(place, path.name(), mode, AtFlags::empty())?)
    }

    fn on_link(
        &mut self,
        file: u64,
        path: &TreePath,
        entry: &Entry,
        place: &OwnedFd,
        there: Option<&Stat>,
    ) -> Result<(), StoreError> {
        let target = entry.target.as_deref().filter(|target| is_target(target));
        let target = target.ok_or(Violation::Target)?;
        if !self.folder.all_links && !path.keeps_inside(target) {
            let text = format!("{path} is a link to {target}, which is not in what is sent; left out");
            self.tell(Reply::Note(text));
            let reason = format!(
                "it is a link to {target}, outside of what is sent; the receiver can run with --all-links"
            );
            self.say(Control::Skipped { file, reason });
            return Ok(());
        }
        let made = match there {
            None => symlinkat(target, place, path.name()).map_err(io::Error::from),
            Some(_) => match readlinkat(place, path.name(), Vec::new()) {
                Ok(known) if known.as_bytes() == target.as_bytes() => Ok(()),
                _ => return Err(StoreError::Twin(path.to_string())),
            },
        };
        let made = made.and_then(|()| match entry.modified {
            Some(time) => set_link_time(place, path.name(), time),
            None => Ok(()),
        });
        made.map_err(|error| self.path_failed(path, error))?;
        self.say(Control::Have { file });
        Ok(())
    }

    fn on_file(
        &mut self,
        file: u64,
        path: TreePath,
        entry: Entry,
        place: &OwnedFd,
        there: Option<&Stat>,
    ) -> Result<(), StoreError> {
        self.count(&entry)?;
        let known = self.staging.digest_of(&path);
        let is_moved = self.is_moved(path.top());
        let is_moved = is_moved.map_err(|error| self.folder.failed(error))?;
        if let Some(sha256) = known.filter(|_| there.is_some_and(|there| is_unchanged(there, &entry))) {
            if let (Some(mode), false) = (entry.mode, is_moved) {
                let set = chmodat(place, path.name(), self.staging.mode_of(mode), AtFlags::empty());
                set.map_err(|error| self.path_failed(&path, error.into()))?;
            }
            self.on_known(file, &path, &entry, sha256);
            return Ok(());
        }
        if is_moved {
            if !self.folder.overwrite {
                return Err(StoreError::Changed(path.to_string()));
            }
            self.begin_again(&path)
                .map_err(|error| self.path_failed(&path, error))?;
        } else if let Some(there) = there {
            match known {
                // The file has changed at the sender since.
                Some(_) if FileType::from_raw_mode(there.st_mode).is_file() => {
                    let removed = unlinkat(place, path.name(), AtFlags::empty());
                    removed.map_err(|error| self.path_failed(&path, error.into()))?;
                }
                _ => return Err(StoreError::Twin(path.to_string())),
            }
        }
        let part = Part::begin(&self.staging, path, entry).map_err(|error| self.folder.failed(error))?;
        if !self.keys.insert(part.key.clone()) {
            return Err(Violation::Duplicate.into());
        }
        let from = part.from;
        self.received.fetch_add(from, Ordering::Relaxed);
        let (is_open, is_behind) = (part.is_open(), part.is_behind());
        self.parts.insert(file, part);
        if is_open {
            self.touch(file);
        }
        if is_behind {
            self.behind.push_back(file);
        }
        self.say(Control::Want { file, from });
        Ok(())
    }

    /// What an earlier session has moved to the target has changed since, and may be replaced: the rest of the transfer arrives as
    /// a new one.
    fn begin_again(&mut self, path: &TreePath) -> io::Result<()> {
        self.staging.begin_again()?;
        let same_top = |folder: &&(TreePath, Entry)| folder.0.top() == path.top();
        for (folder, _) in self.folders.iter().filter(same_top) {
            make_folder(&enter(&self.staging.tree, folder.parents())?, folder.name())?;
        }
        Ok(())
    }

    /// The file was complete before this session.
    fn on_known(&mut self, file: u64, path: &TreePath, entry: &Entry, sha256: Digest) {
        let size = entry.size.unwrap_or(0);
        self.received.fetch_add(size, Ordering::Relaxed);
        self.note_top(path, sha256);
        self.tell(Reply::Complete {
            path: path.to_string(),
            size,
            from: size,
            sha256,
        });
        self.say(Control::Have { file });
    }

    /// Adds a file to the sum, which the offer limits.
    fn count(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.files += 1;
        self.size = self.size.saturating_add(entry.size.unwrap_or(0));
        let is_known = self.announced.size.is_some();
        let limit = self.announced.size.unwrap_or(self.announced.max_size);
        let is_alone = self.announced.entries == 1;
        // Only a pipe, which is sent alone, has no size.
        if self.size > limit || entry.size.is_some() != is_known || !is_known && !is_alone {
            return Err(Violation::OtherSize.into());
        }
        Ok(())
    }

    fn note_top(&mut self, path: &TreePath, sha256: Digest) {
        if let Some((_, digest)) = self.tops.get_mut(path.as_str()) {
            *digest = Some(sha256);
        }
    }

    fn on_range(
        &mut self,
        file: u64,
        end: u64,
        store: impl FnOnce(&mut Part, &Staging) -> Result<(), Unwritten>,
    ) -> Result<(), StoreError> {
        self.touch(file);
        let max_size = self.announced.max_size;
        let part = self.parts.get_mut(&file).ok_or(Violation::OutOfTurn)?;
        let announced = part.end.map(|(size, _)| size).or_else(|| part.size());
        if announced.is_some_and(|announced| end > announced) {
            return Err(Violation::PieceBeyondEnd.into());
        }
        if end > max_size {
            return Err(StoreError::TooLarge {
                size: end,
                limit: max_size,
            });
        }
        let was_behind = part.is_behind();
        store(part, &self.staging).map_err(|error| match error {
            Unwritten::Violation(violation) => violation.into(),
            Unwritten::Disk(error) => self.folder.failed(error),
        })?;
        if !was_behind && part.is_behind() {
            self.behind.push_back(file);
        }
        Ok(())
    }

    fn on_end(&mut self, file: u64, size: u64, sha256: Digest) -> Result<(), StoreError> {
        let max_size = self.announced.max_size;
        let part = self.parts.get_mut(&file).ok_or(Violation::OutOfTurn)?;
        if part.end.is_some() {
            return Err(Violation::OutOfTurn.into());
        }
        if part.size().is_some_and(|announced| announced != size) || size < part.arrived() {
            return Err(Violation::OtherSize.into());
        }
        if size > max_size {
            return Err(StoreError::TooLarge {
                size,
                limit: max_size,
            });
        }
        part.end = Some((size, sha256));
        if part.is_whole() && !part.is_behind() {
            self.complete(file)?;
        }
        Ok(())
    }

    /// All bytes of the file have arrived and are hashed.
    fn complete(&mut self, number: u64) -> Result<(), StoreError> {
        let Some(mut part) = self.parts.remove(&number) else {
            return Ok(());
        };
        self.open.retain(|open| *open != number);
        let Some((size, sha256)) = part.end else {
            return Ok(());
        };
        if part.digest() != sha256 {
            return self.on_corrupt(number, part);
        }
        self.keys.remove(&part.key);
        let sealed = part.seal(&self.staging, self.folder.durable);
        sealed.map_err(|error| self.folder.failed(error))?;
        if !self.folder.is_output {
            let moved = self.staging.complete(&part.key, &part.path, sha256);
            moved.map_err(|error| self.path_failed(&part.path, error))?;
        }
        if part.size().is_none() {
            self.size = size;
        }
        self.note_top(&part.path, sha256);
        self.tell(Reply::Complete {
            path: part.path.to_string(),
            size,
            from: part.from,
            sha256,
        });
        Ok(())
    }

    /// What an earlier session left may be wrong, after a power failure say: then the sender sends it all.
    fn on_corrupt(&mut self, file: u64, mut part: Part) -> Result<(), StoreError> {
        if part.from == 0 {
            return Err(StoreError::Corrupt);
        }
        self.received.fetch_sub(part.arrived(), Ordering::Relaxed);
        part.restart(&self.staging)
            .map_err(|error| self.folder.failed(error))?;
        part.close();
        self.parts.insert(file, part);
        self.say(Control::Want { file, from: 0 });
        Ok(())
    }

    /// Notes that the file is used, and closes the one that was used least recently if too many are open.
    fn touch(&mut self, file: u64) {
        if self.open.back() == Some(&file) || !self.parts.contains_key(&file) {
            return;
        }
        self.open.retain(|open| *open != file);
        self.open.push_back(file);
        if self.open.len() > MAX_OPEN
            && let Some(part) = self
                .open
                .pop_front()
                .and_then(|oldest| self.parts.get_mut(&oldest))
        {
            part.close();
        }
    }

    /// Records how far the files are valid, for a later transfer.
    pub(super) fn pause(mut self) {
        for part in self.parts.values_mut() {
            if part.arrived() > 0 {
                // Without a record, the file is sent again.
                let _ = part.pause(&self.staging);
            }
        }
    }

    /// Forgets the transfer: it cannot go on.
    pub(super) fn give_up(mut self) {
        self.staging.give_up();
    }

    fn path_failed(&self, path: &TreePath, error: io::Error) -> StoreError {
        match error.kind() {
            // A name that differs in case only, on a file system that does not care; or a file or a link in place of a folder.
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => StoreError::Twin(path.to_string()),
            _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                StoreError::Twin(path.to_string())
            }
            io::ErrorKind::NotFound => Violation::OutOfTurn.into(),
            _ => self.folder.failed(error),
        }
    }
}

fn is_unchanged(there: &Stat, entry: &Entry) -> bool {
    let modified = Time(there.st_mtime, there.st_mtime_nsec as u32);
    FileType::from_raw_mode(there.st_mode).is_file()
        && entry.size == Some(there.st_size as u64)
        && entry.modified == Some(modified)
}

#[cfg(test)]
mod tests;

//! Incomplete file. How is one file received? Pieces are written at their offsets and hashed in order, and a record beside the
//! file says how far it is valid.

use std::fs::File;
use std::io::{self, Write as _};
use std::mem;
use std::os::unix::fs::FileExt as _;

use anabranch_types::IntervalSet;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, fallocate, fchmod, openat, unlinkat};
use rustix::io::Errno;

use super::beneath::{open_file, set_time};
use super::digest::{Digest, Hasher};
use super::entry::{Entry, Time};
use super::error::Violation;
use super::piece::{Hole, Piece};
use super::staging::{Staging, key};
use super::tree_path::TreePath;

/// Maximum number of disjoint parts of a file; a sender that creates more is trying to exhaust our memory.
const MAX_PARTS: usize = 4_096;

/// Bytes that are read back at once to compute the digest.
const READ_BACK: u64 = 1 << 20;

/// The record is renewed each time this many bytes more are valid.
const RECORD_EVERY: u64 = 4 << 20;

/// Bytes at the end of a file that are given up on a full disk, to have room for its record: some blocks.
const ROOM: u64 = 64 << 10;

/// A file that is not complete.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) path: TreePath,
    entry: Entry,
    /// Name in the staging folder.
    pub(super) key: String,
    /// Closed while other files are written.
    file: Option<File>,
    /// Whether what an earlier transfer left is of no use.
    is_fresh: bool,
    written: IntervalSet,
    hasher: Hasher,
    /// The hasher has processed the file up to this offset.
    hashed: u64,
    /// The sender sends the file from here on.
    pub(super) from: u64,
    recorded: u64,
    pub(super) end: Option<(u64, Digest)>,
}

/// Why a piece was not written.
pub(super) enum Unwritten {
    Violation(Violation),
    Disk(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

impl Part {
    /// Begins a file, or goes on with one of the same size and time.
    pub(super) fn begin(staging: &Staging, path: TreePath, entry: Entry) -> io::Result<Self> {
        let mut part = Self {
            key: key(path.as_str()),
            path,
            entry,
            file: None,
            is_fresh: false,
            written: IntervalSet::new(),
            hasher: Hasher::default(),
            hashed: 0,
            from: 0,
            recorded: 0,
            end: None,
        };
        let recorded = part.read_record(staging);
        if recorded == 0 {
            // What is there may have the permissions of a complete file.
            part.remove(staging)?;
            part.is_fresh = true;
            return Ok(part);
        }
        let file = part.open(staging)?;
        let valid = recorded.min(file.metadata()?.len());
        // What lies behind was written in no order.
        file.set_len(valid)?;
        part.written.insert(0..valid);
        (part.from, part.recorded) = (valid, valid);
        Ok(part)
    }

    /// Forgets everything that has arrived.
    pub(super) fn restart(&mut self, staging: &Staging) -> io::Result<()> {
        self.open(staging)?.set_len(0)?;
        self.written = IntervalSet::new();
        self.hasher = Hasher::default();
        (self.hashed, self.from, self.recorded, self.end) = (0, 0, 0, None);
        self.record(staging)
    }

    /// Bytes that have arrived, now or before.
    pub(super) fn arrived(&self) -> u64 {
        self.written.len()
    }

    pub(super) const fn size(&self) -> Option<u64> {
        self.entry.size
    }

    /// Whether all bytes have arrived.
    pub(super) fn is_whole(&self) -> bool {
        self.end.is_some_and(|(size, _)| self.written.len() == size)
    }

    /// Whether bytes that have arrived wait to be hashed.
    pub(super) fn is_behind(&self) -> bool {
        self.hashed < self.contiguous()
    }

    fn contiguous(&self) -> u64 {
        let first = self.written.iter().next();
        first
            .filter(|first| first.start == 0)
            .map_or(0, |first| first.end)
    }

    pub(super) fn write(&mut self, staging: &Staging, piece: &Piece) -> Result<(), Unwritten> {
        self.note(piece.range())?;
        let file = self.open(staging)?;
        let written = file.write_all_at(piece.bytes(), piece.range().start);
        if written.is_err() {
            // The disk is full, say: the record must not count the piece.
            self.written.remove(piece.range());
        }
        Ok(written?)
    }

    /// A hole is not written: the file system keeps it as one.
    pub(super) fn skip(&mut self, staging: &Staging, hole: &Hole) -> Result<(), Unwritten> {
        self.note(hole.range())?;
        let file = self.open(staging)?;
        if file.metadata()?.len() < hole.range().end {
            file.set_len(hole.range().end)?;
        }
        Ok(())
    }

    fn note(&mut self, range: std::ops::Range<u64>) -> Result<(), Unwritten> {
        let (before, length) = (self.written.len(), range.end - range.start);
        self.written.insert(range);
        if self.written.len() != before + length {
            return Err(Unwritten::Violation(Violation::Duplicate));
        }
        if self.written.range_count() > MAX_PARTS {
            return Err(Unwritten::Violation(Violation::Scattered));
        }
        Ok(())
    }

    /// Hashes some of the bytes that wait, and gives them to `output`, if the file goes there. They are read back, usually from the
    /// page cache: in memory, the sender would determine how much they take.
    pub(super) fn catch_up(&mut self, staging: &Staging, output: bool) -> io::Result<()> {
        let wanted = (self.contiguous() - self.hashed).min(READ_BACK);
        if wanted > 0 {
            let mut buffer = vec![0; wanted as usize];
            let hashed = self.hashed;
            let file = self.open(staging)?;
            file.read_exact_at(&mut buffer, hashed)?;
            if output {
                io::stdout().lock().write_all(&buffer)?;
                // The file only bridges gaps. Where the file system cannot free its blocks, it keeps them.
                let holes = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                let _ = fallocate(file, holes, hashed, wanted);
            }
            self.hasher.update(&buffer);
            self.hashed += wanted;
        }
        if self.hashed >= self.recorded + RECORD_EVERY {
            self.record(staging)?;
        }
        Ok(())
    }

    /// The digest of the whole file.
    pub(super) fn digest(&self) -> Digest {
        self.hasher.clone().finish()
    }

    /// Gives the file its permissions and time, and syncs it.
    pub(super) fn seal(&mut self, staging: &Staging, durable: bool) -> io::Result<()> {
        let (mode, modified) = (self.entry.mode.unwrap_or(0o666), self.entry.modified);
        let size = self.written.len();
        let file = self.open(staging)?;
        file.set_len(size)?;
        // Without a record, the next session begins the file anew: it could not open one that nobody may write.
        let _ = unlinkat(&staging.parts, self.record_name(), AtFlags::empty());
        let file = self.open(staging)?;
        fchmod(&*file, staging.mode_of(mode))?;
        if let Some(time) = modified {
            set_time(&*file, time)?;
        }
        if durable {
            file.sync_all()?;
        }
        self.close();
        Ok(())
    }

    fn remove(&self, staging: &Staging) -> io::Result<()> {
        match unlinkat(&staging.parts, &self.key, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn close(&mut self) {
        self.file = None;
    }

    pub(super) const fn is_open(&self) -> bool {
        self.file.is_some()
    }

    fn open(&mut self, staging: &Staging) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => open_file(&staging.parts, &self.key, 0o600)?,
        };
        if mem::take(&mut self.is_fresh) {
            file.set_len(0)?;
        }
        Ok(self.file.insert(file))
    }

    fn record_name(&self) -> String {
        format!("{}.valid", self.key)
    }

    /// What the file is, and the number of its bytes that are valid.
    fn record_text(&self, valid: u64) -> String {
        let Time(seconds, nanoseconds) = self.entry.modified.unwrap_or(Time(0, 0));
        let size = self.entry.size.unwrap_or(0);
        format!("{size:020} {seconds:020} {nanoseconds:010} {valid:020}\n")
    }

    /// Records how far the file is valid, for a later transfer.
    pub(super) fn record(&mut self, staging: &Staging) -> io::Result<()> {
        self.recorded = self.contiguous();
        let file = open_file(&staging.parts, &self.record_name(), 0o600)?;
        file.write_all_at(self.record_text(self.recorded).as_bytes(), 0)
    }

    /// The same at the end of a session. On a full disk, the end of the file gives its room to the record.
    pub(super) fn pause(&mut self, staging: &Staging) -> io::Result<()> {
        let Err(error) = self.record(staging) else {
            return Ok(());
        };
        let valid = self.contiguous().saturating_sub(ROOM);
        let is_full = matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        );
        if !is_full || valid == 0 {
            return Err(error);
        }
        self.open(staging)?.set_len(valid)?;
        self.written.remove(valid..u64::MAX);
        self.record(staging)
    }

    fn read_record(&self, staging: &Staging) -> u64 {
        let name = self.record_name();
        let read = || {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(&staging.parts, &name, flags, Mode::empty()).ok()?;
            io::read_to_string(File::from(file)).ok()
        };
        let text = read().unwrap_or_default();
        let valid = text
            .trim_end()
            .rsplit(' ')
            .next()
            .and_then(|valid| valid.parse().ok());
        valid
            .filter(|valid| self.record_text(*valid) == text)
            .unwrap_or(0)
    }
}

//! Atomic file storage. How is a received file created? Under a temporary name in the same folder; it gets its own name
//! only when it is complete, verified and on disk.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;

use anabranch_types::IntervalSet;
use tempfile::NamedTempFile;

use super::digest::{Digest, Hasher};
use super::error::{StoreError, Violation};
use super::file_name::FileName;
use super::piece::Piece;

/// Maximum number of disjoint parts of a file; a sender that creates more is trying to exhaust our memory.
const MAX_PARTS: usize = 4_096;

/// Block size for reading data back to compute the digest.
const READ_BACK: usize = 256 << 10;

/// Destination folder and the rules for storing files in it.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    /// Whether a file may replace an existing one.
    pub(crate) overwrite: bool,
    /// Whether a file must be synced to disk before it counts as stored.
    pub(crate) durable: bool,
}

/// A completely stored file.
#[derive(Clone, Debug)]
pub(crate) struct StoredFile {
    pub(crate) name: FileName,
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    pub(crate) digest: Digest,
}

/// A partially received file; it is deleted on drop.
#[derive(Debug)]
pub(crate) struct PartFile {
    folder: Folder,
    name: FileName,
    temporary: NamedTempFile,
    written: IntervalSet,
    hasher: Hasher,
    /// The hasher has processed the file up to this offset.
    hashed: u64,
}

impl Folder {
    /// Checks that no file of this name exists, unless overwriting is allowed.
    ///
    /// # Errors
    ///
    /// Fails if one exists.
    pub(crate) fn check(&self, name: &FileName) -> Result<(), StoreError> {
        let taken = !self.overwrite && self.path.join(name.as_str()).symlink_metadata().is_ok();
        if taken {
            Err(StoreError::Exists(name.to_string()))
        } else {
            Ok(())
        }
    }

    /// Checks that a file of `size` bytes fits on the disk.
    ///
    /// # Errors
    ///
    /// Fails if it does not.
    pub(crate) fn check_space(&self, size: u64) -> Result<(), StoreError> {
        // A file system that does not tell its free space may have enough.
        let free = rustix::fs::statvfs(&self.path)
            .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        if size <= free {
            return Ok(());
        }
        let folder = self.path.clone();
        Err(StoreError::NoSpace { folder, size, free })
    }

    fn failed(&self, error: io::Error) -> StoreError {
        StoreError::write(&self.path, error)
    }
}

impl PartFile {
    /// # Errors
    ///
    /// Fails if no file can be created in the folder.
    pub(crate) fn create(folder: Folder, name: FileName) -> Result<Self, StoreError> {
        let temporary = tempfile::Builder::new()
            .prefix(".anabranch-")
            .suffix(".part")
            // The permissions of any new file, subject to the user's umask.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(&folder.path)
            .map_err(|error| folder.failed(error))?;
        let (written, hasher) = (IntervalSet::new(), Hasher::default());
        Ok(Self {
            folder,
            name,
            temporary,
            written,
            hasher,
            hashed: 0,
        })
    }

    /// # Errors
    ///
    /// Fails if the disk write fails or the piece overlaps another one.
    pub(crate) fn write(&mut self, piece: &Piece) -> Result<(), StoreError> {
        let before = self.written.len();
        self.written.insert(piece.range());
        if self.written.len() != before + piece.len() {
            return Err(Violation::Duplicate.into());
        }
        if self.written.range_count() > MAX_PARTS {
            return Err(Violation::Scattered.into());
        }
        let file = self.temporary.as_file();
        file.write_all_at(piece.bytes(), piece.range().start)
            .map_err(|error| self.folder.failed(error))?;
        if piece.range().start == self.hashed {
            self.hasher.update(piece.bytes());
            self.hashed = piece.range().end;
        }
        self.catch_up()
    }

    /// Verifies the file and renames it to its final name.
    ///
    /// # Errors
    ///
    /// Fails if the data differ from what was sent, a disk write fails, or the name has been taken meanwhile.
    pub(crate) fn finish(self, size: u64, digest: Digest) -> Result<StoredFile, StoreError> {
        if self.hashed != size || self.written.len() != size {
            return Err(Violation::OtherSize.into());
        }
        if self.hasher.finish() != digest {
            return Err(StoreError::Corrupt);
        }
        let Self {
            folder,
            name,
            temporary,
            ..
        } = self;
        if folder.durable {
            temporary
                .as_file()
                .sync_all()
                .map_err(|error| folder.failed(error))?;
        }
        let path = folder.path.join(name.as_str());
        // Open the folder before the rename: if this fails, no file has the final name.
        let opened = folder.durable.then(|| File::open(&folder.path)).transpose();
        let opened = opened.map_err(|error| folder.failed(error))?;
        let named = if folder.overwrite {
            temporary.persist(&path)
        } else {
            temporary.persist_noclobber(&path)
        };
        named.map_err(|failed| match failed.error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists(name.to_string()),
            _ => folder.failed(failed.error),
        })?;
        // A rename is durable only after the folder has been synced.
        if let Some(Err(error)) = opened.map(|opened| opened.sync_all())
            // Some network file systems cannot sync folders and report this error.
            && error.kind() != io::ErrorKind::InvalidInput
        {
            let _ = fs::remove_file(&path);
            return Err(folder.failed(error));
        }
        Ok(StoredFile {
            name,
            path,
            size,
            digest,
        })
    }

    /// Hashes data that were written after a gap that is now closed. The data are read back, usually from the page
    /// cache; keeping them in memory would let the sender control our memory use.
    fn catch_up(&mut self) -> Result<(), StoreError> {
        let end = self
            .written
            .iter()
            .next()
            .filter(|first| first.start == 0)
            .map_or(0, |first| first.end);
        if self.hashed == end {
            return Ok(());
        }
        let mut buffer = vec![0; READ_BACK.min((end - self.hashed) as usize)];
        while self.hashed < end {
            let wanted = buffer.len().min((end - self.hashed) as usize);
            let file = self.temporary.as_file();
            let read = file.read_exact_at(&mut buffer[..wanted], self.hashed);
            read.map_err(|error| self.folder.failed(error))?;
            self.hasher.update(&buffer[..wanted]);
            self.hashed += wanted as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

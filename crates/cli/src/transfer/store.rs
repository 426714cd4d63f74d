//! Atomic file storage. How does a file come into being? Beside its place under a temporary name, and under its own name
//! only when it is complete, verified and on the disk.

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

/// Parts of a file that lie apart from each other; a sender that makes more of them wants our memory.
const MAX_PARTS: usize = 4_096;

/// Bytes read back at once for the digest.
const READ_BACK: usize = 256 << 10;

/// Where files go and what may happen there.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    /// Whether a file may take the place of another.
    pub(crate) overwrite: bool,
    /// Whether a file must be on the disk before it counts as stored.
    pub(crate) durable: bool,
}

/// A file that is complete.
#[derive(Clone, Debug)]
pub(crate) struct StoredFile {
    pub(crate) name: FileName,
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    pub(crate) digest: Digest,
}

/// A file that is on its way. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct PartFile {
    folder: Folder,
    name: FileName,
    temporary: NamedTempFile,
    written: IntervalSet,
    hasher: Hasher,
    /// Up to here the hasher has seen the file.
    hashed: u64,
}

impl Folder {
    /// Whether a file of this name may be stored, as of now.
    ///
    /// # Errors
    ///
    /// There is one.
    pub(crate) fn check(&self, name: &FileName) -> Result<(), StoreError> {
        let taken = !self.overwrite && self.path.join(name.as_str()).symlink_metadata().is_ok();
        if taken {
            Err(StoreError::Exists(name.to_string()))
        } else {
            Ok(())
        }
    }

    fn failed(&self, error: io::Error) -> StoreError {
        StoreError::write(&self.path, error)
    }
}

impl PartFile {
    /// # Errors
    ///
    /// The folder takes no new files.
    pub(crate) fn create(folder: Folder, name: FileName) -> Result<Self, StoreError> {
        let temporary = tempfile::Builder::new()
            .prefix(".anabranch-")
            .suffix(".part")
            // As any new file: what the user's mask leaves of it.
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
    /// The disk does not take it, or the piece overlaps with another.
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

    /// Verifies the file and gives it its name.
    ///
    /// # Errors
    ///
    /// It is not what was sent, or the disk does not take it, or the name was taken meanwhile.
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
        // Before the file has its name: who is told that it could not be stored finds nothing.
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
        // A name is on the disk when its folder is.
        if let Some(Err(error)) = opened.map(|opened| opened.sync_all())
            // Folders of some network file systems cannot be synced: they say so.
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

    /// Shows the hasher what was written ahead of a gap that is now closed. It is read back, most likely from
    /// the system's cache: keeping it here would let the sender decide how much memory we use.
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

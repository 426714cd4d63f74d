//! Destination of a transfer. Where do its entries go, and what may they replace?

use std::io;
use std::path::PathBuf;

use super::digest::Digest;
use super::entry::Kind;
use super::error::StoreError;
use super::staging::{self, Staging};

/// Destination folder and the rules for storing entries in it.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    /// Whether an entry may replace an existing one.
    pub(crate) overwrite: bool,
    /// Whether entries must be synced to disk before they count as stored.
    pub(crate) durable: bool,
    /// Whether links are made that lead out of what was sent.
    pub(crate) all_links: bool,
    /// Whether the only file goes to standard output, and the folder is a temporary one.
    pub(crate) is_output: bool,
}

/// An entry in the destination folder.
#[derive(Clone, Debug)]
pub(crate) struct StoredEntry {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    /// Digest of a file.
    pub(crate) sha256: Option<Digest>,
}

/// A transfer that is completely stored.
#[derive(Debug)]
pub(crate) struct StoredTransfer {
    pub(crate) entries: Vec<StoredEntry>,
    pub(crate) files: u64,
    pub(crate) size: u64,
    /// Remembers the transfer until the sender knows that it is complete.
    pub(crate) staging: Staging,
}

impl StoredTransfer {
    /// The digest, if the transfer is a single file.
    pub(crate) fn digest(&self) -> Option<Digest> {
        match &self.entries[..] {
            [only] => only.sha256,
            _ => None,
        }
    }
}

impl Folder {
    /// Checks that nothing has this name, unless overwriting is allowed.
    ///
    /// # Errors
    ///
    /// Fails if something has it.
    pub(crate) fn check(&self, name: &str) -> Result<(), StoreError> {
        let is_free = self.overwrite || self.is_output;
        if is_free || self.path.join(name).symlink_metadata().is_err() {
            Ok(())
        } else {
            Err(StoreError::Exists(name.to_owned()))
        }
    }

    /// Bytes on the disk that an earlier session of this transfer has left.
    pub(super) fn staged(&self, id: &str) -> u64 {
        staging::used(&self.path, id)
    }

    /// Checks that `size` bytes more fit on the disk.
    ///
    /// # Errors
    ///
    /// Fails if they do not.
    pub(crate) fn check_space(&self, size: u64) -> Result<(), StoreError> {
        // A file system that does not tell its free space may have enough.
        let free = rustix::fs::statvfs(&self.path)
            .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        if size <= free || self.is_output {
            return Ok(());
        }
        let folder = self.path.clone();
        Err(StoreError::NoSpace { folder, size, free })
    }

    pub(super) fn failed(&self, error: io::Error) -> StoreError {
        StoreError::write(&self.path, error)
    }
}

//! Result cache. Which points have been run already? Each result is a file named by a digest of everything it depends
//! on.
//!
//! A file gets its name only when it is complete, so the cache remains valid if the program is killed at any time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::Record;
use crate::file;
use crate::plan::{BackendPlan, Point};

/// A folder of cached results, or none.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
    build: String,
}

impl Cache {
    /// Opens the cache in `folder`, which need not exist yet. `build` identifies the program: results of another build
    /// are not found.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, build: impl Into<String>) -> Self {
        Self {
            folder: Some(folder.into()),
            build: build.into(),
        }
    }

    /// A cache that stores nothing: every point is run.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            folder: None,
            build: String::new(),
        }
    }

    /// Identifies the running program by the digest of its executable, without `stamp`, the embedded commit name. A
    /// commit that does not change the program therefore keeps the same build.
    ///
    /// # Errors
    ///
    /// Fails if the executable cannot be read.
    pub fn this_build(stamp: &str) -> io::Result<String> {
        Self::build_of(&std::env::current_exe()?, stamp)
    }

    /// Identifies the program or library in `file`, as [`Cache::this_build`] does the running program.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn build_of(file: &Path, stamp: &str) -> io::Result<String> {
        let mut program = fs::read(file)?;
        blank(&mut program, stamp.as_bytes(), 0);
        blank(&mut program, BUILD_ID, BUILD_ID_BYTES);
        Ok(hex(&Sha256::digest(program)))
    }

    /// Returns the cache key of a point: a digest of its setting, its seed, the build and, for a run on real hosts, the
    /// machine. Points of different variants or plans share a key if they depend on the same inputs.
    #[must_use]
    pub fn key(&self, point: &Point) -> String {
        let mut digest = Sha256::new();
        digest.update(self.build.as_bytes());
        digest.update(point.seed.to_be_bytes());
        digest.update(point.setting_text().as_bytes());
        if let BackendPlan::Testbed = point.setting.backend {
            digest.update(super::machine(&point.setting).as_bytes());
        }
        hex(&digest.finalize())
    }

    /// Returns the results stored under `key`; `None` if they are missing or unreadable.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<Record> {
        let bytes = fs::read(self.file(key)?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Whether results are stored under `key`, readable or not.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.file(key).is_some_and(|file| file.is_file())
    }

    /// Stores results atomically.
    ///
    /// # Errors
    ///
    /// Fails if the folder or the file cannot be written.
    pub fn store(&self, key: &str, record: &Record) -> io::Result<()> {
        match self.file(key) {
            Some(file) => file::write(&file, &serde_json::to_vec(record)?),
            None => Ok(()),
        }
    }

    /// Creates the folder and checks that files can be written, so that an error is reported before hours of work.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be created or is not writable.
    pub fn prepare(&self) -> io::Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        fs::create_dir_all(folder)?;
        tempfile::tempfile_in(folder).map(drop)
    }

    /// Returns the folder of the cache, if it has one.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    fn file(&self, key: &str) -> Option<PathBuf> {
        let (shelf, _) = key.split_at(key.len().min(2));
        Some(self.folder()?.join(shelf).join(format!("{key}.json")))
    }
}

/// The bytes before the build ID in an ELF file: name length, content length, type 3 and the name. The linker computes
/// the ID from the whole file, so it depends on the stamp.
const BUILD_ID: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
/// Length of the build ID.
const BUILD_ID_BYTES: usize = 20;

/// Overwrites each occurrence of `mark` and the `further` bytes after it with zeros.
fn blank(bytes: &mut [u8], mark: &[u8], further: usize) {
    let Some(first) = mark.first() else {
        return;
    };
    let mut from = 0;
    while let Some(found) = bytes[from..].iter().position(|byte| byte == first) {
        let start = from + found;
        from = start + 1;
        if bytes[start..].starts_with(mark) {
            let end = bytes.len().min(start + mark.len() + further);
            bytes[start..end].fill(0);
            from = end;
        }
    }
}

/// The digest of a point's setting.
pub(crate) fn setting_digest(point: &Point) -> String {
    hex(&Sha256::digest(point.setting_text()))
}

/// Formats at most the first 128 bits, which is enough to distinguish results.
pub(super) fn hex(digest: &[u8]) -> String {
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{BUILD_ID, BUILD_ID_BYTES, blank};

    #[test]
    fn commit_and_build_id_do_not_change_the_program_hash() {
        let program = |commit: &str, id: u8| {
            let id = [BUILD_ID, &[id; BUILD_ID_BYTES]].concat();
            let mut file = [b"some code", &*id, b"1.0 (", commit.as_bytes(), b") and more"].concat();
            blank(&mut file, commit.as_bytes(), 0);
            blank(&mut file, BUILD_ID, BUILD_ID_BYTES);
            file
        };
        assert_eq!(program("12ab34cd56ef", 7), program("aaaaaaaaaaaa", 9));
        assert!(program("12ab34cd56ef", 7).ends_with(b") and more"));
        let mut untouched = b"nothing of it".to_vec();
        blank(&mut untouched, b"", 5);
        blank(&mut untouched, b"else", 5);
        assert_eq!(untouched, b"nothing of it");
    }
}

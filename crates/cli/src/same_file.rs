//! Do two names lead to one file?

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Whether both are there and are the same, whatever links lead to them.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |name: &Path| fs::metadata(name).ok().map(|file| (file.dev(), file.ino()));
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

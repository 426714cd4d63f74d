//! Detection of two names of the same file.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Whether both paths exist and refer to the same file, following links.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |name: &Path| fs::metadata(name).ok().map(|file| (file.dev(), file.ino()));
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

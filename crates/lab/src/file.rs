//! How is a file written? Whole or not at all, and readable by whoever may read its folder.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Writes `file`, and the folders above it where they are missing.
pub(crate) fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder)?;
    // What the user's mask takes away is taken away from this.
    let open = Permissions::from_mode(0o666);
    let mut unfinished = tempfile::Builder::new().permissions(open).tempfile_in(folder)?;
    unfinished.write_all(bytes)?;
    unfinished.persist(file).map_err(|error| error.error)?;
    Ok(())
}

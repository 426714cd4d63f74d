//! Atomic file writing.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Writes `file` atomically, and creates missing parent folders. An existing target that is not a regular file, such as a
/// terminal, is written to directly.
///
/// # Errors
///
/// The file cannot be written; an existing file is unchanged.
pub fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    // Follow links such as `/dev/stdout`.
    let real = file.canonicalize();
    let file = real.as_deref().unwrap_or(file);
    if file.metadata().is_ok_and(|there| !there.is_file()) {
        return fs::write(file, bytes);
    }
    let above = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = above.unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder)?;
    // The umask applies to these permissions.
    let open = Permissions::from_mode(0o666);
    let mut unfinished = tempfile::Builder::new().permissions(open).tempfile_in(folder)?;
    unfinished.write_all(bytes)?;
    unfinished.persist(file).map_err(|error| error.error)?;
    Ok(())
}

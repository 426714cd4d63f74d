//! How is a file written? Whole or not at all, and readable by whoever may read its folder.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Writes `file`, and the folders above it where they are missing. What is there and is no file, such as a terminal, is
/// written to as it is.
///
/// # Errors
///
/// Something refuses to be written; what was there before is there still.
pub fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    // Not the name is replaced, but what it stands for: `/dev/stdout`, say.
    let real = file.canonicalize();
    let file = real.as_deref().unwrap_or(file);
    if file.metadata().is_ok_and(|there| !there.is_file()) {
        return fs::write(file, bytes);
    }
    let above = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = above.unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder)?;
    // What the user's mask takes away is taken away from this.
    let open = Permissions::from_mode(0o666);
    let mut unfinished = tempfile::Builder::new().permissions(open).tempfile_in(folder)?;
    unfinished.write_all(bytes)?;
    unfinished.persist(file).map_err(|error| error.error)?;
    Ok(())
}

//! Files that outlive the program: how are they replaced whole, and what becomes of one that cannot be read?

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{fmt, fs};

/// Reads a file by `parse`; `None` if there is none. One that cannot be read so is kept under another name, and the error says so.
pub(crate) fn read<T, E: fmt::Display>(
    file: &Path,
    parse: impl FnOnce(&[u8]) -> Result<T, E>,
) -> Result<Option<T>, String> {
    let content = match fs::read(file) {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: {error}", file.display())),
    };
    parse(&content).map(Some).map_err(|error| {
        let mut bad = file.to_owned().into_os_string();
        bad.push(".bad");
        let bad = PathBuf::from(bad);
        // If that fails, it is replaced.
        let _ = fs::rename(file, &bad);
        let (file, bad) = (file.display(), bad.display());
        format!("{file}: {error}; what was there is kept as {bad}")
    })
}

/// Replaces a file. What is there before stays until all is written; only the user can read it.
pub(crate) fn replace(file: &Path, content: &[u8]) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut new = tempfile::NamedTempFile::new_in(folder.unwrap_or_else(|| Path::new(".")))?;
    new.write_all(content)?;
    new.as_file().sync_all()?;
    new.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_file_is_read_and_a_bad_one_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kept");
        let number = |content: &[u8]| String::from_utf8_lossy(content).parse::<u32>();
        assert_eq!(read(&file, number), Ok(None));
        replace(&file, b"7").unwrap();
        assert_eq!(read(&file, number), Ok(Some(7)));
        replace(&file, b"seven").unwrap();
        let error = read(&file, number).unwrap_err();
        assert!(error.contains("kept.bad"), "{error}");
        assert_eq!(fs::read(folder.path().join("kept.bad")).unwrap(), b"seven");
        assert_eq!(read(&file, number), Ok(None));
    }
}

//! Sockets library: where is it? In the program itself if that was built in release, else beside it.

use std::fs;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use crate::failure::Failure;

const NAME: &str = "libanabranch_sctp.so";

/// The library, which the build script found. Empty if cargo has only checked the program, or built it from a git source.
#[cfg(carries_sockets)]
const CARRIED: &[u8] = include_bytes!(env!("ANABRANCH_SOCKETS"));
#[cfg(not(carries_sockets))]
const CARRIED: &[u8] = &[];

/// The file to preload.
pub(super) fn find(named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    if let Some(file) = named {
        let is_file = file.is_file();
        let shown = file.display();
        let missing = || Failure::Usage(format!("--library {shown}: not a file"));
        return fs::canonicalize(&file)
            .ok()
            .filter(|_| is_file)
            .ok_or_else(missing);
    }
    if !CARRIED.is_empty() {
        return unpacked();
    }
    beside().ok_or_else(|| {
        Failure::NotRun(
            format!(
                "{NAME} is neither in this program, nor beside it, nor in ../lib: build the program by \
                 `cargo install --locked --path crates/cli`, run `make install-sockets`, or name the library by --library"
            ),
            126,
        )
    })
}

/// In the folder of this program, where cargo builds both, or in `lib` beside that.
fn beside() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?;
    let places = [
        folder.join(NAME),
        folder.join("../lib").join(NAME),
        folder.join("deps").join(NAME),
    ];
    places.into_iter().find_map(|place| fs::canonicalize(place).ok())
}

/// Writes the library that this program carries to the user's cache, unless it is there.
fn unpacked() -> Result<PathBuf, Failure> {
    let cache = etcetera::choose_base_strategy().map(|strategy| strategy.cache_dir().join("anabranch"));
    let folders = cache.into_iter().chain([std::env::temp_dir()]);
    let mut failed = String::new();
    for folder in folders {
        match unpack(&folder) {
            Ok(file) => return Ok(file),
            Err(error) => failed = format!("{}: {error}", folder.display()),
        }
    }
    Err(Failure::NotRun(
        format!("cannot write the sockets library, {failed}; set XDG_CACHE_HOME"),
        126,
    ))
}

/// Programs that run have the library mapped, so it is replaced and never overwritten. Its name has the commit, so that several
/// versions of this program do not replace each other's.
fn unpack(folder: &Path) -> std::io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let version = match crate::COMMIT {
        "" => env!("CARGO_PKG_VERSION"),
        commit => commit,
    };
    let file = folder.join(format!("libanabranch_sctp-{version}.so"));
    if fs::read(&file).is_ok_and(|present| present == CARRIED) {
        return Ok(file);
    }
    let new = tempfile::NamedTempFile::new_in(folder)?;
    fs::write(new.path(), CARRIED)?;
    new.persist(&file)?;
    Ok(file)
}

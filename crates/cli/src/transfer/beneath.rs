//! Access below a folder. How is a path opened so that no symbolic link leads elsewhere? Name by name, following none.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self, AtFlags, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;

use super::entry::Time;

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Opens a folder that the user of this program named.
pub(super) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(fs::open(path, flags, Mode::empty())?)
}

/// Opens the folder that `names` lead to.
pub(super) fn enter<'n>(root: &OwnedFd, names: impl Iterator<Item = &'n str>) -> io::Result<OwnedFd> {
    let mut folder = root.try_clone()?;
    for name in names {
        folder = fs::openat(&folder, name, FOLDER, Mode::empty())?;
    }
    Ok(folder)
}

/// Makes a folder, unless there is one.
pub(super) fn make_folder(parent: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    match fs::mkdirat(parent, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(fs::openat(parent, name, FOLDER, Mode::empty())?)
}

/// Opens a file to write, or makes it with these permissions, as far as the user's umask lets them.
pub(super) fn open_file(parent: &OwnedFd, name: &str, mode: u32) -> io::Result<std::fs::File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(mode & 0o777 | 0o600);
    Ok(fs::openat(parent, name, flags, mode)?.into())
}

/// Status of what has this name, which may be a link; `None` if nothing has it.
pub(super) fn status(parent: &OwnedFd, name: &str) -> io::Result<Option<Stat>> {
    match fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(status) => Ok(Some(status)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Moves an entry to a name that nothing has.
///
/// # Errors
///
/// Fails with `AlreadyExists` if something has the name.
pub(super) fn move_new(from: (&OwnedFd, &str), to: (&OwnedFd, &str)) -> io::Result<()> {
    match fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
        // The file system cannot refuse to replace, but a hard link never replaces anything.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => move_by_link(from, to),
        result => Ok(result?),
    }
}

fn move_by_link(from: (&OwnedFd, &str), to: (&OwnedFd, &str)) -> io::Result<()> {
    match fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty()) {
        Ok(()) => Ok(fs::unlinkat(from.0, from.1, AtFlags::empty())?),
        Err(Errno::EXIST) => Err(Errno::EXIST.into()),
        // Folders have no hard links, and neither has this file system perhaps.
        Err(_) if status(to.0, to.1)?.is_none() => Ok(fs::renameat(from.0, from.1, to.0, to.1)?),
        Err(_) => Err(Errno::EXIST.into()),
    }
}

/// Moves an entry to a name, in place of what is there. A folder is merged with a folder of that name.
pub(super) fn move_over(from: (&OwnedFd, &str), to: (&OwnedFd, &str)) -> io::Result<()> {
    let is_folder = |status: Stat| fs::FileType::from_raw_mode(status.st_mode).is_dir();
    let both = status(from.0, from.1)?.is_some_and(is_folder) && status(to.0, to.1)?.is_some_and(is_folder);
    if !both {
        return Ok(fs::renameat(from.0, from.1, to.0, to.1)?);
    }
    let source = fs::openat(from.0, from.1, FOLDER, Mode::empty())?;
    let target = fs::openat(to.0, to.1, FOLDER, Mode::empty())?;
    for name in names(&source)? {
        move_over((&source, &name), (&target, &name))?;
    }
    let kept = fs::fstat(&source)?;
    fs::fchmod(&target, Mode::from_raw_mode(kept.st_mode & 0o777))?;
    set_time(&target, Time(kept.st_mtime as i64, kept.st_mtime_nsec as u32))?;
    Ok(fs::unlinkat(from.0, from.1, AtFlags::REMOVEDIR)?)
}

/// Names in a folder.
pub(super) fn names(folder: &OwnedFd) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::Dir::read_from(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name != "." && name != ".." {
            found.push(name);
        }
    }
    Ok(found)
}

/// Sets the time of the last modification.
pub(super) fn set_time(opened: impl AsFd, time: Time) -> io::Result<()> {
    Ok(fs::futimens(opened, &timestamps(time))?)
}

/// Sets the time of a symbolic link.
pub(super) fn set_link_time(parent: &OwnedFd, name: &str, time: Time) -> io::Result<()> {
    Ok(fs::utimensat(
        parent,
        name,
        &timestamps(time),
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

fn timestamps(Time(seconds, nanoseconds): Time) -> Timestamps {
    let unchanged = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_OMIT,
    };
    Timestamps {
        last_access: unchanged,
        last_modification: Timespec {
            tv_sec: seconds,
            // A peer may send any number, and the system refuses those above a second.
            tv_nsec: nanoseconds.min(999_999_999).into(),
        },
    }
}

/// Syncs a folder, which makes the names in it durable.
pub(super) fn sync(folder: &OwnedFd) -> io::Result<()> {
    match fs::fsync(folder) {
        // Some network file systems cannot sync folders and report this error.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

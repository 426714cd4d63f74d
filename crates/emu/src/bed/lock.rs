//! Ownership of test beds by file locks. Which process owns a bed?
//!
//! The lock is released when the process ends, however it ends. After a crash, namespaces without an owner remain; the
//! next process that uses the bed removes them.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Folder of the lock files.
pub const FOLDER: &str = "/run/anabranch";
/// How long an owner may take to shut down after a signal.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait for a process that only checks ownership.
const LOCK_TIMEOUT: Duration = Duration::from_millis(200);
/// Interval between attempts to take the lock.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Exclusive lock on a bed.
#[derive(Debug)]
pub(super) struct BedLock(File);

impl BedLock {
    /// Locks the bed, whose name must be a valid file name.
    ///
    /// # Errors
    ///
    /// `ResourceBusy` if another process owns it, `PermissionDenied` without root.
    pub(super) fn take(bed: &str) -> io::Result<Self> {
        let mut lock = Self::open(bed)?;
        if !lock.lock_soon()? {
            let owner = lock
                .owner()
                .map_or_else(String::new, |pid| format!(" by process {}", pid.as_raw_pid()));
            let text = format!(
                "the test bed `{bed}` is used{owner}; `anabranch testbed down --name {bed}` ends that"
            );
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        lock.write_pid()?;
        Ok(lock)
    }

    /// Takes the bed over: sends SIGTERM to its owner, then SIGKILL if it does not end.
    pub(super) fn take_over(bed: &str) -> io::Result<Self> {
        let mut lock = Self::open(bed)?;
        for signal in [Signal::TERM, Signal::KILL] {
            let end = Instant::now() + SHUTDOWN_TIMEOUT;
            let mut is_signalled = false;
            while Instant::now() < end {
                if lock.try_lock()? {
                    lock.write_pid()?;
                    return Ok(lock);
                }
                if let Some(owner) = lock.owner().filter(|_| !is_signalled) {
                    // It may already have ended.
                    let _ = kill_process(owner, signal);
                    is_signalled = true;
                }
                thread::sleep(POLL_INTERVAL);
            }
        }
        Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            format!("whoever has the test bed `{bed}` does not end"),
        ))
    }

    fn open(bed: &str) -> io::Result<Self> {
        let folder = folder()?;
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        options.open(folder.join(bed)).map(Self).map_err(explain)
    }

    fn try_lock(&self) -> io::Result<bool> {
        match self.0.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Retries briefly, because a process that checks ownership holds the lock for a moment.
    fn lock_soon(&self) -> io::Result<bool> {
        let end = Instant::now() + LOCK_TIMEOUT;
        loop {
            if self.try_lock()? {
                return Ok(true);
            }
            if Instant::now() >= end {
                return Ok(false);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn write_pid(&mut self) -> io::Result<()> {
        self.0.set_len(0)?;
        self.0.rewind()?;
        write!(self.0, "{}", std::process::id())
    }

    fn owner(&mut self) -> Option<Pid> {
        let mut text = String::new();
        self.0.rewind().ok()?;
        self.0.read_to_string(&mut text).ok()?;
        Pid::from_raw(text.trim().parse().ok()?)
    }
}

/// Unlocks explicitly: closing the file releases the lock only if no child process has inherited the descriptor.
impl Drop for BedLock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Returns the folder of lock files, and creates it if needed.
///
/// # Errors
///
/// `PermissionDenied` without root.
pub fn folder() -> io::Result<&'static Path> {
    fs::create_dir_all(FOLDER).map_err(explain)?;
    Ok(Path::new(FOLDER))
}

/// Process that owns a bed, if any.
pub(super) fn owner(bed: &str) -> Option<u32> {
    let mut file = File::open(Path::new(FOLDER).join(bed)).ok()?;
    // If the shared lock succeeds, no process owns the bed.
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        let _ = file.unlock();
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Names of beds that a process owns.
pub(super) fn beds() -> Vec<String> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| owner(name).is_some()).collect()
}

fn explain(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => super::needs_root(),
        _ => error,
    }
}

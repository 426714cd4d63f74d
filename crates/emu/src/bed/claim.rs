//! Whose is a test bed? Of the process that holds a lock on its file; what nobody holds was left behind.
//!
//! The lock goes with the process, however it ends, so a crash leaves only namespaces without an owner, and those can be
//! removed by whoever comes next.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Where the files are that say whose a bed is.
pub const FOLDER: &str = "/run/anabranch";
/// How long an owner may take to put everything away when it is asked to.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a look at a bed may take.
const GLANCE: Duration = Duration::from_millis(200);
/// How often is looked whether it has.
const LOOK: Duration = Duration::from_millis(10);

/// The lock on a bed.
#[derive(Debug)]
pub(super) struct Claim(File);

impl Claim {
    /// Takes the bed, whose name must be good for a file.
    ///
    /// # Errors
    ///
    /// `ResourceBusy` if a process has it, `PermissionDenied` for anybody but root.
    pub(super) fn take(bed: &str) -> io::Result<Self> {
        let mut claim = Self::open(bed)?;
        if !claim.lock_soon()? {
            let owner = claim
                .owner()
                .map_or_else(String::new, |pid| format!(" by process {}", pid.as_raw_pid()));
            let text = format!(
                "the test bed `{bed}` is used{owner}; `anabranch testbed down --name {bed}` ends that"
            );
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        claim.sign()?;
        Ok(claim)
    }

    /// Takes the bed from whoever has it: asks that process to end, and ends it if it does not.
    pub(super) fn wrest(bed: &str) -> io::Result<Self> {
        let mut claim = Self::open(bed)?;
        for signal in [Signal::TERM, Signal::KILL] {
            let end = Instant::now() + PATIENCE;
            let mut is_told = false;
            while Instant::now() < end {
                if claim.try_lock()? {
                    claim.sign()?;
                    return Ok(claim);
                }
                if let Some(owner) = claim.owner().filter(|_| !is_told) {
                    // It may have ended by itself meanwhile.
                    let _ = kill_process(owner, signal);
                    is_told = true;
                }
                thread::sleep(LOOK);
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

    /// Who merely looks whose a bed is holds the lock for a moment.
    fn lock_soon(&self) -> io::Result<bool> {
        let end = Instant::now() + GLANCE;
        loop {
            if self.try_lock()? {
                return Ok(true);
            }
            if Instant::now() >= end {
                return Ok(false);
            }
            thread::sleep(LOOK);
        }
    }

    fn sign(&mut self) -> io::Result<()> {
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

/// Closing the file gives the lock back only when nobody else has it open, and a program that another thread starts at this
/// moment has.
impl Drop for Claim {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// The folder of these files, which is made if this is the first bed since the machine began.
///
/// # Errors
///
/// `PermissionDenied` for anybody but root.
pub fn folder() -> io::Result<&'static Path> {
    fs::create_dir_all(FOLDER).map_err(explain)?;
    Ok(Path::new(FOLDER))
}

/// The process that has a bed; `None` if nobody does.
pub(super) fn owner(bed: &str) -> Option<u32> {
    let mut file = File::open(Path::new(FOLDER).join(bed)).ok()?;
    // Who gets the lock knows that nobody had it.
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        let _ = file.unlock();
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// The beds that somebody has.
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

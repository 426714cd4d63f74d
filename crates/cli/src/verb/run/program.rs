//! Program to run: where is it, and how does it get its sockets?

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// How much of a file is read: the headers of an executable are at its beginning.
const HEAD: u64 = 64 << 10;

/// The file that a shell would run.
pub(super) fn find(program: &OsStr) -> Result<PathBuf, Failure> {
    let not_found = || {
        let name = program.to_string_lossy();
        Failure::NotRun(format!("{name}: no such program"), 127)
    };
    let is_program = |file: &PathBuf| {
        let metadata = fs::metadata(file);
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program))
            .filter(is_program)
            .ok_or_else(not_found);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(is_program);
    found.ok_or_else(not_found)
}

/// The failure to run a program.
pub(super) fn cannot_run(path: &Path, reason: &str) -> Failure {
    Failure::NotRun(format!("{}: {reason}", path.display()), 126)
}

/// How a program gets its sockets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// The library is preloaded into it.
    Preloaded,
    /// Nothing can be preloaded into it, or its sockets are not those of the C library.
    Supervised,
}

/// How a program can be run. Refuses those that the system runs with other privileges, where neither way works. Of a script, that is
/// decided by its interpreter: the system ignores the script's own bits.
pub(super) fn check(path: &Path) -> Result<Way, Failure> {
    let head = beginning(path)?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let mut words = line.trim_ascii().split(u8::is_ascii_whitespace);
        let interpreter = Path::new(OsStr::from_bytes(words.next().unwrap_or_default()));
        return runnable(interpreter, &beginning(interpreter)?);
    }
    runnable(path, &head)
}

/// Refuses an executable that the system runs with other privileges.
fn check_privileges(path: &Path) -> Result<(), Failure> {
    let metadata = fs::metadata(path).map_err(|error| cannot_run(path, &error.to_string()))?;
    let has = |bit: u32| metadata.mode() & bit != 0;
    let changes_user = has(0o4000) && metadata.uid() != rustix::process::geteuid().as_raw();
    let changes_group = has(0o2000) && metadata.gid() != rustix::process::getegid().as_raw();
    let has_capabilities = rustix::fs::getxattr(path, "security.capability", &mut [0_u8; 64][..]).is_ok();
    let gains_capabilities = has_capabilities && !rustix::process::getuid().is_root();
    if changes_user || changes_group || gains_capabilities {
        let reason = "it is set-user-ID or set-group-ID or has capabilities, and the system preloads nothing into such programs; \
                      run a copy of it without them";
        return Err(cannot_run(path, reason));
    }
    Ok(())
}

/// The beginning of a file.
fn beginning(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    match read {
        Ok(_) => Ok(head),
        Err(error) => Err(cannot_run(path, &error.to_string())),
    }
}

/// How an executable that begins so can be run with the privileges of this process.
fn runnable(path: &Path, head: &[u8]) -> Result<Way, Failure> {
    check_privileges(path)?;
    way(head).map_err(|reason| cannot_run(path, reason))
}

/// How an executable that begins so can be run, or why not.
fn way(head: &[u8]) -> Result<Way, &'static str> {
    const MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    if !head.starts_with(b"\x7fELF") {
        return Err("not an executable of this system");
    }
    let is_64_bit_little_endian = head.get(4..6) == Some(&[2, 1]);
    if !is_64_bit_little_endian || number(head, 18, 2) != Some(MACHINE.into()) {
        return Err("it is for another processor than the sockets library; use a build for this one");
    }
    let Some(linker) = interpreter(head) else {
        return Ok(Way::Supervised);
    };
    let is_of_musl = linker.windows(7).any(|part| part == b"ld-musl");
    // A Go program calls the kernel without the C library.
    let is_go = head.windows(14).any(|part| part == b"\xff Go buildinf:") || has_go_note(head);
    if is_of_musl || is_go {
        return Ok(Way::Supervised);
    }
    Ok(Way::Preloaded)
}

/// Whether there is the note that Go's linker writes at the beginning of executables.
fn has_go_note(head: &[u8]) -> bool {
    head.windows(8).any(|part| part == b"\x04\0\0\0Go\0\0")
}

/// The dynamic linker that an executable asks for (`PT_INTERP`).
fn interpreter(head: &[u8]) -> Option<&[u8]> {
    const PT_INTERP: u64 = 3;
    let (table, size) = (number(head, 32, 8)?, number(head, 54, 2)?);
    let count = number(head, 56, 2)?;
    let entries = (0..count).map(|at| table.saturating_add(at * size));
    let entry = entries
        .filter_map(|at| usize::try_from(at).ok())
        .find(|at| number(head, *at, 4) == Some(PT_INTERP))?;
    let (place, length) = (number(head, entry + 8, 8)?, number(head, entry + 32, 8)?);
    let place = usize::try_from(place).ok()?;
    head.get(place..place.checked_add(usize::try_from(length).ok()?)?)
}

/// A little-endian number of `length` bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(length)?)?;
    Some(
        field
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An executable with one program header of this type, which names the linker.
    fn executable(kind: u8, linker: &[u8]) -> Vec<u8> {
        let mut head = vec![0; 120];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[18] = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
        (head[32], head[54], head[56]) = (64, 56, 1);
        (head[64], head[72], head[96]) = (kind, 120, u8::try_from(linker.len()).unwrap());
        head.extend(linker);
        head
    }

    #[test]
    fn programs_that_nothing_can_be_preloaded_into_are_supervised() {
        let glibc = executable(3, b"/lib64/ld-linux-x86-64.so.2\0");
        assert_eq!(way(&glibc), Ok(Way::Preloaded));
        for head in [
            executable(1, b""),
            executable(3, b"/lib/ld-musl-x86_64.so.1\0"),
            executable(3, b"/lib64/ld-linux.so.2\0\x04\0\0\0Go\0\0"),
        ] {
            assert_eq!(way(&head), Ok(Way::Supervised));
        }
    }

    #[test]
    fn programs_of_other_systems_are_refused() {
        for (head, word) in [
            (b"\x7fELF\x01\x01".to_vec(), "processor"),
            (b"text".to_vec(), "executable"),
            (b"\x7fELF\x02\x01".to_vec(), "processor"),
        ] {
            let reason = way(&head).unwrap_err();
            assert!(reason.contains(word), "{reason}");
        }
    }

    #[test]
    fn lengths_that_lie_are_no_linker() {
        let mut head = executable(3, b"/lib");
        head[96..104].fill(0xff);
        assert_eq!(interpreter(&head), None);
        head[32..40].fill(0xff);
        assert_eq!(interpreter(&head), None);
    }
}

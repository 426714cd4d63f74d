//! Exported functions about descriptors: close, shutdown, dup, fcntl, ioctl.

use libc::{c_int, c_uint, c_ulong};

use super::memory::{self, done};
use super::next::next;
use crate::errno::Errno;
use crate::table;

/// Closes a descriptor. The last one of a socket shuts its association down in the background.
#[unsafe(no_mangle)]
extern "C-unwind" fn close(fd: c_int) -> c_int {
    table::remove(fd);
    next!(close(fd: c_int) -> c_int)
}

/// `SHUT_WR` shuts the association down; `SHUT_RD` has no effect (RFC 6458 §4.1.7).
#[unsafe(no_mangle)]
extern "C-unwind" fn shutdown(fd: c_int, how: c_int) -> c_int {
    match table::find(fd) {
        Some(socket) if how == libc::SHUT_RD => done(socket.map(drop)),
        Some(socket) => done(socket.and_then(|socket| socket.shut_down_sending())),
        None => next!(shutdown(fd: c_int, how: c_int) -> c_int),
    }
}

/// Enters a duplicate of `fd`, if `fd` is ours and the duplicate exists.
fn duplicated(fd: c_int, duplicate: c_int) -> c_int {
    if duplicate < 0 || duplicate == fd {
        return duplicate;
    }
    match table::find(fd) {
        Some(Ok(socket)) => match table::insert(duplicate, socket.clone()) {
            Ok(()) => duplicate,
            Err(error) => done(Err(error)),
        },
        _ => duplicate,
    }
}

/// As [`duplicated`], where the duplicate took the place of a descriptor that may have been ours. A call that fails has closed nothing.
fn replaced(fd: c_int, duplicate: c_int) -> c_int {
    if duplicate >= 0 && duplicate != fd {
        table::remove(duplicate);
    }
    duplicated(fd, duplicate)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn dup(fd: c_int) -> c_int {
    duplicated(fd, next!(dup(fd: c_int) -> c_int))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn dup2(fd: c_int, to: c_int) -> c_int {
    replaced(fd, next!(dup2(fd: c_int, to: c_int) -> c_int))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int {
    replaced(fd, next!(dup3(fd: c_int, to: c_int, flags: c_int) -> c_int))
}

fn is_dup(command: c_int) -> bool {
    matches!(command, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    let result = next!(fcntl(fd: c_int, command: c_int, argument: usize) -> c_int);
    if is_dup(command) {
        duplicated(fd, result)
    } else {
        result
    }
}

#[unsafe(no_mangle)]
extern "C-unwind" fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int {
    let result = next!(fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int);
    if is_dup(command) {
        duplicated(fd, result)
    } else {
        result
    }
}

/// Writes the result of an `ioctl` to the program.
fn put_length(to: usize, length: usize) -> Result<(), Errno> {
    let to = to as *mut c_int;
    if to.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    memory::write(to, c_int::try_from(length).unwrap_or(c_int::MAX));
    Ok(())
}

/// Closes descriptors, ours like the others.
#[unsafe(no_mangle)]
extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if flags == 0 {
        table::all()
            .filter(|fd| (first..=last).contains(&fd.cast_unsigned()))
            .for_each(table::remove);
    }
    next!(close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int)
}

/// `FIONREAD` of a socket is the length of what the next call receives, `TIOCOUTQ` what is not acknowledged.
#[unsafe(no_mangle)]
extern "C-unwind" fn ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int {
    if request == libc::FIONREAD
        && let Some(socket) = table::find(fd)
    {
        let peeked = socket.map(|socket| socket.receive(usize::MAX, true));
        return done(peeked.and_then(|peeked| {
            let length = peeked.map_or(0, |received| received.bytes.len());
            put_length(argument, length)
        }));
    }
    if request == libc::TIOCOUTQ
        && let Some(socket) = table::find_here(fd)
    {
        return done(socket.and_then(|socket| put_length(argument, socket.unacknowledged())));
    }
    next!(ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int)
}

//! Exported functions that set sockets up: socket, bind, listen, accept, connect, their names and options.

use std::ffi::c_void;
use std::os::fd::{IntoRawFd as _, OwnedFd};
use std::sync::Arc;

use libc::{c_int, sockaddr, socklen_t};

use super::memory::{self, done, number};
use super::next::next;
use crate::errno::Errno;
use crate::socket::{Answer, Socket};
use crate::{address, table};

/// Enters a new socket into the table; returns its descriptor.
fn enter((socket, program): (Arc<Socket>, OwnedFd)) -> Result<c_int, Errno> {
    let fd = program.into_raw_fd();
    table::insert(fd, socket)?;
    Ok(fd)
}

/// Creates a socket (RFC 6458 §4.1.1).
#[unsafe(no_mangle)]
extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    let is_ours = matches!(domain, libc::AF_INET | libc::AF_INET6) && protocol == libc::IPPROTO_SCTP;
    match kind & !flags {
        libc::SOCK_STREAM if is_ours => {}
        // One-to-many style sockets: the kernel may have them.
        _ => return next!(socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int),
    }
    let (nonblocking, cloexec) = (kind & libc::SOCK_NONBLOCK != 0, kind & libc::SOCK_CLOEXEC != 0);
    number(Socket::new(domain == libc::AF_INET6, nonblocking, cloexec).and_then(enter))
}

/// Binds a socket (RFC 6458 §4.1.2).
#[unsafe(no_mangle)]
extern "C" fn bind(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int {
    match table::find(fd) {
        Some(socket) => done(socket.and_then(|socket| socket.bind(&[memory::address(to, length)?], false))),
        None => next!(bind(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int),
    }
}

/// Accepts associations (RFC 6458 §4.1.3).
#[unsafe(no_mangle)]
extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    match table::find(fd) {
        Some(socket) => done(socket.and_then(|socket| socket.listen(backlog))),
        None => next!(listen(fd: c_int, backlog: c_int) -> c_int),
    }
}

fn accept_from(
    listener: &Socket,
    from: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> Result<c_int, Errno> {
    let nonblocking = flags & libc::SOCK_NONBLOCK != 0;
    let accepted = listener.accept(nonblocking, flags & libc::SOCK_CLOEXEC != 0)?;
    let peer = address::write(accepted.0.peer()?, accepted.0.is_v6);
    memory::put_address(&peer, from, length)?;
    enter(accepted)
}

/// Takes an association (RFC 6458 §4.1.4).
#[unsafe(no_mangle)]
extern "C" fn accept(fd: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int {
    match table::find(fd) {
        Some(socket) => number(socket.and_then(|socket| accept_from(&socket, from, length, 0))),
        None => next!(accept(fd: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int),
    }
}

/// As [`accept`], with `SOCK_NONBLOCK` and `SOCK_CLOEXEC`.
#[unsafe(no_mangle)]
extern "C" fn accept4(fd: c_int, from: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    match table::find(fd) {
        Some(socket) => number(socket.and_then(|socket| accept_from(&socket, from, length, flags))),
        None => next!(accept4(fd: c_int, from: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int),
    }
}

/// Sets an association up (RFC 6458 §4.1.5).
#[unsafe(no_mangle)]
extern "C" fn connect(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int {
    match table::find(fd) {
        Some(socket) => done(socket.and_then(|socket| socket.connect(&[memory::address(to, length)?]))),
        None => next!(connect(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int),
    }
}

/// Our address; a wildcard before the socket is bound.
#[unsafe(no_mangle)]
extern "C" fn getsockname(fd: c_int, to: *mut sockaddr, length: *mut socklen_t) -> c_int {
    let Some(socket) = table::find(fd) else {
        return next!(getsockname(fd: c_int, to: *mut sockaddr, length: *mut socklen_t) -> c_int);
    };
    done(socket.and_then(|socket| {
        let any = ([0; 4], 0).into();
        let name = socket.locals().first().copied().unwrap_or(any);
        memory::put_address(&address::write(name, socket.is_v6), to, length)
    }))
}

/// The peer's address.
#[unsafe(no_mangle)]
extern "C" fn getpeername(fd: c_int, to: *mut sockaddr, length: *mut socklen_t) -> c_int {
    let Some(socket) = table::find(fd) else {
        return next!(getpeername(fd: c_int, to: *mut sockaddr, length: *mut socklen_t) -> c_int);
    };
    done(
        socket.and_then(|socket| {
            memory::put_address(&address::write(socket.peer()?, socket.is_v6), to, length)
        }),
    )
}

/// Reads an option (RFC 6458 §8).
#[unsafe(no_mangle)]
extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    to: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    let from_kernel = || next!(getsockopt(fd: c_int, level: c_int, name: c_int, to: *mut c_void, length: *mut socklen_t) -> c_int);
    let Some(socket) = table::find(fd) else {
        return from_kernel();
    };
    let answer = socket.and_then(|socket| {
        let room = memory::read(length)? as usize;
        let answer = socket.option(level, name, memory::input(to, room.min(1024))?)?;
        if let Answer::Value(value) = &answer {
            let count = memory::output(value, to, room)?;
            memory::write(length, count as socklen_t);
        }
        Ok(answer)
    });
    match answer {
        Ok(Answer::Kernel) => from_kernel(),
        other => done(other.map(drop)),
    }
}

/// Sets an option (RFC 6458 §8).
#[unsafe(no_mangle)]
extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    from: *const c_void,
    length: socklen_t,
) -> c_int {
    let by_kernel = || next!(setsockopt(fd: c_int, level: c_int, name: c_int, from: *const c_void, length: socklen_t) -> c_int);
    let Some(socket) = table::find(fd) else {
        return by_kernel();
    };
    let set = socket.and_then(|socket| socket.set_option(level, name, memory::input(from, length as usize)?));
    match set {
        Ok(Answer::Kernel) => by_kernel(),
        other => done(other.map(drop)),
    }
}

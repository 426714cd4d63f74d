//! Exported functions that set sockets up: socket, bind, listen, accept, connect, and their names.

use std::os::fd::{IntoRawFd as _, OwnedFd};
use std::sync::Arc;

use libc::{c_int, sockaddr, socklen_t};

use super::memory::{self, done, number};
use super::next::next;
use super::transfer::when_readable;
use crate::environment::Environment;
use crate::errno::Errno;
use crate::fork::Handle;
use crate::socket::{Socket, Style, modes};
use crate::table;

/// Enters a new socket into the table; returns its descriptor.
pub(super) fn enter((socket, program): (Arc<Socket>, OwnedFd)) -> Result<c_int, Errno> {
    enter_handle(Handle::Here(socket), program)
}

/// As [`enter`], for a socket whose driver may run in another process.
fn enter_handle(handle: Handle, program: OwnedFd) -> Result<c_int, Errno> {
    let fd = program.into_raw_fd();
    if let Err(error) = table::insert(fd, handle) {
        let _ = next!(close(fd: c_int) -> c_int);
        return Err(error);
    }
    Ok(fd)
}

/// Creates a socket of the one-to-one or one-to-many style (RFC 6458 §3.1.1, §4.1.1).
#[unsafe(no_mangle)]
extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let style = Style::of(domain, kind).filter(|_| protocol == libc::IPPROTO_SCTP);
    let Some(style) = style else {
        return next!(socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int);
    };
    let created = Environment::current()
        .and_then(|_| Socket::new(style, domain == libc::AF_INET6, modes(kind), Arc::default()));
    number(created.and_then(enter))
}

/// Binds a socket (RFC 6458 §4.1.2).
#[unsafe(no_mangle)]
extern "C-unwind" fn bind(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int {
    match table::find_here(fd) {
        Some(socket) => done(socket.and_then(|socket| socket.bind(&[memory::address(to, length)?], false))),
        None => next!(bind(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int),
    }
}

/// Accepts associations (RFC 6458 §4.1.3).
#[unsafe(no_mangle)]
extern "C-unwind" fn listen(fd: c_int, backlog: c_int) -> c_int {
    match table::find_here(fd) {
        Some(socket) => done(socket.and_then(|socket| socket.listen(backlog))),
        None => next!(listen(fd: c_int, backlog: c_int) -> c_int),
    }
}

/// Takes an association, and writes the peer's address; `None` if the descriptor is not ours.
fn accept_from(fd: c_int, from: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> Option<c_int> {
    let accept = |listener: &Handle| {
        let (accepted, program, peer) = listener.accept(modes(flags))?;
        memory::put_address(&peer, from, length)?;
        enter_handle(accepted, program)
    };
    when_readable(fd, 0, accept).map(number)
}

/// Takes an association (RFC 6458 §4.1.4).
#[unsafe(no_mangle)]
extern "C-unwind" fn accept(fd: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int {
    accept_from(fd, from, length, 0)
        .unwrap_or_else(|| next!(accept(fd: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int))
}

/// As [`accept`], with `SOCK_NONBLOCK` and `SOCK_CLOEXEC`.
#[unsafe(no_mangle)]
extern "C-unwind" fn accept4(fd: c_int, from: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int {
    accept_from(fd, from, length, flags).unwrap_or_else(
        || next!(accept4(fd: c_int, from: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int),
    )
}

/// Sets an association up (RFC 6458 §4.1.5).
#[unsafe(no_mangle)]
extern "C-unwind" fn connect(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int {
    match table::find_here(fd) {
        Some(socket) => done(socket.and_then(|socket| socket.connect(&[memory::address(to, length)?])?.1)),
        None => next!(connect(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int),
    }
}

/// Our address; a wildcard before the socket is bound.
#[unsafe(no_mangle)]
extern "C-unwind" fn getsockname(fd: c_int, to: *mut sockaddr, length: *mut socklen_t) -> c_int {
    let Some(socket) = table::find(fd) else {
        return next!(getsockname(fd: c_int, to: *mut sockaddr, length: *mut socklen_t) -> c_int);
    };
    done(socket.and_then(|socket| memory::put_address(&socket.name(false)?, to, length)))
}

/// The peer's address.
#[unsafe(no_mangle)]
extern "C-unwind" fn getpeername(fd: c_int, to: *mut sockaddr, length: *mut socklen_t) -> c_int {
    let Some(socket) = table::find(fd) else {
        return next!(getpeername(fd: c_int, to: *mut sockaddr, length: *mut socklen_t) -> c_int);
    };
    done(socket.and_then(|socket| memory::put_address(&socket.name(true)?, to, length)))
}

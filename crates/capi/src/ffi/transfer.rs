//! Exported functions that send and receive.

use std::ffi::c_void;
use std::net::SocketAddr;

use libc::{
    c_int, c_uint, iovec, mmsghdr, msghdr, off_t, off64_t, size_t, sockaddr, socklen_t, ssize_t, timespec,
};

use super::hooks;
use super::memory::{self, finish, number};
use super::next::next;
use crate::errno::Errno;
use crate::fork::Handle;
use crate::socket::{Received, Request};
use crate::{address, ancillary, table};

/// Sends a message; a closed socket raises `SIGPIPE` unless `flags` forbid it.
pub(super) fn send_with(
    socket: &Handle,
    bytes: Vec<u8>,
    request: &Request,
    flags: c_int,
) -> Result<usize, Errno> {
    let sent = socket.send(bytes, request, flags & libc::MSG_DONTWAIT == 0);
    if sent == Err(Errno(libc::EPIPE)) && flags & libc::MSG_NOSIGNAL == 0 {
        memory::raise_sigpipe();
    }
    sent
}

/// Receives into `buffers`.
fn receive_into(socket: &Handle, buffers: &[iovec], flags: c_int) -> Result<Received, Errno> {
    let received = socket.receive(memory::room(buffers), flags & libc::MSG_PEEK != 0)?;
    memory::scatter(&received.bytes, buffers)?;
    Ok(received)
}

/// Makes a call again and again until it has something to receive or accept, and waits in between unless the descriptor or `flags`
/// forbid it. `None` if the descriptor is not ours. The thread can be cancelled while it waits: nothing is held then, so another thread
/// may have closed the descriptor afterwards.
pub(super) fn when_readable<T>(
    fd: c_int,
    flags: c_int,
    mut call: impl FnMut(&Handle) -> Result<T, Errno>,
) -> Option<Result<T, Errno>> {
    let mut found = table::find(fd)?;
    loop {
        match found.and_then(|socket| call(&socket)) {
            Err(Errno(libc::EAGAIN)) if flags & libc::MSG_DONTWAIT == 0 && !hooks::is_nonblocking(fd) => {}
            result => return Some(result),
        }
        if let Err(error) = hooks::wait_readable(fd) {
            return Some(Err(error));
        }
        found = table::find(fd).unwrap_or(Err(Errno(libc::EBADF)));
    }
}

/// Where to send, if the program says so.
pub(super) fn destination(to: *const sockaddr, size: socklen_t) -> Result<Vec<SocketAddr>, Errno> {
    if to.is_null() || size == 0 {
        return Ok(Vec::new());
    }
    Ok(vec![memory::address(to, size)?])
}

/// The buffer of calls that take one.
pub(super) fn one(to: *mut c_void, length: size_t) -> [iovec; 1] {
    [iovec {
        iov_base: to,
        iov_len: length,
    }]
}

fn simple_send(fd: c_int, from: *const c_void, length: size_t, flags: c_int) -> Option<ssize_t> {
    let socket = table::find(fd)?;
    Some(finish(socket.and_then(|socket| {
        let bytes = memory::message(from, length, socket.longest())?;
        send_with(&socket, bytes, &Request::default(), flags)
    })))
}

fn simple_receive(fd: c_int, to: *mut c_void, length: size_t, flags: c_int) -> Option<ssize_t> {
    let receive = |socket: &Handle| Ok(receive_into(socket, &one(to, length), flags)?.bytes.len());
    when_readable(fd, flags, receive).map(finish)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn send(fd: c_int, from: *const c_void, length: size_t, flags: c_int) -> ssize_t {
    simple_send(fd, from, length, flags).unwrap_or_else(
        || next!(send(fd: c_int, from: *const c_void, length: size_t, flags: c_int) -> ssize_t),
    )
}

#[unsafe(no_mangle)]
extern "C-unwind" fn write(fd: c_int, from: *const c_void, length: size_t) -> ssize_t {
    simple_send(fd, from, length, 0)
        .unwrap_or_else(|| next!(write(fd: c_int, from: *const c_void, length: size_t) -> ssize_t))
}

/// Sends to the peer with this address (RFC 6458 §3.1.4). The one-to-one style ignores it: the socket has one peer.
#[unsafe(no_mangle)]
extern "C-unwind" fn sendto(
    fd: c_int,
    from: *const c_void,
    length: size_t,
    flags: c_int,
    to: *const sockaddr,
    size: socklen_t,
) -> ssize_t {
    let Some(socket) = table::find(fd) else {
        return next!(sendto(fd: c_int, from: *const c_void, length: size_t, flags: c_int, to: *const sockaddr,
            size: socklen_t) -> ssize_t);
    };
    finish(socket.and_then(|socket| {
        let request = Request {
            to: destination(to, size)?,
            ..Request::default()
        };
        send_with(
            &socket,
            memory::message(from, length, socket.longest())?,
            &request,
            flags,
        )
    }))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t {
    let Some(socket) = table::find(fd) else {
        return next!(writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t);
    };
    finish(socket.and_then(|socket| {
        let count = usize::try_from(count).map_err(|_| Errno(libc::EINVAL))?;
        let bytes = memory::gather(&memory::buffers(from, count)?, socket.longest())?;
        send_with(&socket, bytes, &Request::default(), 0)
    }))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn recv(fd: c_int, to: *mut c_void, length: size_t, flags: c_int) -> ssize_t {
    simple_receive(fd, to, length, flags)
        .unwrap_or_else(|| next!(recv(fd: c_int, to: *mut c_void, length: size_t, flags: c_int) -> ssize_t))
}

/// As [`recv`]: programs that are compiled with `_FORTIFY_SOURCE` call it.
#[unsafe(no_mangle)]
extern "C-unwind" fn __recv_chk(
    fd: c_int,
    to: *mut c_void,
    length: size_t,
    size: size_t,
    flags: c_int,
) -> ssize_t {
    simple_receive(fd, to, length.min(size), flags).unwrap_or_else(
        || next!(__recv_chk(fd: c_int, to: *mut c_void, length: size_t, size: size_t, flags: c_int) -> ssize_t),
    )
}

#[unsafe(no_mangle)]
extern "C-unwind" fn read(fd: c_int, to: *mut c_void, length: size_t) -> ssize_t {
    simple_receive(fd, to, length, 0)
        .unwrap_or_else(|| next!(read(fd: c_int, to: *mut c_void, length: size_t) -> ssize_t))
}

/// As [`read`]: programs that are compiled with `_FORTIFY_SOURCE` call it.
#[unsafe(no_mangle)]
extern "C-unwind" fn __read_chk(fd: c_int, to: *mut c_void, length: size_t, size: size_t) -> ssize_t {
    simple_receive(fd, to, length.min(size), 0).unwrap_or_else(
        || next!(__read_chk(fd: c_int, to: *mut c_void, length: size_t, size: size_t) -> ssize_t),
    )
}

#[unsafe(no_mangle)]
extern "C-unwind" fn readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t {
    let receive = |socket: &Handle| {
        let count = usize::try_from(count).map_err(|_| Errno(libc::EINVAL))?;
        Ok(receive_into(socket, &memory::buffers(to, count)?, 0)?.bytes.len())
    };
    when_readable(fd, 0, receive).map_or_else(
        || next!(readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t),
        finish,
    )
}

/// Receives, and writes the peer's address beside each message.
pub(super) fn receive_from(
    socket: &Handle,
    buffers: &[iovec],
    flags: c_int,
    (from, length): (*mut sockaddr, *mut socklen_t),
) -> Result<Received, Errno> {
    let received = receive_into(socket, buffers, flags)?;
    match received.peer {
        Some(peer) => memory::put_address(&address::write(peer, received.told.maps_v4), from, length)?,
        None if !from.is_null() && !length.is_null() => memory::write(length, 0),
        None => {}
    }
    Ok(received)
}

#[unsafe(no_mangle)]
extern "C-unwind" fn recvfrom(
    fd: c_int,
    to: *mut c_void,
    length: size_t,
    flags: c_int,
    from: *mut sockaddr,
    size: *mut socklen_t,
) -> ssize_t {
    let receive = |socket: &Handle| {
        let received = receive_from(socket, &one(to, length), flags, (from, size))?;
        Ok(received.bytes.len())
    };
    when_readable(fd, flags, receive).map_or_else(
        || {
            next!(recvfrom(fd: c_int, to: *mut c_void, length: size_t, flags: c_int, from: *mut sockaddr,
                size: *mut socklen_t) -> ssize_t)
        },
        finish,
    )
}

/// As [`recvfrom`]: programs that are compiled with `_FORTIFY_SOURCE` call it.
#[unsafe(no_mangle)]
extern "C-unwind" fn __recvfrom_chk(
    fd: c_int,
    to: *mut c_void,
    length: size_t,
    room: size_t,
    flags: c_int,
    from: *mut sockaddr,
    size: *mut socklen_t,
) -> ssize_t {
    let receive = |socket: &Handle| {
        let received = receive_from(socket, &one(to, length.min(room)), flags, (from, size))?;
        Ok(received.bytes.len())
    };
    when_readable(fd, flags, receive).map_or_else(
        || {
            next!(__recvfrom_chk(fd: c_int, to: *mut c_void, length: size_t, room: size_t, flags: c_int,
                from: *mut sockaddr, size: *mut socklen_t) -> ssize_t)
        },
        finish,
    )
}

fn send_message(socket: &Handle, header: &msghdr, flags: c_int) -> Result<usize, Errno> {
    let buffers = memory::buffers(header.msg_iov, header.msg_iovlen)?;
    let bytes = memory::gather(&buffers, socket.longest())?;
    let mut request = Request {
        to: destination(header.msg_name.cast(), header.msg_namelen)?,
        ..Request::default()
    };
    ancillary::read(memory::control(header)?, &mut request)?;
    send_with(socket, bytes, &request, flags)
}

/// Whether the message, which is for the kernel, passes one of our sockets to another process. That process could not use it.
fn passes_ours(message: *const msghdr) -> bool {
    let control = memory::read(message).and_then(|header| memory::control(&header));
    control.is_ok_and(|control| {
        ancillary::passed_descriptors(control)
            .iter()
            .any(|fd| table::contains(*fd))
    })
}

/// As [`passes_ours`], for one of several messages.
fn one_passes_ours(messages: *const mmsghdr, count: c_uint) -> bool {
    let count = if messages.is_null() { 0 } else { count.min(1024) };
    (0..count as usize).any(|at| passes_ours(messages.wrapping_add(at).cast()))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    match table::find(fd) {
        Some(socket) => {
            finish(socket.and_then(|socket| send_message(&socket, &memory::read(message)?, flags)))
        }
        None if passes_ours(message) => finish(Err(Errno(libc::ENOTSUP))),
        None => next!(sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t),
    }
}

/// Sends several messages; the number of those that were sent, or an error if the first was not.
#[unsafe(no_mangle)]
extern "C-unwind" fn sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int {
    let Some(socket) = table::find(fd) else {
        if one_passes_ours(messages, count) {
            return number(Err(Errno(libc::ENOTSUP)));
        }
        return next!(sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int);
    };
    number(socket.and_then(|socket| {
        each(messages, count, |message| {
            send_message(&socket, &message.msg_hdr, flags)
        })
    }))
}

fn receive_message(socket: &Handle, header: &mut msghdr, flags: c_int) -> Result<usize, Errno> {
    let buffers = memory::buffers(header.msg_iov, header.msg_iovlen)?;
    let name = (header.msg_name.cast(), &raw mut header.msg_namelen);
    let received = receive_from(socket, &buffers, flags, name)?;
    let (control, is_all) = ancillary::write_into(&received, header.msg_controllen);
    header.msg_flags = received.flags | if is_all { 0 } else { libc::MSG_CTRUNC };
    memory::output(&control, header.msg_control, control.len())?;
    header.msg_controllen = control.len();
    Ok(received.bytes.len())
}

#[unsafe(no_mangle)]
extern "C-unwind" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    let receive = |socket: &Handle| {
        let mut header = memory::read(message)?;
        let received = receive_message(socket, &mut header, flags)?;
        memory::write(message, header);
        Ok(received)
    };
    when_readable(fd, flags, receive).map_or_else(
        || next!(recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t),
        finish,
    )
}

/// Receives several messages. It waits for the first only; the time limit is not needed then.
#[unsafe(no_mangle)]
extern "C-unwind" fn recvmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    limit: *mut timespec,
) -> c_int {
    let receive = |socket: &Handle| {
        each(messages, count, |message| {
            receive_message(socket, &mut message.msg_hdr, flags)
        })
    };
    when_readable(fd, flags, receive).map_or_else(
        || {
            next!(recvmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int,
                limit: *mut timespec) -> c_int)
        },
        number,
    )
}

/// Handles messages until one fails; returns their number, or the error of the first.
fn each(
    messages: *mut mmsghdr,
    count: c_uint,
    mut handle: impl FnMut(&mut mmsghdr) -> Result<usize, Errno>,
) -> Result<c_int, Errno> {
    let count = count.min(1024) as usize;
    for at in 0..count {
        let place = messages.wrapping_add(at);
        let handled = memory::read(place).and_then(|mut message| {
            message.msg_len = c_uint::try_from(handle(&mut message)?).unwrap_or(c_uint::MAX);
            memory::write(place, message);
            Ok(())
        });
        match handled {
            Ok(()) => {}
            Err(error) if at == 0 => return Err(error),
            Err(_) => return Ok(at as c_int),
        }
    }
    Ok(count as c_int)
}

/// Whether one of the descriptors is ours: data does not pass through the socket pair, so the kernel cannot move it.
fn is_ours(descriptors: [c_int; 2]) -> bool {
    descriptors.iter().any(|fd| table::contains(*fd))
}

/// Refused: programs read and write instead.
#[unsafe(no_mangle)]
extern "C-unwind" fn sendfile(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t {
    if is_ours([to, from]) {
        return finish(Err(Errno(libc::EINVAL)));
    }
    next!(sendfile(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t)
}

/// Refused, as [`sendfile`].
#[unsafe(no_mangle)]
extern "C-unwind" fn sendfile64(to: c_int, from: c_int, offset: *mut off64_t, count: size_t) -> ssize_t {
    if is_ours([to, from]) {
        return finish(Err(Errno(libc::EINVAL)));
    }
    next!(sendfile64(to: c_int, from: c_int, offset: *mut off64_t, count: size_t) -> ssize_t)
}

/// Refused, as [`sendfile`].
#[unsafe(no_mangle)]
extern "C-unwind" fn splice(
    from: c_int,
    at: *mut off64_t,
    to: c_int,
    then: *mut off64_t,
    count: size_t,
    flags: c_uint,
) -> ssize_t {
    if is_ours([to, from]) {
        return finish(Err(Errno(libc::EINVAL)));
    }
    next!(splice(from: c_int, at: *mut off64_t, to: c_int, then: *mut off64_t, count: size_t, flags: c_uint) -> ssize_t)
}

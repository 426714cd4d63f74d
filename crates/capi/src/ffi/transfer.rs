//! Exported functions that send and receive.

use std::ffi::c_void;

use libc::{c_int, iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};

use super::memory::{self, finish};
use super::next::next;
use crate::errno::Errno;
use crate::layout::Info;
use crate::socket::{Received, Socket};
use crate::{address, lock, table};

/// `cmsg_type` of ancillary data.
const SNDRCV: c_int = 1;
const SNDINFO: c_int = 2;
const RCVINFO: c_int = 3;

/// Length of `struct cmsghdr`, to which ancillary data is aligned.
const HEADER: usize = size_of::<libc::cmsghdr>();

/// Sends a message; a closed socket raises `SIGPIPE` unless `flags` forbid it.
pub(super) fn send_with(
    socket: &Socket,
    bytes: Vec<u8>,
    info: Option<Info>,
    flags: c_int,
) -> Result<usize, Errno> {
    let info = info.unwrap_or_else(|| lock(&socket.settings).send);
    let sent = socket.send(bytes, &info, flags & libc::MSG_DONTWAIT == 0);
    if sent == Err(Errno(libc::EPIPE)) && flags & libc::MSG_NOSIGNAL == 0 {
        memory::raise_sigpipe();
    }
    sent
}

/// Receives into `buffers`.
pub(super) fn receive_into(socket: &Socket, buffers: &[iovec], flags: c_int) -> Result<Received, Errno> {
    let (peeks, is_patient) = (flags & libc::MSG_PEEK != 0, flags & libc::MSG_DONTWAIT == 0);
    let received = socket.receive(memory::room(buffers), peeks, is_patient)?;
    memory::scatter(&received.bytes, buffers)?;
    Ok(received)
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
        send_with(&socket, memory::input(from, length)?.to_vec(), None, flags)
    })))
}

fn simple_receive(fd: c_int, to: *mut c_void, length: size_t, flags: c_int) -> Option<ssize_t> {
    let socket = table::find(fd)?;
    let received = socket.and_then(|socket| receive_into(&socket, &one(to, length), flags));
    Some(finish(received.map(|received| received.bytes.len())))
}

#[unsafe(no_mangle)]
extern "C" fn send(fd: c_int, from: *const c_void, length: size_t, flags: c_int) -> ssize_t {
    simple_send(fd, from, length, flags).unwrap_or_else(
        || next!(send(fd: c_int, from: *const c_void, length: size_t, flags: c_int) -> ssize_t),
    )
}

#[unsafe(no_mangle)]
extern "C" fn write(fd: c_int, from: *const c_void, length: size_t) -> ssize_t {
    simple_send(fd, from, length, 0)
        .unwrap_or_else(|| next!(write(fd: c_int, from: *const c_void, length: size_t) -> ssize_t))
}

/// The address is ignored: the socket has one peer.
#[unsafe(no_mangle)]
extern "C" fn sendto(
    fd: c_int,
    from: *const c_void,
    length: size_t,
    flags: c_int,
    to: *const sockaddr,
    size: socklen_t,
) -> ssize_t {
    simple_send(fd, from, length, flags).unwrap_or_else(|| {
        next!(sendto(fd: c_int, from: *const c_void, length: size_t, flags: c_int, to: *const sockaddr,
            size: socklen_t) -> ssize_t)
    })
}

#[unsafe(no_mangle)]
extern "C" fn writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t {
    let Some(socket) = table::find(fd) else {
        return next!(writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t);
    };
    finish(socket.and_then(|socket| {
        let count = usize::try_from(count).map_err(|_| Errno(libc::EINVAL))?;
        send_with(&socket, memory::gather(memory::buffers(from, count)?)?, None, 0)
    }))
}

#[unsafe(no_mangle)]
extern "C" fn recv(fd: c_int, to: *mut c_void, length: size_t, flags: c_int) -> ssize_t {
    simple_receive(fd, to, length, flags)
        .unwrap_or_else(|| next!(recv(fd: c_int, to: *mut c_void, length: size_t, flags: c_int) -> ssize_t))
}

/// As [`recv`]: programs that are compiled with `_FORTIFY_SOURCE` call it.
#[unsafe(no_mangle)]
extern "C" fn __recv_chk(fd: c_int, to: *mut c_void, length: size_t, size: size_t, flags: c_int) -> ssize_t {
    simple_receive(fd, to, length.min(size), flags).unwrap_or_else(
        || next!(__recv_chk(fd: c_int, to: *mut c_void, length: size_t, size: size_t, flags: c_int) -> ssize_t),
    )
}

#[unsafe(no_mangle)]
extern "C" fn read(fd: c_int, to: *mut c_void, length: size_t) -> ssize_t {
    simple_receive(fd, to, length, 0)
        .unwrap_or_else(|| next!(read(fd: c_int, to: *mut c_void, length: size_t) -> ssize_t))
}

/// As [`read`]: programs that are compiled with `_FORTIFY_SOURCE` call it.
#[unsafe(no_mangle)]
extern "C" fn __read_chk(fd: c_int, to: *mut c_void, length: size_t, size: size_t) -> ssize_t {
    simple_receive(fd, to, length.min(size), 0).unwrap_or_else(
        || next!(__read_chk(fd: c_int, to: *mut c_void, length: size_t, size: size_t) -> ssize_t),
    )
}

#[unsafe(no_mangle)]
extern "C" fn readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t {
    let Some(socket) = table::find(fd) else {
        return next!(readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t);
    };
    finish(socket.and_then(|socket| {
        let count = usize::try_from(count).map_err(|_| Errno(libc::EINVAL))?;
        Ok(receive_into(&socket, memory::buffers(to, count)?, 0)?.bytes.len())
    }))
}

/// Receives, and writes the peer's address beside each message.
pub(super) fn receive_from(
    socket: &Socket,
    buffers: &[iovec],
    flags: c_int,
    (from, length): (*mut sockaddr, *mut socklen_t),
) -> Result<Received, Errno> {
    let received = receive_into(socket, buffers, flags)?;
    if let Ok(peer) = socket.peer() {
        memory::put_address(&address::write(peer, socket.is_v6), from, length)?;
    }
    Ok(received)
}

#[unsafe(no_mangle)]
extern "C" fn recvfrom(
    fd: c_int,
    to: *mut c_void,
    length: size_t,
    flags: c_int,
    from: *mut sockaddr,
    size: *mut socklen_t,
) -> ssize_t {
    let Some(socket) = table::find(fd) else {
        return next!(recvfrom(fd: c_int, to: *mut c_void, length: size_t, flags: c_int, from: *mut sockaddr,
            size: *mut socklen_t) -> ssize_t);
    };
    let received = socket.and_then(|socket| receive_from(&socket, &one(to, length), flags, (from, size)));
    finish(received.map(|received| received.bytes.len()))
}

/// What the program says about a message in ancillary data (RFC 6458 §5.3); `None` if nothing.
fn info_in(mut control: &[u8]) -> Result<Option<Info>, Errno> {
    let mut info = None;
    while control.len() >= HEADER {
        let word = |at: usize| control.get(at..)?.first_chunk().copied();
        let length = word(0).map_or(0, usize::from_ne_bytes);
        let kind = control.get(8..16).unwrap_or(&[0; 8]);
        if length < HEADER || length > control.len() {
            return Err(Errno(libc::EINVAL));
        }
        let data = &control[HEADER..length];
        let (level, kind) = (&kind[..4], &kind[4..]);
        if level == libc::IPPROTO_SCTP.to_ne_bytes() {
            let read = match kind {
                kind if kind == SNDRCV.to_ne_bytes() => Info::of_sndrcv(data),
                kind if kind == SNDINFO.to_ne_bytes() => Info::of_snd(data),
                _ => return Err(Errno(libc::EINVAL)),
            };
            info = Some(read.ok_or(Errno(libc::EINVAL))?);
        }
        control = control.get(length.next_multiple_of(8)..).unwrap_or(&[]);
    }
    Ok(info)
}

/// Ancillary data of this type.
fn control_of(kind: c_int, data: &[u8]) -> Vec<u8> {
    let length = HEADER + data.len();
    let start = [libc::IPPROTO_SCTP, kind].map(c_int::to_ne_bytes).concat();
    let mut bytes = [&length.to_ne_bytes()[..], &start, data].concat();
    bytes.resize(length.next_multiple_of(8), 0);
    bytes
}

#[unsafe(no_mangle)]
extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    let Some(socket) = table::find(fd) else {
        return next!(sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t);
    };
    finish(socket.and_then(|socket| {
        let header = memory::read(message)?;
        let bytes = memory::gather(memory::buffers(header.msg_iov, header.msg_iovlen)?)?;
        let info = info_in(memory::input(header.msg_control, header.msg_controllen)?)?;
        send_with(&socket, bytes, info, flags)
    }))
}

fn receive_message(socket: &Socket, message: *mut msghdr, flags: c_int) -> Result<usize, Errno> {
    let mut header = memory::read(message)?;
    let buffers = memory::buffers(header.msg_iov, header.msg_iovlen)?;
    let received = receive_from(
        socket,
        buffers,
        flags,
        (header.msg_name.cast(), &raw mut header.msg_namelen),
    )?;
    let mut control = Vec::new();
    if let Some(info) = received.info {
        let settings = lock(&socket.settings).clone();
        if settings.receives_rcvinfo {
            control.extend(control_of(RCVINFO, &info.rcv()));
        }
        if settings.receives_sndrcvinfo() {
            control.extend(control_of(SNDRCV, &info.sndrcv()));
        }
    }
    header.msg_flags = received.flags;
    if control.len() > header.msg_controllen {
        header.msg_flags |= libc::MSG_CTRUNC;
        control.clear();
    }
    memory::output(&control, header.msg_control, control.len())?;
    header.msg_controllen = control.len();
    memory::write(message, header);
    Ok(received.bytes.len())
}

#[unsafe(no_mangle)]
extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    match table::find(fd) {
        Some(socket) => finish(socket.and_then(|socket| receive_message(&socket, message, flags))),
        None => next!(recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t),
    }
}

//! Exported functions of lksctp's library (RFC 6458 §9), for sockets of ours; others are its own.

use std::ffi::c_void;
use std::net::SocketAddr;
use std::sync::Arc;

use libc::{c_int, c_uint, iovec, size_t, sockaddr, socklen_t};

use super::memory::{self, done, finish, number};
use super::next::unless_ours;
use super::setup::enter;
use super::transfer::{destination, one, receive_from, send_with, when_readable};
use crate::errno::Errno;
use crate::fork::Handle;
use crate::layout::{Fields, Info};
use crate::socket::{Request, Socket, modes};
use crate::table::{self, Found};
use crate::{address, ancillary};

/// The socket of a descriptor. For those of the kernel, lksctp's library would be needed.
fn ours(fd: c_int) -> Result<Found<Arc<Socket>>, Errno> {
    table::find_here(fd).unwrap_or(Err(Errno(libc::ENOTSUP)))
}

/// As [`ours`], also of the process that forked this one.
fn reached(fd: c_int) -> Result<Found<Handle>, Errno> {
    table::find(fd).unwrap_or(Err(Errno(libc::ENOTSUP)))
}

/// Binds to several addresses, or removes some (RFC 6458 §9.1).
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_bindx(fd: c_int, from: *const sockaddr, count: c_int, flags: c_int) -> c_int {
    unless_ours!(sctp_bindx(fd: c_int, from: *const sockaddr, count: c_int, flags: c_int) -> c_int);
    const ADD: c_int = 1;
    const REMOVE: c_int = 2;
    done(ours(fd).and_then(|socket| match flags {
        ADD => socket.bind(&memory::addresses(from, count)?, true),
        REMOVE => socket.unbind(&memory::addresses(from, count)?),
        _ => Err(Errno(libc::EINVAL)),
    }))
}

/// Sets up an association with a peer at several addresses (RFC 6458 §9.9).
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_connectx(fd: c_int, to: *const sockaddr, count: c_int, id: *mut i32) -> c_int {
    unless_ours!(sctp_connectx(fd: c_int, to: *const sockaddr, count: c_int, id: *mut i32) -> c_int);
    done(ours(fd).and_then(|socket| {
        let (assoc, connected) = socket.connect(&memory::addresses(to, count)?)?;
        memory::write(id, assoc);
        connected
    }))
}

/// Moves an association of a one-to-many style socket to a socket of its own (RFC 6458 §9.2).
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_peeloff(fd: c_int, id: i32) -> c_int {
    unless_ours!(sctp_peeloff(fd: c_int, id: i32) -> c_int);
    number(ours(fd).and_then(|socket| enter(socket.peel_off(id, modes(0))?)))
}

/// As [`sctp_peeloff`], with `SOCK_NONBLOCK` and `SOCK_CLOEXEC`.
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_peeloff_flags(fd: c_int, id: i32, flags: c_uint) -> c_int {
    unless_ours!(sctp_peeloff_flags(fd: c_int, id: i32, flags: c_uint) -> c_int);
    let modes = modes(flags.cast_signed());
    number(ours(fd).and_then(|socket| enter(socket.peel_off(id, modes)?)))
}

/// Reads an option that takes an association (RFC 6458 §9.13), which is at the beginning of the structure.
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_opt_info(
    fd: c_int,
    id: i32,
    name: c_int,
    to: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    unless_ours!(sctp_opt_info(fd: c_int, id: i32, name: c_int, to: *mut c_void, length: *mut socklen_t) -> c_int);
    let answer = reached(fd).and_then(|socket| {
        let room = memory::read(length)? as usize;
        memory::output(&id.to_ne_bytes(), to, room)?;
        super::options::read_option(&socket, (libc::IPPROTO_SCTP, name), to, length)
    });
    number(answer.map(|result| result.unwrap_or(0)))
}

fn list(addresses: &[SocketAddr], is_mapped: bool, to: *mut *mut sockaddr) -> Result<c_int, Errno> {
    if to.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    let bytes: Vec<u8> = addresses
        .iter()
        .flat_map(|address| address::write(*address, is_mapped))
        .collect();
    memory::write(to, memory::allocate(&bytes)?.cast());
    Ok(c_int::try_from(addresses.len()).unwrap_or(c_int::MAX))
}

/// The peer's addresses (RFC 6458 §9.3).
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_getpaddrs(fd: c_int, id: i32, to: *mut *mut sockaddr) -> c_int {
    unless_ours!(sctp_getpaddrs(fd: c_int, id: i32, to: *mut *mut sockaddr) -> c_int);
    number(ours(fd).and_then(|socket| list(&socket.member(id)?.peers(), socket.maps_v4(), to)))
}

/// Our addresses (RFC 6458 §9.5).
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_getladdrs(fd: c_int, id: i32, to: *mut *mut sockaddr) -> c_int {
    unless_ours!(sctp_getladdrs(fd: c_int, id: i32, to: *mut *mut sockaddr) -> c_int);
    number(ours(fd).and_then(|socket| list(&socket.locals_of(id)?, socket.maps_v4(), to)))
}

#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_freepaddrs(addresses: *mut sockaddr) -> c_int {
    memory::free(addresses.cast());
    0
}

#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_freeladdrs(addresses: *mut sockaddr) -> c_int {
    memory::free(addresses.cast());
    0
}

/// Length of an address of this family.
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_getaddrlen(family: u16) -> c_int {
    let length = address::length(family).ok_or(Errno(libc::EINVAL));
    number(length.map(|length| length as c_int))
}

/// The association with the peer that has this address (RFC 6458 §9.10 of the drafts, and FreeBSD).
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_getassocid(fd: c_int, of: *const sockaddr) -> i32 {
    let found = ours(fd).and_then(|socket| {
        let peer = memory::addresses(of, 1)?[0];
        socket.assoc_id(peer)
    });
    found.unwrap_or_else(|error| {
        done(Err(error));
        0
    })
}

/// Sends a message (RFC 6458 §9.7; deprecated there, and common).
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_sendmsg(
    fd: c_int,
    from: *const c_void,
    length: size_t,
    to: *const sockaddr,
    size: socklen_t,
    ppid: u32,
    flags: u32,
    stream: u16,
    time_to_live: u32,
    context: u32,
) -> c_int {
    unless_ours!(sctp_sendmsg(fd: c_int, from: *const c_void, length: size_t, to: *const sockaddr, size: socklen_t, ppid: u32, flags: u32, stream: u16, time_to_live: u32, context: u32) -> c_int);
    let info = Info {
        stream,
        flags: flags as u16,
        ppid,
        context,
        value: time_to_live,
        assoc: 0,
    };
    finish(reached(fd).and_then(|socket| {
        let request = Request {
            to: destination(to, size)?,
            info: Some(info),
            ..Request::default()
        };
        let bytes = memory::message(from, length, socket.longest())?;
        send_with(&socket, bytes, &request, 0)
    })) as c_int
}

/// `struct sctp_sndrcvinfo` of the program, if it gave one.
fn sndrcvinfo(info: *const c_void) -> Result<Option<Info>, Errno> {
    if info.is_null() {
        return Ok(None);
    }
    Info::of_sndrcv(memory::input(info, 32)?).map(Some)
}

/// Sends a message with `struct sctp_sndrcvinfo` (RFC 6458 §9.10).
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_send(
    fd: c_int,
    from: *const c_void,
    length: size_t,
    info: *const c_void,
    flags: c_int,
) -> c_int {
    unless_ours!(sctp_send(fd: c_int, from: *const c_void, length: size_t, info: *const c_void, flags: c_int) -> c_int);
    finish(reached(fd).and_then(|socket| {
        let request = Request {
            info: sndrcvinfo(info)?,
            ..Request::default()
        };
        let bytes = memory::message(from, length, socket.longest())?;
        send_with(&socket, bytes, &request, flags)
    })) as c_int
}

/// Sends a message to a peer at several addresses, if it is new (RFC 6458 §9.11).
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_sendx(
    fd: c_int,
    from: *const c_void,
    length: size_t,
    to: *const sockaddr,
    count: c_int,
    info: *const c_void,
    flags: c_int,
) -> c_int {
    unless_ours!(sctp_sendx(fd: c_int, from: *const c_void, length: size_t, to: *const sockaddr, count: c_int, info: *const c_void, flags: c_int) -> c_int);
    finish(reached(fd).and_then(|socket| {
        let request = Request {
            to: memory::addresses(to, count)?,
            info: sndrcvinfo(info)?,
            ..Request::default()
        };
        let bytes = memory::message(from, length, socket.longest())?;
        send_with(&socket, bytes, &request, flags)
    })) as c_int
}

/// What `sctp_sendv` gets beside the data: its type, and the structure.
fn read_sendv(kind: c_uint, info: &[u8], request: &mut Request) -> Result<(), Errno> {
    const NONE: c_uint = 0;
    const SNDINFO: c_uint = 1;
    const PRINFO: c_uint = 2;
    const AUTHINFO: c_uint = 3;
    const ALL: c_uint = 4;
    match kind {
        NONE => {}
        SNDINFO => request.info = Some(Info::of_snd(info)?),
        PRINFO => request.reliability = Some(ancillary::read_prinfo(info)?),
        AUTHINFO => request.key = Some(Fields::new(info).u16()?),
        ALL => {
            let mut fields = Fields::new(info);
            let (valid, send) = (fields.u32()?, fields.bytes(16)?);
            let (reliability, key) = (fields.bytes(8)?, fields.u16()?);
            if valid & !7 != 0 {
                return Err(Errno(libc::EINVAL));
            }
            request.info = (valid & 1 != 0).then(|| Info::of_snd(send)).transpose()?;
            let prinfo = || ancillary::read_prinfo(reliability);
            request.reliability = (valid & 2 != 0).then(prinfo).transpose()?;
            request.key = (valid & 4 != 0).then_some(key);
        }
        _ => return Err(Errno(libc::EINVAL)),
    }
    Ok(())
}

/// Sends a message with any of the structures of RFC 6458 §5.3 (§9.12).
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_sendv(
    fd: c_int,
    from: *const iovec,
    buffers: c_int,
    to: *const sockaddr,
    count: c_int,
    info: *const c_void,
    length: socklen_t,
    kind: c_uint,
    flags: c_int,
) -> c_int {
    unless_ours!(sctp_sendv(fd: c_int, from: *const iovec, buffers: c_int, to: *const sockaddr, count: c_int, info: *const c_void, length: socklen_t, kind: c_uint, flags: c_int) -> c_int);
    finish(reached(fd).and_then(|socket| {
        let buffers = usize::try_from(buffers).map_err(|_| Errno(libc::EINVAL))?;
        let bytes = memory::gather(&memory::buffers(from, buffers)?, socket.longest())?;
        let mut request = Request::default();
        if !to.is_null() && count != 0 {
            request.to = memory::addresses(to, count)?;
        }
        read_sendv(
            kind,
            memory::input(info, (length as usize).min(1024))?,
            &mut request,
        )?;
        send_with(&socket, bytes, &request, flags)
    })) as c_int
}

/// Receives a message with `struct sctp_sndrcvinfo` (RFC 6458 §9.8).
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_recvmsg(
    fd: c_int,
    to: *mut c_void,
    length: size_t,
    from: *mut sockaddr,
    size: *mut socklen_t,
    info: *mut c_void,
    flags: *mut c_int,
) -> c_int {
    unless_ours!(sctp_recvmsg(fd: c_int, to: *mut c_void, length: size_t, from: *mut sockaddr, size: *mut socklen_t, info: *mut c_void, flags: *mut c_int) -> c_int);
    let wanted = memory::read(flags).unwrap_or(0);
    let receive = |socket: &Handle| {
        let received = receive_from(socket, &one(to, length), wanted, (from, size))?;
        memory::write(flags, received.flags);
        if let Some(about) = received.info.filter(|_| !info.is_null()) {
            memory::output(&about.sndrcv(), info, 32)?;
        }
        Ok(received.bytes.len())
    };
    let received = when_readable(fd, wanted, receive).unwrap_or(Err(Errno(libc::ENOTSUP)));
    finish(received) as c_int
}

/// Receives a message with what the program wants to know of it and of the next (RFC 6458 §9.13).
#[unsafe(no_mangle)]
extern "C-unwind" fn sctp_recvv(
    fd: c_int,
    to: *const iovec,
    buffers: c_int,
    from: *mut sockaddr,
    size: *mut socklen_t,
    info: *mut c_void,
    length: *mut socklen_t,
    kind: *mut c_uint,
    flags: *mut c_int,
) -> c_int {
    unless_ours!(sctp_recvv(fd: c_int, to: *const iovec, buffers: c_int, from: *mut sockaddr, size: *mut socklen_t, info: *mut c_void, length: *mut socklen_t, kind: *mut c_uint, flags: *mut c_int) -> c_int);
    const NONE: c_uint = 0;
    const RCVINFO: c_uint = 1;
    const NXTINFO: c_uint = 2;
    const BOTH: c_uint = 3;
    let wanted = memory::read(flags).unwrap_or(0);
    let receive = |socket: &Handle| {
        let buffers = usize::try_from(buffers).map_err(|_| Errno(libc::EINVAL))?;
        let received = receive_from(socket, &memory::buffers(to, buffers)?, wanted, (from, size))?;
        memory::write(flags, received.flags);
        let this = received.info.filter(|_| received.told.rcvinfo);
        let next = received.next.filter(|_| received.told.nxtinfo);
        let (told, bytes) = match (this, next) {
            (None, None) => (NONE, Vec::new()),
            (Some(this), None) => (RCVINFO, this.rcv()),
            (None, Some(next)) => (NXTINFO, next.bytes()),
            (Some(this), Some(next)) => (BOTH, [this.rcv(), next.bytes()].concat()),
        };
        let room = memory::read(length).unwrap_or(0) as usize;
        let fits = bytes.len() <= room && !info.is_null();
        memory::write(kind, if fits { told } else { NONE });
        if fits {
            memory::output(&bytes, info, room)?;
            memory::write(length, bytes.len() as socklen_t);
        } else {
            memory::write(length, 0);
        }
        Ok(received.bytes.len())
    };
    let received = when_readable(fd, wanted, receive).unwrap_or(Err(Errno(libc::ENOTSUP)));
    finish(received) as c_int
}

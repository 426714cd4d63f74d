//! Exported functions of lksctp's library (RFC 6458 §9), for sockets of ours; others are its own.

use std::ffi::c_void;
use std::net::SocketAddr;

use libc::{c_int, size_t, sockaddr, socklen_t};

use super::memory::{self, done, finish, number};
use super::transfer::{one, receive_from, send_with};
use crate::errno::Errno;
use crate::layout::{ASSOC_ID, Info};
use crate::socket::{Answer, Socket};
use crate::{address, table};

/// The socket of a descriptor. Those of the kernel are not supported beside ours.
fn ours(fd: c_int) -> Result<std::sync::Arc<Socket>, Errno> {
    table::find(fd).unwrap_or(Err(Errno(libc::ENOTSUP)))
}

/// Binds to several addresses (RFC 6458 §9.1).
#[unsafe(no_mangle)]
extern "C" fn sctp_bindx(fd: c_int, from: *const sockaddr, count: c_int, flags: c_int) -> c_int {
    const ADD: c_int = 1;
    done(ours(fd).and_then(|socket| match flags {
        ADD => socket.bind(&memory::addresses(from, count)?, true),
        _ => Err(Errno(libc::EOPNOTSUPP)),
    }))
}

/// Sets up an association with a peer at several addresses (RFC 6458 §9.9).
#[unsafe(no_mangle)]
extern "C" fn sctp_connectx(fd: c_int, to: *const sockaddr, count: c_int, id: *mut i32) -> c_int {
    let connected = ours(fd).and_then(|socket| socket.connect(&memory::addresses(to, count)?));
    if matches!(connected, Ok(()) | Err(Errno(libc::EINPROGRESS))) {
        memory::write(id, ASSOC_ID);
    }
    done(connected)
}

/// One-to-one style sockets have nothing to peel off (RFC 6458 §9.2).
#[unsafe(no_mangle)]
extern "C" fn sctp_peeloff(_fd: c_int, _id: i32) -> c_int {
    done(Err(Errno(libc::EOPNOTSUPP)))
}

/// Reads an option that takes an association (RFC 6458 §9.13).
#[unsafe(no_mangle)]
extern "C" fn sctp_opt_info(
    fd: c_int,
    _id: i32,
    name: c_int,
    to: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    done(ours(fd).and_then(|socket| {
        let room = memory::read(length)? as usize;
        let answer = socket.option(libc::IPPROTO_SCTP, name, memory::input(to, room.min(1024))?)?;
        if let Answer::Value(value) = answer {
            memory::write(length, memory::output(&value, to, room)? as socklen_t);
        }
        Ok(())
    }))
}

fn list(addresses: &[SocketAddr], is_v6: bool, to: *mut *mut sockaddr) -> Result<c_int, Errno> {
    let is_mapped = |address: &SocketAddr| is_v6 || address.is_ipv6();
    let bytes: Vec<u8> = addresses
        .iter()
        .flat_map(|one| address::write(*one, is_mapped(one)))
        .collect();
    memory::write(to, memory::allocate(&bytes)?.cast());
    Ok(c_int::try_from(addresses.len()).unwrap_or(c_int::MAX))
}

/// The peer's addresses (RFC 6458 §9.3).
#[unsafe(no_mangle)]
extern "C" fn sctp_getpaddrs(fd: c_int, _id: i32, to: *mut *mut sockaddr) -> c_int {
    number(ours(fd).and_then(|socket| list(&socket.peers()?, socket.is_v6, to)))
}

/// Our addresses (RFC 6458 §9.5).
#[unsafe(no_mangle)]
extern "C" fn sctp_getladdrs(fd: c_int, _id: i32, to: *mut *mut sockaddr) -> c_int {
    number(ours(fd).and_then(|socket| list(&socket.locals(), socket.is_v6, to)))
}

#[unsafe(no_mangle)]
extern "C" fn sctp_freepaddrs(addresses: *mut sockaddr) -> c_int {
    memory::free(addresses.cast());
    0
}

#[unsafe(no_mangle)]
extern "C" fn sctp_freeladdrs(addresses: *mut sockaddr) -> c_int {
    memory::free(addresses.cast());
    0
}

/// Length of an address of this family.
#[unsafe(no_mangle)]
extern "C" fn sctp_getaddrlen(family: u16) -> c_int {
    let length = address::length(family).ok_or(Errno(libc::EINVAL));
    number(length.map(|length| length as c_int))
}

/// Sends a message (RFC 6458 §9.7; deprecated there, and common).
#[unsafe(no_mangle)]
extern "C" fn sctp_sendmsg(
    fd: c_int,
    from: *const c_void,
    length: size_t,
    _to: *const sockaddr,
    _size: socklen_t,
    ppid: u32,
    flags: u32,
    stream: u16,
    time_to_live: u32,
    context: u32,
) -> c_int {
    let info = Info {
        stream,
        flags: flags as u16,
        ppid,
        context,
        time_to_live,
    };
    let sent =
        ours(fd).and_then(|socket| send_with(&socket, memory::input(from, length)?.to_vec(), Some(info), 0));
    finish(sent) as c_int
}

/// Sends a message with `struct sctp_sndrcvinfo`.
#[unsafe(no_mangle)]
extern "C" fn sctp_send(
    fd: c_int,
    from: *const c_void,
    length: size_t,
    info: *const c_void,
    flags: c_int,
) -> c_int {
    finish(ours(fd).and_then(|socket| {
        let info = if info.is_null() {
            None
        } else {
            Info::of_sndrcv(memory::input(info, 32)?)
        };
        send_with(&socket, memory::input(from, length)?.to_vec(), info, flags)
    })) as c_int
}

/// Receives a message with `struct sctp_sndrcvinfo` (RFC 6458 §9.8).
#[unsafe(no_mangle)]
extern "C" fn sctp_recvmsg(
    fd: c_int,
    to: *mut c_void,
    length: size_t,
    from: *mut sockaddr,
    size: *mut socklen_t,
    info: *mut c_void,
    flags: *mut c_int,
) -> c_int {
    finish(ours(fd).and_then(|socket| {
        let wanted = memory::read(flags).unwrap_or(0);
        let received = receive_from(&socket, &one(to, length), wanted, (from, size))?;
        memory::write(flags, received.flags);
        if let Some(about) = received.info.filter(|_| !info.is_null()) {
            memory::output(&about.sndrcv(), info, 32)?;
        }
        Ok(received.bytes.len())
    })) as c_int
}

//! Exported functions that read and set options.

use std::ffi::c_void;

use libc::{c_int, sockaddr, socklen_t};

use super::memory::{self, done};
use super::next::next;
use super::setup::enter;
use crate::errno::Errno;
use crate::fork::Handle;
use crate::layout::{Build, Fields};
use crate::socket::{Answer, Socket, number};
use crate::{address, table};

/// Longest structure that an option reads; longer ones are cut.
const LONGEST: usize = 64 << 10;

/// Reads an option (RFC 6458 §8).
#[unsafe(no_mangle)]
extern "C-unwind" fn getsockopt(
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
    match socket.and_then(|socket| read_option(&socket, (level, name), to, length)) {
        Ok(None) => from_kernel(),
        Ok(Some(result)) => result,
        Err(error) => done(Err(error)),
    }
}

/// Reads an option; returns the result of the call, or `None` if the kernel should answer.
pub(super) fn read_option(
    socket: &Handle,
    (level, name): (c_int, c_int),
    to: *mut c_void,
    length: *mut socklen_t,
) -> Result<Option<c_int>, Errno> {
    let room = memory::read(length)? as usize;
    let given = memory::input(to, room.min(LONGEST))?;
    let is_sctp = level == libc::IPPROTO_SCTP;
    let (answer, result) = match name {
        number::PEELOFF | number::PEELOFF_FLAGS if is_sctp => {
            let answer = peel_off(&*socket.clone().local()?, given, name == number::PEELOFF_FLAGS)?;
            let fd = Fields::new(&answer[4..]).i32()?;
            (Answer::Value(answer), fd)
        }
        number::CONNECTX3 if is_sctp => {
            let (id, connected) = connectx(&socket.clone().local()?, given)?;
            // As on Linux, the identifier is written also if the handshake goes on (`EINPROGRESS`).
            (Answer::Value(Build::new().i32(id).done()), done(connected))
        }
        _ => (socket.option(level, name, given)?, 0),
    };
    let Answer::Value(value) = answer else {
        return Ok(None);
    };
    let count = memory::output(&value, to, room)?;
    memory::write(length, count as socklen_t);
    Ok(Some(result))
}

/// `sctp_peeloff_arg_t`, with flags or without.
fn peel_off(socket: &Socket, given: &[u8], has_flags: bool) -> Result<Vec<u8>, Errno> {
    let mut fields = Fields::new(given);
    let (id, _) = (fields.i32()?, fields.i32()?);
    let flags = if has_flags { fields.i32()? } else { 0 };
    let fd = enter(socket.peel_off(id, super::sctp::modes(flags))?)?;
    let build = Build::new().i32(id).i32(fd);
    Ok(if has_flags { build.i32(flags) } else { build }.done())
}

/// `struct sctp_getaddrs_old`: an identifier to be written, the length of the addresses, and where they are.
fn connectx(socket: &std::sync::Arc<Socket>, given: &[u8]) -> Result<(i32, Result<(), Errno>), Errno> {
    let mut fields = Fields::new(given);
    let (_, length) = (fields.i32()?, fields.u32()?);
    let place = fields.bytes(8)?.first_chunk().copied().unwrap_or_default();
    let addresses = usize::from_ne_bytes(place) as *const sockaddr;
    let packed = memory::input(addresses.cast(), (length as usize).min(LONGEST))?;
    socket.connect(&address::read_all(packed)?)
}

/// Sets an option (RFC 6458 §8).
#[unsafe(no_mangle)]
extern "C-unwind" fn setsockopt(
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
    let set = socket.and_then(|socket| {
        let value = memory::input(from, (length as usize).min(LONGEST))?;
        let is_connect = matches!(name, number::CONNECTX | number::CONNECTX_OLD);
        if level == libc::IPPROTO_SCTP && is_connect {
            // As on Linux, the identifier is the result of the call.
            let (id, connected) = socket.clone().local()?.connect(&address::read_all(value)?)?;
            return connected.map(|()| Some(id));
        }
        match socket.set_option(level, name, value)? {
            Answer::Kernel => Ok(None),
            Answer::Value(_) => Ok(Some(0)),
        }
    });
    match set {
        Ok(None) => by_kernel(),
        Ok(Some(result)) => result,
        Err(error) => done(Err(error)),
    }
}

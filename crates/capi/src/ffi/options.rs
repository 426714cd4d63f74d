//! Exported functions that read and set options.

use std::ffi::c_void;

use libc::{c_int, sockaddr, socklen_t};

use super::memory::{self, done};
use super::next::next;
use super::setup::enter;
use crate::errno::Errno;
use crate::fork::Handle;
use crate::layout::{ConnectX, LONGEST_OPTION, PeelOff};
use crate::socket::{Answer, Socket, modes, number};
use crate::{address, table};

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
    let given = memory::input(to, room.min(LONGEST_OPTION))?;
    let is_sctp = level == libc::IPPROTO_SCTP;
    let (answer, result) = match name {
        number::PEELOFF | number::PEELOFF_FLAGS if is_sctp => {
            let asked = PeelOff::read(given, name == number::PEELOFF_FLAGS)?;
            let peeled = socket.clone().local()?.peel_off(asked.id, modes(asked.flags()))?;
            let fd = enter(peeled)?;
            (Answer::Value(asked.answer(fd)), fd)
        }
        number::CONNECTX3 if is_sctp => {
            let (id, connected) = connectx(&socket.clone().local()?, given)?;
            // As on Linux, the identifier is written also if the handshake goes on (`EINPROGRESS`).
            (Answer::Value(ConnectX::answer(id)), done(connected))
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

/// Sets an association up; returns its identifier, and whether the handshake is over.
fn connectx(socket: &std::sync::Arc<Socket>, given: &[u8]) -> Result<(i32, Result<(), Errno>), Errno> {
    let asked = ConnectX::read(given)?;
    let addresses = usize::try_from(asked.at).map_err(|_| Errno(libc::EFAULT))? as *const sockaddr;
    let packed = memory::input(addresses.cast(), asked.length)?;
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
        let value = memory::input(from, (length as usize).min(LONGEST_OPTION))?;
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

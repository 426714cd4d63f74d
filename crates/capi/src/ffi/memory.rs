//! Memory of the program: buffers, addresses, messages and `errno`.

use std::ffi::c_void;
use std::net::SocketAddr;
use std::slice;

use libc::{c_int, iovec, msghdr, sockaddr, socklen_t, ssize_t};

use crate::errno::Errno;
use crate::{address, ancillary};

/// The result of a call, with `errno` set after an error.
pub(super) fn finish(result: Result<usize, Errno>) -> ssize_t {
    match result {
        Ok(value) => value.cast_signed(),
        Err(Errno(number)) => {
            // SAFETY: the C library returns the valid address of this thread's `errno`.
            unsafe { *libc::__errno_location() = number };
            -1
        }
    }
}

/// The error of the last call of the C library.
pub(super) fn last_error() -> Errno {
    std::io::Error::last_os_error().into()
}

/// As [`finish`], for functions that return 0.
pub(super) fn done(result: Result<(), Errno>) -> c_int {
    if finish(result.map(|()| 0)) == 0 { 0 } else { -1 }
}

/// As [`finish`], for functions that return a descriptor or a number.
pub(super) fn number(result: Result<c_int, Errno>) -> c_int {
    match result {
        Ok(value) => value,
        Err(error) => done(Err(error)),
    }
}

/// Bytes of the program to read.
///
/// # Errors
///
/// `EFAULT` for a null pointer, unless there are no bytes, and for a length that no memory has.
pub(super) fn input<'m>(from: *const c_void, length: usize) -> Result<&'m [u8], Errno> {
    match (from.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Errno(libc::EFAULT)),
        (false, length) if length > isize::MAX as usize => Err(Errno(libc::EFAULT)),
        // SAFETY: the program's buffer, valid for this length during the call, which is at most that of a slice.
        (false, _) => Ok(unsafe { slice::from_raw_parts(from.cast(), length) }),
    }
}

/// Copies as much of `bytes` as fits to the program; returns how much.
///
/// # Errors
///
/// As [`input`].
pub(super) fn output(bytes: &[u8], to: *mut c_void, room: usize) -> Result<usize, Errno> {
    let count = bytes.len().min(room);
    if count > 0 && to.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    if count > 0 {
        // SAFETY: the program's buffer, valid for `room` bytes; `bytes` is our own memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), count) };
    }
    Ok(count)
}

/// Reads a value of the program.
pub(super) fn read<T: Copy>(from: *const T) -> Result<T, Errno> {
    if from.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: the program's pointer to a value of this type, which need not be aligned.
    Ok(unsafe { from.read_unaligned() })
}

/// Writes a value to the program, unless the pointer is null.
pub(super) fn write<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the program's pointer to a value of this type, which need not be aligned.
        unsafe { to.write_unaligned(value) };
    }
}

/// An address of the program.
pub(super) fn address(from: *const sockaddr, length: socklen_t) -> Result<SocketAddr, Errno> {
    // A `struct sockaddr_storage` at most.
    address::read(input(from.cast(), (length as usize).min(128))?)
}

/// A message of the program.
///
/// # Errors
///
/// `EMSGSIZE` if it is longer than `limit`, before it is read; as [`input`].
pub(super) fn message(from: *const c_void, length: usize, limit: usize) -> Result<Vec<u8>, Errno> {
    if length > limit {
        return Err(Errno(libc::EMSGSIZE));
    }
    Ok(input(from, length)?.to_vec())
}

/// Ancillary data of the program.
///
/// # Errors
///
/// `ENOBUFS` if it is longer than [`ancillary::LONGEST`]; as [`input`].
pub(super) fn control<'m>(header: &msghdr) -> Result<&'m [u8], Errno> {
    if header.msg_controllen > ancillary::LONGEST {
        return Err(Errno(libc::ENOBUFS));
    }
    input(header.msg_control, header.msg_controllen)
}

/// `count` addresses of the program, one behind another.
pub(super) fn addresses(from: *const sockaddr, count: c_int) -> Result<Vec<SocketAddr>, Errno> {
    let count = usize::try_from(count)
        .ok()
        .filter(|count| *count > 0 && *count <= 1024);
    let count = count.ok_or(Errno(libc::EINVAL))?;
    let mut all = Vec::new();
    let mut at = from.cast::<u8>();
    for _ in 0..count {
        let family: u16 = read(at.cast())?;
        let length = address::length(family).ok_or(Errno(libc::EINVAL))?;
        all.extend(input(at.cast(), length)?);
        at = at.wrapping_add(length);
    }
    address::read_packed(&all, count)
}

/// Writes an address to the program, which gave the size of its buffer and gets the length of the address.
pub(super) fn put_address(bytes: &[u8], to: *mut sockaddr, length: *mut socklen_t) -> Result<(), Errno> {
    if to.is_null() || length.is_null() {
        return Ok(());
    }
    output(bytes, to.cast(), read(length)? as usize)?;
    write(length, bytes.len() as socklen_t);
    Ok(())
}

/// The buffers of the program, whose array need not be aligned.
///
/// # Errors
///
/// `EFAULT` for a null pointer, unless there are no buffers; `EMSGSIZE` for more than 1,024; `EINVAL` if their lengths are more than any
/// call could return.
pub(super) fn buffers(from: *const iovec, count: usize) -> Result<Vec<iovec>, Errno> {
    match (from.is_null(), count) {
        (_, 0) => return Ok(Vec::new()),
        (true, _) => return Err(Errno(libc::EFAULT)),
        (false, 1025..) => return Err(Errno(libc::EMSGSIZE)),
        (false, _) => {}
    }
    let places = (0..count).map(|at| from.wrapping_add(at));
    let buffers = places.map(read).collect::<Result<Vec<iovec>, Errno>>()?;
    if room(&buffers) > isize::MAX as usize {
        return Err(Errno(libc::EINVAL));
    }
    Ok(buffers)
}

/// All bytes of the buffers.
///
/// # Errors
///
/// `EMSGSIZE` if they are more than `limit`, before they are read; as [`input`].
pub(super) fn gather(buffers: &[iovec], limit: usize) -> Result<Vec<u8>, Errno> {
    if room(buffers) > limit {
        return Err(Errno(libc::EMSGSIZE));
    }
    let mut all = Vec::new();
    for buffer in buffers {
        all.extend_from_slice(input(buffer.iov_base, buffer.iov_len)?);
    }
    Ok(all)
}

/// Sum of the lengths of the buffers.
pub(super) fn room(buffers: &[iovec]) -> usize {
    buffers
        .iter()
        .fold(0, |sum, buffer| sum.saturating_add(buffer.iov_len))
}

/// Fills the buffers one after another.
pub(super) fn scatter(mut bytes: &[u8], buffers: &[iovec]) -> Result<(), Errno> {
    for buffer in buffers {
        let count = output(bytes, buffer.iov_base, buffer.iov_len)?;
        bytes = &bytes[count..];
    }
    Ok(())
}

/// A copy of `bytes` that the program frees.
pub(super) fn allocate(bytes: &[u8]) -> Result<*mut c_void, Errno> {
    // SAFETY: any size may be asked for.
    let memory = unsafe { libc::malloc(bytes.len().max(1)) };
    if memory.is_null() {
        return Err(Errno(libc::ENOMEM));
    }
    output(bytes, memory, bytes.len())?;
    Ok(memory)
}

/// Frees what [`allocate`] returned.
pub(super) fn free(memory: *mut c_void) {
    // SAFETY: the program gives back what it got, or null.
    unsafe { libc::free(memory) };
}

/// Sends the signal that a program gets when it writes to a closed socket.
pub(super) fn raise_sigpipe() {
    // SAFETY: raising a signal has no requirements.
    unsafe { libc::raise(libc::SIGPIPE) };
}

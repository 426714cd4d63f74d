//! Memory of the supervised program: buffers, addresses and messages.

use std::net::SocketAddr;

use crate::errno::Errno;
use crate::ffi::seccomp::{self, Place};
use crate::layout::{Build, Fields};
use crate::{address, ancillary};

/// Length of `struct msghdr`.
const HEADER: usize = 56;
/// Length of `struct mmsghdr`, and where the length of the message is in it.
pub(super) const MULTIPLE: u64 = 64;
pub(super) const LENGTH: u64 = 56;
/// Where `msg_control` and `msg_controllen` are in `struct msghdr`.
const CONTROL: u64 = 32;
/// How many messages a call sends or receives, and how many buffers a message has.
pub(super) const UIO_MAXIOV: u64 = 1024;

/// Memory of the program of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    pub(super) thread: u32,
}

/// `struct msghdr`.
#[derive(Debug)]
pub(super) struct Header {
    at: u64,
    pub(super) name: u64,
    pub(super) name_length: u32,
    pub(super) buffers: Vec<Place>,
    pub(super) control: Place,
}

impl Memory {
    pub(super) fn read(self, at: u64, length: usize) -> Result<Vec<u8>, Errno> {
        seccomp::read(self.thread, &[(at, length)])
    }

    pub(super) fn write(self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        seccomp::write(self.thread, &[(at, bytes.len())], bytes)
    }

    pub(super) fn u32(self, at: u64) -> Result<u32, Errno> {
        Fields::new(&self.read(at, 4)?).u32()
    }

    pub(super) fn address(self, at: u64, length: u64) -> Result<SocketAddr, Errno> {
        address::read(&self.read(at, usize::try_from(length).unwrap_or(usize::MAX).min(128))?)
    }

    /// Writes an address, as far as there is room, and its length.
    pub(super) fn put_address(self, bytes: &[u8], to: u64, length: u64) -> Result<(), Errno> {
        if to == 0 || length == 0 {
            return Ok(());
        }
        let room = self.u32(length)? as usize;
        self.write(to, &bytes[..bytes.len().min(room)])?;
        self.write(length, &(bytes.len() as u32).to_ne_bytes())
    }

    /// An array of `struct iovec`.
    ///
    /// # Errors
    ///
    /// `EMSGSIZE` for more than 1,024, `EINVAL` if their lengths are more than any call could return.
    pub(super) fn buffers(self, at: u64, count: u64) -> Result<Vec<Place>, Errno> {
        if count > UIO_MAXIOV {
            return Err(Errno(libc::EMSGSIZE));
        }
        let bytes = self.read(at, count as usize * 16)?;
        let mut fields = Fields::new(&bytes);
        let mut buffers = Vec::new();
        for _ in 0..count {
            let (base, length) = (fields.u64()?, fields.u64()?);
            buffers.push((base, usize::try_from(length).unwrap_or(usize::MAX)));
        }
        if room(&buffers) > isize::MAX as usize {
            return Err(Errno(libc::EINVAL));
        }
        Ok(buffers)
    }

    pub(super) fn header(self, at: u64) -> Result<Header, Errno> {
        let bytes = self.read(at, HEADER)?;
        let mut fields = Fields::new(&bytes);
        let (name, name_length, _) = (fields.u64()?, fields.u32()?, fields.u32()?);
        let buffers = self.buffers(fields.u64()?, fields.u64()?)?;
        let control = (
            fields.u64()?,
            usize::try_from(fields.u64()?).unwrap_or(usize::MAX),
        );
        Ok(Header {
            at,
            name,
            name_length,
            buffers,
            control,
        })
    }

    /// Where the ancillary data is of `count` messages of `sendmmsg`, up to the first that the program has not.
    pub(super) fn controls(self, at: u64, count: u64) -> Vec<Place> {
        let place = |message: u64| (at.wrapping_add(message * MULTIPLE + CONTROL), 16);
        let places: Vec<Place> = (0..count.min(UIO_MAXIOV)).map(place).collect();
        let bytes = seccomp::read_some(self.thread, &places);
        let control = |fields: &[u8]| {
            let mut fields = Fields::new(fields);
            let (at, length) = (fields.u64().ok()?, fields.u64().ok()?);
            Some((at, usize::try_from(length).unwrap_or(usize::MAX)))
        };
        bytes.chunks_exact(16).filter_map(control).collect()
    }

    /// Ancillary data that the program sends.
    ///
    /// # Errors
    ///
    /// `ENOBUFS` if it is longer than [`ancillary::LONGEST`].
    pub(super) fn control(self, (at, length): Place) -> Result<Vec<u8>, Errno> {
        if length > ancillary::LONGEST {
            return Err(Errno(libc::ENOBUFS));
        }
        self.read(at, length)
    }

    /// What a call that receives says of a message: lengths of its address and of ancillary data, and flags.
    pub(super) fn finish_header(
        self,
        header: &Header,
        (name, control, flags): (u32, u64, i32),
    ) -> Result<(), Errno> {
        let told = Build::new().u64(control).i32(flags);
        let mut places = vec![(header.at + 40, 8), (header.at + 48, 4)];
        let mut bytes = told.done();
        // As Linux, the length stays as it is if there is nothing that it is the length of.
        if header.name != 0 {
            places.push((header.at + 8, 4));
            bytes.extend(name.to_ne_bytes());
        }
        seccomp::write(self.thread, &places, &bytes)
    }

    /// All bytes of the buffers.
    ///
    /// # Errors
    ///
    /// `EMSGSIZE` if they are more than `limit`.
    pub(super) fn gather(self, buffers: &[Place], limit: usize) -> Result<Vec<u8>, Errno> {
        if room(buffers) > limit {
            return Err(Errno(libc::EMSGSIZE));
        }
        seccomp::read(self.thread, buffers)
    }

    /// Fills the buffers one after another.
    pub(super) fn scatter(self, bytes: &[u8], buffers: &[Place]) -> Result<(), Errno> {
        seccomp::write(self.thread, buffers, bytes)
    }
}

/// Sum of the lengths of the buffers.
pub(super) fn room(buffers: &[Place]) -> usize {
    let lengths = buffers.iter().map(|(_, length)| *length);
    lengths.fold(0, usize::saturating_add)
}

//! A watch on the host's interfaces, addresses and routes. When did any of them change?
//!
//! rtnetlink tells of each change (rtnetlink(7)). The messages themselves are not read: many belong to one event, and
//! some get lost when there are too many; the present state, listed after the last of them, is what counts.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Groups of rtnetlink: links, addresses and routes of both IP versions (`RTMGRP_*`).
const GROUPS: u32 = (libc::RTMGRP_LINK
    | libc::RTMGRP_IPV4_IFADDR
    | libc::RTMGRP_IPV6_IFADDR
    | libc::RTMGRP_IPV4_ROUTE
    | libc::RTMGRP_IPV6_ROUTE) as u32;

/// Bytes taken at once. What is cut off was not read anyway.
const CHUNK: usize = 4 << 10;

/// A descriptor that becomes readable with each change.
#[derive(Debug)]
pub struct InterfaceWatch(Socket);

impl InterfaceWatch {
    /// Watches from now on.
    ///
    /// # Errors
    ///
    /// The system denies the socket.
    pub fn start() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.set_non_blocking(true)?;
        socket.bind(&SocketAddr::new(0, GROUPS))?;
        Ok(Self(socket))
    }

    /// Takes all messages that are there; whether there was any.
    ///
    /// # Errors
    ///
    /// The descriptor broke.
    pub fn take_changes(&self) -> io::Result<bool> {
        let mut changed = false;
        loop {
            let mut buffer = Vec::with_capacity(CHUNK);
            match self.0.recv(&mut buffer, 0) {
                Ok(_) => changed = true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(changed),
                // Messages were lost: something changed.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => changed = true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl AsFd for InterfaceWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for InterfaceWatch {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

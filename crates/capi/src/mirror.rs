//! Socket pair that mirrors readiness: what do poll, select and epoll see?
//!
//! The program holds one end. It is readable while there is a byte in its queue, and writable unless its send buffer is full of
//! bytes; nothing else ever passes through the pair. Blocking, time limits, `O_NONBLOCK` and interruption by signals are the kernel's.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::io::Errno as Failed;
use rustix::net::sockopt::{Timeout, set_socket_send_buffer_size, set_socket_timeout, socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, send, shutdown, socketpair,
};

use crate::errno::Errno;

/// Where the descriptors of the library begin, if the limit of the process allows that.
const FAR: i32 = 512;

/// A duplicate with a high number, which closes on exec.
pub(crate) fn far(descriptor: &OwnedFd) -> Result<OwnedFd, Errno> {
    let duplicate = rustix::io::fcntl_dupfd_cloexec(descriptor, FAR);
    Ok(duplicate.or_else(|_| rustix::io::fcntl_dupfd_cloexec(descriptor, 0))?)
}

/// Both ends: ours, and a duplicate of the program's.
#[derive(Debug)]
pub(crate) struct Mirror {
    ours: OwnedFd,
    theirs: OwnedFd,
}

impl Mirror {
    /// Creates a pair, writable and not readable; also returns the program's end.
    pub(crate) fn new(is_nonblocking: bool, closes_on_exec: bool) -> Result<(Self, OwnedFd), Errno> {
        let flags = if closes_on_exec {
            SocketFlags::CLOEXEC
        } else {
            SocketFlags::empty()
        };
        // Programs rely on it that a new descriptor is the lowest that is free, so theirs comes first and ours are far from it.
        let (program, other) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let ours = far(&other)?;
        let theirs = far(&program)?;
        // The kernel raises it to the smallest possible size.
        set_socket_send_buffer_size(&theirs, 1)?;
        if is_nonblocking {
            rustix::io::ioctl_fionbio(&theirs, true)?;
        }
        Ok((Self { ours, theirs }, program))
    }

    /// A pair that only calls of the library wait for, as long as those on `like` would.
    pub(crate) fn gate(like: &Self) -> Result<Self, Errno> {
        let (gate, program) = Self::new(false, true)?;
        drop(program);
        let limit = socket_timeout(&like.theirs, Timeout::Send)?;
        set_socket_timeout(&gate.theirs, Timeout::Send, limit)?;
        Ok(gate)
    }

    /// A duplicate of the program's descriptor.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.theirs.as_fd()
    }

    /// How long calls on the program's descriptor wait, if the program has limited that.
    pub(crate) fn limit(&self, sends: bool) -> Option<Duration> {
        let kind = if sends { Timeout::Send } else { Timeout::Recv };
        socket_timeout(&self.theirs, kind).ok().flatten()
    }

    /// Descriptors that only the library knows.
    pub(crate) fn descriptors(&self) -> [RawFd; 2] {
        [self.ours.as_raw_fd(), self.theirs.as_raw_fd()]
    }

    /// Whether calls on the program's descriptor do not wait.
    pub(crate) fn is_nonblocking(&self) -> Result<bool, Errno> {
        let flags = rustix::fs::fcntl_getfl(&self.theirs)?;
        Ok(flags.contains(rustix::fs::OFlags::NONBLOCK))
    }

    /// Makes it readable.
    pub(crate) fn mark(&self) {
        let _ = send(&self.ours, &[0], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
    }

    /// Makes it unreadable.
    pub(crate) fn unmark(&self) {
        let _ = recv(&self.theirs, &mut [0; 1][..], RecvFlags::DONTWAIT);
    }

    /// Makes it unwritable.
    pub(crate) fn fill(&self) {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        while send(&self.theirs, &[0; 4096], flags).is_ok() {}
    }

    /// Makes it writable.
    pub(crate) fn drain(&self) {
        while recv(&self.ours, &mut [0; 4096][..], RecvFlags::DONTWAIT).is_ok_and(|(count, _)| count > 0) {}
    }

    /// Both directions are over.
    pub(crate) fn hang_up(&self) {
        let _ = shutdown(&self.ours, Shutdown::Both);
    }

    /// Waits until it is writable. [`drain`](Self::drain) must follow if it should stay writable.
    ///
    /// # Errors
    ///
    /// `EAGAIN`, `EINTR`.
    pub(crate) fn wait_writable(&self) -> Result<(), Errno> {
        match send(&self.theirs, &[0], SendFlags::NOSIGNAL) {
            Ok(_) | Err(Failed::PIPE) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;

    fn state(descriptor: &OwnedFd) -> (bool, bool) {
        let mut watched = [PollFd::new(descriptor, PollFlags::IN | PollFlags::OUT)];
        poll(&mut watched, Some(&Timespec::default())).unwrap();
        let events = watched[0].revents();
        (events.contains(PollFlags::IN), events.contains(PollFlags::OUT))
    }

    #[test]
    fn descriptor_is_ready_as_told() {
        let (mirror, program) = Mirror::new(true, true).unwrap();
        assert_eq!(state(&program), (false, true));
        assert_eq!(mirror.is_nonblocking(), Ok(true));
        mirror.mark();
        mirror.fill();
        assert_eq!(state(&program), (true, false));
        assert_eq!(mirror.wait_writable(), Err(Errno(libc::EAGAIN)));
        mirror.unmark();
        mirror.drain();
        assert_eq!(state(&program), (false, true));
        for _ in 0..100 {
            assert_eq!(mirror.wait_writable(), Ok(()));
            mirror.drain();
        }
        mirror.hang_up();
        assert_eq!(state(&program), (true, true));
    }
}

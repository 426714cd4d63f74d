//! One system call of the program: what does it ask for, and of which socket?

use std::cell::RefCell;
use std::sync::Arc;

use super::filter::{DUP2, FIRST};
use super::memory::Memory;
use super::{Outcome, Supervisor};
use crate::errno::Errno;
use crate::ffi::seccomp::{Notification, Place};
use crate::layout::LONGEST_OPTION;
use crate::socket::{Answer, Served, Socket};
use crate::{address, ancillary};

/// A call on a socket of ours.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) socket: Arc<Socket>,
    pub(super) memory: Memory,
    pub(super) arguments: [u64; 6],
    /// Associations that have taken the message, if the call is tried again.
    pub(super) served: RefCell<Served>,
}

impl Call {
    /// An argument that is an `int`.
    pub(super) fn int(&self, at: usize) -> i32 {
        self.arguments[at] as u32 as i32
    }

    pub(super) fn size(&self, at: usize) -> usize {
        usize::try_from(self.arguments[at]).unwrap_or(usize::MAX)
    }
}

impl Supervisor {
    pub(super) fn call(&mut self, notification: &Notification, served: Served) -> Result<Outcome, Errno> {
        let (thread, arguments) = (notification.thread, notification.arguments);
        if notification.number == libc::SYS_socket {
            return self.socket(thread, arguments);
        }
        let fd = arguments[0] as u32 as i32;
        let memory = Memory { thread };
        if notification.number == libc::SYS_splice {
            return self.splice(thread, arguments);
        }
        let Some(socket) = self.sockets.find(thread, fd) else {
            return self.foreign(notification, memory);
        };
        let call = Call {
            socket,
            memory,
            arguments,
            served: RefCell::new(served),
        };
        match notification.number {
            libc::SYS_bind => {
                let to = memory.address(arguments[1], arguments[2])?;
                call.socket.bind(&[to], false).map(|()| Outcome::Done(0))
            }
            libc::SYS_listen => call.socket.listen(call.int(1)).map(|()| Outcome::Done(0)),
            libc::SYS_accept => self.accept(&call, 0),
            libc::SYS_accept4 => self.accept(&call, call.int(3)),
            libc::SYS_connect => {
                let to = memory.address(arguments[1], arguments[2])?;
                super::setup::connect(&call.socket, &[to], |_| 0)
            }
            libc::SYS_getsockname => call.name(false),
            libc::SYS_getpeername => call.name(true),
            libc::SYS_getsockopt => self.option(&call),
            libc::SYS_setsockopt => call.set_option(),
            libc::SYS_shutdown => call.shut_down(),
            libc::SYS_close => {
                self.sockets.close(thread, fd);
                Ok(Outcome::Pass)
            }
            libc::SYS_dup => self.duplicate(&call, FIRST, false),
            libc::SYS_fcntl => self.fcntl(&call),
            libc::SYS_dup3 => self.duplicate_at(&call, call.int(2) & libc::O_CLOEXEC != 0),
            DUP2 => self.duplicate_at(&call, false),
            libc::SYS_ioctl => call.ioctl(),
            libc::SYS_sendfile => Err(Errno(libc::EINVAL)),
            number => self.transfer(number, &call),
        }
    }

    /// A call on another descriptor, which the kernel executes unless it passes one of ours to another process. That process could give it
    /// a low number, by which calls on it would not be seen.
    fn foreign(&self, notification: &Notification, memory: Memory) -> Result<Outcome, Errno> {
        if self.sockets.is_empty() {
            return Ok(Outcome::Pass);
        }
        let [_, at, count, ..] = notification.arguments;
        let controls = match notification.number {
            libc::SYS_sendmsg => memory.controls(at, 1),
            libc::SYS_sendmmsg => memory.controls(at, count),
            _ => Vec::new(),
        };
        let mut controls = controls.into_iter().filter(|(_, length)| *length > 0);
        if controls.any(|control| self.passes_ours(memory, control)) {
            return Err(Errno(libc::ENOTSUP));
        }
        Ok(Outcome::Pass)
    }

    /// Whether ancillary data passes one of our sockets to another process.
    fn passes_ours(&self, memory: Memory, control: Place) -> bool {
        let control = memory.control(control).unwrap_or_default();
        let passed = ancillary::passed_descriptors(&control);
        let is_ours = |fd: &i32| self.sockets.find(memory.thread, *fd).is_some();
        passed.iter().any(is_ours)
    }

    /// Refused for our sockets: programs read and write instead.
    fn splice(&self, thread: u32, arguments: [u64; 6]) -> Result<Outcome, Errno> {
        let both = [arguments[0], arguments[2]];
        let is_ours = |fd: &u64| self.sockets.find(thread, *fd as u32 as i32).is_some();
        match both.iter().any(is_ours) {
            true => Err(Errno(libc::EINVAL)),
            false => Ok(Outcome::Pass),
        }
    }

    fn fcntl(&mut self, call: &Call) -> Result<Outcome, Errno> {
        match call.int(1) {
            libc::F_DUPFD => self.duplicate(call, call.int(2), false),
            libc::F_DUPFD_CLOEXEC => self.duplicate(call, call.int(2), true),
            _ => Ok(Outcome::Pass),
        }
    }

    fn duplicate(&mut self, call: &Call, least: i32, closes_on_exec: bool) -> Result<Outcome, Errno> {
        let number = self.sockets.free_number(call.memory.thread, least)?;
        self.sockets.share(call.memory.thread, call.int(0));
        let descriptor = call.socket.descriptor().try_clone_to_owned()?;
        Ok(Outcome::Duplicate(descriptor, number, closes_on_exec))
    }

    /// `dup2`, `dup3`: only to a number by which calls are seen.
    fn duplicate_at(&mut self, call: &Call, closes_on_exec: bool) -> Result<Outcome, Errno> {
        let number = call.int(1);
        if number == call.int(0) {
            return Ok(Outcome::Pass);
        }
        if number < FIRST {
            return Err(Errno(libc::ENOTSUP));
        }
        self.sockets.share(call.memory.thread, call.int(0));
        let descriptor = call.socket.descriptor().try_clone_to_owned()?;
        Ok(Outcome::Duplicate(descriptor, number, closes_on_exec))
    }
}

impl Call {
    fn name(&self, of_peer: bool) -> Result<Outcome, Errno> {
        let name = self.socket.name(of_peer)?;
        let written = address::write(name, self.socket.maps_v4());
        self.memory
            .put_address(&written, self.arguments[1], self.arguments[2])?;
        Ok(Outcome::Done(0))
    }

    fn shut_down(&self) -> Result<Outcome, Errno> {
        if self.int(1) != libc::SHUT_RD {
            self.socket.shut_down_sending()?;
        }
        Ok(Outcome::Done(0))
    }

    fn ioctl(&self) -> Result<Outcome, Errno> {
        let length = match self.arguments[1] {
            libc::FIONREAD => match self.socket.receive(usize::MAX, true) {
                Ok(received) => received.bytes.len(),
                Err(Errno(libc::EAGAIN)) => 0,
                Err(error) => return Err(error),
            },
            libc::TIOCOUTQ => self.socket.unacknowledged(),
            _ => return Ok(Outcome::Pass),
        };
        let length = i32::try_from(length).unwrap_or(i32::MAX);
        self.memory.write(self.arguments[2], &length.to_ne_bytes())?;
        Ok(Outcome::Done(0))
    }

    /// `setsockopt`.
    fn set_option(&self) -> Result<Outcome, Errno> {
        let (level, name) = (self.int(1), self.int(2));
        let value = self
            .memory
            .read(self.arguments[3], self.size(4).min(LONGEST_OPTION))?;
        if super::setup::connects(level, name) {
            return super::setup::connect(&self.socket, &address::read_all(&value)?, i64::from);
        }
        match self.socket.set_option(level, name, &value)? {
            Answer::Kernel => Ok(Outcome::Pass),
            Answer::Value(_) => Ok(Outcome::Done(0)),
        }
    }
}

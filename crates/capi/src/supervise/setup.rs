//! Calls that create, connect and accept sockets, also as options.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::PollFlags;

use super::call::Call;
use super::filter::FIRST;
use super::{Awaited, New, Outcome, Supervisor};
use crate::address;
use crate::environment::Environment;
use crate::errno::Errno;
use crate::layout::{Build, Fields};
use crate::socket::{Answer, Socket, Style, number};

/// Longest structure that an option reads; longer ones are cut.
pub(super) const LONGEST: usize = 64 << 10;

/// Whether descriptors do not wait, and close on exec, by `SOCK_NONBLOCK` and `SOCK_CLOEXEC`.
const fn modes(flags: i32) -> (bool, bool) {
    (flags & libc::SOCK_NONBLOCK != 0, flags & libc::SOCK_CLOEXEC != 0)
}

/// Whether an option sets an association up.
pub(super) fn connects(level: i32, name: i32) -> bool {
    level == libc::IPPROTO_SCTP && matches!(name, number::CONNECTX | number::CONNECTX_OLD)
}

/// Sets an association up; `result` makes the result of the call from the identifier, before the handshake is over.
pub(super) fn connect(
    socket: &Arc<Socket>,
    remotes: &[std::net::SocketAddr],
    result: impl FnOnce(i32) -> i64,
) -> Result<Outcome, Errno> {
    let waits = socket.waits()?;
    let member = socket.begin_connecting(remotes, waits, true)?;
    let result = result(member.id);
    if !waits {
        return Err(Errno(libc::EINPROGRESS));
    }
    Ok(Outcome::Connecting(Arc::clone(socket), member, result))
}

/// A new socket as the outcome of a call.
fn new(
    (socket, program): (Arc<Socket>, OwnedFd),
    number: i32,
    closes_on_exec: bool,
    origin: Option<Arc<Socket>>,
) -> Outcome {
    Outcome::New(New {
        socket,
        program,
        number,
        closes_on_exec,
        origin,
    })
}

impl Supervisor {
    /// `socket`. The filter has compared the protocol.
    pub(super) fn socket(&mut self, thread: u32, arguments: [u64; 6]) -> Result<Outcome, Errno> {
        let (domain, kind) = (arguments[0] as i32, arguments[1] as i32);
        let style = match kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) {
            libc::SOCK_STREAM => Style::OneToOne,
            libc::SOCK_SEQPACKET => Style::OneToMany,
            _ => return Ok(Outcome::Pass),
        };
        if !matches!(domain, libc::AF_INET | libc::AF_INET6) {
            return Ok(Outcome::Pass);
        }
        Environment::current()?;
        let number = self.sockets.free_number(thread, FIRST)?;
        let created = Socket::new(style, domain == libc::AF_INET6, modes(kind), Arc::default())?;
        Ok(new(created, number, modes(kind).1, None))
    }

    pub(super) fn accept(&mut self, call: &Call, flags: i32) -> Result<Outcome, Errno> {
        // First, as the kernel does: without a number, the association stays in the queue.
        let number = self.sockets.free_number(call.memory.thread, FIRST)?;
        let accepted = match self.take_ungiven(&call.socket, |_| true) {
            Some(ungiven) => Ok(ungiven),
            None => call.socket.accept(modes(flags)),
        };
        let accepted = match accepted {
            Err(Errno(libc::EAGAIN)) => return Ok(Outcome::Wait(Awaited::new(&call.socket, PollFlags::IN))),
            other => other?,
        };
        let peer = address::write(accepted.0.peer()?, accepted.0.maps_v4());
        let [_, to, length, ..] = call.arguments;
        call.memory.put_address(&peer, to, length)?;
        let origin = Some(Arc::clone(&call.socket));
        Ok(new(accepted, number, modes(flags).1, origin))
    }

    /// `getsockopt`.
    pub(super) fn option(&mut self, call: &Call) -> Result<Outcome, Errno> {
        let (level, name) = (call.int(1), call.int(2));
        let (to, length) = (call.arguments[3], call.arguments[4]);
        let room = call.memory.u32(length)? as usize;
        let given = call.memory.read(to, room.min(LONGEST))?;
        let is_sctp = level == libc::IPPROTO_SCTP;
        match name {
            number::PEELOFF | number::PEELOFF_FLAGS if is_sctp => {
                return self.peel_off(call, &given, name == number::PEELOFF_FLAGS);
            }
            number::CONNECTX3 if is_sctp => return connectx(call, &given),
            _ => {}
        }
        let Answer::Value(value) = call.socket.option(level, name, &given)? else {
            return Ok(Outcome::Pass);
        };
        let value = &value[..value.len().min(room)];
        call.memory.write(to, value)?;
        call.memory.write(length, &(value.len() as u32).to_ne_bytes())?;
        Ok(Outcome::Done(0))
    }

    /// `sctp_peeloff_arg_t`, with flags or without.
    fn peel_off(&mut self, call: &Call, given: &[u8], has_flags: bool) -> Result<Outcome, Errno> {
        let mut fields = Fields::new(given);
        let (id, _) = (fields.i32()?, fields.i32()?);
        let flags = if has_flags { fields.i32()? } else { 0 };
        let number = self.sockets.free_number(call.memory.thread, FIRST)?;
        let is_same = |peeled: &Socket| peeled.member(id).is_ok_and(|member| member.id == id);
        let peeled = match self.take_ungiven(&call.socket, is_same) {
            Some(ungiven) => ungiven,
            None => call.socket.peel_off(id, modes(flags))?,
        };
        let pair = Build::new().i32(id).i32(number).done();
        let origin = Some(Arc::clone(&call.socket));
        let outcome = new(peeled, number, modes(flags).1, origin);
        call.memory.write(call.arguments[3], &pair)?;
        Ok(outcome)
    }
}

/// `struct sctp_getaddrs_old`: an identifier to be written, the length of the addresses, and where they are.
fn connectx(call: &Call, given: &[u8]) -> Result<Outcome, Errno> {
    let mut fields = Fields::new(given);
    let (_, length, at) = (fields.i32()?, fields.u32()?, fields.u64()?);
    let packed = call.memory.read(at, (length as usize).min(LONGEST))?;
    let remotes = address::read_all(&packed)?;
    let [_, _, _, to, size, _] = call.arguments;
    let mut written = Ok(());
    let outcome = connect(&call.socket, &remotes, |id| {
        let id = id.to_ne_bytes();
        let length = (id.len() as u32).to_ne_bytes();
        let told = call.memory.write(to, &id);
        written = told.and_then(|()| call.memory.write(size, &length));
        0
    });
    written.and(outcome)
}

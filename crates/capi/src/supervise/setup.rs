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
use crate::layout::{ConnectX, LONGEST_OPTION, PeelOff};
use crate::socket::{Answer, Socket, Style, modes, number};

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
        let Some(style) = Style::of(domain, kind) else {
            return Ok(Outcome::Pass);
        };
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
        let given = call.memory.read(to, room.min(LONGEST_OPTION))?;
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
        call.answer_option(&value[..value.len().min(room)])?;
        Ok(Outcome::Done(0))
    }

    fn peel_off(&mut self, call: &Call, given: &[u8], has_flags: bool) -> Result<Outcome, Errno> {
        let asked = PeelOff::read(given, has_flags)?;
        let (id, modes) = (asked.id, modes(asked.flags()));
        let number = self.sockets.free_number(call.memory.thread, FIRST)?;
        let is_same = |peeled: &Socket| peeled.member(id).is_ok_and(|member| member.id == id);
        let peeled = match self.take_ungiven(&call.socket, is_same) {
            Some(ungiven) => ungiven,
            None => call.socket.peel_off(id, modes)?,
        };
        let origin = Some(Arc::clone(&call.socket));
        let outcome = new(peeled, number, modes.1, origin);
        call.answer_option(&asked.answer(number))?;
        Ok(outcome)
    }
}

impl Call {
    /// Writes the value of an option and its length.
    fn answer_option(&self, value: &[u8]) -> Result<(), Errno> {
        let [_, _, _, to, length, _] = self.arguments;
        self.memory.write(to, value)?;
        self.memory.write(length, &(value.len() as u32).to_ne_bytes())
    }
}

fn connectx(call: &Call, given: &[u8]) -> Result<Outcome, Errno> {
    let asked = ConnectX::read(given)?;
    let remotes = address::read_all(&call.memory.read(asked.at, asked.length)?)?;
    let mut written = Ok(());
    let outcome = connect(&call.socket, &remotes, |id| {
        written = call.answer_option(&ConnectX::answer(id));
        0
    });
    written.and(outcome)
}

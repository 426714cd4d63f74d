//! Calls that send and receive.

use std::sync::Arc;

use rustix::event::PollFlags;

use super::call::Call;
use super::memory::{LENGTH, MULTIPLE, UIO_MAXIOV, room};
use super::{Awaited, Outcome, Supervisor};
use crate::errno::Errno;
use crate::ffi::seccomp::Place;
use crate::socket::{Received, Request, Style};
use crate::{address, ancillary};

/// What a call does with its flags.
#[derive(Clone, Copy, Debug)]
struct Flags(i32);

impl Flags {
    const fn waits(self) -> bool {
        self.0 & libc::MSG_DONTWAIT == 0
    }

    const fn peeks(self) -> bool {
        self.0 & libc::MSG_PEEK != 0
    }
}

/// A call that waits for something to receive, unless its flags forbid it.
fn wait(call: &Call, flags: Flags) -> Result<Outcome, Errno> {
    if !flags.waits() {
        return Err(Errno(libc::EAGAIN));
    }
    Ok(Outcome::Wait(Awaited::new(&call.socket, PollFlags::IN)))
}

impl Supervisor {
    pub(super) fn transfer(&mut self, number: i64, call: &Call) -> Result<Outcome, Errno> {
        let [_, first, second, third, fourth, fifth] = call.arguments;
        let whole = || vec![(first, call.size(2))];
        match number {
            libc::SYS_write => send(call, &whole(), Request::default(), Flags(0)),
            libc::SYS_writev => {
                let buffers = call.memory.buffers(first, second)?;
                send(call, &buffers, Request::default(), Flags(0))
            }
            libc::SYS_sendto => {
                let mut request = Request::default();
                if fourth != 0 && fifth != 0 {
                    request.to.push(call.memory.address(fourth, fifth)?);
                }
                send(call, &whole(), request, Flags(third as i32))
            }
            libc::SYS_sendmsg => send_message(call, first, Flags(second as i32)),
            libc::SYS_sendmmsg => each(call, |message| send_message(call, message, Flags(third as i32))),
            libc::SYS_read => self.receive(call, &whole(), Flags(0), (0, 0)),
            libc::SYS_readv => {
                let buffers = call.memory.buffers(first, second)?;
                self.receive(call, &buffers, Flags(0), (0, 0))
            }
            libc::SYS_recvfrom => self.receive(call, &whole(), Flags(third as i32), (fourth, fifth)),
            libc::SYS_recvmsg => self.receive_message(call, first, Flags(second as i32)),
            libc::SYS_recvmmsg => each(call, |message| {
                self.receive_message(call, message, Flags(third as i32))
            }),
            _ => Err(Errno(libc::ENOSYS)),
        }
    }

    /// Takes a message, or one that a call before has not got.
    fn take(&mut self, call: &Call, length: usize, flags: Flags) -> Result<Received, Errno> {
        let at = self
            .returned
            .iter()
            .position(|(socket, _)| Arc::ptr_eq(socket, &call.socket));
        let Some(at) = at else {
            return call.socket.receive(length, flags.peeks());
        };
        let (_, first) = &mut self.returned[at];
        let count = length.min(first.bytes.len());
        let is_all = count == first.bytes.len();
        let mut taken = first.clone();
        taken.bytes.truncate(count);
        if !is_all {
            taken.flags &= !libc::MSG_EOR;
        }
        if is_all && !flags.peeks() {
            self.returned.remove(at);
            call.socket.mark(false);
        } else if !flags.peeks() {
            let _ = first.bytes.split_to(count);
        }
        Ok(taken)
    }

    fn receive(
        &mut self,
        call: &Call,
        buffers: &[Place],
        flags: Flags,
        (from, size): (u64, u64),
    ) -> Result<Outcome, Errno> {
        let received = match self.take(call, room(buffers), flags) {
            Err(Errno(libc::EAGAIN)) => return wait(call, flags),
            other => other?,
        };
        call.memory.scatter(&received.bytes, buffers)?;
        match received.peer {
            Some(peer) => {
                let peer = address::write(peer, received.told.maps_v4);
                call.memory.put_address(&peer, from, size)?;
            }
            None if size != 0 => call.memory.write(size, &0_u32.to_ne_bytes())?,
            None => {}
        }
        Ok(received_as(call, received, flags))
    }

    fn receive_message(&mut self, call: &Call, at: u64, flags: Flags) -> Result<Outcome, Errno> {
        let memory = call.memory;
        let header = memory.header(at)?;
        let received = match self.take(call, room(&header.buffers), flags) {
            Err(Errno(libc::EAGAIN)) => return wait(call, flags),
            other => other?,
        };
        memory.scatter(&received.bytes, &header.buffers)?;
        let peer = received
            .peer
            .map(|peer| address::write(peer, received.told.maps_v4));
        let peer = peer.filter(|_| header.name != 0).unwrap_or_default();
        memory.write(header.name, &peer[..peer.len().min(header.name_length as usize)])?;
        let (control, is_all) = ancillary::write_into(&received, header.control.1);
        let told = received.flags | if is_all { 0 } else { libc::MSG_CTRUNC };
        memory.write(header.control.0, &control)?;
        memory.finish_header(&header, (peer.len() as u32, control.len() as u64, told))?;
        Ok(received_as(call, received, flags))
    }
}

fn received_as(call: &Call, received: Received, flags: Flags) -> Outcome {
    let length = received.bytes.len() as i64;
    if flags.peeks() {
        return Outcome::Done(length);
    }
    Outcome::Received(length, Arc::clone(&call.socket), Box::new(received))
}

fn send(call: &Call, buffers: &[Place], request: Request, flags: Flags) -> Result<Outcome, Errno> {
    let mut served = call.served.take();
    loop {
        let bytes = call.memory.gather(buffers, call.socket.longest())?;
        match call.socket.try_send(bytes, &request, &mut served) {
            Err(Errno(libc::EAGAIN)) if flags.waits() => {}
            Err(Errno(libc::EPIPE)) if flags.0 & libc::MSG_NOSIGNAL == 0 => return Ok(Outcome::Broken),
            sent => return Ok(Outcome::Done(sent? as i64)),
        }
        let gate = call.socket.gate(&request, &served);
        if gate.is_some() || call.socket.style == Style::OneToOne {
            return Ok(Outcome::Wait(Awaited {
                gate,
                served,
                ..Awaited::new(&call.socket, PollFlags::OUT)
            }));
        }
    }
}

fn send_message(call: &Call, at: u64, flags: Flags) -> Result<Outcome, Errno> {
    let header = call.memory.header(at)?;
    let mut request = Request::default();
    if header.name != 0 && header.name_length != 0 {
        request
            .to
            .push(call.memory.address(header.name, header.name_length.into())?);
    }
    ancillary::read(&call.memory.control(header.control)?, &mut request)?;
    send(call, &header.buffers, request, flags)
}

/// Handles the messages of `sendmmsg` or `recvmmsg` until one fails or would wait, for which only the first one does.
/// So a later one for all is sent again to those that have taken it.
fn each(call: &Call, mut handle: impl FnMut(u64) -> Result<Outcome, Errno>) -> Result<Outcome, Errno> {
    let count = call.arguments[2].min(UIO_MAXIOV);
    for at in 0..count {
        let place = call.arguments[1].wrapping_add(at * MULTIPLE);
        match handle(place) {
            Ok(Outcome::Done(length) | Outcome::Received(length, ..)) => {
                call.memory
                    .write(place + LENGTH, &(length as u32).to_ne_bytes())?;
            }
            first if at == 0 => return first,
            _ => return Ok(Outcome::Done(at as i64)),
        }
    }
    Ok(Outcome::Done(count as i64))
}

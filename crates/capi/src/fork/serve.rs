//! The parent's side of a channel: answers the calls of a child.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};

use super::call::{self, Call};
use super::{channel_to_pass, close_entered};
use crate::address;
use crate::errno::Errno;
use crate::ffi;
use crate::layout::Build;
use crate::socket::{Answer, Received, Request, Served, Socket, Style};

/// Numbers of sockets that a child has accepted begin here; those that it inherited have that of their descriptor.
const FIRST_ACCEPTED: i32 = 1 << 20;

/// Sockets to which a child has a reference.
type Sockets = BTreeMap<i32, Arc<Socket>>;

/// What a child has.
struct Held {
    sockets: Sockets,
    /// The number of the next socket that it accepts.
    next: i32,
    /// Messages for all that are not sent to all yet, by the serials of their calls.
    unfinished: BTreeMap<u32, Served>,
}

/// How many unfinished messages are remembered: their calls may have been interrupted.
const UNFINISHED: usize = 64;

impl Held {
    fn send(&mut self, socket: &Arc<Socket>, serial: u32, bytes: Vec<u8>, request: &Request) -> Given {
        if bytes.len() > socket.longest() {
            return Err(Errno(libc::EMSGSIZE).into());
        }
        let mut served = self.unfinished.remove(&serial).unwrap_or_default();
        let sent = socket.try_send(bytes, request, &mut served);
        let repeat = match sent {
            Err(Errno(libc::EAGAIN)) if socket.style == Style::OneToMany => {
                let gate = socket.gate(request, &served);
                let gate = gate.map(|gate| gate.descriptor().try_clone_to_owned());
                gate.transpose()
                    .map_err(Errno::from)?
                    .map_or(Repeat::Now, Repeat::Gate)
            }
            _ => Repeat::Writable,
        };
        if sent == Err(Errno(libc::EAGAIN)) && !served.is_empty() {
            self.unfinished.insert(serial, served);
            if self.unfinished.len() > UNFINISHED {
                self.unfinished.pop_first();
            }
        }
        let sent = sent.map_err(|error| Refused { error, repeat })?;
        let sent = u32::try_from(sent).unwrap_or(u32::MAX);
        Ok((Build::new().u32(sent).done(), None))
    }
}

/// An answer, and a descriptor for the child.
type Given = Result<(Vec<u8>, Option<OwnedFd>), Refused>;

/// Why a call fails, and when it is worth repeating.
struct Refused {
    error: Errno,
    repeat: Repeat,
}

/// When a call that found no room is worth repeating.
enum Repeat {
    /// When the socket is writable.
    Writable,
    /// When this is writable: the gate of the association, in the one-to-many style.
    Gate(OwnedFd),
    /// The gate is gone by now.
    Now,
}

impl From<Errno> for Refused {
    fn from(error: Errno) -> Self {
        Self {
            error,
            repeat: Repeat::Writable,
        }
    }
}

/// Serves a child by a channel that was entered, in a thread of its own, until the child ends. If there is no thread, calls of the child fail.
pub(super) fn start(channel: UnixStream, sockets: Sockets) {
    let (give, given) = mpsc::channel();
    // Signals are for the threads of the program.
    let started = ffi::hooks::without_signals(|| {
        let thread = std::thread::Builder::new().name("anabranch child".into());
        thread.spawn(move || {
            if let Ok((channel, sockets)) = given.recv() {
                serve(channel, sockets);
            }
        })
    });
    if started.is_err() {
        close_entered(channel.into());
        sockets.values().for_each(|socket| socket.remove_descriptor());
        return;
    }
    let _ = give.send((channel, sockets));
}

fn serve(channel: UnixStream, sockets: Sockets) {
    let mut held = Held {
        sockets,
        next: FIRST_ACCEPTED,
        unfinished: BTreeMap::new(),
    };
    while let Ok(Some((message, _))) = call::take(&channel) {
        let call = Call::read(&message).map_err(Refused::from);
        let given = call.and_then(|(number, call)| answer(&mut held, number, call));
        let sent = match given {
            Ok((answer, descriptor)) => {
                let answer = Build::new().i32(0).bytes(&answer).done();
                let sent = call::put(&channel, &answer, descriptor.as_ref().map(OwnedFd::as_fd));
                descriptor.into_iter().for_each(close_entered);
                sent
            }
            Err(Refused { error, repeat }) => {
                let is_now = matches!(repeat, Repeat::Now);
                let answer = Build::new().i32(error.0).u8(is_now.into()).done();
                let gate = match &repeat {
                    Repeat::Gate(gate) => Some(gate.as_fd()),
                    Repeat::Writable | Repeat::Now => None,
                };
                call::put(&channel, &answer, gate)
            }
        };
        if sent.is_err() {
            break;
        }
    }
    close_entered(channel.into());
    let sockets = held.sockets.values();
    sockets.for_each(|socket| socket.remove_descriptor());
}

fn answer(held: &mut Held, number: i32, call: Call) -> Given {
    let sockets = &mut held.sockets;
    if call == Call::Fork {
        let (ours, theirs) = channel_to_pass()?;
        sockets.values().for_each(|socket| socket.add_descriptor());
        start(ours, sockets.clone());
        return Ok((Vec::new(), Some(theirs.into())));
    }
    let socket = Arc::clone(sockets.get(&number).ok_or(Errno(libc::EBADF))?);
    let nothing = Ok((Vec::new(), None));
    match call {
        Call::Send {
            serial,
            bytes,
            request,
        } => held.send(&socket, serial, bytes, &request),
        Call::Receive { room, peeks } => {
            let received: Received = socket.receive(room as usize, peeks)?;
            Ok((call::write_received(&received), None))
        }
        Call::Option { level, name, given } => Ok((write_answer(socket.option(level, name, &given)?), None)),
        Call::SetOption { level, name, value } => {
            Ok((write_answer(socket.set_option(level, name, &value)?), None))
        }
        Call::Name { of_peer } => {
            let name = socket.name(of_peer)?;
            Ok((address::write(name, socket.maps_v4()), None))
        }
        Call::Accept { nonblocking } => {
            let (accepted, program) = socket.accept((nonblocking, true))?;
            let peer = address::write(accepted.peer()?, accepted.maps_v4());
            accepted.add_descriptor();
            let number = held.next;
            sockets.insert(number, accepted);
            held.next += 1;
            Ok((Build::new().i32(number).bytes(&peer).done(), Some(program)))
        }
        Call::ShutDown => socket.shut_down_sending().map_err(Refused::from).and(nothing),
        Call::Close => {
            sockets.remove(&number);
            socket.remove_descriptor();
            nothing
        }
        Call::Fork => nothing,
    }
}

/// The value with a byte before it, which is 0 if the kernel should answer.
fn write_answer(answer: Answer) -> Vec<u8> {
    match answer {
        Answer::Kernel => vec![0],
        Answer::Value(value) => Build::new().u8(1).bytes(&value).done(),
    }
}

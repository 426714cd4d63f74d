//! The parent's side of a channel: answers the calls of a child.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};

use super::call::{self, Call};
use super::{channel_to_pass, served};
use crate::address;
use crate::errno::Errno;
use crate::ffi;
use crate::layout::Build;
use crate::socket::{Answer, Received, Socket};

/// Numbers of sockets that a child has accepted begin here; those that it inherited have that of their descriptor.
const FIRST_ACCEPTED: i32 = 1 << 20;

/// Sockets to which a child has a reference.
type Sockets = BTreeMap<i32, Arc<Socket>>;

/// An answer, and a descriptor for the child.
type Given = Result<(Vec<u8>, Option<OwnedFd>), Errno>;

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
        served(channel.into());
        sockets.values().for_each(|socket| socket.remove_descriptor());
        return;
    }
    let _ = give.send((channel, sockets));
}

fn serve(channel: UnixStream, mut sockets: Sockets) {
    let mut next = FIRST_ACCEPTED;
    while let Ok(Some((message, _))) = call::take(&channel) {
        let given =
            Call::read(&message).and_then(|(number, call)| answer(&mut sockets, &mut next, number, call));
        let sent = match given {
            Ok((answer, descriptor)) => {
                let answer = Build::new().i32(0).bytes(&answer).done();
                let sent = call::put(&channel, &answer, descriptor.as_ref().map(OwnedFd::as_fd));
                descriptor.into_iter().for_each(served);
                sent
            }
            Err(Errno(number)) => call::put(&channel, &Build::new().i32(number).done(), None),
        };
        if sent.is_err() {
            break;
        }
    }
    served(channel.into());
    sockets.values().for_each(|socket| socket.remove_descriptor());
}

fn answer(sockets: &mut Sockets, next: &mut i32, number: i32, call: Call) -> Given {
    if call == Call::Fork {
        let (ours, theirs) = channel_to_pass()?;
        sockets.values().for_each(|socket| socket.add_descriptor());
        start(ours, sockets.clone());
        return Ok((Vec::new(), Some(theirs.into())));
    }
    let socket = Arc::clone(sockets.get(&number).ok_or(Errno(libc::EBADF))?);
    let nothing = Ok((Vec::new(), None));
    match call {
        Call::Send { bytes, request } => {
            if bytes.len() > socket.longest() {
                return Err(Errno(libc::EMSGSIZE));
            }
            let sent = socket.send(bytes, &request, false)?;
            Ok((
                Build::new().u32(u32::try_from(sent).unwrap_or(u32::MAX)).done(),
                None,
            ))
        }
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
            sockets.insert(*next, accepted);
            *next += 1;
            Ok((Build::new().i32(*next - 1).bytes(&peer).done(), Some(program)))
        }
        Call::ShutDown => socket.shut_down_sending().and(nothing),
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

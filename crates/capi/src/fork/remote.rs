//! The child's side of channels: passes calls on inherited sockets to the process that has their driver.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::call::{self, Call};
use crate::errno::Errno;
use crate::ffi::hooks;
use crate::layout::Fields;
use crate::lock;
use crate::socket::{Answer, Received, Request};

/// A channel to the process that has the driver of some sockets. One call at a time.
type Channel = Arc<Mutex<UnixStream>>;

/// The sockets that a process has inherited, by descriptor: channel, and number there.
#[derive(Debug, Default)]
pub(crate) struct Inherited(Mutex<BTreeMap<RawFd, (Channel, i32)>>);

impl Inherited {
    /// Adds the sockets that a channel reaches. A descriptor of a nearer ancestor counts.
    pub(super) fn add(&mut self, channel: UnixStream, numbers: impl Iterator<Item = (RawFd, i32)>) {
        let channel = Arc::new(Mutex::new(channel));
        for (fd, number) in numbers {
            lock(&self.0)
                .entry(fd)
                .or_insert_with(|| (Arc::clone(&channel), number));
        }
    }

    /// A channel for a child of this process, and the numbers of the sockets there. Those of farther ancestors stay behind.
    pub(super) fn for_child(&self) -> Option<(UnixStream, BTreeMap<RawFd, i32>)> {
        let all = lock(&self.0);
        let (channel, _) = all.values().next()?;
        let (_, descriptor) = ask(channel, 0, &Call::Fork).ok()?;
        let same = all.iter().filter(|(_, (other, _))| Arc::ptr_eq(other, channel));
        Some((
            descriptor?.into(),
            same.map(|(fd, (_, number))| (*fd, *number)).collect(),
        ))
    }

    /// The socket of a descriptor.
    pub(crate) fn find(&self, fd: RawFd) -> Option<Remote> {
        let (channel, number) = lock(&self.0).get(&fd)?.clone();
        Some(Remote { fd, channel, number })
    }

    /// Enters a descriptor of a socket.
    pub(crate) fn insert(&self, fd: RawFd, remote: Remote) {
        lock(&self.0).insert(fd, (remote.channel, remote.number));
    }

    /// Forgets a descriptor, which is about to be closed; the last one of a socket closes that.
    pub(crate) fn remove(&self, fd: RawFd) {
        let mut all = lock(&self.0);
        let Some((channel, number)) = all.remove(&fd) else {
            return;
        };
        let is_same = |(other, n): &(Channel, i32)| *n == number && Arc::ptr_eq(other, &channel);
        if !all.values().any(is_same) {
            let _ = ask(&channel, number, &Call::Close);
        }
    }
}

/// A call and its answer.
///
/// # Errors
///
/// That of the call; `ENETDOWN` if the process that has the driver has ended.
fn ask(channel: &Channel, number: i32, call: &Call) -> Result<(Vec<u8>, Option<OwnedFd>), Errno> {
    match ask_once(channel, number, call)? {
        (0, answer, descriptor) => Ok((answer, descriptor)),
        (error, ..) => Err(Errno(error)),
    }
}

/// The error of a call, or 0; the answer, and a descriptor.
fn ask_once(channel: &Channel, number: i32, call: &Call) -> Result<(i32, Vec<u8>, Option<OwnedFd>), Errno> {
    let down = Errno(libc::ENETDOWN);
    let stream = lock(channel);
    call::put(&stream, &call.write(number), None).map_err(|_| down)?;
    let (answer, descriptor) = call::take(&stream).map_err(|_| down)?.ok_or(down)?;
    drop(stream);
    let mut fields = Fields::new(&answer);
    Ok((fields.i32()?, fields.rest().to_vec(), descriptor))
}

/// A socket whose driver runs in another process.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    fd: RawFd,
    channel: Channel,
    number: i32,
}

impl Remote {
    fn ask(&self, call: &Call) -> Result<Vec<u8>, Errno> {
        Ok(ask(&self.channel, self.number, call)?.0)
    }

    /// Waits for room, if the call may wait: in the one-to-many style for that of its association, of which the process with the driver gives
    /// the gate.
    pub(super) fn send(&self, bytes: Vec<u8>, request: &Request, is_patient: bool) -> Result<usize, Errno> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let call = Call::Send {
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
            bytes,
            request: request.clone(),
        };
        loop {
            match ask_once(&self.channel, self.number, &call)? {
                (0, answer, _) => return Ok(Fields::new(&answer).u32()? as usize),
                (libc::EAGAIN, now, gate) if is_patient && !hooks::is_nonblocking(self.fd) => {
                    if now == [1] {
                        continue;
                    }
                    let awaited = gate.as_ref().map_or(self.fd, |gate| gate.as_raw_fd());
                    hooks::wait_writable(awaited)?;
                }
                (error, ..) => return Err(Errno(error)),
            }
        }
    }

    pub(super) fn receive(&self, room: usize, peeks: bool) -> Result<Received, Errno> {
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        call::read_received(&self.ask(&Call::Receive { room, peeks })?)
    }

    pub(super) fn option(&self, level: i32, name: i32, given: &[u8]) -> Result<Answer, Errno> {
        self.ask(&Call::Option {
            level,
            name,
            given: given.to_vec(),
        })
        .map(read_answer)
    }

    pub(super) fn set_option(&self, level: i32, name: i32, value: &[u8]) -> Result<Answer, Errno> {
        self.ask(&Call::SetOption {
            level,
            name,
            value: value.to_vec(),
        })
        .map(read_answer)
    }

    /// An address as the program gets it.
    pub(super) fn name(&self, of_peer: bool) -> Result<Vec<u8>, Errno> {
        self.ask(&Call::Name { of_peer })
    }

    pub(super) fn shut_down_sending(&self) -> Result<(), Errno> {
        self.ask(&Call::ShutDown).map(drop)
    }

    /// The accepted socket, its descriptor, and the peer's address as the program gets it.
    pub(super) fn accept(&self, nonblocking: bool) -> Result<(Self, OwnedFd, Vec<u8>), Errno> {
        let (answer, descriptor) = ask(&self.channel, self.number, &Call::Accept { nonblocking })?;
        let mut fields = Fields::new(&answer);
        let number = fields.i32()?;
        let accepted = Self {
            number,
            ..self.clone()
        };
        Ok((
            accepted,
            descriptor.ok_or(Errno(libc::EIO))?,
            fields.rest().to_vec(),
        ))
    }
}

fn read_answer(bytes: Vec<u8>) -> Answer {
    match bytes.split_first() {
        Some((1, value)) => Answer::Value(value.to_vec()),
        _ => Answer::Kernel,
    }
}

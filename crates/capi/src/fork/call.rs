//! Calls of a child on sockets of its parent, and the answers, as bytes in a stream: a length, and fields.

use std::io::{IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use crate::address;
use crate::errno::Errno;
use crate::layout::{Build, Fields, Info};
use crate::socket::{Init, Received, Request, Told};

/// What a child asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Call {
    Send {
        /// The same when the call is repeated, because it has to wait.
        serial: u32,
        bytes: Vec<u8>,
        request: Request,
    },
    Receive {
        room: u32,
        peeks: bool,
    },
    Option {
        level: i32,
        name: i32,
        given: Vec<u8>,
    },
    SetOption {
        level: i32,
        name: i32,
        value: Vec<u8>,
    },
    /// `getsockname`, or `getpeername`.
    Name {
        of_peer: bool,
    },
    Accept {
        nonblocking: bool,
    },
    ShutDown,
    /// The child has closed its last descriptor of the socket.
    Close,
    /// The child forks: a channel for its child, with the same sockets.
    Fork,
}

impl Call {
    pub(super) fn write(&self, number: i32) -> Vec<u8> {
        let build = Build::new().i32(number);
        match self {
            Self::Send {
                serial,
                bytes,
                request,
            } => write_request(build.u8(0).u32(*serial), request).bytes(bytes),
            Self::Receive { room, peeks } => build.u8(1).u32(*room).u8((*peeks).into()),
            Self::Option { level, name, given } => build.u8(2).i32(*level).i32(*name).bytes(given),
            Self::SetOption { level, name, value } => build.u8(3).i32(*level).i32(*name).bytes(value),
            Self::Name { of_peer } => build.u8(4).u8((*of_peer).into()),
            Self::Accept { nonblocking } => build.u8(5).u8((*nonblocking).into()),
            Self::ShutDown => build.u8(6),
            Self::Close => build.u8(7),
            Self::Fork => build.u8(8),
        }
        .done()
    }

    /// Reads what [`write`](Self::write) wrote: the number of the socket, and the call.
    pub(super) fn read(bytes: &[u8]) -> Result<(i32, Self), Errno> {
        let mut fields = Fields::new(bytes);
        let number = fields.i32()?;
        let call = match fields.u8()? {
            0 => {
                let serial = fields.u32()?;
                let request = read_request(&mut fields)?;
                Self::Send {
                    serial,
                    bytes: fields.rest().to_vec(),
                    request,
                }
            }
            1 => Self::Receive {
                room: fields.u32()?,
                peeks: fields.u8()? != 0,
            },
            2 => Self::Option {
                level: fields.i32()?,
                name: fields.i32()?,
                given: fields.rest().to_vec(),
            },
            3 => Self::SetOption {
                level: fields.i32()?,
                name: fields.i32()?,
                value: fields.rest().to_vec(),
            },
            4 => Self::Name {
                of_peer: fields.u8()? != 0,
            },
            5 => Self::Accept {
                nonblocking: fields.u8()? != 0,
            },
            6 => Self::ShutDown,
            7 => Self::Close,
            8 => Self::Fork,
            _ => return Err(Errno(libc::EINVAL)),
        };
        Ok((number, call))
    }
}

/// A request, whose addresses of the peer become one list.
fn write_request(build: Build, request: &Request) -> Build {
    let remotes = request.remotes();
    let build = build.u32(u32::try_from(remotes.len()).unwrap_or(u32::MAX));
    let build = remotes.into_iter().fold(build, |build, remote| {
        build.storage(&address::write(remote, false))
    });
    let init = request.init.map(Init::bytes);
    let build = build.u8(init.is_some().into()).bytes(&init.unwrap_or_default());
    let build = build
        .u8(request.info.is_some().into())
        .bytes(&request.info.unwrap_or_default().sndrcv());
    let (policy, value) = request.reliability.unwrap_or_default();
    let build = build
        .u8(request.reliability.is_some().into())
        .u16(policy)
        .u32(value);
    build
        .u8(request.key.is_some().into())
        .u16(request.key.unwrap_or(0))
}

fn read_request(fields: &mut Fields<'_>) -> Result<Request, Errno> {
    let mut request = Request::default();
    for _ in 0..fields.u32()? {
        request.to.extend(fields.storage()?);
    }
    if fields.u8()? != 0 {
        request.init = Some(Init::read(fields.bytes(8)?)?);
    }
    let has_info = fields.u8()? != 0;
    let info = Info::of_sndrcv(fields.bytes(32)?)?;
    request.info = has_info.then_some(info);
    let (has_policy, policy) = (fields.u8()? != 0, (fields.u16()?, fields.u32()?));
    request.reliability = has_policy.then_some(policy);
    let (has_key, key) = (fields.u8()? != 0, fields.u16()?);
    request.key = has_key.then_some(key);
    Ok(request)
}

/// A received message as the child gets it: without what follows it.
pub(super) fn write_received(received: &Received) -> Vec<u8> {
    let build = Build::new().i32(received.flags).u8(received.told.bits());
    let build = build
        .u8(received.info.is_some().into())
        .bytes(&received.info.unwrap_or_default().sndrcv());
    let peer = received.peer.map(|peer| address::write(peer, false));
    build
        .storage(&peer.unwrap_or_default())
        .bytes(&received.bytes)
        .done()
}

pub(super) fn read_received(bytes: &[u8]) -> Result<Received, Errno> {
    let mut fields = Fields::new(bytes);
    let (flags, told) = (fields.i32()?, Told::of_bits(fields.u8()?));
    let has_info = fields.u8()? != 0;
    let info = Info::of_sndrcv(fields.bytes(32)?)?;
    Ok(Received {
        flags,
        told,
        info: has_info.then_some(info),
        next: None,
        peer: fields.storage()?,
        bytes: fields.rest().to_vec().into(),
    })
}

/// Writes a message with a length before it, and perhaps a descriptor.
pub(super) fn put(
    channel: &UnixStream,
    message: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
) -> Result<(), Errno> {
    let length = u32::try_from(message.len())
        .map_err(|_| Errno(libc::EMSGSIZE))?
        .to_ne_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let passed = descriptor.as_slice();
    if !passed.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(passed));
    }
    let both = [IoSlice::new(&length), IoSlice::new(message)];
    // A stream takes the length as a whole, and perhaps not all of a long message.
    let sent = sendmsg(channel.as_fd(), &both, &mut ancillary, SendFlags::NOSIGNAL)?;
    let rest = message
        .get(sent.saturating_sub(length.len())..)
        .unwrap_or_default();
    (&mut &*channel).write_all(rest)?;
    Ok(())
}

/// A message, and a descriptor that came with it.
pub(super) type Message = (Vec<u8>, Option<OwnedFd>);

/// Reads what [`put`] wrote; `None` at the end.
pub(super) fn take(channel: &UnixStream) -> Result<Option<Message>, Errno> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::WAITALL | RecvFlags::CMSG_CLOEXEC;
    let received = loop {
        match recvmsg(
            channel.as_fd(),
            &mut [IoSliceMut::new(&mut length)],
            &mut ancillary,
            flags,
        ) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    if received.bytes < length.len() {
        return Ok(None);
    }
    let mut message = vec![0; u32::from_ne_bytes(length) as usize];
    (&mut &*channel).read_exact(&mut message)?;
    let passed = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut all) => all.next(),
        _ => None,
    });
    Ok(Some((message, passed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_survive_the_channel() {
        let (one, other) = UnixStream::pair().unwrap();
        let request = Request {
            to: vec![([192, 0, 2, 1], 80).into()],
            info: Some(Info {
                stream: 5,
                ppid: 46,
                assoc: 3,
                ..Info::default()
            }),
            reliability: Some((0x20, 4)),
            key: Some(2),
            init: Some(Init::read(&[1; 8]).unwrap()),
            ..Request::default()
        };
        for call in [
            Call::Send {
                serial: 3,
                bytes: b"hello".to_vec(),
                request,
            },
            Call::Receive { room: 9, peeks: true },
            Call::Option {
                level: 132,
                name: 14,
                given: vec![1, 2],
            },
            Call::SetOption {
                level: 1,
                name: 2,
                value: Vec::new(),
            },
            Call::Name { of_peer: true },
            Call::Accept { nonblocking: true },
            Call::ShutDown,
            Call::Close,
            Call::Fork,
        ] {
            put(&one, &call.write(7), Some(one.as_fd())).unwrap();
            let (message, descriptor) = take(&other).unwrap().unwrap();
            assert_eq!(Call::read(&message), Ok((7, call)));
            assert!(descriptor.is_some());
        }
        drop(one);
        assert!(take(&other).unwrap().is_none());
    }

    #[test]
    fn received_message_survives_the_channel() {
        let received = Received {
            bytes: b"hello".to_vec().into(),
            flags: libc::MSG_EOR,
            info: Some(Info {
                stream: 5,
                ..Info::default()
            }),
            peer: Some(([192, 0, 2, 1], 80).into()),
            told: Told {
                rcvinfo: true,
                ..Told::default()
            },
            ..Received::default()
        };
        assert_eq!(read_received(&write_received(&received)), Ok(received));
    }
}

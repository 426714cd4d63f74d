//! A socket that a call is for: here, or in the process that forked this one.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::Remote;
use crate::address;
use crate::errno::Errno;
use crate::socket::{Answer, Received, Request, Socket};

/// Longest message to a socket of another process; a longer one than its send buffer is refused there.
const LONGEST: usize = 64 << 20;

/// A socket.
#[derive(Clone, Debug)]
pub(crate) enum Handle {
    /// Its driver runs in this process.
    Here(Arc<Socket>),
    /// Its driver runs in the process that forked this one, or in one of its ancestors.
    There(Remote),
}

impl Handle {
    /// The socket, for calls that other processes cannot make.
    ///
    /// # Errors
    ///
    /// `ENOTSUP`.
    pub(crate) fn local(self) -> Result<Arc<Socket>, Errno> {
        match self {
            Self::Here(socket) => Ok(socket),
            Self::There(_) => Err(Errno(libc::ENOTSUP)),
        }
    }

    /// Length of the longest message.
    pub(crate) fn longest(&self) -> usize {
        match self {
            Self::Here(socket) => socket.longest(),
            Self::There(_) => LONGEST,
        }
    }

    /// As [`Socket::send`].
    pub(crate) fn send(&self, bytes: Vec<u8>, request: &Request, is_patient: bool) -> Result<usize, Errno> {
        match self {
            Self::Here(socket) => socket.send(bytes, request, is_patient),
            Self::There(remote) => remote.send(bytes, request, is_patient),
        }
    }

    /// As [`Socket::receive`].
    pub(crate) fn receive(&self, room: usize, peeks: bool) -> Result<Received, Errno> {
        match self {
            Self::Here(socket) => socket.receive(room, peeks),
            Self::There(remote) => remote.receive(room, peeks),
        }
    }

    /// As [`Socket::option`].
    pub(crate) fn option(&self, level: i32, name: i32, given: &[u8]) -> Result<Answer, Errno> {
        match self {
            Self::Here(socket) => socket.option(level, name, given),
            Self::There(remote) => remote.option(level, name, given),
        }
    }

    /// As [`Socket::set_option`].
    pub(crate) fn set_option(&self, level: i32, name: i32, value: &[u8]) -> Result<Answer, Errno> {
        match self {
            Self::Here(socket) => socket.set_option(level, name, value),
            Self::There(remote) => remote.set_option(level, name, value),
        }
    }

    /// Our address or the peer's, as the program gets it.
    pub(crate) fn name(&self, of_peer: bool) -> Result<Vec<u8>, Errno> {
        match self {
            Self::Here(socket) => Ok(address::write(socket.name(of_peer)?, socket.maps_v4())),
            Self::There(remote) => remote.name(of_peer),
        }
    }

    /// As [`Socket::shut_down_sending`].
    pub(crate) fn shut_down_sending(&self) -> Result<(), Errno> {
        match self {
            Self::Here(socket) => socket.shut_down_sending(),
            Self::There(remote) => remote.shut_down_sending(),
        }
    }

    /// Takes an association: a socket, its descriptor, and the peer's address as the program gets it.
    pub(crate) fn accept(&self, modes: (bool, bool)) -> Result<(Self, OwnedFd, Vec<u8>), Errno> {
        match self {
            Self::Here(socket) => {
                let (accepted, program) = socket.accept(modes)?;
                let peer = address::write(accepted.peer()?, accepted.maps_v4());
                Ok((Self::Here(accepted), program, peer))
            }
            Self::There(remote) => {
                let (accepted, program, peer) = remote.accept(modes.0)?;
                if !modes.1 {
                    rustix::io::fcntl_setfd(&program, rustix::io::FdFlags::empty())?;
                }
                Ok((Self::There(accepted), program, peer))
            }
        }
    }
}

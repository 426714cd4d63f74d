//! SCTP directly over IP, without UDP. How do the programs of a host share its one protocol number?
//!
//! Each raw socket passes the packets of one SCTP port. The UDP port of the same number is bound with it, so that no other socket of this or
//! another process can have that port. Free ports are found as over UDP.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use anabranch::io::{IcmpMessage, Incoming, Outgoing, Socket, UdpSocket};
use anabranch::raw_socket;

use crate::encryption::say;
use crate::errno::Errno;

/// A raw socket, and the UDP socket that keeps its port.
#[derive(Debug)]
struct RawPort {
    socket: Arc<dyn Socket>,
    _reserved: UdpSocket,
}

/// Opens a socket for an SCTP port of an address; port 0 takes a free one. Returns the port.
///
/// # Errors
///
/// `EADDRINUSE`, or the system denies raw sockets, which a line on standard error says.
pub(crate) fn open(local: SocketAddr) -> Result<(Arc<dyn Socket>, u16), Errno> {
    let reserved = UdpSocket::bind(local)?;
    let port = anabranch::io::Transport::local_addr(&reserved).port();
    let socket = raw_socket(local.ip(), port).map_err(|error| {
        if error.kind() == io::ErrorKind::PermissionDenied {
            say(&error.to_string());
            return Errno(libc::EPERM);
        }
        error.into()
    })?;
    let kept = RawPort {
        socket,
        _reserved: reserved,
    };
    Ok((Arc::new(kept), port))
}

impl Socket for RawPort {
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    fn max_segments(&self) -> usize {
        self.socket.max_segments()
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        self.socket.try_send(outgoing)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_writable(cx)
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        self.socket.poll_receive(cx, incoming)
    }

    fn poll_icmp(&self, cx: &mut Context<'_>) -> Poll<IcmpMessage> {
        self.socket.poll_icmp(cx)
    }
}

//! Raw sockets: SCTP directly over IP (protocol 132), with privilege.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use anabranch_types::PathAddr;
use socket2::{Protocol, Type};

use crate::datagram::{Incoming, Outgoing};
use crate::icmp::IcmpMessage;
use crate::kernel::Kernel;
use crate::socket::Transport;

/// SCTP's number in the IP header (RFC 9260 §3).
pub const PROTOCOL_NUMBER: u8 = 132;

const MISSING_PRIVILEGE: &str = "SCTP directly over IP needs the capability CAP_NET_RAW: run as root, give the \
                                 program the capability (setcap cap_net_raw+ep), or use UDP encapsulation";

/// A raw socket that sends and receives SCTP packets without UDP around them. Its ports are 0.
///
/// Every raw socket of a host sees all SCTP packets to its address, and a kernel with SCTP of its own answers
/// those that it does not know with an ABORT: unload that module (`sctp`) or use UDP encapsulation.
#[derive(Debug)]
pub struct RawSocket(Kernel);

impl RawSocket {
    /// Binds to `local`; an unspecified address stands for all of its IP version.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` with an explanation if the process may not open raw sockets; else as
    /// [`UdpSocket::bind`](crate::UdpSocket::bind).
    pub fn bind(local: IpAddr) -> io::Result<Self> {
        let protocol = Protocol::from(i32::from(PROTOCOL_NUMBER));
        let kernel = Kernel::bind(Type::RAW, protocol, SocketAddr::new(local, 0)).map_err(explain)?;
        Ok(Self(kernel.without_port()))
    }
}

fn explain(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(io::ErrorKind::PermissionDenied, MISSING_PRIVILEGE),
        _ => error,
    }
}

impl Transport for RawSocket {
    fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }

    fn max_segments(&self) -> usize {
        1
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        // Linux reads the port of a raw IPv6 destination as a protocol number.
        let path = PathAddr {
            local: outgoing.path.local,
            remote: without_port(outgoing.path.remote),
        };
        self.0.try_send(&Outgoing {
            path,
            segment_size: None,
            ..*outgoing
        })
    }

    fn try_receive(&self, incoming: &mut [Incoming]) -> io::Result<usize> {
        let header_of = if self.0.local_addr().is_ipv4() {
            ipv4_header
        } else {
            no_header
        };
        self.0.try_receive(incoming, header_of)
    }

    fn keep_icmp(&self) -> io::Result<()> {
        self.0.keep_icmp()
    }

    fn take_icmp(&self) -> io::Result<Option<IcmpMessage>> {
        self.0.take_icmp()
    }
}

impl AsFd for RawSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn without_port(mut address: SocketAddr) -> SocketAddr {
    address.set_port(0);
    address
}

/// Length of the IPv4 header that raw sockets hand out with the packet: the low four bits of its first byte,
/// in words of 32 bits (RFC 791 §3.1).
fn ipv4_header(packet: &[u8]) -> usize {
    packet.first().map_or(0, |first| usize::from(first & 0x0f) * 4)
}

/// IPv6 raw sockets keep the header to themselves (RFC 3542 §3).
const fn no_header(_packet: &[u8]) -> usize {
    0
}

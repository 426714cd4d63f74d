//! Raw sockets: SCTP directly over IP (protocol 132), with privilege.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use anabranch_types::PathAddr;
#[cfg(target_os = "linux")]
use socket2::SockFilter;
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

    /// As [`bind`](Self::bind), for packets to one SCTP port only: the kernel drops all others, so that several programs of a host, each with
    /// its ports, do not answer each other's packets.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    #[cfg(target_os = "linux")]
    pub fn bind_port(local: IpAddr, port: u16) -> io::Result<Self> {
        let filter = port_filter(local.is_ipv4(), port);
        let protocol = Protocol::from(i32::from(PROTOCOL_NUMBER));
        let local = SocketAddr::new(local, 0);
        let kernel = Kernel::bind_by(Type::RAW, protocol, local, |socket| socket.attach_filter(&filter));
        let kernel = kernel.map_err(explain)?;
        // What arrived before the filter was attached may be another program's.
        let mut others = [Incoming::new()];
        while kernel.try_receive(&mut others, no_header).is_ok() {}
        Ok(Self(kernel.without_port()))
    }
}

/// A filter (classic BPF) that passes packets to an SCTP port. Raw sockets see packets of IPv4 with their IP header, others without.
#[cfg(target_os = "linux")]
fn port_filter(is_v4: bool, port: u16) -> Vec<SockFilter> {
    // Of the instruction set of the kernel (linux/filter.h).
    const LOAD_HEADER_LENGTH: u16 = 0xb1;
    const LOAD_HALF_BEHIND: u16 = 0x48;
    const LOAD_HALF_AT: u16 = 0x28;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let code = |code, (jt, jf), k| SockFilter::new(code, jt, jf, k);
    // RFC 9260 §3.1: the destination port is the second field.
    let load = if is_v4 {
        vec![
            code(LOAD_HEADER_LENGTH, (0, 0), 0),
            code(LOAD_HALF_BEHIND, (0, 0), 2),
        ]
    } else {
        vec![code(LOAD_HALF_AT, (0, 0), 2)]
    };
    let decide = [
        code(JUMP_IF_EQUAL, (0, 1), port.into()),
        code(RETURN, (0, 0), u32::MAX),
        code(RETURN, (0, 0), 0),
    ];
    load.into_iter().chain(decide).collect()
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

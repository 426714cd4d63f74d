//! ICMP messages about sent packets. To which packet does a message belong, and what does it report?
//!
//! Linux keeps them in the error queue of the socket (`IP_RECVERR`, ip(7)), together with the part of the packet that they
//! quote. This module only reads them; the core decides whether a message is genuine.

use std::net::{IpAddr, SocketAddr};

/// An ICMP message about a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IcmpMessage {
    /// The destination of the packet.
    pub destination: SocketAddr,
    /// The sender of the message: the destination itself, or a router on the way; `None` if unknown.
    pub reporter: Option<IpAddr>,
    /// Its type and code.
    pub kind: IcmpKind,
    /// The beginning of the quoted SCTP packet, without the headers of IP and UDP. Empty if the message quotes nothing
    /// after them (RFC 792 requires 64 bits).
    pub quoted: Vec<u8>,
}

/// Types and codes of ICMP messages, as far as they differ in their consequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpKind {
    /// No program uses the port (type 3, code 3; ICMPv6 type 1, code 4), or, for SCTP directly over IP, the host has no SCTP (type 3,
    /// code 2; ICMPv6 type 4, code 1).
    PortUnreachable,
    /// Destination unreachable for another reason: no route, a host that is down, or a firewall.
    Unreachable,
    /// The packet is too large for a link; the MTU of that link in bytes (type 3, code 4; ICMPv6 type 2).
    PacketTooBig(u32),
}

#[cfg(target_os = "linux")]
pub(crate) mod queue {
    use std::io::{self, IoSliceMut};
    use std::net::{IpAddr, SocketAddr};
    use std::os::fd::AsRawFd;

    use nix::errno::Errno;
    use nix::sys::socket::sockopt::{Ipv4RecvErr, Ipv6RecvErr};
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
    use socket2::Socket;

    use super::{IcmpKind, IcmpMessage};

    /// Maximum number of bytes read of the quoted packet: enough for the common header and the first chunk of SCTP.
    const QUOTED: usize = 64;

    /// Buffer size for the control messages of one ICMP message.
    const CONTROL: usize = 512;

    /// Makes the system keep ICMP messages for `socket`.
    pub(crate) fn enable(socket: &Socket, is_ipv6: bool) -> io::Result<()> {
        if is_ipv6 {
            setsockopt(socket, Ipv6RecvErr, &true)?;
        } else {
            setsockopt(socket, Ipv4RecvErr, &true)?;
        }
        Ok(())
    }

    /// The next message; `None` if there is none.
    pub(crate) fn take(socket: &Socket) -> io::Result<Option<IcmpMessage>> {
        loop {
            let mut quoted = [0; QUOTED];
            let mut parts = [IoSliceMut::new(&mut quoted)];
            let mut control = [0; CONTROL];
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            let received =
                recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags);
            let received = match received {
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => continue,
                received => received?,
            };
            let said = received.cmsgs()?.find_map(|message| said(&message));
            let destination = received.address.as_ref().and_then(address);
            let length = received.bytes;
            // Other errors are local, and the call that sent the packet has returned them already.
            if let Some(((kind, reporter), destination)) = said.zip(destination) {
                return Ok(Some(IcmpMessage {
                    destination,
                    reporter,
                    kind,
                    quoted: quoted[..length.min(QUOTED)].to_vec(),
                }));
            }
        }
    }

    fn said(message: &ControlMessageOwned) -> Option<(IcmpKind, Option<IpAddr>)> {
        let (error, reporter) = match message {
            ControlMessageOwned::Ipv4RecvErr(error, reporter) => {
                let ip = |address: &libc::sockaddr_in| IpAddr::from(address.sin_addr.s_addr.to_ne_bytes());
                (error, reporter.as_ref().map(ip))
            }
            ControlMessageOwned::Ipv6RecvErr(error, reporter) => {
                let ip = |address: &libc::sockaddr_in6| IpAddr::from(address.sin6_addr.s6_addr);
                (error, reporter.as_ref().map(ip))
            }
            _ => return None,
        };
        let kind = match (error.ee_origin, error.ee_type, error.ee_code) {
            (libc::SO_EE_ORIGIN_ICMP, 3, 2 | 3)
            | (libc::SO_EE_ORIGIN_ICMP6, 1, 4)
            | (libc::SO_EE_ORIGIN_ICMP6, 4, 1) => IcmpKind::PortUnreachable,
            (libc::SO_EE_ORIGIN_ICMP, 3, 4) | (libc::SO_EE_ORIGIN_ICMP6, 2, _) => {
                IcmpKind::PacketTooBig(error.ee_info)
            }
            (libc::SO_EE_ORIGIN_ICMP, 3, _) | (libc::SO_EE_ORIGIN_ICMP6, 1, _) => IcmpKind::Unreachable,
            _ => return None,
        };
        Some((kind, reporter))
    }

    fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
        let v4 = storage
            .as_sockaddr_in()
            .map(|address| SocketAddr::new(address.ip().into(), address.port()));
        v4.or_else(|| {
            let address = storage.as_sockaddr_in6()?;
            Some(SocketAddr::new(address.ip().into(), address.port()))
        })
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) mod queue {
    use std::io;

    use socket2::Socket;

    use super::IcmpMessage;

    pub(crate) fn enable(_socket: &Socket, _is_ipv6: bool) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn take(_socket: &Socket) -> io::Result<Option<IcmpMessage>> {
        Ok(None)
    }
}

//! UDP sockets: each SCTP packet in one datagram (RFC 6951), many datagrams per system call.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use socket2::{Protocol, Type};

use crate::datagram::{Incoming, Outgoing};
use crate::icmp::IcmpMessage;
use crate::kernel::{Kernel, bind_to_device};
use crate::socket::Transport;
use crate::uplinks::{Egress, egress};

/// A UDP socket: segmentation offload in both directions, ECN, destination address of what arrives, choice of
/// the source address of what leaves, no IP fragmentation. What the system lacks is done without.
///
/// An IPv6 socket takes IPv6 only.
#[derive(Debug)]
pub struct UdpSocket(Kernel);

impl UdpSocket {
    /// Binds to `local`; port 0 takes a free one, an unspecified address stands for all of its IP version.
    ///
    /// # Errors
    ///
    /// The address is not ours or in use, or sockets run out.
    pub fn bind(local: SocketAddr) -> io::Result<Self> {
        Kernel::bind(Type::DGRAM, Protocol::UDP, local).map(Self)
    }

    /// Like [`bind`](Self::bind), on one device: packets are sent by it, whatever the routing table says, and packets that arrive
    /// by other devices are not received. Linux only (`SO_BINDTODEVICE`); elsewhere the device is ignored.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind), or there is no such device.
    pub fn bind_to_device(local: SocketAddr, device: &str) -> io::Result<Self> {
        let bind = |socket: &socket2::Socket| bind_to_device(socket, device);
        Kernel::bind_by(Type::DGRAM, Protocol::UDP, local, bind).map(Self)
    }
}

impl Transport for UdpSocket {
    fn local_addr(&self) -> SocketAddr {
        self.0.local_addr()
    }

    fn max_segments(&self) -> usize {
        self.0.max_segments()
    }

    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        self.0.try_send(outgoing)
    }

    fn try_receive(&self, incoming: &mut [Incoming]) -> io::Result<usize> {
        self.0.try_receive(incoming, |_| 0)
    }

    fn keep_icmp(&self) -> io::Result<()> {
        self.0.keep_icmp()
    }

    fn take_icmp(&self) -> io::Result<Option<IcmpMessage>> {
        self.0.take_icmp()
    }

    fn follow_routes(&self, remotes: &[SocketAddr]) -> io::Result<Egress> {
        let egress = egress(self.local_addr().ip(), remotes);
        if let Egress::Bound { device } = &egress {
            self.0.bind_to_device(device)?;
        }
        Ok(egress)
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

//! Kernel sockets: datagrams in batches, with source address and ECN bits.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use anabranch_types::{Ecn, PathAddr};
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::datagram::{Incoming, Outgoing};
use crate::errors::may_be_pending;
use crate::fragmentation::Permit;
use crate::icmp::{IcmpMessage, queue};

/// Buffer size requested for each direction. Linux gives at most `net.core.{r,w}mem_max`; a burst of
/// several paths that does not fit is lost like any other packet.
const SOCKET_BUFFER: usize = 4 << 20;

/// Maximum number of repetitions of a call that returned the error of an earlier datagram. Each call clears one error.
const PENDING_ERRORS: u32 = 3;

/// A bound, non-blocking datagram socket with all offloads that the system supports.
#[derive(Debug)]
pub(crate) struct Kernel {
    socket: Socket,
    state: UdpSocketState,
    local: SocketAddr,
}

impl Kernel {
    pub(crate) fn bind(kind: Type, protocol: Protocol, local: SocketAddr) -> io::Result<Self> {
        Self::bind_by(kind, protocol, local, |_| Ok(()))
    }

    /// Like [`Self::bind`]; `prepare` is called with the socket before it is bound.
    pub(crate) fn bind_by(
        kind: Type,
        protocol: Protocol,
        local: SocketAddr,
        prepare: impl FnOnce(&Socket) -> io::Result<()>,
    ) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(local), kind, Some(protocol))?;
        if local.is_ipv6() && kind == Type::DGRAM {
            // IPv4 has sockets of its own; mapped addresses would give one path two names. Raw IPv6 sockets
            // never see IPv4.
            socket.set_only_v6(true)?;
        }
        enlarge(&socket);
        prepare(&socket)?;
        socket.bind(&SockAddr::from(local))?;
        let state = UdpSocketState::new((&socket).into())?;
        let bound = socket.local_addr()?.as_socket();
        let local = bound.ok_or_else(|| io::Error::other("a socket without an IP address"))?;
        Ok(Self { socket, state, local })
    }

    /// The same socket for a protocol without ports: Linux names the protocol number in their place.
    pub(crate) fn without_port(mut self) -> Self {
        self.local.set_port(0);
        self
    }

    pub(crate) const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Has packets leave by `device` from now on, unless the socket is bound to a device already.
    pub(crate) fn bind_to_device(&self, device: &str) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if self.socket.device()?.is_some() {
            return Ok(());
        }
        bind_to_device(&self.socket, device)
    }

    pub(crate) fn max_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    pub(crate) fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        let source = outgoing.path.local.ip();
        let source_is_our_choice = self.local.ip().is_unspecified() && !source.is_unspecified();
        let transmit = Transmit {
            destination: outgoing.path.remote,
            ecn: EcnCodepoint::from_bits(outgoing.ecn.bits()),
            contents: outgoing.bytes,
            segment_size: outgoing.segment_size,
            src_ip: source_is_our_choice.then_some(source),
        };
        let _permit = outgoing
            .may_fragment
            .then(|| Permit::give(&self.socket, self.local.is_ipv6()));
        past_pending(|| self.state.try_send((&self.socket).into(), &transmit))
    }

    pub(crate) fn keep_icmp(&self) -> io::Result<()> {
        queue::enable(&self.socket, self.local.is_ipv6())
    }

    pub(crate) fn take_icmp(&self) -> io::Result<Option<IcmpMessage>> {
        queue::take(&self.socket)
    }

    /// Fills buffers with datagrams, without the bytes that `header_of` finds at the front of each.
    pub(crate) fn try_receive(
        &self,
        incoming: &mut [Incoming],
        header_of: impl Fn(&[u8]) -> usize,
    ) -> io::Result<usize> {
        let mut meta = [RecvMeta::default(); BATCH_SIZE];
        let count = self.receive_raw(incoming, &mut meta)?;
        for (incoming, meta) in incoming.iter_mut().zip(&meta[..count]) {
            let header = header_of(&incoming.buffer_mut()[..meta.len]).min(meta.len);
            let local = self.local_of(meta);
            let path = PathAddr {
                local,
                remote: meta.addr,
            };
            let ecn = Ecn::from_bits(meta.ecn.map_or(0, |codepoint| codepoint as u8));
            incoming.filled(header..meta.len, meta.stride.saturating_sub(header), path, ecn);
        }
        Ok(count)
    }

    fn receive_raw(&self, incoming: &mut [Incoming], meta: &mut [RecvMeta; BATCH_SIZE]) -> io::Result<usize> {
        let count = incoming.len().min(BATCH_SIZE);
        let mut unfilled = incoming.iter_mut();
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(unfilled.next().map_or(&mut [], Incoming::buffer_mut)));
        past_pending(|| {
            self.state
                .recv((&self.socket).into(), &mut slices[..count], &mut meta[..count])
        })
    }

    fn local_of(&self, meta: &RecvMeta) -> SocketAddr {
        match meta.dst_ip {
            Some(address) if self.local.ip().is_unspecified() => {
                let mut local = SocketAddr::new(address, self.local.port());
                if let (SocketAddr::V6(v6), Some(interface)) = (&mut local, meta.interface_index)
                    && v6.ip().is_unicast_link_local()
                {
                    v6.set_scope_id(interface);
                }
                local
            }
            Some(IpAddr::V4(_) | IpAddr::V6(_)) | None => self.local,
        }
    }
}

impl AsFd for Kernel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The result of `call` itself, instead of the error of an earlier datagram for which an ICMP message arrived.
fn past_pending<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut result = call();
    for _ in 0..PENDING_ERRORS {
        if !result.as_ref().is_err_and(may_be_pending) {
            break;
        }
        result = call();
    }
    result
}

/// Has packets of `socket` leave by `device` (`SO_BINDTODEVICE`). Linux only; elsewhere nothing happens.
pub(crate) fn bind_to_device(socket: &Socket, device: &str) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    socket.bind_device(Some(device.as_bytes()))?;
    #[cfg(not(target_os = "linux"))]
    let _ = (socket, device);
    Ok(())
}

/// Requests large buffers, within the limit of the system.
fn enlarge(socket: &Socket) {
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
}

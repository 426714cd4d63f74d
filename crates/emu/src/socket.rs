//! Socket with an emulated link in front of its sending side.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use anabranch_io::{Incoming, Outgoing, Socket};
use anabranch_netsim::{Datagram, Protocol};

use crate::control::LinkHandle;
use crate::packet::EmulatedPacket;

/// Batches are split before the link, so any number works; this is the kernel's limit.
const MAX_SEGMENTS: usize = 64;

/// A socket whose outgoing packets pass an emulated link. Incoming packets are unchanged: for that direction, shape
/// the peer's socket.
#[derive(Debug)]
pub struct ShapedSocket {
    real: Arc<dyn Socket>,
    link: LinkHandle,
}

impl ShapedSocket {
    /// Puts `link` in front of `real`.
    #[must_use]
    pub const fn new(real: Arc<dyn Socket>, link: LinkHandle) -> Self {
        Self { real, link }
    }

    /// Returns the link.
    #[must_use]
    pub const fn link(&self) -> &LinkHandle {
        &self.link
    }
}

impl Socket for ShapedSocket {
    fn local_addr(&self) -> SocketAddr {
        self.real.local_addr()
    }

    fn max_segments(&self) -> usize {
        MAX_SEGMENTS
    }

    /// Never fails: packets that do not fit into the link's queue are dropped there.
    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        self.link
            .offer(outgoing.datagrams().map(|payload| EmulatedPacket {
                datagram: Datagram {
                    path: outgoing.path,
                    protocol: Protocol::SCTP,
                    ecn: outgoing.ecn,
                    may_fragment: outgoing.may_fragment,
                    payload: payload.to_vec(),
                },
                exit: Arc::clone(&self.real),
            }));
        Ok(())
    }

    fn poll_writable(&self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_receive(&self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> Poll<io::Result<usize>> {
        self.real.poll_receive(cx, incoming)
    }
}

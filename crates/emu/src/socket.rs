//! What does an endpoint send through instead of its real socket? One that puts an emulated link in between.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use anabranch_io::{Incoming, Outgoing, Socket};
use anabranch_netsim::{Datagram, Protocol};

use crate::control::LinkHandle;
use crate::parcel::Parcel;

/// Batches are taken apart before the link sees them, so any length will do; this is what the kernel takes.
const MAX_SEGMENTS: usize = 64;

/// A socket whose outgoing packets pass an emulated link. What arrives is not touched: shape the other end's
/// socket for that direction.
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

    /// The link.
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

    /// Never refuses: what the link has no room for is lost there.
    fn try_send(&self, outgoing: &Outgoing<'_>) -> io::Result<()> {
        self.link.offer(outgoing.datagrams().map(|payload| Parcel {
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

//! Datagrams: batches of equal datagrams, to send and received.

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::ops::Range;

use anabranch_types::{Ecn, PathAddr};

/// Largest number of bytes of one [`Outgoing`]: what fits into one UDP datagram over IPv4, because the kernel
/// takes a batch as one oversized datagram.
pub const LARGEST_BATCH: usize = 65_507;

/// One datagram to send, or several at once to the same destination.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Source and destination. An unspecified local address leaves the choice to the system.
    pub path: PathAddr,
    /// The ECN bits of each datagram.
    pub ecn: Ecn,
    /// At most [`LARGEST_BATCH`] bytes.
    pub bytes: &'a [u8],
    /// Cut `bytes` into datagrams of this size, the last of which may be shorter; `None` for a single one.
    pub segment_size: Option<usize>,
    /// IP may fragment the datagrams; otherwise one that is too large for some link is lost there.
    pub may_fragment: bool,
}

impl<'a> Outgoing<'a> {
    /// The datagrams one by one.
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        segments(self.bytes, self.segment_size.unwrap_or(self.bytes.len()))
    }

    /// Number of datagrams.
    #[must_use]
    pub fn count(&self) -> usize {
        self.datagrams().count()
    }
}

fn segments(bytes: &[u8], size: usize) -> std::slice::Chunks<'_, u8> {
    bytes.chunks(size.max(1))
}

/// A reusable receive buffer: one datagram, or several that came together from one
/// sender.
#[derive(Clone)]
pub struct Incoming {
    buffer: Vec<u8>,
    filled: Range<usize>,
    stride: usize,
    path: PathAddr,
    ecn: Ecn,
}

impl Incoming {
    /// An empty buffer that takes the largest batch the kernel hands out: 64 KiB.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(1 << 16)
    }

    /// An empty buffer of `bytes` bytes; longer datagrams are truncated.
    #[must_use]
    pub fn with_capacity(bytes: usize) -> Self {
        let nowhere = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
        Self {
            buffer: vec![0; bytes],
            filled: 0..0,
            stride: 0,
            path: PathAddr {
                local: nowhere,
                remote: nowhere,
            },
            ecn: Ecn::NotCapable,
        }
    }

    /// From where (remote) and to which of our addresses (local).
    #[must_use]
    pub const fn path(&self) -> PathAddr {
        self.path
    }

    /// The ECN bits, the same for all datagrams inside.
    #[must_use]
    pub const fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// The datagrams one by one, in the order of arrival.
    pub fn datagrams(&self) -> impl Iterator<Item = &[u8]> {
        segments(&self.buffer[self.filled.clone()], self.stride)
    }

    /// As [`datagrams`](Self::datagrams), to be changed in place, for instance decrypted.
    pub fn datagrams_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.buffer[self.filled.clone()].chunks_mut(self.stride.max(1))
    }

    /// The bytes of all datagrams, one behind the other.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.filled.clone()]
    }

    /// The whole buffer, for the socket to write into before it calls [`filled`](Self::filled).
    pub fn buffer_mut(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    //= rfc6951 5.8-1
    /// Reports that `range` of the buffer holds datagrams of `stride` bytes, the last of which may be
    /// shorter, that came along `path`. A range beyond the buffer is truncated.
    pub fn filled(&mut self, range: Range<usize>, stride: usize, path: PathAddr, ecn: Ecn) {
        let end = range.end.min(self.buffer.len());
        self.filled = range.start.min(end)..end;
        self.stride = stride;
        self.path = path;
        self.ecn = ecn;
    }
}

impl Default for Incoming {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes in {} datagrams, {}",
            self.filled.len(),
            self.datagrams().count(),
            self.path
        )
    }
}

//! Socket queues: how do packets of one endpoint share several sockets? Each socket has its own queue, so that one that is
//! full or broken does not block the others.

use std::collections::VecDeque;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use anabranch_io::{ErrorClass, IcmpMessage, Incoming, LARGEST_BATCH, Outgoing, Socket, classify};
use anabranch_proto::Transmit;
use anabranch_types::PathAddr;

/// Bytes that wait for a full socket before further ones are dropped, as in the queue of an interface.
const WAITING_LIMIT: usize = 1 << 20;

/// Maximum number of ICMP messages read from a socket at once, so that forged ones cannot keep the driver busy.
const ICMP_MESSAGES: usize = 16;

/// The sockets of an endpoint.
#[derive(Debug)]
pub(crate) struct SocketQueues {
    queues: Vec<SocketQueue>,
    /// The socket that is received from first.
    first: usize,
    /// Paths whose packets turned out to be too large for the interface.
    refusing: Vec<PathAddr>,
    /// Whether a packet was sent since the last call of [`Self::take_progress`].
    has_sent: bool,
}

impl SocketQueues {
    pub(crate) fn new(sockets: Vec<Arc<dyn Socket>>) -> Self {
        Self {
            queues: sockets.into_iter().map(SocketQueue::new).collect(),
            first: 0,
            refusing: Vec::new(),
            has_sent: false,
        }
    }

    /// Keeps a queue for each of `sockets`, and no others.
    pub(crate) fn follow(&mut self, sockets: &[Arc<dyn Socket>]) {
        self.queues
            .retain(|queue| sockets.iter().any(|socket| Arc::ptr_eq(socket, &queue.socket)));
        for socket in sockets {
            if !self.queues.iter().any(|queue| Arc::ptr_eq(socket, &queue.socket)) {
                self.queues.push(SocketQueue::new(Arc::clone(socket)));
            }
        }
    }

    /// Lets each socket fill `incoming` once, beginning with another one each time, and passes what arrived to `take`.
    /// `false` if no socket had anything: then the task is woken when one has.
    pub(crate) fn receive(
        &mut self,
        cx: &mut Context<'_>,
        incoming: &mut [Incoming],
        mut take: impl FnMut(&mut [Incoming]),
    ) -> bool {
        let mut received = false;
        self.first = (self.first + 1) % self.queues.len().max(1);
        let (before, from) = self.queues.split_at_mut(self.first);
        for queue in from.iter_mut().chain(before) {
            let count = queue.receive(cx, incoming);
            if count > 0 {
                received = true;
                take(&mut incoming[..count]);
            }
        }
        received
    }

    /// Sends `bytes`, or queues or drops them.
    pub(crate) fn send(&mut self, transmit: &Transmit, bytes: &[u8]) {
        let local = transmit.path.local;
        let queue = self
            .queues
            .iter_mut()
            .filter(|queue| queue.serves(local))
            .max_by_key(|queue| queue.local == local);
        if let Some(queue) = queue {
            self.has_sent |= queue.send(transmit, bytes, &mut self.refusing);
        }
    }

    /// Paths whose packets were too large for their interfaces since the last call.
    pub(crate) fn take_refusing(&mut self) -> Vec<PathAddr> {
        mem::take(&mut self.refusing)
    }

    /// The ICMP messages that have arrived. If there are none, the task is woken when some arrive.
    pub(crate) fn take_icmp(&self, cx: &mut Context<'_>) -> Vec<IcmpMessage> {
        let mut messages = Vec::new();
        for queue in self.queues.iter().filter(|queue| !queue.broken) {
            for _ in 0..ICMP_MESSAGES {
                match queue.socket.poll_icmp(cx) {
                    Poll::Ready(message) => messages.push(message),
                    Poll::Pending => break,
                }
            }
        }
        messages
    }

    /// Sends what is queued as far as sockets take it now, and has the task woken when they take more.
    pub(crate) fn flush(&mut self, cx: &mut Context<'_>) {
        for queue in &mut self.queues {
            self.has_sent |= queue.flush(cx, &mut self.refusing);
        }
    }

    /// Whether any packet has left since the last call.
    pub(crate) const fn take_progress(&mut self) -> bool {
        mem::replace(&mut self.has_sent, false)
    }

    /// Whether no socket takes anything now. Without sockets packets are dropped, and nothing waits.
    pub(crate) fn are_full(&self) -> bool {
        !self.queues.is_empty() && self.queues.iter().all(SocketQueue::is_full)
    }

    /// Whether nothing is queued.
    pub(crate) fn are_empty(&self) -> bool {
        self.queues.iter().all(|queue| queue.waiting.is_empty())
    }

    /// Whether all sockets are broken. If there is none, one may be added.
    pub(crate) fn are_broken(&self) -> bool {
        !self.queues.is_empty() && self.queues.iter().all(|queue| queue.broken)
    }

    /// Drops the sockets, which closes those that are not shared.
    pub(crate) fn close(&mut self) {
        self.queues.clear();
    }

    /// The most segments of a batch that any socket takes; others split it.
    pub(crate) fn max_segments(&self) -> usize {
        self.queues
            .iter()
            .map(|queue| queue.socket.max_segments())
            .max()
            .unwrap_or(1)
    }
}

#[derive(Debug)]
struct SocketQueue {
    socket: Arc<dyn Socket>,
    local: SocketAddr,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    broken: bool,
}

/// A batch that the socket had no space for.
#[derive(Debug)]
struct Waiting {
    transmit: Transmit,
    bytes: Vec<u8>,
}

/// How much of a batch was sent.
enum Sent {
    Everything,
    /// The rest begins at this offset.
    UpTo(usize),
}

impl SocketQueue {
    fn new(socket: Arc<dyn Socket>) -> Self {
        let local = socket.local_addr();
        Self {
            socket,
            local,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            broken: false,
        }
    }

    /// Whether packets from `local` are sent on this socket.
    fn serves(&self, local: SocketAddr) -> bool {
        let same_kind = self.local.is_ipv4() == local.is_ipv4() && self.local.port() == local.port();
        self.local == local || same_kind && (self.local.ip().is_unspecified() || local.ip().is_unspecified())
    }

    fn is_full(&self) -> bool {
        self.broken || !self.waiting.is_empty()
    }

    fn receive(&mut self, cx: &mut Context<'_>, incoming: &mut [Incoming]) -> usize {
        while !self.broken {
            match self.socket.poll_receive(cx, incoming) {
                Poll::Ready(Ok(count)) => return count,
                Poll::Ready(Err(error)) => self.broken = classify(&error) == ErrorClass::Broken,
                Poll::Pending => break,
            }
        }
        0
    }

    /// Returns whether anything was sent.
    fn send(&mut self, transmit: &Transmit, bytes: &[u8], refusing: &mut Vec<PathAddr>) -> bool {
        let rest = match self.waiting.is_empty() {
            true => match self.try_send(transmit, bytes, refusing) {
                Sent::Everything => return true,
                Sent::UpTo(sent) => &bytes[sent..],
            },
            false => bytes,
        };
        if self.waiting_bytes + rest.len() <= WAITING_LIMIT {
            self.waiting_bytes += rest.len();
            self.waiting.push_back(Waiting {
                transmit: *transmit,
                bytes: rest.to_vec(),
            });
        }
        rest.len() < bytes.len()
    }

    /// Returns whether anything was sent.
    fn flush(&mut self, cx: &mut Context<'_>, refusing: &mut Vec<PathAddr>) -> bool {
        let mut has_sent = false;
        while let Some(mut next) = self.waiting.pop_front() {
            self.waiting_bytes -= next.bytes.len();
            let Sent::UpTo(sent) = self.try_send(&next.transmit, &next.bytes, refusing) else {
                has_sent = true;
                continue;
            };
            has_sent |= sent > 0;
            next.bytes.drain(..sent);
            self.waiting_bytes += next.bytes.len();
            self.waiting.push_front(next);
            match self.socket.poll_writable(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => self.broken = true,
                Poll::Pending => break,
            }
        }
        has_sent
    }

    fn try_send(&mut self, transmit: &Transmit, bytes: &[u8], refusing: &mut Vec<PathAddr>) -> Sent {
        let segment = transmit.segment_size.unwrap_or(bytes.len()).max(1);
        let most = self.socket.max_segments().min(LARGEST_BATCH / segment).max(1);
        let mut sent = 0;
        while sent < bytes.len() && !self.broken {
            let piece = &bytes[sent..bytes.len().min(sent + segment * most)];
            let segment_size = (piece.len() > segment).then_some(segment);
            let outgoing = Outgoing {
                path: transmit.path,
                ecn: transmit.ecn,
                bytes: piece,
                segment_size,
                may_fragment: transmit.may_fragment,
            };
            match self.socket.try_send(&outgoing).as_ref().map_err(classify) {
                Err(ErrorClass::WouldBlock) => return Sent::UpTo(sent),
                Err(ErrorClass::Broken) => self.broken = true,
                // Lost packets are retransmitted, on another path if this one does not recover.
                Ok(()) | Err(ErrorClass::Lost) => sent += piece.len(),
                Err(ErrorClass::TooLarge) => {
                    refusing.push(transmit.path);
                    sent += piece.len();
                }
            }
        }
        Sent::Everything
    }
}

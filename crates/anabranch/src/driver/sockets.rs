//! How do packets of one endpoint share several sockets? Each has a lane of its own, so that one that is full
//! or broken does not hold up the others.

use std::collections::VecDeque;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use anabranch_io::{ErrorClass, Incoming, LARGEST_BATCH, Outgoing, Socket, classify};
use anabranch_proto::Transmit;
use anabranch_types::PathAddr;

/// Bytes that wait for a full socket before further ones are lost, as in the queue of any interface.
const WAITING_LIMIT: usize = 1 << 20;

/// The sockets of an endpoint.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    /// Whose turn it is to be received from first.
    first: usize,
    /// Paths whose packets turned out to be too large for the interface.
    refusing: Vec<PathAddr>,
}

impl Lanes {
    pub(crate) fn new(sockets: Vec<Arc<dyn Socket>>) -> Self {
        Self {
            lanes: sockets.into_iter().map(Lane::new).collect(),
            first: 0,
            refusing: Vec::new(),
        }
    }

    /// Has a lane for each of `sockets` from now on, and no others.
    pub(crate) fn follow(&mut self, sockets: &[Arc<dyn Socket>]) {
        self.lanes
            .retain(|lane| sockets.iter().any(|socket| Arc::ptr_eq(socket, &lane.socket)));
        for socket in sockets {
            if !self.lanes.iter().any(|lane| Arc::ptr_eq(socket, &lane.socket)) {
                self.lanes.push(Lane::new(Arc::clone(socket)));
            }
        }
    }

    /// Lets each socket fill `incoming` once, beginning with another one each time, and hands `take` what came.
    /// `false` if no socket had anything: then the task is woken when one has.
    pub(crate) fn receive(
        &mut self,
        cx: &mut Context<'_>,
        incoming: &mut [Incoming],
        mut take: impl FnMut(&[Incoming]),
    ) -> bool {
        let mut received = false;
        self.first = (self.first + 1) % self.lanes.len().max(1);
        let (before, from) = self.lanes.split_at_mut(self.first);
        for lane in from.iter_mut().chain(before) {
            let count = lane.receive(cx, incoming);
            if count > 0 {
                received = true;
                take(&incoming[..count]);
            }
        }
        received
    }

    /// Sends `bytes`, or keeps them for later, or loses them.
    pub(crate) fn send(&mut self, transmit: &Transmit, bytes: &[u8]) {
        let local = transmit.path.local;
        let lane = self
            .lanes
            .iter_mut()
            .filter(|lane| lane.serves(local))
            .max_by_key(|lane| lane.local == local);
        if let Some(lane) = lane {
            lane.send(transmit, bytes, &mut self.refusing);
        }
    }

    /// Paths whose packets were too large for their interfaces since the last call.
    pub(crate) fn take_refusing(&mut self) -> Vec<PathAddr> {
        mem::take(&mut self.refusing)
    }

    /// Sends what waits as far as sockets have room now, and has the task woken when they have more.
    pub(crate) fn flush(&mut self, cx: &mut Context<'_>) {
        for lane in &mut self.lanes {
            lane.flush(cx, &mut self.refusing);
        }
    }

    /// Whether no socket takes anything now. Where there is none, packets are lost, and nobody waits.
    pub(crate) fn are_full(&self) -> bool {
        !self.lanes.is_empty() && self.lanes.iter().all(Lane::is_full)
    }

    /// Whether nothing waits to be sent.
    pub(crate) fn are_empty(&self) -> bool {
        self.lanes.iter().all(|lane| lane.waiting.is_empty())
    }

    /// Whether nothing will ever pass again. Where there is no socket, one may be added.
    pub(crate) fn are_broken(&self) -> bool {
        !self.lanes.is_empty() && self.lanes.iter().all(|lane| lane.broken)
    }

    /// Closes the sockets, unless somebody else has them too.
    pub(crate) fn close(&mut self) {
        self.lanes.clear();
    }

    /// The longest batch that any socket takes; others cut it up.
    pub(crate) fn max_segments(&self) -> usize {
        self.lanes
            .iter()
            .map(|lane| lane.socket.max_segments())
            .max()
            .unwrap_or(1)
    }
}

#[derive(Debug)]
struct Lane {
    socket: Arc<dyn Socket>,
    local: SocketAddr,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    broken: bool,
}

/// A batch that the socket had no room for.
#[derive(Debug)]
struct Waiting {
    transmit: Transmit,
    bytes: Vec<u8>,
}

/// How far a batch got.
enum Sent {
    Everything,
    /// The rest begins here.
    UpTo(usize),
}

impl Lane {
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

    /// Whether packets from `local` leave here.
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

    fn send(&mut self, transmit: &Transmit, bytes: &[u8], refusing: &mut Vec<PathAddr>) {
        let rest = match self.waiting.is_empty() {
            true => match self.try_send(transmit, bytes, refusing) {
                Sent::Everything => return,
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
    }

    fn flush(&mut self, cx: &mut Context<'_>, refusing: &mut Vec<PathAddr>) {
        while let Some(mut next) = self.waiting.pop_front() {
            self.waiting_bytes -= next.bytes.len();
            let Sent::UpTo(sent) = self.try_send(&next.transmit, &next.bytes, refusing) else {
                continue;
            };
            next.bytes.drain(..sent);
            self.waiting_bytes += next.bytes.len();
            self.waiting.push_front(next);
            match self.socket.poll_writable(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => self.broken = true,
                Poll::Pending => break,
            }
        }
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
                // What is lost is sent again, on another path if this one does not recover.
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

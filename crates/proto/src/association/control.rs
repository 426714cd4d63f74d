//! Queue of control chunks. Which are to be sent? There is one slot for each kind, and chunks are written from the current state.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;

use anabranch_types::PathId;

use crate::on_demand::{Idle, OnDemand};
use crate::path::PathIds;

/// Control chunks to send, apart from SACKs. Each slot holds one entry or a few, so that a peer cannot make the queue grow.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Whether any slot except `final_chunk` and `handshake` is filled.
    any: bool,
    /// Path of the INIT or COOKIE ECHO; the state determines which.
    handshake: Option<PathId>,
    cookie_ack: Option<PathId>,
    replies: OnDemand<Replies>,
    shutdown: bool,
    shutdown_ack: bool,
    /// Path of the next SHUTDOWN or SHUTDOWN ACK; any path if `None`.
    end_on: Option<PathId>,
    /// Path of the last SHUTDOWN or SHUTDOWN ACK.
    end_left_on: Option<PathId>,
}

/// Chunks whose content is not in the state of the association.
#[derive(Debug, Default)]
struct Replies {
    /// Values of received HEARTBEAT chunks, which are returned unchanged, with their paths.
    heartbeat_acks: VecDeque<(PathId, Box<[u8]>)>,
    errors: VecDeque<Vec<u8>>,
    final_chunk: Option<FinalChunk>,
}

impl Idle for Replies {
    const IDLE: &'static Self = &Self {
        heartbeat_acks: VecDeque::new(),
        errors: VecDeque::new(),
        final_chunk: None,
    };

    fn is_idle(&self) -> bool {
        self.heartbeat_acks.is_empty() && self.errors.is_empty() && self.final_chunk.is_none()
    }
}

/// Chunks of the shutdown that are due.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    pub(crate) shutdown: bool,
    pub(crate) shutdown_ack: bool,
}

/// The last chunk, sent after the association has ended.
#[derive(Debug)]
pub(crate) enum FinalChunk {
    /// ABORT with these error causes.
    Abort(Vec<u8>),
    /// ABORT with the T bit and the verification tag of the received packet, because the peer's tag is not known.
    AbortWithReflectedTag(Vec<u8>),
    /// SHUTDOWN COMPLETE.
    ShutdownComplete,
}

impl Control {
    /// Limit of queued HEARTBEAT ACKs and ERRORs between two packets that we send. Further ones are dropped, as the network might
    /// drop them, so that a flood of HEARTBEATs gets few replies.
    const LIMIT: usize = 4;

    pub(crate) fn send_handshake(&mut self, path: PathId) {
        self.handshake = Some(path);
    }

    pub(crate) const fn handshake(&self) -> Option<PathId> {
        self.handshake
    }

    pub(crate) const fn handshake_sent(&mut self) {
        self.handshake = None;
    }

    pub(crate) fn send_cookie_ack(&mut self, path: PathId) {
        self.cookie_ack = Some(path);
        self.any = true;
    }

    pub(crate) fn answer_heartbeat(&mut self, path: PathId, value: &[u8]) {
        if self.replies.heartbeat_acks.len() < Self::LIMIT {
            let reply = (path, value.into());
            self.replies.make_mut().heartbeat_acks.push_back(reply);
            self.any = true;
        }
    }

    /// Queues an ERROR chunk with these causes.
    pub(crate) fn report(&mut self, causes: Vec<u8>) {
        if self.replies.errors.len() < Self::LIMIT {
            self.replies.make_mut().errors.push_back(causes);
            self.any = true;
        }
    }

    pub(crate) const fn send_shutdown(&mut self) {
        self.shutdown = true;
        self.any = true;
    }

    pub(crate) const fn send_shutdown_ack(&mut self) {
        self.shutdown_ack = true;
        self.any = true;
    }

    /// Selects `path` for the next SHUTDOWN or SHUTDOWN ACK.
    pub(crate) const fn end_on(&mut self, path: PathId) {
        self.end_on = Some(path);
    }

    /// Path of the last SHUTDOWN or SHUTDOWN ACK.
    pub(crate) const fn end_left_on(&self) -> Option<PathId> {
        self.end_left_on
    }

    pub(crate) fn abort(&mut self, causes: Vec<u8>) {
        self.replies.make_mut().final_chunk = Some(FinalChunk::Abort(causes));
    }

    pub(crate) fn abort_with_reflected_tag(&mut self, causes: Vec<u8>) {
        self.replies.make_mut().final_chunk = Some(FinalChunk::AbortWithReflectedTag(causes));
    }

    pub(crate) fn send_shutdown_complete(&mut self) {
        self.replies.make_mut().final_chunk = Some(FinalChunk::ShutdownComplete);
    }

    #[inline]
    pub(crate) fn has_final_chunk(&self) -> bool {
        let replies = self.replies.active();
        replies.is_some_and(|replies| replies.final_chunk.is_some())
    }

    pub(crate) fn take_final_chunk(&mut self) -> Option<FinalChunk> {
        self.replies.active_mut()?.final_chunk.take()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Drops chunks that are bound to a path, because all paths have been replaced. The network might have dropped them as well.
    pub(crate) fn forget_paths(&mut self) {
        self.handshake = None;
        self.cookie_ack = None;
        if let Some(replies) = self.replies.active_mut() {
            replies.heartbeat_acks.clear();
        }
        self.end_on = None;
        self.end_left_on = None;
        self.settle();
    }

    /// Drops chunks that are bound to the deleted path `gone`.
    pub(crate) fn forget_path(&mut self, gone: PathId) {
        self.handshake.take_if(|path| *path == gone);
        self.cookie_ack.take_if(|path| *path == gone);
        if let Some(replies) = self.replies.active_mut() {
            replies.heartbeat_acks.retain(|(path, _)| *path != gone);
        }
        self.end_on.take_if(|path| *path == gone);
        self.end_left_on.take_if(|path| *path == gone);
        self.settle();
    }

    /// Drops chunks that are bound to the deleted paths `gone`.
    pub(crate) fn forget_each(&mut self, gone: PathIds) {
        gone.for_each(|path| self.forget_path(path));
    }

    /// Whether any slot except that of the handshake is filled.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.any
    }

    /// The path of the next filled slot. Chunks that any confirmed path may carry get `any`, if there is such a path.
    pub(crate) fn next_path(&self, any: Option<PathId>) -> Option<PathId> {
        if !self.any {
            return None;
        }
        let ends = self.shutdown || self.shutdown_ack;
        let free = !self.replies.errors.is_empty() || ends;
        self.cookie_ack
            .or_else(|| self.replies.heartbeat_acks.front().map(|(path, _)| *path))
            .or_else(|| any.and(self.end_on).filter(|_| ends))
            .or_else(|| any.filter(|_| free))
    }

    pub(crate) const fn owes_cookie_ack(&self) -> bool {
        self.cookie_ack.is_some()
    }

    pub(crate) fn take_cookie_ack(&mut self, path: PathId) -> bool {
        self.cookie_ack.take_if(|wanted| *wanted == path).is_some()
    }

    pub(crate) fn take_heartbeat_ack(&mut self, path: PathId) -> Option<Box<[u8]>> {
        let waiting = &mut self.replies.active_mut()?.heartbeat_acks;
        let (wanted, _) = waiting.front()?;
        let taken = (*wanted == path).then(|| waiting.pop_front()).flatten();
        taken.map(|(_, info)| info)
    }

    pub(crate) fn take_error(&mut self) -> Option<Vec<u8>> {
        self.replies.active_mut()?.errors.pop_front()
    }

    /// Takes an ERROR chunk whose causes fit, with their header, into `room` bytes.
    pub(crate) fn take_error_within(&mut self, room: usize) -> Option<Vec<u8>> {
        let first = self.replies.errors.front();
        let fits = first.is_some_and(|causes| (4 + causes.len()).next_multiple_of(4) <= room);
        fits.then(|| self.take_error()).flatten()
    }

    /// Takes SHUTDOWN and SHUTDOWN ACK if they are to be sent on `path`.
    pub(crate) fn take_end(&mut self, path: PathId) -> End {
        if self.end_on.is_some_and(|wanted| wanted != path) {
            return End::default();
        }
        let end = End {
            shutdown: mem::take(&mut self.shutdown),
            shutdown_ack: mem::take(&mut self.shutdown_ack),
        };
        if end.shutdown || end.shutdown_ack {
            self.end_on = None;
            self.end_left_on = Some(path);
        }
        end
    }

    /// Updates whether any slot is filled, and releases the memory of empty ones. Called after slots were taken.
    pub(crate) fn settle(&mut self) {
        self.replies.release_if_idle();
        self.any = self.cookie_ack.is_some()
            || self.shutdown
            || self.shutdown_ack
            || !self.replies.heartbeat_acks.is_empty()
            || !self.replies.errors.is_empty();
    }
}

//! Control chunks. Which wait to be sent? Slots, not bytes: a chunk is written from the state of the moment.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;

use anabranch_types::PathId;

/// What waits besides SACKs and data. Each slot holds one thing at most, or few: a peer cannot make it grow.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Whether any slot but `last_words` and `handshake` is filled.
    any: bool,
    /// INIT or COOKIE ECHO, by the state, on this path.
    handshake: Option<PathId>,
    cookie_ack: Option<PathId>,
    /// The values of HEARTBEAT chunks, as they came.
    heartbeat_acks: VecDeque<(PathId, Box<[u8]>)>,
    errors: VecDeque<Vec<u8>>,
    shutdown: bool,
    shutdown_ack: bool,
    /// On which path the next of these two is to leave; on any unless set.
    end_on: Option<PathId>,
    /// On which path one of them left last.
    end_left_on: Option<PathId>,
    last_words: Option<LastWords>,
}

/// Chunks that begin the end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct End {
    pub(crate) shutdown: bool,
    pub(crate) shutdown_ack: bool,
}

/// What is said after the end.
#[derive(Debug)]
pub(crate) enum LastWords {
    /// ABORT with these causes.
    Abort(Vec<u8>),
    /// SHUTDOWN COMPLETE.
    ShutdownComplete,
}

impl Control {
    /// Heartbeats and errors are answered up to this number between two packets of ours; more are dropped, as
    /// the network might have done.
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
        if self.heartbeat_acks.len() < Self::LIMIT {
            self.heartbeat_acks.push_back((path, value.into()));
            self.any = true;
        }
    }

    /// An ERROR chunk with these causes.
    pub(crate) fn report(&mut self, causes: Vec<u8>) {
        if self.errors.len() < Self::LIMIT {
            self.errors.push_back(causes);
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

    /// The next SHUTDOWN or SHUTDOWN ACK leaves on `path`.
    pub(crate) const fn end_on(&mut self, path: PathId) {
        self.end_on = Some(path);
    }

    /// The path on which a SHUTDOWN or SHUTDOWN ACK left last.
    pub(crate) const fn end_left_on(&self) -> Option<PathId> {
        self.end_left_on
    }

    pub(crate) fn abort(&mut self, causes: Vec<u8>) {
        self.last_words = Some(LastWords::Abort(causes));
    }

    pub(crate) fn send_shutdown_complete(&mut self) {
        self.last_words = Some(LastWords::ShutdownComplete);
    }

    pub(crate) const fn has_last_words(&self) -> bool {
        self.last_words.is_some()
    }

    pub(crate) const fn take_last_words(&mut self) -> Option<LastWords> {
        self.last_words.take()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The paths are other ones from now on. What was bound to one of the old ones is dropped, as the network might
    /// have done.
    pub(crate) fn forget_paths(&mut self) {
        self.handshake = None;
        self.cookie_ack = None;
        self.heartbeat_acks.clear();
        self.end_on = None;
        self.end_left_on = None;
        self.settle();
    }

    /// One path is no more.
    pub(crate) fn forget_path(&mut self, gone: PathId) {
        self.handshake.take_if(|path| *path == gone);
        self.cookie_ack.take_if(|path| *path == gone);
        self.heartbeat_acks.retain(|(path, _)| *path != gone);
        self.end_on.take_if(|path| *path == gone);
        self.end_left_on.take_if(|path| *path == gone);
        self.settle();
    }

    /// Whether a slot but that of the handshake is filled.
    pub(crate) const fn is_waiting(&self) -> bool {
        self.any
    }

    /// The path that the next filled slot is bound to; `any` for those that any confirmed path may carry, if there is
    /// one.
    pub(crate) fn next_path(&self, any: Option<PathId>) -> Option<PathId> {
        if !self.any {
            return None;
        }
        let ends = self.shutdown || self.shutdown_ack;
        let free = !self.errors.is_empty() || ends;
        self.cookie_ack
            .or_else(|| self.heartbeat_acks.front().map(|(path, _)| *path))
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
        let front = self.heartbeat_acks.front()?;
        if front.0 != path {
            return None;
        }
        self.heartbeat_acks.pop_front().map(|(_, value)| value)
    }

    pub(crate) fn take_error(&mut self) -> Option<Vec<u8>> {
        self.errors.pop_front()
    }

    /// What of SHUTDOWN and SHUTDOWN ACK leaves on `path`.
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

    /// To be called after slots were taken.
    pub(crate) fn settle(&mut self) {
        self.any = self.cookie_ack.is_some()
            || self.shutdown
            || self.shutdown_ack
            || !self.heartbeat_acks.is_empty()
            || !self.errors.is_empty();
    }
}

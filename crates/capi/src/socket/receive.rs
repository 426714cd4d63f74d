//! Receiving: which association has the next message, and what does the program learn at the end?

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use anabranch::{Association, Bytes, CloseReason, Extent, ReceivedMessage, TryRecvError};

use super::member::Inbox;
use super::{Member, Phase, Socket, Style};
use crate::errno::Errno;
use crate::hub::Hub;
use crate::layout::{self, AssocState, Info, Next, kind};
use crate::lock;
use crate::process::Process;

/// `MSG_NOTIFICATION`.
const NOTIFICATION: i32 = 0x8000;

/// What a program wants to be told beside a message, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Told {
    pub(crate) rcvinfo: bool,
    pub(crate) nxtinfo: bool,
    pub(crate) sndrcvinfo: bool,
    /// IPv4 addresses as addresses of IPv6.
    pub(crate) maps_v4: bool,
}

impl Told {
    pub(crate) fn bits(self) -> u8 {
        let all = [self.rcvinfo, self.nxtinfo, self.sndrcvinfo, self.maps_v4];
        all.iter().fold(0, |bits, bit| bits << 1 | u8::from(*bit))
    }

    /// What [`bits`](Self::bits) has written.
    pub(crate) const fn of_bits(bits: u8) -> Self {
        Self {
            rcvinfo: bits & 8 != 0,
            nxtinfo: bits & 4 != 0,
            sndrcvinfo: bits & 2 != 0,
            maps_v4: bits & 1 != 0,
        }
    }
}

/// A received message, part of one, notification, or the end of the association (no bytes and no flags).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    /// `MSG_EOR`, `MSG_NOTIFICATION`.
    pub(crate) flags: i32,
    /// Of a message.
    pub(crate) info: Option<Info>,
    /// What follows, if the program wants to know and it is there.
    pub(crate) next: Option<Next>,
    /// The peer; `None` at the end.
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) told: Told,
}

/// What waits to be received or accepted.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// Whether the mirror is readable.
    pub(super) is_marked: bool,
    /// Notifications, which come before the next message.
    notices: VecDeque<Notice>,
    /// Memory of the notifications.
    held: usize,
    /// Associations with messages or with an end that the program does not know of, in the order in which they are served.
    ready: VecDeque<Arc<Member>>,
    /// The association of a message that is being received in parts and that no other may interrupt (RFC 6458 §8.1.20).
    exclusive: Option<i32>,
    /// Associations to accept.
    pub(super) waiting: VecDeque<(Association, Arc<Hub>)>,
    pub(super) backlog: usize,
}

/// A notification, or the rest of one.
#[derive(Debug)]
pub(super) struct Notice {
    member: i32,
    peer: SocketAddr,
    bytes: Vec<u8>,
}

impl Notice {
    const fn size(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity()
    }
}

impl Reader {
    pub(super) fn is_readable(&self) -> bool {
        !self.notices.is_empty()
            || !self.waiting.is_empty()
            || match self.exclusive {
                None => !self.ready.is_empty(),
                Some(id) => self.ready.iter().any(|member| member.id == id),
            }
    }

    /// Queues the association if there is something to receive.
    pub(super) fn enqueue(&mut self, member: &Arc<Member>) {
        let mut inbox = lock(&member.inbox);
        let is_ready = || inbox.pending.is_some() || inbox.has_ended || member.association.is_readable();
        if member.is_established() && !inbox.is_queued && is_ready() {
            inbox.is_queued = true;
            drop(inbox);
            self.ready.push_back(Arc::clone(member));
        }
    }

    fn dequeue(&mut self, member: &Member, inbox: &mut Inbox) {
        inbox.is_queued = false;
        self.ready.retain(|ready| ready.id != member.id);
    }

    pub(super) fn push_notice(&mut self, member: &Member, bytes: Vec<u8>) {
        let notice = Notice {
            member: member.id,
            peer: member.peer(),
            bytes,
        };
        self.held += notice.size();
        self.notices.push_back(notice);
    }

    /// Whether notifications take so much memory already, because the program does not read.
    pub(super) const fn is_full(&self, limit: usize) -> bool {
        self.held >= limit
    }

    /// Forgets the association; returns its notifications.
    pub(super) fn release(&mut self, member: &Member) -> Vec<Notice> {
        self.dequeue(member, &mut lock(&member.inbox));
        if self.exclusive == Some(member.id) {
            self.exclusive = None;
        }
        let notices = std::mem::take(&mut self.notices);
        let is_of = |notice: &Notice| notice.member == member.id;
        let (released, kept) = notices.into_iter().partition(is_of);
        self.notices = kept;
        self.held = self.notices.iter().map(Notice::size).sum();
        released.into()
    }

    /// Takes over what [`release`](Self::release) returned.
    pub(super) fn adopt_notices(&mut self, member: &Arc<Member>, notices: Vec<Notice>) {
        self.held += notices.iter().map(Notice::size).sum::<usize>();
        self.notices.extend(notices);
        self.enqueue(member);
    }

    /// The association that is served next.
    fn front(&self) -> Option<Arc<Member>> {
        match self.exclusive {
            None => self.ready.front().cloned(),
            Some(id) => self.ready.iter().find(|member| member.id == id).cloned(),
        }
    }

    fn take_notice(&mut self, room: usize, peeks: bool) -> Option<Received> {
        let notice = self.notices.front_mut()?;
        let count = room.min(notice.bytes.len());
        let is_all = count == notice.bytes.len();
        let received = Received {
            bytes: notice.bytes[..count].to_vec().into(),
            flags: NOTIFICATION | if is_all { libc::MSG_EOR } else { 0 },
            peer: Some(notice.peer),
            ..Received::default()
        };
        if is_all && !peeks {
            self.held -= notice.size();
            self.notices.pop_front();
        } else if !peeks {
            notice.bytes.drain(..count);
        }
        Some(received)
    }
}

impl Socket {
    /// Receives up to `room` bytes; with `peeks`, without taking them.
    ///
    /// # Errors
    ///
    /// `EAGAIN` if there is nothing yet, and that of the socket.
    pub(crate) fn receive(&self, room: usize, peeks: bool) -> Result<Received, Errno> {
        if let Some(error) = self.error(peeks) {
            return Err(error);
        }
        match *lock(&self.phase) {
            // Another thread has closed the last descriptor while this one waited.
            Phase::Closed => return Err(Errno(libc::EBADF)),
            Phase::Connected => {}
            _ if self.style == Style::OneToOne => return Err(Errno(libc::ENOTCONN)),
            _ => {}
        }
        let mut reader = lock(&self.reader);
        let received = self.try_receive(&mut reader, room, peeks);
        self.settle_reader(&mut reader);
        drop(reader);
        let mut received = received?.ok_or(Errno(libc::EAGAIN))?;
        received.told.maps_v4 = self.maps_v4();
        Ok(received)
    }

    fn try_receive(&self, reader: &mut Reader, room: usize, peeks: bool) -> Result<Option<Received>, Errno> {
        loop {
            if let Some(notice) = reader.take_notice(room, peeks) {
                return Ok(Some(notice));
            }
            let Some(member) = reader.front() else {
                return Ok(None);
            };
            let mut inbox = lock(&member.inbox);
            self.fill(reader, &member, &mut inbox);
            if let Some(message) = &mut inbox.pending {
                let received = take(message, &member, room, peeks);
                if !peeks {
                    self.advance(reader, &member, &mut inbox, received.flags & libc::MSG_EOR != 0);
                    drop(inbox);
                    let next = if received.told.nxtinfo {
                        self.look_ahead(reader)
                    } else {
                        None
                    };
                    return Ok(Some(Received { next, ..received }));
                }
                return Ok(Some(received));
            }
            if inbox.has_ended && self.style == Style::OneToOne && reader.notices.is_empty() {
                let error = if peeks { inbox.error } else { inbox.error.take() };
                return error.map_or_else(|| Ok(Some(Received::default())), Err);
            }
        }
    }

    /// Takes the next message of an association, or part of one, into its inbox. If there is none, it waits no longer to be served.
    fn fill(&self, reader: &mut Reader, member: &Arc<Member>, inbox: &mut Inbox) {
        while inbox.pending.is_none() && !inbox.has_ended {
            match member.association.try_recv_part() {
                Ok(Some(message)) if message.extent == Extent::Aborted => {
                    reader.exclusive = None;
                    if lock(&member.settings).subscribes(kind::PARTIAL_DELIVERY) {
                        let notice = layout::partial_delivery(member.id, message.stream.0);
                        reader.push_notice(member, notice);
                        return;
                    }
                }
                Ok(Some(message)) => inbox.pending = Some(message),
                Ok(None) => return self.end(reader, member, inbox, None),
                Err(TryRecvError::Closed(reason)) => return self.end(reader, member, inbox, Some(&reason)),
                Err(_) => {
                    reader.dequeue(member, inbox);
                    return;
                }
            }
        }
    }

    /// What was taken is gone: serves another association, unless the message has more parts and excludes others.
    fn advance(&self, reader: &mut Reader, member: &Arc<Member>, inbox: &mut Inbox, is_end: bool) {
        let is_whole = inbox
            .pending
            .as_ref()
            .is_some_and(|message| message.payload.is_empty());
        if is_whole {
            inbox.pending = None;
        }
        let excludes = !is_end && lock(&self.settings).interleave == 0;
        reader.exclusive = excludes.then_some(member.id);
        if inbox.pending.is_none() && !member.association.is_readable() {
            reader.dequeue(member, inbox);
        } else if is_end && reader.ready.len() > 1 {
            reader.dequeue(member, inbox);
            inbox.is_queued = true;
            reader.ready.push_back(Arc::clone(member));
        }
    }

    /// What the next call would receive.
    fn look_ahead(&self, reader: &mut Reader) -> Option<Next> {
        if reader.notices.is_empty()
            && let Some(member) = reader.front()
        {
            let mut inbox = lock(&member.inbox);
            self.fill(reader, &member, &mut inbox);
            if let Some(message) = &inbox.pending {
                return Some(Next {
                    info: Info::of(message, member.id, 0),
                    is_notice: false,
                    length: u32::try_from(message.payload.len()).unwrap_or(u32::MAX),
                });
            }
        }
        reader.notices.front().map(|notice| Next {
            info: Info {
                assoc: notice.member,
                ..Info::default()
            },
            is_notice: true,
            length: u32::try_from(notice.bytes.len()).unwrap_or(u32::MAX),
        })
    }

    /// An association has ended: tells the program once by notifications, or leaves an error in the one-to-one style. In the one-to-many
    /// style, the socket forgets it.
    fn end(
        &self,
        reader: &mut Reader,
        member: &Arc<Member>,
        inbox: &mut Inbox,
        reason: Option<&CloseReason>,
    ) {
        inbox.has_ended = true;
        let settings = lock(&member.settings).clone();
        if reason.is_none() && settings.subscribes(kind::SHUTDOWN_EVENT) {
            reader.push_notice(member, layout::shutdown_event(member.id));
        }
        if settings.subscribes(kind::ASSOC_CHANGE) {
            let (state, streams) = (AssocState::of_end(reason), member.association.streams());
            reader.push_notice(member, layout::assoc_change(member.id, state, streams));
        }
        if reader.exclusive == Some(member.id) {
            reader.exclusive = None;
        }
        if self.style == Style::OneToMany {
            reader.dequeue(member, inbox);
            if self.forget(member.id).is_some() {
                // The peer has shut it down, perhaps not completely.
                Process::current().shut_down(member.association.clone(), Arc::clone(&member.hub));
            }
            self.unblock(member);
        } else if reader.notices.is_empty() {
            inbox.error = reason.and_then(Errno::of_end);
        }
    }
}

/// Takes up to `room` bytes of a message; with `peeks`, they stay.
fn take(message: &mut ReceivedMessage, member: &Member, room: usize, peeks: bool) -> Received {
    let count = room.min(message.payload.len());
    let is_end = count == message.payload.len() && !message.extent.has_more();
    let settings = lock(&member.settings);
    let context = settings.context;
    let told = Told {
        rcvinfo: settings.receives_rcvinfo,
        nxtinfo: settings.receives_nxtinfo,
        sndrcvinfo: settings.receives_sndrcvinfo(),
        maps_v4: false,
    };
    drop(settings);
    Received {
        info: Some(Info::of(message, member.id, context)),
        bytes: if peeks {
            message.payload.slice(..count)
        } else {
            message.payload.split_to(count)
        },
        flags: if is_end { libc::MSG_EOR } else { 0 },
        next: None,
        peer: Some(member.peer()),
        told,
    }
}

//! Sending: to which association, and what if its buffer is full?

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anabranch::{Message, MessageId, TrySendError};

use super::options::Init;
use super::{Member, Socket, Style};
use crate::dialect::Dialect;
use crate::errno::Errno;
use crate::layout::{Info, SinfoFlags};
use crate::lock;
use crate::mirror::Mirror;
use crate::process::Process;

/// What a program says beside the bytes that it sends.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Request {
    /// Where to, in the one-to-many style: the peer, and further addresses of it if the association is new.
    pub(crate) to: Vec<SocketAddr>,
    /// `SCTP_DSTADDRV4` and `SCTP_DSTADDRV6`: further addresses, with the port of the first.
    pub(crate) more: Vec<IpAddr>,
    /// Replaces the defaults of the association.
    pub(crate) info: Option<Info>,
    /// `SCTP_PRINFO`: policy and value.
    pub(crate) reliability: Option<(u16, u32)>,
    /// `SCTP_AUTHINFO`: the key by which the message is authenticated.
    pub(crate) key: Option<u16>,
    /// `SCTP_INIT`, if the association is new.
    pub(crate) init: Option<Init>,
}

impl Request {
    /// Where to: all addresses that the program names. Without the first, the further ones have no port.
    pub(crate) fn remotes(&self) -> Vec<SocketAddr> {
        let Some(first) = self.to.first() else {
            return Vec::new();
        };
        let more = self.more.iter().map(|ip| SocketAddr::new(*ip, first.port()));
        self.to.iter().copied().chain(more).collect()
    }
}

/// Associations that have taken a message for all.
pub(crate) type Served = BTreeSet<i32>;

/// A gate that a call has passed. When the call is over, the gate lets further ones pass.
#[derive(Debug)]
pub(super) struct Passed(Option<Arc<Mirror>>);

impl Passed {
    /// The call that has passed blocks the association again: nobody else can pass.
    fn is_blocked_again(&mut self) {
        self.0 = None;
    }
}

impl Drop for Passed {
    fn drop(&mut self) {
        if let Some(gate) = &self.0 {
            gate.drain();
        }
    }
}

/// Which associations take nothing more for now.
#[derive(Debug, Default)]
pub(super) struct Writer {
    blocked: BTreeSet<i32>,
}

impl Socket {
    /// Length of the longest message: it has to fit into the send buffer.
    pub(crate) fn longest(&self) -> usize {
        lock(&self.settings).send_buffer as usize
    }

    /// Sends one message, or ends the association as the flags say. Returns the number of bytes.
    pub(crate) fn send(
        self: &Arc<Self>,
        bytes: Vec<u8>,
        request: &Request,
        is_patient: bool,
    ) -> Result<usize, Errno> {
        self.send_rest(bytes, request, is_patient, &mut Served::default())
    }

    /// As [`send`](Self::send), without waiting, for a call that is repeated until it succeeds: a message for all is sent to each
    /// association once.
    pub(crate) fn try_send(
        self: &Arc<Self>,
        bytes: Vec<u8>,
        request: &Request,
        served: &mut Served,
    ) -> Result<usize, Errno> {
        self.send_rest(bytes, request, false, served)
    }

    fn send_rest(
        self: &Arc<Self>,
        bytes: Vec<u8>,
        request: &Request,
        is_patient: bool,
        served: &mut Served,
    ) -> Result<usize, Errno> {
        if let Some(error) = self.take_error() {
            return Err(error);
        }
        let flags = request.info.map_or(0, |info| info.flags);
        if flags & !SinfoFlags::KNOWN != 0 {
            return Err(Errno(libc::EINVAL));
        }
        if self.is_for_all(request) {
            return self.send_to_all(&bytes, request, is_patient, served);
        }
        let member = self.destination(request)?;
        self.send_to(&member, bytes, request, is_patient)
    }

    fn is_for_all(&self, request: &Request) -> bool {
        let is_flagged = |info: Info| info.has(SinfoFlags::SEND_ALL);
        self.style == Style::OneToMany && request.info.is_some_and(is_flagged)
    }

    /// The associations that have not taken a message for all. As on Linux, those are left out that are being set up or shut down.
    fn unserved(&self, served: &Served) -> Vec<Arc<Member>> {
        let takes = |member: &Arc<Member>| member.is_established() && !member.is_shut.load(Ordering::Acquire);
        let mut members = self.all_members();
        members.retain(|member| takes(member) && !served.contains(&member.id));
        members
    }

    fn send_to_all(
        &self,
        bytes: &[u8],
        request: &Request,
        is_patient: bool,
        served: &mut Served,
    ) -> Result<usize, Errno> {
        for member in self.unserved(served) {
            match self.send_to(&member, bytes.to_vec(), request, is_patient) {
                // It has ended, or the peer has begun to shut it down.
                Ok(_) | Err(Errno(libc::EPIPE)) => served.insert(member.id),
                Err(error) => return Err(error),
            };
        }
        Ok(bytes.len())
    }

    /// What is writable when the association takes messages again whose buffer was full for this one, in the one-to-many style. `None` if
    /// it does already.
    pub(crate) fn gate(&self, request: &Request, served: &Served) -> Option<Arc<Mirror>> {
        let waiting = match request.to.first() {
            _ if self.is_for_all(request) => self.unserved(served),
            Some(peer) => self.member_at(*peer).into_iter().collect(),
            None => {
                let named = request.info.map_or(0, |info| info.assoc);
                self.member(named).into_iter().collect()
            }
        };
        waiting.iter().find_map(|member| member.gate())
    }

    /// The association to which the request belongs; in the one-to-many style it is set up if there is none (RFC 6458 §3.1.4).
    fn destination(self: &Arc<Self>, request: &Request) -> Result<Arc<Member>, Errno> {
        if self.style == Style::OneToOne {
            return self
                .only_member()
                .ok_or_else(|| Dialect::current().sends_to_none());
        }
        let id = request.info.map_or(0, |info| info.assoc);
        let remotes = request.remotes();
        if remotes.is_empty() {
            return self.member(id).map_err(|_| Dialect::current().sends_to_none());
        }
        let ends = SinfoFlags::EOF | SinfoFlags::ABORT;
        let may_begin = request.info.is_none_or(|info| info.flags & ends == 0);
        self.member_or_new(&remotes, may_begin, request.init)
    }

    fn send_to(
        &self,
        member: &Arc<Member>,
        bytes: Vec<u8>,
        request: &Request,
        is_patient: bool,
    ) -> Result<usize, Errno> {
        let info = self.complete(member, request)?;
        let length = bytes.len();
        if info.has(SinfoFlags::ABORT) {
            member.abort(&bytes);
            return Ok(length);
        }
        if length > 0 {
            if info.has(SinfoFlags::EOF) {
                Dialect::current().sends_with_eof()?;
            }
            let mut message = info.message(bytes);
            message.authentication_key = named_key(member, request);
            if lock(&member.settings).disable_fragments && length > member.largest_unfragmented() {
                return Err(Errno(libc::EMSGSIZE));
            }
            let queued = self.queue(member, &message, &info, is_patient);
            queued.map_err(|error| self.of_failed_setup(member, error))?;
        } else if !info.has(SinfoFlags::EOF) {
            return Err(Errno(libc::EINVAL));
        }
        if info.has(SinfoFlags::EOF) {
            member.shut_down_sending()?;
        }
        Ok(length)
    }

    /// Why a message was not queued. In the one-to-many style it may have begun the association that it finds ended: that was refused, and no
    /// pipe is broken.
    fn of_failed_setup(&self, member: &Member, error: Errno) -> Errno {
        if self.style == Style::OneToMany && error == Errno(libc::EPIPE) && !member.is_established() {
            Errno(libc::ECONNREFUSED)
        } else {
            error
        }
    }

    /// The request, completed by the defaults of the association.
    fn complete(&self, member: &Member, request: &Request) -> Result<Info, Errno> {
        let settings = lock(&member.settings);
        let mut info = match request.info {
            Some(info) => info,
            None => settings.send,
        };
        let (policy, value) = settings.reliability;
        // `sinfo_timetolive` is a lifetime of its own.
        if info.flags & crate::layout::PR_MASK == 0 && info.value == 0 && policy != 0 {
            info.set_policy(policy, value)?;
        }
        if let Some((policy, value)) = request.reliability {
            info.set_policy(policy, value)?;
        }
        Ok(info)
    }

    fn queue(
        &self,
        member: &Arc<Member>,
        message: &Message,
        info: &Info,
        is_patient: bool,
    ) -> Result<(), Errno> {
        // What has let this call pass; others wait for the same.
        let mut passed = Passed(None);
        loop {
            // The second condition: another thread has peeled the association off.
            if member.is_shut.load(Ordering::Acquire) || !member.is_owned_by(self) {
                return Err(Errno(libc::EPIPE));
            }
            let sent = match try_send(member, message)? {
                Some(id) => Some(id),
                None => {
                    // Under the lock, so that the driver tells of room after the mirror is not writable.
                    let mut writer = lock(&self.writer);
                    let sent = try_send(member, message)?;
                    if sent.is_none() {
                        self.block(&mut writer, member, true)?;
                        // The driver will let calls pass, not this one.
                        passed.is_blocked_again();
                    }
                    sent
                }
            };
            if let Some(id) = sent {
                member.on_sent(id, message, info);
                return Ok(());
            }
            passed = self.wait_for(member, is_patient)?;
        }
    }

    /// The association takes nothing more, or is being set up: calls wait, and if `is_seen`, the mirror is not writable.
    fn block(&self, writer: &mut Writer, member: &Member, is_seen: bool) -> Result<(), Errno> {
        if self.style == Style::OneToMany {
            let mut gate = lock(&member.gate);
            let closed = match gate.take() {
                Some(known) => known,
                None => Arc::new(Mirror::gate(&self.mirror)?),
            };
            closed.fill();
            *gate = Some(closed);
        }
        if is_seen && writer.blocked.insert(member.id) && writer.blocked.len() == 1 {
            self.mirror.fill();
        }
        Ok(())
    }

    /// The association takes messages again, or never will. The gate lets some calls pass, which let others pass in turn.
    pub(super) fn unblock(&self, member: &Member) {
        let mut writer = lock(&self.writer);
        let mut gate = lock(&member.gate);
        if let Some(open) = gate.as_ref() {
            open.drain();
            if Arc::strong_count(open) == 1 {
                *gate = None;
            }
        }
        drop(gate);
        if writer.blocked.remove(&member.id) && writer.blocked.is_empty() {
            self.mirror.drain();
        }
    }

    /// Waits until a blocked association is not blocked any more.
    pub(super) fn wait_for(&self, member: &Member, is_patient: bool) -> Result<Passed, Errno> {
        if !is_patient || self.mirror.is_nonblocking()? {
            return Err(Errno(libc::EAGAIN));
        }
        if self.style == Style::OneToMany {
            let gate = member.gate();
            if let Some(gate) = &gate {
                gate.wait_writable()?;
            }
            return Ok(Passed(gate));
        }
        self.mirror.wait_writable()?;
        // Under the lock, or what another thread puts in to make it unwritable would be lost.
        let writer = lock(&self.writer);
        if writer.blocked.is_empty() {
            self.mirror.drain();
        }
        drop(writer);
        Ok(Passed(None))
    }

    /// Blocks a new association until the handshake is over: in the one-to-one style, or for a call that waits.
    pub(super) fn block_until_established(&self, member: &Member, is_seen: bool) -> Result<(), Errno> {
        let mut writer = lock(&self.writer);
        self.block(&mut writer, member, is_seen)
    }

    /// Starts the shutdown of the association (`SHUT_WR`). What the peer still sends can be received.
    pub(crate) fn shut_down_sending(&self) -> Result<(), Errno> {
        if self.style == Style::OneToMany {
            return Dialect::current().shutdown_of_one_to_many();
        }
        self.only_member()
            .ok_or(Errno(libc::ENOTCONN))?
            .shut_down_sending()
    }
}

/// The key that a message names. Without keys, there is only the empty one, also where packets are not authenticated.
fn named_key(member: &Member, request: &Request) -> Option<u16> {
    let key = request.key?;
    let has_keys = !lock(&member.settings).keys.is_empty();
    (has_keys || key != 0).then_some(key)
}

/// Sends the message; `None` if the buffer is full.
fn try_send(member: &Member, message: &Message) -> Result<Option<MessageId>, Errno> {
    match member.association.try_send(message.clone()) {
        Ok(id) => Ok(Some(id)),
        Err(TrySendError::Full) => Ok(None),
        Err(TrySendError::Never(error)) => Err(Errno::of_send(&error)),
        Err(_) => Err(Errno(libc::EIO)),
    }
}

impl Member {
    /// What calls that send to this association, or connect, wait for in the one-to-many style.
    pub(crate) fn gate(&self) -> Option<Arc<Mirror>> {
        lock(&self.gate).clone()
    }

    /// Starts the shutdown: the program sends nothing more.
    pub(super) fn shut_down_sending(&self) -> Result<(), Errno> {
        if !self.is_shut.swap(true, Ordering::AcqRel) {
            let association = self.association.clone();
            let hub = Arc::clone(&self.hub);
            Process::current().runtime()?.spawn(async move {
                let _ = association.established().await;
                let _ = association.shutdown().await;
                drop(hub);
            });
        }
        Ok(())
    }
}

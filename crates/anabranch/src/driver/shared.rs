//! State that the handles and the driver share: the core and its bookkeeping, behind one lock.
//!
//! Handles lock it, call the core and wake the driver; the driver passes packets between the core and the sockets. No
//! system call is made under the lock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use anabranch_datachannel::{Limits, Role};
use anabranch_io::Socket;
use anabranch_proto::{
    self as proto, Association, AssociationConfig, BufferError, BufferSize, CloseReason, Event,
};
use anabranch_types::{AssociationId, ChannelId, Instant};
use tokio::sync::Notify;

use super::channels::Channels;
use super::data_channels::DataChannelController;
use super::idle::IdleWatch;
use super::inbox::Looked;
use super::seal::Seal;
use super::signals::{Signals, Wake, Wakings};
use super::streams::StreamController;
use crate::events::AssociationEvent;
use crate::runtime::{Clock, Home};
use crate::streams::StreamLimits;

/// The reason in the ABORT to associations that nobody accepts.
const NOT_ACCEPTED: &[u8] = b"not accepted";

/// The reason in the ABORT of an association whose handles were dropped before the end of a message that is sent in parts.
const LEFT_UNFINISHED: &[u8] = b"a message was left unfinished";

/// Limits of an endpoint and its associations, beside those of the core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedLimits {
    /// Associations that may wait to be accepted.
    pub(crate) backlog: usize,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) streams: Option<StreamLimits>,
}

/// One endpoint, as its handles and its driver share it.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    clock: Clock,
    /// What the handles need of the runtime that the driver runs on.
    pub(crate) home: Home,
    /// Below the core; `None` if packets are in the clear.
    pub(crate) seal: Option<Seal>,
    /// Limits of the streams of each association; `None` if associations have no streams with credit.
    pub(crate) streams: Option<StreamLimits>,
    /// A handshake of the seal has ended.
    pub(crate) sealed: Notify,
    /// An association can be accepted, or none ever will be.
    pub(crate) acceptable: Notify,
    /// An association has ended.
    pub(crate) ended: Notify,
    /// The driver has ended.
    pub(crate) gone: Notify,
}

impl Shared {
    pub(crate) fn new(
        core: proto::Endpoint,
        sockets: Vec<Arc<dyn Socket>>,
        clock: Clock,
        seal: Option<Seal>,
        limits: SharedLimits,
    ) -> Self {
        let streams = limits.streams;
        Self {
            state: Mutex::new(State::new(core, sockets, limits)),
            clock,
            home: Home::current(),
            seal,
            streams,
            sealed: Notify::new(),
            acceptable: Notify::new(),
            ended: Notify::new(),
            gone: Notify::new(),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Wakes tasks that wait for events of the endpoint as a whole; to be called without the lock.
    pub(super) fn tell(&self, happened: Happened) {
        if happened.acceptable {
            self.acceptable.notify_waiters();
        }
        if happened.ended {
            self.ended.notify_waiters();
        }
    }

    /// The state. If a thread panicked while it held the lock, the driver has ended or will: the other threads find
    /// their associations aborted rather than panic too.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state on behalf of a handle, then lets the driver process the consequences.
    pub(crate) fn command<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = act(&mut state);
        state.work = true;
        let driver = state.driver.take();
        drop(state);
        if let Some(driver) = driver {
            driver.wake();
        }
        result
    }
}

/// The state behind the lock.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) core: proto::Endpoint,
    pub(crate) channels: Channels,
    /// In the order of binding.
    pub(crate) sockets: Vec<Arc<dyn Socket>>,
    /// The set of sockets has changed, and the driver has not followed yet.
    pub(crate) sockets_changed: bool,
    /// Set by handles, cleared by the driver: the core may have something to send.
    pub(crate) work: bool,
    /// The driver's waker while it sleeps.
    pub(crate) driver: Option<Waker>,
    /// Whether associations of peers are accepted.
    pub(crate) accepting: bool,
    pub(crate) driver_is_gone: bool,
    pub(super) associations: BTreeMap<AssociationId, Tracked>,
    /// Established by peers, not accepted yet.
    backlog: VecDeque<AssociationId>,
    backlog_limit: usize,
    /// `None` if associations may be idle for ever.
    pub(super) idle: Option<IdleWatch>,
    /// A task waits until everything is acknowledged.
    flushing: BTreeSet<AssociationId>,
    /// A task waits for space in the send buffer, and there is little so far.
    congested: BTreeSet<AssociationId>,
    /// Local addresses added during the handshakes of these associations.
    pub(super) unannounced: Vec<(AssociationId, SocketAddr)>,
    /// Ended and without a handle: dropped once their last packet was sent.
    forgettable: Vec<AssociationId>,
}

/// The driver's state of an association.
#[derive(Debug)]
pub(super) struct Tracked {
    pub(super) signals: Arc<Signals>,
    owner: Owner,
    /// Free space in the send buffer at which writers are woken.
    comfortable_room: u64,
    /// Its data channels, which receive all its messages.
    pub(super) controller: Option<Box<DataChannelController>>,
    /// Its streams with credit, which receive all its messages.
    pub(super) streams: Option<Box<StreamController>>,
}

/// Free space at which it is worth waking writers. More would be costly: where the buffer limits what is sent, nearly all of
/// it is sent and unacknowledged, and paths are idle until the free part is filled.
fn comfortable_room(size: BufferSize) -> u64 {
    // One that sizes itself has room for what paths may send beyond what they have in flight.
    let share = if size.range().is_some() { 4 } else { 32 };
    (size.initial() / share).min(64 << 10)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Owner {
    /// There are handles.
    Application,
    /// It waits to be accepted.
    Backlog,
    /// All handles were dropped: it shuts down by itself.
    Nobody,
}

impl State {
    fn new(core: proto::Endpoint, sockets: Vec<Arc<dyn Socket>>, limits: SharedLimits) -> Self {
        Self {
            core,
            channels: Channels::default(),
            sockets,
            sockets_changed: false,
            work: false,
            driver: None,
            accepting: true,
            driver_is_gone: false,
            associations: BTreeMap::new(),
            backlog: VecDeque::new(),
            backlog_limit: limits.backlog,
            idle: limits.idle_timeout.map(IdleWatch::new),
            flushing: BTreeSet::new(),
            congested: BTreeSet::new(),
            unannounced: Vec::new(),
            forgettable: Vec::new(),
        }
    }

    pub(crate) fn connect(
        &mut self,
        now: Instant,
        channel: proto::Channel<'_>,
        remotes: &[SocketAddr],
        config: &AssociationConfig,
    ) -> Result<(AssociationId, Arc<Signals>), proto::ConnectError> {
        let id = self.core.connect_through(now, channel, remotes, config)?;
        let signals = self.track(id, Owner::Application);
        if let Some(peer) = self.channels.bind(channel.id, id) {
            signals.set_peer(peer);
        }
        Ok((id, signals))
    }

    /// Begins an association whose session, which is `channel`, has just been begun.
    pub(crate) fn connect_later(
        &mut self,
        now: Instant,
        channel: ChannelId,
        remotes: &[SocketAddr],
        config: &AssociationConfig,
    ) -> Result<(AssociationId, Arc<Signals>), proto::ConnectError> {
        let begun = self.core.connect_later(now, channel, remotes, config);
        let id = begun.inspect_err(|_| self.channels.abandon(channel))?;
        self.channels.begin_with(channel, id);
        Ok((id, self.track(id, Owner::Application)))
    }

    /// The signals of an association.
    pub(crate) fn signals(&self, id: AssociationId) -> Option<Arc<Signals>> {
        let tracked = self.associations.get(&id)?;
        Some(Arc::clone(&tracked.signals))
    }

    /// The association that has waited longest.
    pub(crate) fn accept(&mut self) -> Option<(AssociationId, Arc<Signals>)> {
        let id = self.backlog.pop_front()?;
        let tracked = self.associations.get_mut(&id)?;
        tracked.owner = Owner::Application;
        Some((id, Arc::clone(&tracked.signals)))
    }

    /// Accepts no more associations, and shuts down those that wait to be accepted.
    pub(crate) fn stop_accepting(&mut self) {
        self.accepting = false;
        for id in mem::take(&mut self.backlog) {
            self.release(id);
        }
    }

    /// All associations.
    pub(crate) fn ids(&self) -> impl Iterator<Item = AssociationId> + '_ {
        self.associations.keys().copied()
    }

    /// Starts the shutdown of every association.
    pub(crate) fn shut_down_all(&mut self) {
        for id in self.associations.keys() {
            if let Some(mut association) = self.core.association_mut(*id) {
                association.shutdown();
            }
        }
    }

    /// Whether an association still has packets to exchange.
    pub(crate) fn has_living(&self) -> bool {
        self.associations
            .values()
            .any(|tracked| tracked.signals.ended().is_none())
    }

    //= rfc9260 9-1
    /// The last handle was dropped: sent messages are still delivered, received ones are discarded.
    pub(crate) fn release(&mut self, id: AssociationId) {
        let Some(tracked) = self.associations.get_mut(&id) else {
            return;
        };
        tracked.owner = Owner::Nobody;
        tracked.controller = None;
        tracked.streams = None;
        if tracked.signals.ended().is_some() {
            self.forgettable.push(id);
        } else if let Some(mut association) = self.core.association_mut(id) {
            if association.has_unfinished_message() {
                association.abort(LEFT_UNFINISHED);
            } else if tracked.signals.is_connected() {
                association.shutdown();
                // Messages that stay unread would delay the peer's shutdown.
                while association.receive().is_some() {}
            } else {
                association.abort(&[]);
            }
        }
    }

    /// Sets the size of the send buffer of an association, and the free space at which writers are woken.
    pub(crate) fn resize_send_buffer(
        &mut self,
        id: AssociationId,
        size: BufferSize,
    ) -> Result<(), BufferError> {
        let association = self.core.association_mut(id);
        let (Some(mut association), Some(tracked)) = (association, self.associations.get_mut(&id)) else {
            return Err(BufferError::NotConnected);
        };
        if association.is_closed() {
            return Err(BufferError::NotConnected);
        }
        association.set_send_buffer(size)?;
        tracked.comfortable_room = comfortable_room(size);
        Ok(())
    }

    /// Waits for the moment when everything sent is acknowledged.
    pub(crate) fn watch_flush(&mut self, id: AssociationId) {
        self.flushing.insert(id);
    }

    /// Everything sent is acknowledged.
    pub(crate) fn is_flushed(&self, id: AssociationId) -> bool {
        self.core.association(id).is_none_or(Association::is_flushed)
    }

    /// Translates the events of the core into wake-ups.
    pub(crate) fn collect(&mut self, wakings: &mut Wakings) -> Happened {
        let mut happened = Happened::default();
        while let Some((id, event)) = self.core.poll_event() {
            wakings.traces.note(id, &event);
            self.tell_channels(id, &event, wakings);
            self.tell_streams(id, &event, wakings);
            happened.ended |= matches!(event, Event::Closed(_));
            happened.acceptable |= self.on_event(id, event, wakings);
        }
        let Self {
            core,
            associations,
            flushing,
            congested,
            work,
            ..
        } = self;
        flushing.retain(|id| {
            let flushed = core.association(*id).is_none_or(Association::is_flushed);
            if flushed && let Some(tracked) = associations.get(id) {
                wakings.add(&tracked.signals, Wake::Watchers);
            }
            !flushed
        });
        congested.retain(|id| {
            let association = core.association(*id);
            let room = association.map_or(u64::MAX, Association::send_room);
            let Some(tracked) = associations.get_mut(id) else {
                return false;
            };
            // All that fills the buffer may wait for the part that a writer has.
            let awaits_part = association.is_some_and(Association::awaits_part);
            let comfortable = room >= tracked.comfortable_room || awaits_part;
            if comfortable {
                wakings.add(&tracked.signals, Wake::Writers);
                // Others are woken in the next round, if those leave room.
                let streams = tracked.streams.as_mut();
                if streams.is_some_and(|streams| streams.unblock(room, wakings)) {
                    *work = true;
                    return true;
                }
            }
            !comfortable
        });
        happened
    }

    /// Moves what can be received to the inbox of the association; `true` if anything moved. Messages that nobody will
    /// ever read are discarded; data channels take theirs themselves.
    pub(crate) fn deliver(&mut self, id: AssociationId) -> bool {
        let Some(Tracked {
            signals,
            owner,
            controller,
            streams,
            ..
        }) = self.associations.get(&id)
        else {
            return false;
        };
        if controller.is_some() || streams.is_some() {
            return false;
        }
        let mut association = self.core.association_mut(id);
        let mut next = || association.as_mut()?.receive();
        if *owner == Owner::Nobody {
            while next().is_some() {}
            return false;
        }
        signals.inbox.fill(next)
    }

    /// Gives the association data channels, unless it has some. `None` if there is no such association.
    pub(crate) fn attach_channels(
        &mut self,
        id: AssociationId,
        role: Role,
        limits: Limits,
    ) -> Option<Arc<Notify>> {
        let tracked = self.associations.get_mut(&id)?;
        let mut association = self.core.association_mut(id)?;
        if let Some(controller) = &tracked.controller {
            return Some(controller.acceptable());
        }
        let mut controller = Box::new(DataChannelController::new(role, limits));
        controller.learn_streams(&association);
        while let Looked::Message(message) = tracked.signals.inbox.look(true) {
            controller.take(message);
        }
        controller.serve(&mut association);
        if let Some(reason) = tracked.signals.ended() {
            controller.on_event(&Event::Closed(reason.clone()), &mut association);
        }
        let acceptable = controller.acceptable();
        tracked.controller = Some(controller);
        Some(acceptable)
    }

    /// Acts on the data channels of an association. The tasks to wake are to be notified without the lock.
    pub(crate) fn with_channels<T>(
        &mut self,
        id: AssociationId,
        act: impl FnOnce(&mut DataChannelController, &mut Association) -> T,
    ) -> Option<(T, Vec<Arc<Notify>>)> {
        let controller = self.associations.get_mut(&id)?.controller.as_mut()?;
        let mut association = self.core.association_mut(id)?;
        let result = act(controller, &mut association);
        Some((result, controller.take_wakes()))
    }

    /// Adds a socket, unless the driver has ended.
    pub(crate) fn add_socket(&mut self, socket: Arc<dyn Socket>) {
        if !self.driver_is_gone {
            self.core.add_local(socket.local_addr());
            self.sockets.push(socket);
            self.sockets_changed = true;
        }
    }

    /// Drops ended associations; to be called when nothing is left to send.
    pub(crate) fn tidy_up(&mut self) {
        for id in self.forgettable.drain(..) {
            self.core.forget(id);
            self.associations.remove(&id);
            self.unannounced.retain(|(of, _)| *of != id);
        }
    }

    /// Ends all associations at once.
    pub(crate) fn abort_all(&mut self, wakings: &mut Wakings) {
        self.accepting = false;
        self.backlog.clear();
        self.driver_is_gone = true;
        for tracked in self.associations.values_mut() {
            tracked.signals.end(CloseReason::Aborted);
            if let Some(streams) = &mut tracked.streams {
                streams.lose_all(wakings);
            }
            wakings.add(&tracked.signals, Wake::Everybody);
        }
    }

    fn track(&mut self, id: AssociationId, owner: Owner) -> Arc<Signals> {
        let signals = Arc::new(Signals::default());
        let configured = |association: &Association| association.send_buffer();
        let size = self.core.association(id).map_or(BufferSize::Fixed(0), configured);
        let tracked = Tracked {
            signals: Arc::clone(&signals),
            owner,
            comfortable_room: comfortable_room(size),
            controller: None,
            streams: None,
        };
        self.associations.insert(id, tracked);
        signals
    }

    /// Lets the data channels of the association handle an event.
    fn tell_channels(&mut self, id: AssociationId, event: &Event, wakings: &mut Wakings) {
        let told = self.with_channels(id, |controller, association| {
            controller.on_event(event, association);
            controller.take_unblocked()
        });
        let Some((is_unblocked, wakes)) = told else {
            return;
        };
        wakings.add_notifies(wakes);
        if is_unblocked && let Some(tracked) = self.associations.get(&id) {
            wakings.add(&tracked.signals, Wake::Writers);
        }
    }

    /// `true` if there is one more association to accept.
    fn on_event(&mut self, id: AssociationId, event: Event, wakings: &mut Wakings) -> bool {
        if let Event::Connected { incoming: true } = event {
            return self.on_incoming(id);
        }
        if let (Event::Closed(_), Some(association)) = (&event, self.core.association(id)) {
            self.channels.on_closed(association.channel(), id);
        }
        let Some(Tracked { signals, owner, .. }) = self.associations.get(&id) else {
            return false;
        };
        match event {
            Event::Connected { .. } => {
                signals.set_connected();
                wakings.add(signals, Wake::Watchers);
                self.announce_late(id);
            }
            Event::Readable => {
                let signals = Arc::clone(signals);
                if self.deliver(id) {
                    wakings.add(&signals, Wake::Readers);
                }
            }
            Event::Writable => drop(self.congested.insert(id)),
            Event::StreamLow(_) => wakings.add(signals, Wake::Watchers),
            Event::PeerShutdown => {
                signals.set_peer_finished();
                signals.publish(AssociationEvent::PeerShutdown);
                wakings.add(signals, Wake::Everybody);
            }
            Event::Restarted { .. } => {
                signals.peer_began_anew();
                if let Some(event) = AssociationEvent::of(event) {
                    signals.publish(event);
                }
                // Nothing is unsent any more.
                wakings.add(signals, Wake::Everybody);
            }
            Event::Closed(reason) => {
                // The end that shut the association down knows that everything was received, so messages can be read even
                // if the last packet was lost.
                let is_broken = !matches!(reason, CloseReason::Finished) && !signals.peer_has_finished();
                signals.end(reason);
                wakings.add(signals, Wake::Everybody);
                match owner {
                    Owner::Nobody => self.forgettable.push(id),
                    // Peers that connect and give up would otherwise fill the accept queue.
                    Owner::Backlog if is_broken => {
                        self.backlog.retain(|waiting| *waiting != id);
                        self.forgettable.push(id);
                    }
                    Owner::Application | Owner::Backlog => {}
                }
            }
            other => {
                if let Some(event) = AssociationEvent::of(other) {
                    signals.publish(event);
                }
            }
        }
        false
    }

    fn on_incoming(&mut self, id: AssociationId) -> bool {
        let channel = self.core.association(id).map(Association::channel);
        let channel = channel.unwrap_or_default();
        let peer = self.channels.bind(channel, id);
        // A session carries one association.
        let is_alone = channel == ChannelId::NONE || peer.is_some();
        if self.accepting && is_alone && self.backlog.len() < self.backlog_limit {
            let signals = self.track(id, Owner::Backlog);
            if let Some(peer) = peer {
                signals.set_peer(peer);
            }
            signals.set_connected();
            self.backlog.push_back(id);
            return true;
        }
        self.track(id, Owner::Nobody);
        if let Some(mut association) = self.core.association_mut(id) {
            association.abort(NOT_ACCEPTED);
        }
        false
    }
}

/// Events of the endpoint as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Happened {
    /// There is an association to accept.
    pub(crate) acceptable: bool,
    /// An association has ended.
    pub(crate) ended: bool,
}

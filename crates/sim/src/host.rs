//! SCTP host on the simulated network: it passes datagrams, timer expiries and buffers to the core.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;

use anabranch_netsim::{Datagram, Host, Protocol};
use anabranch_proto::{
    AddressError, Association, AssociationConfig, AuthenticationKeys, ConnectError, Endpoint, EndpointConfig,
};
use anabranch_types::{AssociationId, Instant, PathAddr, Seed};

use crate::app::Conversation;
use crate::log::{Direction, PacketLog};
use crate::outcome::Tally;
use crate::overhead::Overhead;
use crate::processor::{Processor, ProcessorModel, ProcessorTally};
use crate::sack_statistics::SackStatistics;
use crate::spare_buffers;

/// Observer of a host: sees every packet, and its associations after every step.
pub trait Observer: Send {
    /// A packet was sent or received.
    fn on_packet(&mut self, now: Instant, direction: Direction, path: PathAddr, packet: &[u8]);

    /// Current state of an association.
    fn on_association(&mut self, now: Instant, id: AssociationId, association: &Association);

    /// Called last: nothing follows.
    ///
    /// # Errors
    ///
    /// The error that prevented recording.
    fn finish(&mut self) -> io::Result<()>;
}

/// An endpoint with an application on each of its associations.
pub struct SctpHost {
    endpoint: Endpoint,
    conversations: BTreeMap<AssociationId, Conversation>,
    /// Application template for accepted associations.
    answering: Conversation,
    /// How many packets the core may write at once, as with segmentation offload.
    segments: usize,
    /// Packets not yet sent from the core's last write.
    batch: VecDeque<Datagram>,
    tally: Tally,
    log: PacketLog,
    sack_statistics: Option<SackStatistics>,
    overhead: Option<Overhead>,
    /// `None` if processing takes no time.
    processor: Option<Processor>,
    observer: Option<Box<dyn Observer>>,
}

impl SctpHost {
    /// Creates a host whose secrets come from `seed`. Each accepted association gets a copy of `answering`.
    #[must_use]
    pub fn new(config: EndpointConfig, seed: Seed, answering: Conversation) -> Self {
        Self {
            endpoint: Endpoint::new(config, seed),
            conversations: BTreeMap::new(),
            answering,
            segments: 1,
            batch: VecDeque::new(),
            tally: Tally::default(),
            log: PacketLog::default(),
            sack_statistics: None,
            overhead: None,
            processor: None,
            observer: None,
        }
    }

    /// Sets the processor model.
    #[must_use]
    pub fn with_processor(self, model: Option<ProcessorModel>) -> Self {
        Self {
            processor: model.map(Processor::new),
            ..self
        }
    }

    /// Omits the hash over all packets.
    #[must_use]
    pub fn untraced(self) -> Self {
        Self {
            tally: Tally::untraced(),
            ..self
        }
    }

    /// Statistics of the processor, if the host has a processor model.
    #[must_use]
    pub fn processor(&self) -> Option<&ProcessorTally> {
        self.processor.as_ref().map(Processor::tally)
    }

    /// Lets the core write up to `segments` packets at once.
    #[must_use]
    pub fn with_segments(self, segments: usize) -> Self {
        Self { segments, ..self }
    }

    /// Starts an association with an application on it.
    ///
    /// # Errors
    ///
    /// The errors of [`Endpoint::connect`].
    pub fn connect(
        &mut self,
        now: Instant,
        remotes: &[SocketAddr],
        config: &AssociationConfig,
        conversation: Conversation,
    ) -> Result<AssociationId, ConnectError> {
        let id = self.endpoint.connect(now, remotes, config)?;
        self.conversations.insert(id, conversation);
        self.talk(now, id, |conversation, association| {
            conversation.begin(now, association);
        });
        Ok(id)
    }

    /// Gives access to an association and its application; `None` if there is no such association.
    pub fn talk<R>(
        &mut self,
        now: Instant,
        id: AssociationId,
        act: impl FnOnce(&mut Conversation, &mut Association) -> R,
    ) -> Option<R> {
        let conversation = self.conversations.get_mut(&id)?;
        let mut association = self.endpoint.association_mut(id)?;
        let result = act(conversation, &mut association);
        drop(association);
        self.serve(now);
        Some(result)
    }

    /// Adds an address to the host. Future associations use it, and so does the newest one, if there is one and its peer agrees.
    ///
    /// # Errors
    ///
    /// The errors of [`Association::add_local_address`].
    pub fn join(&mut self, now: Instant, local: SocketAddr) -> Result<(), AddressError> {
        self.endpoint.add_local(local);
        self.on_newest(now, |association| association.add_local_address(local))
    }

    /// Removes an address from the host.
    ///
    /// # Errors
    ///
    /// The errors of [`Association::remove_local_address`].
    pub fn leave(&mut self, now: Instant, local: SocketAddr) -> Result<(), AddressError> {
        self.endpoint.remove_local(local);
        self.on_newest(now, |association| association.remove_local_address(local))
    }

    /// Removes the addresses that are not the host's any more from the newest association, which refuses that while there is no other address.
    ///
    /// # Errors
    ///
    /// The errors of [`Association::remove_local_address`].
    pub fn remove_former(&mut self, now: Instant) -> Result<(), AddressError> {
        let present = self.endpoint.local().to_vec();
        self.on_newest(now, |association| {
            let mut former: Vec<SocketAddr> = association
                .path_addresses()
                .iter()
                .map(|path| path.local)
                .collect();
            former.retain(|local| !present.contains(local));
            former.sort_unstable();
            former.dedup();
            former
                .into_iter()
                .try_for_each(|local| association.remove_local_address(local))
        })
    }

    /// The addresses that future associations use.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.endpoint.local()
    }

    fn on_newest(
        &mut self,
        now: Instant,
        act: impl FnOnce(&mut Association) -> Result<(), AddressError>,
    ) -> Result<(), AddressError> {
        let acted = self
            .newest_id()
            .and_then(|id| self.talk(now, id, |_, association| act(association)));
        acted.unwrap_or(Ok(()))
    }

    /// Changes the shared keys of the newest association (RFC 4895). Nothing changes if there is none, or it has no keys.
    pub fn change_keys(&mut self, now: Instant, change: impl FnOnce(&mut AuthenticationKeys<'_>)) {
        let Some(id) = self.newest_id() else { return };
        if let Some(mut association) = self.endpoint.association_mut(id) {
            association.authentication_keys().as_mut().map(change);
        }
        self.serve(now);
    }

    /// Drops an association and its application.
    pub fn forget(&mut self, id: AssociationId) {
        self.endpoint.forget(id);
        self.conversations.remove(&id);
    }

    /// The association `id`.
    #[must_use]
    pub fn association(&self, id: AssociationId) -> Option<&Association> {
        self.endpoint.association(id)
    }

    /// The application on `id`; it outlives its association.
    #[must_use]
    pub fn conversation(&self, id: AssociationId) -> Option<&Conversation> {
        self.conversations.get(&id)
    }

    /// The newest association. A restart of the peer makes an association newer than those that were set up before it: an INIT from
    /// another address may have set up one that the peer does not know any more.
    pub(crate) fn newest(&self) -> Option<&Association> {
        self.association(self.newest_id()?)
    }

    /// The application on the newest association.
    pub(crate) fn newest_conversation(&self) -> Option<&Conversation> {
        self.conversation(self.newest_id()?)
    }

    fn newest_id(&self) -> Option<AssociationId> {
        let all = self.conversations.iter();
        let newest = all.reduce(|newest, next| {
            if newest.1.restarted_since(next.1) {
                newest
            } else {
                next
            }
        });
        newest.map(|(id, _)| *id)
    }

    /// All associations so far, oldest first, except dropped ones.
    pub fn associations(&self) -> impl DoubleEndedIterator<Item = AssociationId> + ExactSizeIterator {
        self.conversations.keys().copied()
    }

    /// Counters so far.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The latest packets, if [`PacketLog::keep`] was called.
    #[must_use]
    pub const fn log(&self) -> &PacketLog {
        &self.log
    }

    /// The packet log, to enable it.
    pub const fn log_mut(&mut self) -> &mut PacketLog {
        &mut self.log
    }

    /// Starts counting the SACKs received from now on.
    pub fn count_sacks(&mut self) {
        self.sack_statistics = Some(SackStatistics::default());
    }

    /// SACK statistics, if [`SctpHost::count_sacks`] was called.
    #[must_use]
    pub const fn sack_statistics(&self) -> Option<&SackStatistics> {
        self.sack_statistics.as_ref()
    }

    /// Starts counting the overhead of the packets sent from now on.
    pub fn count_overhead(&mut self) {
        self.overhead = Some(Overhead::default());
    }

    /// Overhead of the packets sent, if [`SctpHost::count_overhead`] was called.
    #[must_use]
    pub const fn overhead(&self) -> Option<&Overhead> {
        self.overhead.as_ref()
    }

    /// Attaches `observer`.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observer = Some(observer);
    }

    /// Detaches the observer.
    ///
    /// # Errors
    ///
    /// The errors of [`Observer::finish`].
    pub fn finish_observation(&mut self) -> io::Result<()> {
        self.observer
            .take()
            .map_or(Ok(()), |mut observer| observer.finish())
    }

    /// Shows all associations to the observer, if there is one.
    #[inline]
    fn show(&mut self, now: Instant) {
        let Some(observer) = &mut self.observer else {
            return;
        };
        for id in self.conversations.keys() {
            if let Some(association) = self.endpoint.association(*id) {
                observer.on_association(now, *id, association);
            }
        }
    }

    /// Lets the core write; returns the first packet and keeps the others.
    fn next_batch(&mut self, now: Instant) -> Option<Datagram> {
        let mut payload = spare_buffers::take();
        let Some(transmit) = self.endpoint.poll_transmit(now, &mut payload, self.segments) else {
            spare_buffers::put(payload);
            return None;
        };
        let segment = transmit.segment_size.unwrap_or(transmit.size);
        for start in (segment..payload.len()).step_by(segment) {
            let mut further = spare_buffers::take();
            further.extend_from_slice(&payload[start..payload.len().min(start + segment)]);
            self.batch.push_back(Datagram {
                path: transmit.path,
                protocol: Protocol::SCTP,
                ecn: transmit.ecn,
                may_fragment: transmit.may_fragment,
                payload: further,
            });
        }
        payload.truncate(segment);
        Some(Datagram {
            path: transmit.path,
            protocol: Protocol::SCTP,
            ecn: transmit.ecn,
            may_fragment: transmit.may_fragment,
            payload,
        })
    }

    fn serve(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            self.tally.events += 1;
            let conversation = self
                .conversations
                .entry(id)
                .or_insert_with(|| self.answering.clone());
            match self.endpoint.association_mut(id) {
                Some(mut association) => conversation.on_event(now, event, &mut association),
                None => conversation.note(now, event),
            }
        }
    }
}

impl SctpHost {
    fn handle(&mut self, now: Instant, datagram: Datagram) {
        let path = datagram.path.reversed();
        self.tally.received(now, path, &datagram.payload);
        self.log.note(now, Direction::Received, path, &datagram.payload);
        if let Some(sack_statistics) = &mut self.sack_statistics {
            sack_statistics.note(&datagram.payload);
        }
        if let Some(observer) = &mut self.observer {
            observer.on_packet(now, Direction::Received, path, &datagram.payload);
        }
        self.endpoint
            .handle_datagram(now, path, datagram.ecn, &datagram.payload);
        spare_buffers::put(datagram.payload);
        self.serve(now);
        let so_far = self.processor.is_some().then(|| self.sacks_and_visits());
        if let (Some(processor), Some(so_far)) = (&mut self.processor, so_far) {
            processor.handled(now, so_far);
        }
        self.show(now);
    }

    /// SACKs received and queue elements visited for them, over all associations.
    fn sacks_and_visits(&self) -> (u64, u64) {
        let associations = self.conversations.keys();
        let associations = associations.filter_map(|id| self.endpoint.association(*id));
        associations.fold((0, 0), |(sacks, elements), association| {
            let work = association.sack_work();
            (sacks + work.sacks, elements + work.elements_visited)
        })
    }

    fn expire(&mut self, now: Instant) {
        self.tally.deadlines += 1;
        self.endpoint.handle_timeout(now);
        for (id, conversation) in &mut self.conversations {
            if conversation.deadline().is_none_or(|deadline| deadline > now) {
                continue;
            }
            match self.endpoint.association_mut(*id) {
                Some(mut association) => conversation.on_deadline(now, &mut association),
                None => conversation.fall_silent(),
            }
        }
        self.serve(now);
        self.show(now);
    }

    /// The next packet that the core wants to send.
    fn write(&mut self, now: Instant) -> Option<Datagram> {
        let datagram = self.batch.pop_front().or_else(|| self.next_batch(now))?;
        self.tally.sent(now, datagram.path, &datagram.payload);
        if let Some(overhead) = &mut self.overhead {
            overhead.note_sctp(&datagram.payload);
        }
        self.log
            .note(now, Direction::Sent, datagram.path, &datagram.payload);
        if let Some(observer) = &mut self.observer {
            observer.on_packet(now, Direction::Sent, datagram.path, &datagram.payload);
        }
        // Sending may have freed buffer space or emptied a stream.
        self.serve(now);
        self.show(now);
        Some(datagram)
    }
}

impl Host for SctpHost {
    fn on_datagram(&mut self, now: Instant, datagram: Datagram) {
        let datagram = match &mut self.processor {
            Some(processor) => processor.arrived(now, datagram),
            None => Some(datagram),
        };
        if let Some(datagram) = datagram {
            self.handle(now, datagram);
        }
    }

    fn on_deadline(&mut self, now: Instant) {
        let processor = self.processor.as_ref();
        if processor.is_some_and(|processor| processor.is_busy(now)) {
            return;
        }
        if self.core_deadline().is_some_and(|deadline| deadline <= now) {
            self.expire(now);
        }
    }

    /// A processor first writes everything to be sent, packet by packet, then takes the next packet.
    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        if self.processor.is_none() {
            return self.write(now);
        }
        if let Some(processor) = self.processor.as_mut().filter(|processor| processor.is_busy(now)) {
            processor.remember_to_send();
            return None;
        }
        let written = self.write(now);
        let processor = self.processor.as_mut()?;
        if written.is_some() {
            processor.sent(now);
            return written;
        }
        if let Some(next) = processor.take() {
            self.handle(now, next);
        }
        None
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.processor {
            Some(processor) => processor.deadline(|| self.core_deadline()),
            None => self.core_deadline(),
        }
    }
}

impl SctpHost {
    fn core_deadline(&self) -> Option<Instant> {
        let conversations = self.conversations.values().filter_map(Conversation::deadline);
        conversations.chain(self.endpoint.poll_timeout()).min()
    }
}

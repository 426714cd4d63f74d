//! How does the core meet the simulated network? As a host that hands datagrams, deadlines and buffers on.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anabranch_netsim::{Datagram, Host};
use anabranch_proto::{Association, AssociationConfig, ConnectError, Endpoint, EndpointConfig};
use anabranch_types::{AssociationId, Instant, Seed};

use crate::app::Conversation;
use crate::log::{Direction, PacketLog};
use crate::outcome::Tally;

/// Buffers kept for reuse.
const SPARE_BUFFERS: usize = 64;

/// An endpoint with an application on each of its associations.
pub struct SctpHost {
    endpoint: Endpoint,
    conversations: BTreeMap<AssociationId, Conversation>,
    /// What answers a peer that connects.
    answering: Conversation,
    spare: Vec<Vec<u8>>,
    tally: Tally,
    log: PacketLog,
}

impl SctpHost {
    /// A host whose secrets come from `seed`. Whoever connects talks to a copy of `answering`.
    #[must_use]
    pub fn new(config: EndpointConfig, seed: Seed, answering: Conversation) -> Self {
        Self {
            endpoint: Endpoint::new(config, seed),
            conversations: BTreeMap::new(),
            answering,
            spare: Vec::new(),
            tally: Tally::default(),
            log: PacketLog::default(),
        }
    }

    /// Begins an association with an application on it.
    ///
    /// # Errors
    ///
    /// Those of [`Endpoint::connect`].
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
            conversation.begin(now, association)
        });
        Ok(id)
    }

    /// Lets the user act on an association and its application; `None` if there is no such association.
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

    /// Forgets an association and its application.
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

    /// All associations that there were, oldest first, unless forgotten.
    pub fn associations(&self) -> impl DoubleEndedIterator<Item = AssociationId> + ExactSizeIterator {
        self.conversations.keys().copied()
    }

    /// What was counted so far.
    #[must_use]
    pub const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The last packets, if [`PacketLog::keep`] was called.
    #[must_use]
    pub const fn log(&self) -> &PacketLog {
        &self.log
    }

    /// The log, to be switched on.
    pub const fn log_mut(&mut self) -> &mut PacketLog {
        &mut self.log
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

impl Host for SctpHost {
    fn on_datagram(&mut self, now: Instant, datagram: Datagram) {
        let path = datagram.path.reversed();
        self.tally.received(now, path, &datagram.payload);
        self.log.note(now, Direction::Received, path, &datagram.payload);
        self.endpoint
            .handle_datagram(now, path, datagram.ecn, &datagram.payload);
        if self.spare.len() < SPARE_BUFFERS {
            self.spare.push(datagram.payload);
        }
        self.serve(now);
    }

    fn on_deadline(&mut self, now: Instant) {
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
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        let mut payload = self.spare.pop().unwrap_or_default();
        payload.clear();
        let Some(transmit) = self.endpoint.poll_transmit(now, &mut payload, 1) else {
            self.spare.push(payload);
            return None;
        };
        self.tally.sent(now, transmit.path, &payload);
        self.log.note(now, Direction::Sent, transmit.path, &payload);
        Some(Datagram {
            path: transmit.path,
            ecn: transmit.ecn,
            payload,
        })
    }

    fn deadline(&self) -> Option<Instant> {
        let conversations = self.conversations.values().filter_map(Conversation::deadline);
        conversations.chain(self.endpoint.poll_timeout()).min()
    }
}

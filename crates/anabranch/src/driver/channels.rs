//! Channels: which association uses which sealed session, and how do attempts to connect end?

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use anabranch_proto::CloseReason;
use anabranch_secure::{HandshakeError, PeerInfo};
use anabranch_types::{AssociationId, ChannelId, Ecn, Instant, PathAddr};

use super::State;
use super::seal::{News, SessionEnd};
use super::signals::{Wake, Wakings};

/// The sessions of an endpoint; none without a seal.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    sessions: BTreeMap<ChannelId, Session>,
    attempts: BTreeMap<ChannelId, Attempt>,
    /// Associations that were begun before the handshake of their session was over.
    begun: BTreeMap<ChannelId, AssociationId>,
    /// Sessions whose association has ended.
    ended: Vec<ChannelId>,
    /// Sessions that nobody uses any more.
    abandoned: Vec<ChannelId>,
}

#[derive(Debug)]
struct Session {
    peer: Arc<PeerInfo>,
    association: Option<AssociationId>,
}

/// A handshake that a handle waits for.
#[derive(Clone, Debug)]
pub(crate) enum Attempt {
    InProgress,
    /// The peer is who it should be, and receives what is sent on these paths.
    Connected(Vec<PathAddr>),
    Failed(HandshakeError),
}

impl Channels {
    pub(crate) fn begin(&mut self, channel: ChannelId) {
        self.attempts.insert(channel, Attempt::InProgress);
    }

    /// An association waits for the handshake of its session.
    pub(crate) fn begin_with(&mut self, channel: ChannelId, id: AssociationId) {
        self.begun.insert(channel, id);
    }

    /// Ends a session that nobody waits for.
    pub(crate) fn abandon(&mut self, channel: ChannelId) {
        self.abandoned.push(channel);
    }

    pub(crate) fn attempt(&self, channel: ChannelId) -> Option<&Attempt> {
        self.attempts.get(&channel)
    }

    /// The handle does not wait any more. A session without an association ends.
    pub(crate) fn finish(&mut self, channel: ChannelId) {
        self.attempts.remove(&channel);
        let is_used = self
            .sessions
            .get(&channel)
            .is_some_and(|session| session.association.is_some());
        if !is_used {
            self.abandoned.push(channel);
        }
    }

    /// Whether an association uses the session.
    pub(crate) fn is_used(&self, channel: ChannelId) -> bool {
        let session = self.sessions.get(&channel);
        session.is_some_and(|session| session.association.is_some())
            || self.attempts.contains_key(&channel)
            || self.begun.contains_key(&channel)
    }

    /// Notes that `id` uses the session; returns the peer. `None` if there is no such session, or another association uses it.
    pub(crate) fn bind(&mut self, channel: ChannelId, id: AssociationId) -> Option<Arc<PeerInfo>> {
        let session = self.sessions.get_mut(&channel)?;
        if session.association.is_some_and(|known| known != id) {
            return None;
        }
        session.association = Some(id);
        Some(Arc::clone(&session.peer))
    }

    /// The association has ended; its session follows.
    pub(crate) fn on_closed(&mut self, channel: ChannelId, id: AssociationId) {
        if self.begun.remove(&channel).is_some() {
            self.abandoned.push(channel);
        }
        if let Some(session) = self.sessions.get_mut(&channel)
            && session.association == Some(id)
        {
            self.sessions.remove(&channel);
            self.ended.push(channel);
        }
    }

    /// Forgets a session that no association uses.
    pub(crate) fn drop_session(&mut self, channel: ChannelId) {
        self.sessions.remove(&channel);
    }

    /// Sessions whose association has ended since the last call.
    pub(crate) fn take_ended(&mut self) -> Vec<ChannelId> {
        mem::take(&mut self.ended)
    }

    /// Sessions without use since the last call.
    pub(crate) fn take_abandoned(&mut self) -> Vec<ChannelId> {
        let abandoned = mem::take(&mut self.abandoned);
        for channel in &abandoned {
            self.drop_session(*channel);
        }
        abandoned
    }
}

impl State {
    /// Applies what happened to sessions. An association ends with its session.
    pub(crate) fn on_news(&mut self, now: Instant, news: Vec<News>, wakings: &mut Wakings) {
        for news in news {
            match news {
                News::Connected { channel, paths, peer } => {
                    let session = Session {
                        peer,
                        association: None,
                    };
                    self.channels.sessions.insert(channel, session);
                    if let Some(id) = self.channels.begun.remove(&channel) {
                        self.on_channel_ready(now, id, channel, &paths);
                    } else if let Some(attempt) = self.channels.attempts.get_mut(&channel) {
                        *attempt = Attempt::Connected(paths);
                    }
                }
                News::Packet {
                    channel,
                    from,
                    packet,
                } => {
                    // Its ECN field is not known any more; an INIT needs none.
                    self.core
                        .handle_packet(now, channel, from, Ecn::NotCapable, &packet);
                }
                News::Ended { channel, end } => self.on_session_end(channel, end, wakings),
            }
        }
    }

    /// The peer of an association that was begun before has proven its identity.
    fn on_channel_ready(&mut self, now: Instant, id: AssociationId, channel: ChannelId, paths: &[PathAddr]) {
        if let (Some(peer), Some(signals)) = (self.channels.bind(channel, id), self.signals(id)) {
            signals.set_peer(peer);
        }
        self.core.channel_ready(now, id, paths);
    }

    fn on_session_end(&mut self, channel: ChannelId, end: SessionEnd, wakings: &mut Wakings) {
        let reason = match &end {
            SessionEnd::Failed(HandshakeError::TimedOut) => CloseReason::NoAnswer,
            SessionEnd::Failed(HandshakeError::Refused) => CloseReason::Refused,
            SessionEnd::Failed(error) => CloseReason::PeerViolation(error.to_string()),
            SessionEnd::Reset => CloseReason::AbortedByPeer {
                causes: "it has lost the keys of the session".to_owned(),
                reason: None,
            },
            SessionEnd::IntegrityLimit => CloseReason::Aborted,
        };
        let failure = match end {
            SessionEnd::Failed(error) => Some(error),
            SessionEnd::Reset | SessionEnd::IntegrityLimit => None,
        };
        if let (Some(error), Some(attempt)) = (&failure, self.channels.attempts.get_mut(&channel)) {
            *attempt = Attempt::Failed(error.clone());
        }
        let session = self.channels.sessions.remove(&channel);
        let begun = self.channels.begun.remove(&channel);
        let Some(id) = session.and_then(|session| session.association).or(begun) else {
            return;
        };
        if let Some(signals) = self.signals(id) {
            if let Some(error) = failure {
                signals.set_handshake_error(error);
            }
            // The first reason is reported.
            signals.end(reason);
            self.lose_streams(id, wakings);
            wakings.add(&signals, Wake::Everybody);
        }
        if let Some(mut association) = self.core.association_mut(id) {
            // Its ABORT cannot be sealed any more.
            association.abort(&[]);
        }
    }
}

//! Our core as a test core.

use std::net::SocketAddr;

use anabranch_proto::{
    AssociationConfig, CloseReason, Endpoint, EndpointConfig, Event, Message, Reliability,
};
use anabranch_types::{AssociationId, Ecn, Instant, PathAddr, Seed, StreamId};
use bytes::Bytes;

use super::{Core, Ending, MAX_MESSAGE, MAX_PACKET, TestMessage};

/// IP and UDP headers.
const OVERHEAD: u16 = 28;

/// Our core.
#[derive(Debug)]
pub struct Ours {
    endpoint: Endpoint,
    config: AssociationConfig,
    path: PathAddr,
    association: Option<AssociationId>,
    closed: Option<CloseReason>,
}

impl Ours {
    /// Creates our core at the local end of `path` with `config`, except for sizes.
    #[must_use]
    pub fn new(path: PathAddr, config: AssociationConfig) -> Self {
        let config = AssociationConfig {
            mtu: MAX_PACKET + OVERHEAD,
            max_message: MAX_MESSAGE,
            ..config
        };
        let endpoint = EndpointConfig {
            local: vec![path.local],
            accept: Some(config.clone()),
            ..EndpointConfig::webrtc()
        };
        Self {
            endpoint: Endpoint::new(endpoint, Seed(1)),
            config,
            path,
            association: None,
            closed: None,
        }
    }

    fn hear(&mut self) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            match event {
                Event::Connected { .. } => self.association = Some(id),
                Event::Closed(reason) => self.closed = Some(reason),
                _ => {}
            }
        }
    }

    fn act<R>(&mut self, act: impl FnOnce(&mut anabranch_proto::Association) -> R) -> Option<R> {
        let mut association = self.endpoint.association_mut(self.association?)?;
        let result = act(&mut association);
        drop(association);
        self.hear();
        Some(result)
    }

    fn remote(&self) -> SocketAddr {
        self.path.remote
    }
}

impl Core for Ours {
    fn connect(&mut self, now: Instant) {
        let begun = self.endpoint.connect(now, &[self.remote()], &self.config);
        self.association = Some(begun.expect("a path and a free port"));
    }

    fn on_packet(&mut self, now: Instant, packet: &[u8]) {
        self.endpoint
            .handle_datagram(now, self.path, Ecn::NotCapable, packet);
        self.hear();
    }

    fn on_deadline(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
        self.hear();
    }

    fn poll_packet(&mut self, now: Instant) -> Option<Vec<u8>> {
        let mut packet = Vec::new();
        self.endpoint.poll_transmit(now, &mut packet, 1)?;
        Some(packet)
    }

    fn deadline(&self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }

    fn send(&mut self, test: &TestMessage) -> bool {
        let reliability = test
            .retransmissions
            .map_or(Reliability::Reliable, Reliability::Retransmissions);
        let message = Message::new(test.stream, test.payload.clone()).with_reliability(reliability);
        let message = if test.unordered {
            message.unordered()
        } else {
            message
        };
        self.act(|association| association.send(message).is_ok()) == Some(true)
    }

    fn read(&mut self) -> Option<(StreamId, Bytes)> {
        let message = self.act(anabranch_proto::Association::receive)??;
        Some((message.stream, message.payload))
    }

    fn is_connected(&self) -> bool {
        let association = self.association.and_then(|id| self.endpoint.association(id));
        association.is_some_and(anabranch_proto::Association::is_connected)
    }

    fn accepts_messages(&self) -> bool {
        self.association.is_some() && self.closed.is_none()
    }

    fn is_flushed(&mut self) -> bool {
        self.act(|association| association.is_flushed()) == Some(true)
    }

    fn shutdown(&mut self) {
        self.act(anabranch_proto::Association::shutdown);
    }

    fn abort(&mut self) {
        self.act(|association| association.abort(b"enough"));
    }

    fn ending(&self) -> Option<Ending> {
        Some(match self.closed.as_ref()? {
            CloseReason::Finished => Ending::Finished,
            CloseReason::Aborted | CloseReason::AbortedByPeer { .. } => Ending::Aborted,
            reason => Ending::Failed(reason.to_string()),
        })
    }
}

//! Association that a peer has set up, before it is accepted or refused.

use std::net::SocketAddr;

use anabranch_secure::PeerInfo;

use crate::association::Association;

/// The reason in the ABORT if it was dropped.
const DROPPED: &str = "not accepted";

/// An association of a peer that is neither accepted nor refused: [`Endpoint::incoming`](crate::Endpoint::incoming).
///
/// The handshake is complete: only then are the peer's address and identity proven, and the cookie has kept the host from storing
/// anything before (RFC 9260 §5.1.3). So the peer's connect succeeds, and a refusal reaches it as an ABORT with the reason. Messages that it
/// sends meanwhile wait in the receive buffer.
///
/// It is refused if it is dropped.
#[derive(Debug)]
pub struct Incoming(Option<Association>);

impl Incoming {
    pub(crate) const fn new(association: Association) -> Self {
        Self(Some(association))
    }

    fn association(&self) -> Option<&Association> {
        self.0.as_ref()
    }

    /// The address that the peer's packets come from; `None` if the association has ended already.
    #[must_use]
    pub fn peer_addr(&self) -> Option<SocketAddr> {
        self.association()?.peer_addr()
    }

    /// The identity that the peer has proven; `None` if the endpoint is [insecure](crate::EndpointBuilder::insecure).
    #[must_use]
    pub fn peer_identity(&self) -> Option<&PeerInfo> {
        self.association()?.peer_identity()
    }

    /// The code point of the peer's adaptation layer, if it declared one: the protocol that it speaks.
    #[must_use]
    pub fn peer_adaptation_layer(&self) -> Option<u32> {
        self.association()?.peer_adaptation_layer()
    }

    /// Numbers of streams: outbound and inbound.
    #[must_use]
    pub fn streams(&self) -> (u16, u16) {
        self.association().map_or((0, 0), Association::streams)
    }

    /// Accepts it.
    #[must_use]
    pub fn accept(mut self) -> Association {
        let association = self.0.take();
        association.expect("invariant: it is taken by what consumes `self` only")
    }

    /// Refuses it: the peer gets `reason` in the ABORT.
    pub fn refuse(mut self, reason: &str) {
        if let Some(association) = self.0.take() {
            association.abort(reason);
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(association) = self.0.take() {
            association.abort(DROPPED);
        }
    }
}

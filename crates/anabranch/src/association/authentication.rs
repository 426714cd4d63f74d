//! Authentication of an association (RFC 4895): does the peer support it, and which keys are in use?

use anabranch_proto::{self as proto, KeyError};

use super::Association;

/// Authentication of chunks.
impl Association {
    /// Whether this end offers authentication (RFC 4895) and the peer does not support it, as
    /// [`AssociationEvent::PeerWithoutAuthentication`](crate::AssociationEvent) told with the end of the handshake.
    #[must_use]
    pub fn peer_lacks_authentication(&self) -> bool {
        let state = self.0.shared.lock();
        let association = state.core.association(self.0.id);
        association.is_some_and(proto::Association::lacks_authentication)
    }

    /// The types of the chunks that the peer requires to be authenticated (`SCTP_PEER_AUTH_CHUNKS`, RFC 6458 §8.2.3), in ascending order.
    #[must_use]
    pub fn chunks_authenticated_for_peer(&self) -> Vec<u8> {
        let state = self.0.shared.lock();
        let association = state.core.association(self.0.id);
        association
            .map(proto::Association::chunks_authenticated_for_peer)
            .unwrap_or_default()
    }

    /// Adds the endpoint pair shared key `id`, or replaces its secret. The peer may use it from now on.
    ///
    /// # Errors
    ///
    /// [`KeyError::NotOffered`], [`KeyError::TooMany`], [`KeyError::TooLong`].
    pub fn add_authentication_key(&self, id: u16, secret: &[u8]) -> Result<(), KeyError> {
        self.change_keys(|keys| keys.add(id, secret))
    }

    /// Authenticates our packets by key `id` from now on, which the peer must have already; messages may name another key
    /// ([`Message::with_authentication_key`](crate::Message::with_authentication_key)).
    ///
    /// # Errors
    ///
    /// [`KeyError::NotOffered`], [`KeyError::Unknown`], [`KeyError::Deactivated`].
    pub fn use_authentication_key(&self, id: u16) -> Result<(), KeyError> {
        self.change_keys(|keys| keys.select(id))
    }

    /// Ends the use of key `id` for new messages. [`AssociationEvent::AuthenticationKeyFree`](crate::AssociationEvent) follows when all
    /// messages that name it are acknowledged.
    ///
    /// # Errors
    ///
    /// [`KeyError::NotOffered`], [`KeyError::Unknown`], [`KeyError::Deactivated`], [`KeyError::InUse`].
    pub fn deactivate_authentication_key(&self, id: u16) -> Result<(), KeyError> {
        self.change_keys(|keys| keys.deactivate(id))
    }

    /// Deletes key `id`: packets of the peer that are authenticated by it are discarded from now on.
    ///
    /// # Errors
    ///
    /// [`KeyError::NotOffered`], [`KeyError::Unknown`], [`KeyError::InUse`].
    pub fn delete_authentication_key(&self, id: u16) -> Result<(), KeyError> {
        self.change_keys(|keys| keys.delete(id))
    }

    fn change_keys(
        &self,
        change: impl FnOnce(&mut proto::AuthenticationKeys<'_>) -> Result<(), KeyError>,
    ) -> Result<(), KeyError> {
        let changed = self.0.shared.command(|state| {
            let mut association = state.core.association_mut(self.0.id)?;
            Some(change(&mut association.authentication_keys()?))
        });
        changed.unwrap_or(Err(KeyError::NotOffered))
    }
}

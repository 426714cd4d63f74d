//! Shared keys of an association (RFC 4895 §6.1; RFC 6458 §8.3): adding, selecting and deleting them while it runs.

use anabranch_wire::chunk::kind;

use super::Association;
use crate::auth::{Authentication, KeyError};
use crate::endpoint::AssociationMut;

impl Association {
    /// Whether both ends support authentication (RFC 4895).
    #[must_use]
    pub fn is_authenticated(&self) -> bool {
        self.authentication.is_some() && self.extensions.agreed(kind::AUTH)
    }
}

impl AssociationMut<'_> {
    /// The endpoint pair shared keys, to change them; `None` if neither end requires more than address changes to be authenticated.
    pub fn authentication_keys(&mut self) -> Option<AuthenticationKeys<'_>> {
        let authentication = self.authentication.as_deref_mut();
        authentication
            .filter(|authentication| authentication.has_keys())
            .map(AuthenticationKeys)
    }
}

/// The endpoint pair shared keys of an association (RFC 4895 §6.1). Key 0 exists from the beginning
/// ([`AssociationConfig::authentication_key`](crate::AssociationConfig::authentication_key)) and is in use at first.
#[derive(Debug)]
pub struct AuthenticationKeys<'a>(&'a mut Authentication);

impl AuthenticationKeys<'_> {
    /// Adds key `id`, or replaces its secret (`SCTP_AUTH_KEY`). Packets of the peer that are authenticated by it are accepted from now
    /// on; ours only after [`AuthenticationKeys::select`].
    ///
    /// # Errors
    ///
    /// [`KeyError::TooMany`], [`KeyError::TooLong`].
    pub fn add(&mut self, id: u16, secret: &[u8]) -> Result<(), KeyError> {
        self.0.add_key(id, secret)
    }

    /// Authenticates our packets by key `id` from now on, retransmissions included (`SCTP_AUTH_ACTIVE_KEY`). The peer must have the key
    /// already: it discards packets with a key that it does not have, and they are retransmitted until it has it.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unknown`].
    pub fn select(&mut self, id: u16) -> Result<(), KeyError> {
        self.0.use_key(id)
    }

    /// Deletes key `id` (`SCTP_AUTH_DELETE_KEY`): packets of the peer that are authenticated by it are discarded from now on.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unknown`], [`KeyError::InUse`].
    pub fn delete(&mut self, id: u16) -> Result<(), KeyError> {
        self.0.delete_key(id)
    }

    /// The id of the key by which our packets are authenticated.
    #[must_use]
    pub fn in_use(&self) -> u16 {
        self.0.key_in_use()
    }
}

//! Shared keys of an association (RFC 4895 §6.1; RFC 6458 §8.3): adding, selecting, deactivating and deleting them while it runs.

use alloc::vec::Vec;

use anabranch_wire::chunk::kind;

use super::Association;
use crate::auth::{Authentication, KeyError};
use crate::endpoint::AssociationMut;
use crate::send::{SendError, Sender};

impl Association {
    /// Whether both ends support authentication (RFC 4895).
    #[must_use]
    pub fn is_authenticated(&self) -> bool {
        self.authentication.is_some() && self.extensions.agreed(kind::AUTH)
    }

    /// Whether we offered authentication, and the peer does not support it, as [`crate::Event::PeerWithoutAuthentication`] tells.
    #[must_use]
    pub fn lacks_authentication(&self) -> bool {
        self.authentication.is_some() && !self.extensions.agreed(kind::AUTH)
    }

    /// The types of the chunks that the peer requires to be authenticated (`SCTP_PEER_AUTH_CHUNKS`, RFC 6458 §8.2.3), in ascending order;
    /// none before the handshake, and none if one of the ends does not support authentication.
    #[must_use]
    pub fn chunks_authenticated_for_peer(&self) -> Vec<u8> {
        let authentication = self.authentication.as_deref();
        let agreed = authentication.filter(|_| self.is_authenticated());
        agreed.map(Authentication::demanded_by_peer).unwrap_or_default()
    }

    /// Checks that a message may name the shared key `id`.
    #[cold]
    pub(super) fn check_key(&self, id: u16) -> Result<(), SendError> {
        let authentication = self.authentication.as_deref();
        let checked = authentication.map(|authentication| authentication.check_key(id));
        match checked {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(SendError::InvalidKey),
        }
    }
}

impl AssociationMut<'_> {
    /// The endpoint pair shared keys, to change them; `None` if neither end requires more than address changes to be authenticated.
    pub fn authentication_keys(&mut self) -> Option<AuthenticationKeys<'_>> {
        let association = &mut **self;
        let authentication = association.authentication.as_deref_mut()?;
        let sender = &mut association.transfer.sender;
        authentication.has_keys().then_some(AuthenticationKeys {
            authentication,
            sender,
        })
    }
}

/// The endpoint pair shared keys of an association (RFC 4895 §6.1). Key 0 exists from the beginning
/// ([`AssociationConfig::authentication_key`](crate::AssociationConfig::authentication_key)) and is in use at first.
///
/// A message may name another key than the selected one ([`Message::authentication_key`](crate::Message::authentication_key)). Packets
/// have one key, so messages of different keys are never bundled.
#[derive(Debug)]
pub struct AuthenticationKeys<'a> {
    authentication: &'a mut Authentication,
    sender: &'a mut Sender,
}

impl AuthenticationKeys<'_> {
    /// Adds key `id`, or replaces its secret (`SCTP_AUTH_KEY`). Packets of the peer that are authenticated by it are accepted from now
    /// on; ours are authenticated by it only after [`AuthenticationKeys::select`], or if their messages name it. A deactivated key may be
    /// used again.
    ///
    /// # Errors
    ///
    /// [`KeyError::TooMany`], [`KeyError::TooLong`].
    pub fn add(&mut self, id: u16, secret: &[u8]) -> Result<(), KeyError> {
        self.authentication.add_key(id, secret)?;
        self.sender.forget_key(id);
        Ok(())
    }

    /// Authenticates our packets by key `id` from now on, retransmissions included (`SCTP_AUTH_ACTIVE_KEY`), except those of messages
    /// that name another key. The peer must have the key already: it discards packets with a key that it does not have, and they are
    /// retransmitted until it has it.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unknown`], [`KeyError::Deactivated`].
    pub fn select(&mut self, id: u16) -> Result<(), KeyError> {
        self.authentication.use_key(id)
    }

    /// Ends the use of key `id` for new messages (`SCTP_AUTH_DEACTIVATE_KEY`). [`crate::Event::AuthenticationKeyFree`] follows when all
    /// messages that name it are acknowledged or abandoned. Packets of the peer that are authenticated by it are still accepted.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unknown`], [`KeyError::Deactivated`]; [`KeyError::InUse`] if it is selected.
    pub fn deactivate(&mut self, id: u16) -> Result<(), KeyError> {
        self.authentication.deactivate_key(id)?;
        self.sender.drain_key(id);
        Ok(())
    }

    /// Deletes key `id` (`SCTP_AUTH_DELETE_KEY`): packets of the peer that are authenticated by it are discarded from now on.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unknown`]; [`KeyError::InUse`] if it is selected, or if messages that are not acknowledged name it.
    pub fn delete(&mut self, id: u16) -> Result<(), KeyError> {
        if self.sender.needs_key(id) {
            return Err(KeyError::InUse);
        }
        self.authentication.delete_key(id)?;
        self.sender.forget_key(id);
        Ok(())
    }

    /// The id of the selected key.
    #[must_use]
    pub fn in_use(&self) -> u16 {
        self.authentication.key_in_use()
    }
}

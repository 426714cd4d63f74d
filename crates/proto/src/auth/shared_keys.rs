//! Endpoint pair shared keys of an association, by their ids (RFC 4895 §6.2).

use alloc::boxed::Box;
use alloc::vec::Vec;

use thiserror::Error;

/// Reason why a shared key was not added, selected or deleted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// This association does not offer authentication.
    #[error("the association does not offer authentication")]
    NotOffered,
    /// There is no key with this id.
    #[error("there is no key with this id")]
    Unknown,
    /// The key authenticates our packets, or messages that are not acknowledged name it.
    #[error("the key is in use")]
    InUse,
    /// The key is deactivated: it authenticates packets of the peer only.
    #[error("the key is deactivated")]
    Deactivated,
    /// There are already 32 keys.
    #[error("there are {max} keys already")]
    TooMany {
        /// Maximum number of keys.
        max: usize,
    },
    /// The secret is longer than 1,024 bytes.
    #[error("the secret is longer than {max} bytes")]
    TooLong {
        /// Maximum length of a secret in bytes.
        max: usize,
    },
}

/// Maximum number of keys.
const MAX_KEYS: usize = 32;
/// Maximum length of a secret in bytes.
const MAX_SECRET: usize = 1_024;

/// The secrets, and which of them authenticates our packets.
#[derive(Clone, Debug)]
pub(crate) struct SharedKeys {
    secrets: Vec<(u16, Box<[u8]>)>,
    in_use: u16,
    /// Keys that new messages may not use.
    deactivated: Vec<u16>,
}

impl SharedKeys {
    //= rfc4895 6.2-5
    /// Key 0 with this secret, which may be empty, is in use at first.
    pub(super) fn of(secret: &[u8]) -> Self {
        Self {
            secrets: alloc::vec![(0, secret.into())],
            in_use: 0,
            deactivated: Vec::new(),
        }
    }

    pub(super) const fn in_use(&self) -> u16 {
        self.in_use
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.secrets.iter().map(|(id, secret)| (*id, &**secret))
    }

    fn contains(&self, id: u16) -> bool {
        self.secrets.iter().any(|(known, _)| *known == id)
    }

    /// Checks that there is key `id`, and that our messages may use it.
    pub(super) fn check(&self, id: u16) -> Result<(), KeyError> {
        if !self.contains(id) {
            return Err(KeyError::Unknown);
        }
        if self.deactivated.contains(&id) {
            return Err(KeyError::Deactivated);
        }
        Ok(())
    }

    /// Adds a key or replaces its secret; it may be used then, even if it was deactivated.
    pub(super) fn add(&mut self, id: u16, secret: &[u8]) -> Result<(), KeyError> {
        if secret.len() > MAX_SECRET {
            return Err(KeyError::TooLong { max: MAX_SECRET });
        }
        if !self.contains(id) && self.secrets.len() >= MAX_KEYS {
            return Err(KeyError::TooMany { max: MAX_KEYS });
        }
        self.forget(id);
        self.secrets.push((id, secret.into()));
        Ok(())
    }

    //= rfc4895 6.2-2
    /// Selects the key that authenticates our packets.
    pub(super) fn select(&mut self, id: u16) -> Result<(), KeyError> {
        self.check(id)?;
        self.in_use = id;
        Ok(())
    }

    /// Ends the use of a key for new messages.
    pub(super) fn deactivate(&mut self, id: u16) -> Result<(), KeyError> {
        self.check(id)?;
        if id == self.in_use {
            return Err(KeyError::InUse);
        }
        self.deactivated.push(id);
        Ok(())
    }

    pub(super) fn delete(&mut self, id: u16) -> Result<(), KeyError> {
        if !self.contains(id) {
            return Err(KeyError::Unknown);
        }
        if id == self.in_use {
            return Err(KeyError::InUse);
        }
        self.forget(id);
        Ok(())
    }

    fn forget(&mut self, id: u16) {
        self.secrets.retain(|(known, _)| *known != id);
        self.deactivated.retain(|known| *known != id);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::{KeyError, MAX_KEYS, MAX_SECRET, SharedKeys};

    #[test]
    fn key_in_use_cannot_be_deleted_and_an_unknown_one_not_selected() {
        let mut keys = SharedKeys::of(b"first");
        assert_eq!(keys.delete(0), Err(KeyError::InUse));
        assert_eq!(keys.select(7), Err(KeyError::Unknown));
        assert_eq!(keys.delete(7), Err(KeyError::Unknown));
        keys.add(7, b"second").unwrap();
        keys.select(7).unwrap();
        keys.delete(0).unwrap();
        assert_eq!(keys.iter().collect::<vec::Vec<_>>(), [(7, &b"second"[..])]);
        assert_eq!(keys.select(0), Err(KeyError::Unknown));
    }

    #[test]
    fn deactivated_key_is_used_again_after_it_is_replaced() {
        let mut keys = SharedKeys::of(b"first");
        assert_eq!(keys.deactivate(0), Err(KeyError::InUse));
        assert_eq!(keys.deactivate(7), Err(KeyError::Unknown));
        keys.add(7, b"second").unwrap();
        keys.deactivate(7).unwrap();
        for refused in [keys.check(7), keys.select(7), keys.deactivate(7)] {
            assert_eq!(refused, Err(KeyError::Deactivated));
        }
        keys.add(7, b"third").unwrap();
        assert_eq!((keys.check(7), keys.select(7)), (Ok(()), Ok(())));
    }

    #[test]
    fn keys_are_bounded_in_number_and_length() {
        let mut keys = SharedKeys::of(b"");
        for id in 1..MAX_KEYS as u16 {
            keys.add(id, &[1; MAX_SECRET]).unwrap();
        }
        assert_eq!(keys.add(500, b"x"), Err(KeyError::TooMany { max: MAX_KEYS }));
        keys.add(1, b"replaced").unwrap();
        let long = [1; MAX_SECRET + 1];
        assert_eq!(keys.add(1, &long), Err(KeyError::TooLong { max: MAX_SECRET }));
        assert!(keys.iter().any(|key| key == (1, &b"replaced"[..])));
    }
}

//! Options of encryption, which no standard has.

use super::Asked;
use super::number as n;
use crate::encryption::{Choice, say};
use crate::errno::Errno;
use crate::hub;
use crate::layout::{Build, FUTURE_ASSOC, Fields};
use crate::socket::Socket;

/// Room for a public key as text, with a zero.
const KEY_TEXT: usize = 60;

impl Socket {
    pub(super) fn encryption_option(&self, name: i32, given: &[u8]) -> Asked<Vec<u8>> {
        Some(match name {
            n::ANABRANCH_ENCRYPTION => self.own_key(given.len()),
            n::ANABRANCH_PEER_KEY => self.peer_key(given),
            _ => return None,
        })
    }

    pub(super) fn set_encryption_option(&self, name: i32, value: &[u8]) -> Asked<()> {
        (name == n::ANABRANCH_ENCRYPTION).then(|| self.set_encryption(value))
    }

    /// Lines up to the first zero, for associations to come; none stand for packets in the clear.
    fn set_encryption(&self, value: &[u8]) -> Result<(), Errno> {
        let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = str::from_utf8(text).map_err(|_| Errno(libc::EINVAL))?;
        let mut choice = Choice::default();
        let read = choice.read(text).and_then(|()| choice.done());
        let encryption = read.map_err(|error| {
            say(&format!("SCTP_ANABRANCH_ENCRYPTION: {error}"));
            Errno(libc::EINVAL)
        })?;
        // Sealed datagrams are sent in UDP only.
        if encryption.is_some() && hub::is_raw() {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        // An endpoint that is open stays as it is.
        if self.hub().is_some() {
            return Err(Errno(libc::ENOPROTOOPT));
        }
        self.set_future(FUTURE_ASSOC, |settings| {
            settings.encryption = encryption;
            Ok(())
        })
    }

    /// Our public key as text, empty if packets are in the clear.
    fn own_key(&self, room: usize) -> Result<Vec<u8>, Errno> {
        let encryption = self.settings_of(FUTURE_ASSOC)?.encryption;
        let key = encryption.map(|encryption| encryption.public_key().to_string());
        let mut text = key.unwrap_or_default().into_bytes();
        text.push(0);
        if text.len() > room {
            return Err(Errno(libc::EINVAL));
        }
        Ok(text)
    }

    /// `struct sctp_anabranch_peer_key`.
    fn peer_key(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let id = Fields::new(given).i32()?;
        let association = &self.member(id)?.association;
        let key = association.peer_identity().and_then(|peer| peer.public_key());
        let key = key.map(|key| key.to_string()).unwrap_or_default();
        let build = Build::new().i32(id);
        let build = key.bytes().fold(build, Build::u8);
        Ok(build.pad(4 + KEY_TEXT).done())
    }
}

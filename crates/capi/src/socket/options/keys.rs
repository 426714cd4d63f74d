//! Options of authentication (RFC 4895).

use std::sync::Arc;

use super::number as n;
use super::{Asked, with_id};
use crate::errno::Errno;
use crate::layout::{Build, Fields};
use crate::lock;
use crate::socket::Socket;

/// SHA-256 and SHA-1, which the standard demands.
const HMACS: [u16; 2] = [3, 1];

impl Socket {
    pub(super) fn key_option(&self, name: i32, given: &[u8]) -> Asked<Vec<u8>> {
        Some(match name {
            n::AUTH_SUPPORTED => with_id(given, |id| {
                let settings = self.settings_of(id)?;
                Ok((settings.changes_addresses || !settings.authenticated_chunks.is_empty()).into())
            }),
            n::HMAC_IDENT => {
                let build = Build::new().u32(2);
                Ok(HMACS.into_iter().fold(build, Build::u16).done())
            }
            n::AUTH_ACTIVE_KEY => Fields::new(given).i32().and_then(|id| {
                let key = self.settings_of(id)?.active_key;
                Ok(Build::new().i32(id).u16(key).pad(8).done())
            }),
            n::LOCAL_AUTH_CHUNKS => self.local_chunks(given),
            n::PEER_AUTH_CHUNKS => self.peer_chunks(given),
            _ => return None,
        })
    }

    pub(super) fn set_key_option(self: &Arc<Self>, name: i32, value: &[u8]) -> Asked<()> {
        Some(match name {
            n::AUTH_CHUNK => Fields::new(value).u8().and_then(|kind| self.demand(kind)),
            n::AUTH_KEY => self.add_key(value),
            n::AUTH_ACTIVE_KEY => self.use_key(value),
            n::AUTH_DELETE_KEY => self.delete_key(value),
            n::AUTH_DEACTIVATE_KEY => self.deactivate_key(value),
            _ => return None,
        })
    }

    /// Chunks of this type have to be authenticated in associations to come.
    fn demand(&self, kind: u8) -> Result<(), Errno> {
        const INIT: u8 = 1;
        const INIT_ACK: u8 = 2;
        const SHUTDOWN_COMPLETE: u8 = 14;
        const AUTH: u8 = 15;
        // RFC 4895 §3.2.
        if matches!(kind, INIT | INIT_ACK | SHUTDOWN_COMPLETE | AUTH) {
            return Err(Errno(libc::EINVAL));
        }
        let mut settings = lock(&self.settings);
        if !settings.authenticated_chunks.contains(&kind) {
            settings.authenticated_chunks.push(kind);
        }
        Ok(())
    }

    /// `struct sctp_authchunks`: what we demand, with the chunks that change addresses.
    fn local_chunks(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let id = Fields::new(given).i32()?;
        let settings = self.settings_of(id)?;
        let mut kinds = settings.authenticated_chunks.clone();
        for kind in [0xc1, 0x80] {
            if settings.changes_addresses && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Ok(chunk_types(id, &kinds))
    }

    /// `struct sctp_authchunks`: what the peer demands.
    fn peer_chunks(&self, given: &[u8]) -> Result<Vec<u8>, Errno> {
        let id = Fields::new(given).i32()?;
        let kinds = self.member(id)?.association.chunks_authenticated_for_peer();
        let answer = chunk_types(id, &kinds);
        // RFC 6458 §8.2.3: a list that does not fit is an error.
        if answer.len() > given.len() {
            return Err(Errno(libc::EINVAL));
        }
        Ok(answer)
    }

    /// `struct sctp_authkey`: for associations that exist, or to come.
    fn add_key(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let (id, number, length) = (fields.i32()?, fields.u16()?, fields.u16()?);
        let secret = match length {
            0 => fields.rest(),
            _ => fields.bytes(length.into())?,
        };
        for member in self.present(id)? {
            let added = member.association.add_authentication_key(number, secret);
            added.map_err(Errno::of_key)?;
        }
        self.set_each(id, |settings| {
            settings.keys.insert(number, secret.to_vec());
            settings.deactivated_keys.remove(&number);
            Ok(())
        })
    }

    /// `struct sctp_authkeyid`.
    fn use_key(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let (id, number) = (fields.i32()?, fields.u16()?);
        for member in self.present(id)? {
            let used = member.association.use_authentication_key(number);
            used.map_err(Errno::of_key)?;
        }
        self.set_each(id, |settings| {
            let is_unknown = number != 0 && !settings.keys.contains_key(&number);
            if is_unknown || settings.deactivated_keys.contains(&number) {
                return Err(Errno(libc::EINVAL));
            }
            settings.active_key = number;
            Ok(())
        })
    }

    fn delete_key(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let (id, number) = (fields.i32()?, fields.u16()?);
        for member in self.present(id)? {
            let deleted = member.association.delete_authentication_key(number);
            deleted.map_err(Errno::of_key)?;
        }
        self.set_each(id, |settings| {
            if settings.active_key == number || settings.keys.remove(&number).is_none() {
                return Err(Errno(libc::EINVAL));
            }
            settings.deactivated_keys.remove(&number);
            Ok(())
        })
    }

    /// No new message uses the key, which the peer may go on using.
    fn deactivate_key(&self, value: &[u8]) -> Result<(), Errno> {
        let mut fields = Fields::new(value);
        let (id, number) = (fields.i32()?, fields.u16()?);
        for member in self.present(id)? {
            let deactivated = member.association.deactivate_authentication_key(number);
            deactivated.map_err(Errno::of_key)?;
        }
        self.set_each(id, |settings| {
            let is_known = number == 0 || settings.keys.contains_key(&number);
            if settings.active_key == number || !is_known || !settings.deactivated_keys.insert(number) {
                return Err(Errno(libc::EINVAL));
            }
            Ok(())
        })
    }
}

fn chunk_types(id: i32, kinds: &[u8]) -> Vec<u8> {
    let count = u32::try_from(kinds.len()).unwrap_or(u32::MAX);
    Build::new().i32(id).u32(count).bytes(kinds).done()
}

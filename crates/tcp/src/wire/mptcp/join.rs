//! MP_JOIN option, in the forms of the three handshake steps of a further subflow (RFC 8684 §3.2).

use alloc::vec::Vec;

use super::key::{Nonce, Token};
use super::option::AddressId;
use super::subtype;

/// Backup flag (B).
const BACKUP: u8 = 0x01;

/// The option that adds a subflow to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MpJoin {
    /// The SYN carries the token of the connection.
    Syn {
        /// Use as backup only.
        backup: bool,
        /// Address ID of the sender.
        address: AddressId,
        /// Token of the connection at the receiver.
        token: Token,
        /// Nonce of the sender.
        nonce: Nonce,
    },
    /// The SYN-ACK authenticates its sender by HMAC.
    SynAck {
        /// Use as backup only.
        backup: bool,
        /// Address ID of the sender.
        address: AddressId,
        /// The first 64 bits of [`super::JoinCode`].
        code: [u8; 8],
        /// Nonce of the sender.
        nonce: Nonce,
    },
    /// The third segment authenticates the initiator by HMAC.
    Ack {
        /// The first 160 bits of [`super::JoinCode`].
        code: [u8; 20],
    },
}

impl MpJoin {
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let (&[first, address], rest) = value.split_first_chunk()?;
        let backup = first & BACKUP != 0;
        let address = AddressId(address);
        if let Ok(code) = rest.try_into() {
            return Some(Self::Ack { code });
        }
        let (front, &nonce) = rest.split_last_chunk()?;
        let nonce = Nonce(u32::from_be_bytes(nonce));
        if let Ok(token) = front.try_into() {
            let token = Token(u32::from_be_bytes(token));
            return Some(Self::Syn {
                backup,
                address,
                token,
                nonce,
            });
        }
        Some(Self::SynAck {
            backup,
            address,
            code: front.try_into().ok()?,
            nonce,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let first = |backup| subtype::JOIN << 4 | if backup { BACKUP } else { 0 };
        match *self {
            Self::Syn {
                backup,
                address,
                token,
                nonce,
            } => {
                out.extend_from_slice(&[first(backup), address.0]);
                out.extend_from_slice(&token.0.to_be_bytes());
                out.extend_from_slice(&nonce.0.to_be_bytes());
            }
            Self::SynAck {
                backup,
                address,
                code,
                nonce,
            } => {
                out.extend_from_slice(&[first(backup), address.0]);
                out.extend_from_slice(&code);
                out.extend_from_slice(&nonce.0.to_be_bytes());
            }
            Self::Ack { code } => {
                out.extend_from_slice(&[first(false), 0]);
                out.extend_from_slice(&code);
            }
        }
    }

    pub(super) const fn len(&self) -> usize {
        match self {
            Self::Syn { .. } => 12,
            Self::SynAck { .. } => 16,
            Self::Ack { .. } => 24,
        }
    }
}

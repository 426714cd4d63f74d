//! MPTCP keys, and the tokens, initial data sequence numbers and HMACs derived from them (RFC 8684 §3.1, §3.2 and §3.4.1).

use core::fmt;
use core::net::IpAddr;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

use super::option::AddressId;

type HmacSha256 = Hmac<Sha256>;

/// Key of one end of a connection, exchanged in clear in the handshake (RFC 8684 §3.1).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 8]);

/// Token of a connection, sent when a subflow joins it: the first 32 bits of the hash of its key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token(pub u32);

/// Nonce of one end for each subflow that joins, which prevents replay of an HMAC (RFC 8684 §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Nonce(pub u32);

impl Key {
    /// The token of this key.
    #[must_use]
    pub fn token(self) -> Token {
        let hash = Sha256::digest(self.0);
        Token(u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]))
    }

    /// Initial data sequence number of the owner (IDSN): the last 64 bits of the hash. The first byte of data has the next
    /// number.
    /// number after it.
    #[must_use]
    pub fn initial_data_sequence(self) -> u64 {
        let hash = Sha256::digest(self.0);
        hash[24..]
            .iter()
            .fold(0, |number, &byte| (number << 8) | u64::from(byte))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}

/// HMAC by which one end of a joining subflow proves that it knows both keys.
#[derive(Clone)]
pub struct JoinCode(HmacSha256);

impl JoinCode {
    /// The HMAC of the end that owns `own_key` and `own_nonce`: its own key and nonce come first (RFC 8684 §3.2).
    #[must_use]
    pub fn new(own_key: Key, peer_key: Key, own_nonce: Nonce, peer_nonce: Nonce) -> Self {
        let mut mac = keyed(own_key, peer_key);
        mac.update(&own_nonce.0.to_be_bytes());
        mac.update(&peer_nonce.0.to_be_bytes());
        Self(mac)
    }

    /// The part carried by the SYN-ACK: the first 64 bits.
    #[must_use]
    pub fn short(&self) -> [u8; 8] {
        self.first()
    }

    /// The part carried by the third segment: the first 160 bits.
    #[must_use]
    pub fn long(&self) -> [u8; 20] {
        self.first()
    }

    /// Whether `code` is the start of this HMAC; compares in constant time.
    #[must_use]
    pub fn is(&self, code: &[u8]) -> bool {
        self.0.clone().verify_truncated_left(code).is_ok()
    }

    fn first<const N: usize>(&self) -> [u8; N] {
        let code = self.0.clone().finalize().into_bytes();
        core::array::from_fn(|at| code[at])
    }
}

impl fmt::Debug for JoinCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JoinCode(secret)")
    }
}

/// HMAC by which an advertised address proves that its sender knows both keys.
#[derive(Clone)]
pub struct AddressCode(HmacSha256);

impl AddressCode {
    /// The HMAC of the end that owns `own_key` for one of its addresses; an omitted port counts as 0 (RFC 8684 §3.4.1).
    #[must_use]
    pub fn new(own_key: Key, peer_key: Key, id: AddressId, address: IpAddr, port: Option<u16>) -> Self {
        let mut mac = keyed(own_key, peer_key);
        mac.update(&[id.0]);
        match address {
            IpAddr::V4(address) => mac.update(&address.octets()),
            IpAddr::V6(address) => mac.update(&address.octets()),
        }
        mac.update(&port.unwrap_or(0).to_be_bytes());
        Self(mac)
    }

    /// The part carried by the option: the last 64 bits.
    #[must_use]
    pub fn short(&self) -> [u8; 8] {
        let code = self.0.clone().finalize().into_bytes();
        core::array::from_fn(|at| code[24 + at])
    }

    /// Whether `code` is the end of this HMAC; compares in constant time.
    #[must_use]
    pub fn is(&self, code: [u8; 8]) -> bool {
        self.0.clone().verify_truncated_right(&code).is_ok()
    }
}

impl fmt::Debug for AddressCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AddressCode(secret)")
    }
}

fn keyed(own: Key, peer: Key) -> HmacSha256 {
    let mut both = [0; 16];
    both[..8].copy_from_slice(&own.0);
    both[8..].copy_from_slice(&peer.0);
    HmacSha256::new_from_slice(&both).expect("invariant: HMAC takes keys of any length")
}

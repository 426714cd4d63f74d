//! HMAC of AUTH chunks (RFC 4895 §6.2). It covers the AUTH chunk, with zeros in place of the HMAC, and all chunks after it.

use anabranch_wire::{Auth, HmacId};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use crate::secrets::HmacSha256;

/// HMAC algorithms that are offered and can be verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Algorithm {
    Sha256,
    /// "The HMAC algorithm based on SHA-1 MUST be supported" (RFC 4895 §6.1). The known attacks on SHA-1 do not affect HMAC (RFC
    /// 6194 §3.3). It is used with peers that support nothing better.
    Sha1,
}

/// An association key in the forms that the algorithms use: HMAC replaces a key that is longer than a block by its hash (RFC 2104 §2),
/// and association keys are longer, because they contain two random numbers of 32 bytes with their headers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HashedKey {
    sha_256: [u8; 32],
    sha_1: [u8; 20],
}

impl HashedKey {
    pub(super) fn of(key: &[u8]) -> Self {
        debug_assert!(key.len() > 64, "the block length of both algorithms");
        Self {
            sha_256: Sha256::digest(key).into(),
            sha_1: Sha1::digest(key).into(),
        }
    }
}

impl Algorithm {
    //= rfc4895 3.3-7, 6.1-7, 6.1-8
    /// The offered algorithms, in order of preference.
    pub(crate) const OFFERED: [Self; 2] = [Self::Sha256, Self::Sha1];

    pub(crate) fn from_id(id: HmacId) -> Option<Self> {
        Self::OFFERED.into_iter().find(|algorithm| algorithm.id() == id)
    }

    pub(crate) const fn id(self) -> HmacId {
        match self {
            Self::Sha256 => HmacId::SHA_256,
            Self::Sha1 => HmacId::SHA_1,
        }
    }

    /// Length of the HMAC in bytes.
    pub(crate) const fn code_len(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha1 => 20,
        }
    }

    //= rfc4895 6.2-6
    /// Writes the HMAC into `covered`, which starts with an AUTH chunk whose HMAC is zeros, and ends at the end of the packet.
    pub(super) fn seal(self, key: &HashedKey, covered: &mut [u8]) {
        let end = Auth::HEADER_LEN + self.code_len();
        match self {
            Self::Sha256 => {
                let code = feed::<HmacSha256>(&key.sha_256, &[covered])
                    .finalize()
                    .into_bytes();
                covered[Auth::HEADER_LEN..end].copy_from_slice(&code);
            }
            Self::Sha1 => {
                let code = feed::<Hmac<Sha1>>(&key.sha_1, &[covered]).finalize().into_bytes();
                covered[Auth::HEADER_LEN..end].copy_from_slice(&code);
            }
        }
    }

    /// Whether the HMAC in `covered` is valid; `covered` starts with an AUTH chunk and ends at the end of the packet.
    pub(super) fn is_genuine(self, key: &HashedKey, covered: &[u8]) -> bool {
        let length = self.code_len();
        let Some((header, rest)) = covered.split_at_checked(Auth::HEADER_LEN) else {
            return false;
        };
        let Some((code, rest)) = rest.split_at_checked(length) else {
            return false;
        };
        let zeros = [0; 32];
        let parts = [header, &zeros[..length], rest];
        match self {
            Self::Sha256 => feed::<HmacSha256>(&key.sha_256, &parts)
                .verify_slice(code)
                .is_ok(),
            Self::Sha1 => feed::<Hmac<Sha1>>(&key.sha_1, &parts).verify_slice(code).is_ok(),
        }
    }
}

fn feed<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> M {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac
}

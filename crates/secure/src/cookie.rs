//! Cookies. Does this client receive packets at the address that it sends from?
//!
//! As the Retry tokens of RFC 9000 §8.1.2: the server keeps nothing until a cookie returns. A cookie is the time, and
//! an HMAC-SHA-256 of time, version, index and address under a key that never leaves the server.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use anabranch_types::Instant;
use aws_lc_rs::hmac;

use crate::index::Index;
use crate::version::Version;

/// Bytes of a cookie: eight of time, sixteen of authenticator.
pub(crate) const COOKIE_LEN: usize = 8 + 16;
/// How long a cookie is valid.
pub(crate) const LIFETIME: Duration = Duration::from_secs(15);

/// Creates and verifies cookies.
#[derive(Debug)]
pub(crate) struct CookieKey(hmac::Key);

impl CookieKey {
    /// The key derived from an endpoint's secret for cookies.
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self(derive(secret, b"anabranch cookie"))
    }

    /// A cookie for the client `client` at `address`.
    pub(crate) fn create(
        &self,
        now: Instant,
        version: Version,
        client: Index,
        address: SocketAddr,
    ) -> [u8; COOKIE_LEN] {
        let mut cookie = [0; COOKIE_LEN];
        let time = now.as_nanos().to_be_bytes();
        cookie[..8].copy_from_slice(&time);
        let tag = hmac::sign(&self.0, &covered(time, version, client, address));
        cookie[8..].copy_from_slice(&tag.as_ref()[..16]);
        cookie
    }

    /// When `cookie` was created, if it is ours, for this client, and neither older than [`LIFETIME`] nor of the future.
    pub(crate) fn verify(
        &self,
        now: Instant,
        version: Version,
        client: Index,
        address: SocketAddr,
        cookie: &[u8],
    ) -> Option<Instant> {
        let (time, tag) = cookie.split_first_chunk::<8>()?;
        let expected = hmac::sign(&self.0, &covered(*time, version, client, address));
        aws_lc_rs::constant_time::verify_slices_are_equal(tag, &expected.as_ref()[..16]).ok()?;
        let created = Instant::from_nanos(u64::from_be_bytes(*time));
        (created <= now && now - created <= LIFETIME).then_some(created)
    }
}

/// A key for one purpose, from an endpoint's secret.
pub(crate) fn derive(secret: &[u8; 32], label: &[u8]) -> hmac::Key {
    let root = hmac::Key::new(hmac::HMAC_SHA256, secret);
    hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&root, label).as_ref())
}

/// What the HMAC covers. All fields but the address have fixed lengths, and the address is last.
fn covered(time: [u8; 8], version: Version, client: Index, address: SocketAddr) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + 4 + 8 + 2 + 16);
    bytes.extend(time);
    bytes.extend(version.0.to_be_bytes());
    bytes.extend(client.0);
    bytes.extend(address.port().to_be_bytes());
    match address.ip() {
        IpAddr::V4(ip) => bytes.extend(ip.octets()),
        IpAddr::V6(ip) => bytes.extend(ip.octets()),
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anabranch_types::Instant;

    use super::{CookieKey, LIFETIME};
    use crate::index::Index;
    use crate::version::Version;

    const CLIENT: Index = Index([7; 8]);
    const START: Instant = Instant::from_nanos(5_000_000_000);

    #[test]
    fn cookie_is_valid_for_its_client_address_and_version_only() {
        let key = CookieKey::new(&[1; 32]);
        let address = "192.0.2.1:9".parse().unwrap();
        let cookie = key.create(START, Version::V1, CLIENT, address);
        let later = START + Duration::from_millis(30);
        assert_eq!(
            key.verify(later, Version::V1, CLIENT, address, &cookie),
            Some(START)
        );
        assert!(key.verify(later, Version(2), CLIENT, address, &cookie).is_none());
        assert!(
            key.verify(later, Version::V1, Index([8; 8]), address, &cookie)
                .is_none()
        );
        let other = "192.0.2.1:10".parse().unwrap();
        assert!(key.verify(later, Version::V1, CLIENT, other, &cookie).is_none());
        let other = CookieKey::new(&[2; 32]);
        assert!(
            other
                .verify(later, Version::V1, CLIENT, address, &cookie)
                .is_none()
        );
    }

    #[test]
    fn cookie_expires_and_every_changed_bit_invalidates_it() {
        let key = CookieKey::new(&[1; 32]);
        let address = "[2001:db8::1]:9".parse().unwrap();
        let cookie = key.create(START, Version::V1, CLIENT, address);
        assert!(
            key.verify(START + LIFETIME, Version::V1, CLIENT, address, &cookie)
                .is_some()
        );
        let late = START + LIFETIME + Duration::from_nanos(1);
        assert!(key.verify(late, Version::V1, CLIENT, address, &cookie).is_none());
        assert!(
            key.verify(
                START - Duration::from_nanos(1),
                Version::V1,
                CLIENT,
                address,
                &cookie
            )
            .is_none()
        );
        for bit in 0..8 * cookie.len() {
            let mut forged = cookie;
            forged[bit / 8] ^= 1 << (bit % 8);
            assert!(key.verify(START, Version::V1, CLIENT, address, &forged).is_none());
        }
        assert!(
            key.verify(START, Version::V1, CLIENT, address, &cookie[..23])
                .is_none()
        );
    }
}

//! Identity: a key pair of Ed25519 as raw public key (RFC 7250). Which peers are trusted?
//!
//! The text form is that of WireGuard's keys: 32 bytes in base64 (RFC 4648 §4), 44 characters.

mod text;
mod verifier;

use core::fmt;
use core::str::FromStr;
use std::sync::{Arc, PoisonError, RwLock};

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{default_provider, sign::any_eddsa_type};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, ServerConfig};

pub use text::KeyParseError;
use verifier::KeyVerifier;
pub use verifier::UntrustedKey;

/// Bytes of a key of Ed25519, private or public.
const KEY_LEN: usize = 32;
/// What precedes the key in a SubjectPublicKeyInfo of Ed25519 (RFC 8410 §4).
const SPKI_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];
/// What precedes the key in a private key of Ed25519 (RFC 8410 §7).
const PKCS8_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// A public key of Ed25519 (RFC 8032), which identifies a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; KEY_LEN]);

impl PublicKey {
    /// The key as RFC 8032 §5.1.5 encodes it.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; KEY_LEN] {
        &self.0
    }

    /// The key in a SubjectPublicKeyInfo, if it is one of Ed25519.
    #[must_use]
    pub fn from_spki(spki: &[u8]) -> Option<Self> {
        let key = spki.strip_prefix(&SPKI_PREFIX)?;
        key.try_into().ok().map(Self)
    }
}

impl From<[u8; KEY_LEN]> for PublicKey {
    fn from(bytes: [u8; KEY_LEN]) -> Self {
        Self(bytes)
    }
}

/// As base64.
impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::encode(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = KeyParseError;

    fn from_str(text: &str) -> Result<Self, KeyParseError> {
        text::decode(text).map(Self)
    }
}

/// A private key of Ed25519: the seed of RFC 8032 §5.1.5.
#[derive(Clone)]
pub struct PrivateKey([u8; KEY_LEN]);

impl PrivateKey {
    /// A new random key.
    ///
    /// # Errors
    ///
    /// The operating system has no randomness.
    pub fn generate() -> Result<Self, rustls::Error> {
        let mut seed = [0; KEY_LEN];
        default_provider().secure_random.fill(&mut seed)?;
        Ok(Self(seed))
    }

    /// Its public key.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        let pair = Ed25519KeyPair::from_seed_unchecked(&self.0).expect("invariant: a seed has 32 bytes");
        let bytes = pair.public_key().as_ref().try_into();
        PublicKey(bytes.expect("invariant: a public key of Ed25519 has 32 bytes"))
    }

    /// The secret as base64, to be kept in a file that only its owner reads.
    #[must_use]
    pub fn to_base64(&self) -> String {
        text::encode(&self.0)
    }

    /// A secret for the cookies and reset tokens of the host with this key: after a restart it can tell its peers that it lost their
    /// connections.
    #[must_use]
    pub fn endpoint_secret(&self) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let secret = hmac::sign(&key, b"anabranch endpoint secret");
        let secret = secret.as_ref().try_into();
        secret.expect("invariant: HMAC-SHA-256 has 32 bytes")
    }

    /// The key with its raw public key in place of a certificate (RFC 7250 §3).
    fn certified(&self) -> Result<Arc<CertifiedKey>, rustls::Error> {
        let pkcs8 = [&PKCS8_PREFIX[..], &self.0].concat();
        let key = any_eddsa_type(&PrivatePkcs8KeyDer::from(pkcs8))?;
        let spki = [&SPKI_PREFIX[..], self.public_key().as_bytes()].concat();
        Ok(Arc::new(CertifiedKey::new(vec![CertificateDer::from(spki)], key)))
    }
}

impl From<[u8; KEY_LEN]> for PrivateKey {
    fn from(seed: [u8; KEY_LEN]) -> Self {
        Self(seed)
    }
}

/// Shows the public key only.
impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey(of {})", self.public_key())
    }
}

impl FromStr for PrivateKey {
    type Err = KeyParseError;

    fn from_str(text: &str) -> Result<Self, KeyParseError> {
        text::decode(text).map(Self)
    }
}

/// A list of keys that may change while endpoints use it. Clones are the same list.
#[derive(Clone, Default, Debug)]
pub struct KeyList(Arc<RwLock<Vec<PublicKey>>>);

impl KeyList {
    /// A list of these keys.
    #[must_use]
    pub fn new(keys: Vec<PublicKey>) -> Self {
        Self(Arc::new(RwLock::new(keys)))
    }

    /// From now on, these keys are on the list, and no others. Handshakes that are over stay as they are.
    pub fn replace(&self, keys: Vec<PublicKey>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    /// Whether `key` is on the list.
    #[must_use]
    pub fn contains(&self, key: &PublicKey) -> bool {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(key)
    }
}

/// Whether both are the same list.
impl PartialEq for KeyList {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for KeyList {}

/// The peers whose keys are accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trust {
    /// The holders of these keys.
    Keys(Vec<PublicKey>),
    /// The holders of the keys that are on this list at the time of their handshake.
    Listed(KeyList),
    /// All: the application looks at the key of each peer itself.
    Everyone,
}

/// Configurations of TLS for an endpoint whose peers have raw public keys.
///
/// The client's configuration is used with [`raw_key_name`]: keys have no names.
///
/// # Errors
///
/// If rustls refuses the key.
pub fn raw_key_configs(
    identity: &PrivateKey,
    trust: &Trust,
) -> Result<(ClientConfig, ServerConfig), rustls::Error> {
    let provider = Arc::new(default_provider());
    let verifier = Arc::new(KeyVerifier::new(trust.clone(), &provider));
    let certified = identity.certified()?;
    let versions = &[&rustls::version::TLS13];
    let builder = ClientConfig::builder_with_provider(Arc::<CryptoProvider>::clone(&provider));
    let mut client = builder
        .with_protocol_versions(versions)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::<KeyVerifier>::clone(&verifier))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(Arc::clone(
            &certified,
        ))));
    client.enable_sni = false;
    let server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified)));
    Ok((client, server))
}

/// The name for the TLS of clients whose servers have raw public keys. It is not sent.
#[must_use]
pub fn raw_key_name() -> ServerName<'static> {
    ServerName::try_from("raw-public-key.invalid").expect("invariant: the name is valid")
}

#[cfg(test)]
mod tests;

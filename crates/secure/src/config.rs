//! Configuration of an endpoint.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom};

use crate::version::Version;

/// Configuration of an [`Endpoint`](crate::Endpoint).
#[derive(Clone)]
pub struct Config {
    /// Secret for reset tokens. Several machines that serve one address share it, and so does a machine that restarts: then it can
    /// tell peers that it lost their connections.
    pub secret: [u8; 32],
    /// The versions that we speak, the preferred first. [`Version::V1`], and reserved ones in tests.
    pub versions: Vec<Version>,
    /// Accepts clients if set. ALPN, session tickets and early data are set by the endpoint.
    pub server: Option<Arc<ServerConfig>>,
    /// Handshakes of clients in progress at one time. As many that are complete answer repetitions for some time.
    pub max_handshakes: usize,
    /// The number of this machine among several that serve one address behind a [balancer](crate::destination): the first two bytes of all
    /// indexes of ours, instead of random ones.
    pub machine: Option<u16>,
    /// Packets sealed with a key before it is updated; at most half the AEAD's limit (RFC 9001 §6.6).
    pub key_update_after: u64,
    /// For cookies. They state the time of an endpoint's own clock, so those of others, or of its life before a restart, are not valid.
    pub(crate) cookie_secret: [u8; 32],
    pub(crate) random: &'static dyn SecureRandom,
}

impl Config {
    /// A client's configuration with a random secret. All randomness comes from `provider`.
    ///
    /// # Errors
    ///
    /// If the provider has no randomness.
    pub fn new(provider: &CryptoProvider) -> Result<Self, GetRandomFailed> {
        let random = provider.secure_random;
        let (mut secret, mut cookie_secret) = ([0; 32], [0; 32]);
        random.fill(&mut secret)?;
        random.fill(&mut cookie_secret)?;
        Ok(Self {
            secret,
            versions: vec![Version::V1],
            server: None,
            max_handshakes: 1_000,
            machine: None,
            key_update_after: u64::MAX,
            cookie_secret,
            random,
        })
    }
}

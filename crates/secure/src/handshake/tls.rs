//! TLS side of the handshake: bytes in, bytes and keys out, and what the peer must have agreed to.

use core::fmt;

use anabranch_types::{Instant, PathAddr};
use rustls::pki_types::CertificateDer;
use rustls::quic::{KeyChange, Keys, Secrets};
use rustls::{CipherSuite, NamedGroup, Side};

use super::{Handshake, LINGER, Level, LevelState};
use crate::error::HandshakeError;
use crate::identity::PublicKey;
use crate::index::Index;
use crate::keys::LevelKeys;
use crate::packet::ParseError;
use crate::parameters::Parameters;
use crate::reset::ResetToken;
use crate::version::{Version, select};

/// The protocol that both ends agree on by ALPN (RFC 7301).
pub(crate) const ALPN: &[u8] = b"anabranch/1";
/// Label of the exported secret (RFC 8446 §7.5).
const EXPORTER: &[u8] = b"EXPORTER-anabranch-identity";

/// A secret of the TLS exporter (RFC 8446 §7.5), 32 bytes. Its debug text does not show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ExporterSecret([u8; 32]);

impl ExporterSecret {
    /// The secret itself.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for ExporterSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExporterSecret")
    }
}

/// What the handshake found out about the peer.
#[derive(Clone, Debug)]
pub struct PeerInfo {
    /// The version in use.
    pub version: Version,
    /// The peer's certificates, its own first, or its raw public key (RFC 7250); empty if it gave none.
    pub certificates: Vec<CertificateDer<'static>>,
    /// The AEAD and hash in use.
    pub cipher_suite: Option<CipherSuite>,
    /// The key exchange.
    pub key_exchange: Option<NamedGroup>,
    /// A secret that both ends of this connection have, and nobody else: 32 bytes of the TLS exporter (RFC 8446 §7.5).
    pub exporter: ExporterSecret,
}

impl PeerInfo {
    /// The peer's raw public key; `None` if it has a certificate, a key that is not of Ed25519, or none.
    #[must_use]
    pub fn public_key(&self) -> Option<PublicKey> {
        PublicKey::from_spki(self.certificates.first()?)
    }
}

/// The result of a handshake.
pub(crate) struct Established {
    pub(crate) keys: Keys,
    pub(crate) secrets: Secrets,
    pub(crate) peer: Index,
    pub(crate) reset: ResetToken,
    pub(crate) info: PeerInfo,
    pub(crate) side: Side,
    /// The paths on which the peer receives what we send.
    pub(crate) paths: Vec<PathAddr>,
}

impl Handshake {
    /// Passes handshake bytes to TLS, in order and without gaps.
    pub(super) fn read(&mut self, now: Instant, bytes: &[u8]) -> Result<(), HandshakeError> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        tls.read_hs(bytes)?;
        let is_over = !tls.is_handshaking();
        self.pull();
        if !self.complete && is_over && self.one_rtt.is_some() {
            self.complete = true;
            if self.side == Side::Server {
                // The client's Finished covers all that we sent.
                self.ack_all(Level::Handshake);
                self.ends_at = now + LINGER;
            }
        }
        Ok(())
    }

    /// Fetches what TLS has to send, and its keys.
    pub(super) fn pull(&mut self) {
        while let Some(tls) = &mut self.tls {
            let mut bytes = Vec::new();
            let change = tls.write_hs(&mut bytes);
            // Nothing is sent behind the Finished: session tickets would need a level of their own.
            if self.one_rtt.is_none()
                && let Some(state) = &mut self.levels[self.write_level as usize]
            {
                state.send.push(&bytes);
            }
            match change {
                Some(KeyChange::Handshake { keys }) => {
                    if self.side == Side::Client {
                        self.ack_all(Level::Initial);
                    }
                    self.levels[Level::Handshake as usize] = Some(LevelState::new(LevelKeys::new(keys)));
                    self.write_level = Level::Handshake;
                }
                Some(KeyChange::OneRtt { keys, next }) => self.one_rtt = Some((keys, next)),
                None => break,
            }
        }
    }

    /// The result, once, when the handshake is complete and the peer agreed to what the packets said.
    pub(crate) fn take_established(&mut self) -> Result<Option<Established>, HandshakeError> {
        if !self.complete {
            return Ok(None);
        }
        let Some((keys, secrets)) = self.one_rtt.take() else {
            return Ok(None);
        };
        let Some(tls) = &mut self.tls else { return Ok(None) };
        if tls.alpn_protocol() != Some(ALPN) {
            return Err(HandshakeError::WrongProtocol);
        }
        let bytes = tls.quic_transport_parameters().unwrap_or_default();
        let parameters = Parameters::parse(bytes).map_err(HandshakeError::Parameters)?;
        let exporter = ExporterSecret(tls.export_keying_material([0; 32], EXPORTER, None)?);
        let info = PeerInfo {
            version: self.terms.version,
            certificates: tls.peer_certificates().unwrap_or_default().to_vec(),
            cipher_suite: tls.negotiated_cipher_suite().map(|suite| suite.suite()),
            key_exchange: tls.negotiated_key_exchange_group().map(|group| group.name()),
            exporter,
        };
        let peer = self.verify(&parameters)?;
        // Errors before this line need the alert of TLS.
        self.tls = None;
        Ok(Some(Established {
            keys,
            secrets,
            peer,
            reset: parameters.reset,
            info,
            side: self.side,
            paths: self.proven_paths(),
        }))
    }

    /// Compares the peer's parameters with the packets, and returns the peer's index.
    fn verify(&self, parameters: &Parameters) -> Result<Index, HandshakeError> {
        if parameters.chosen != self.terms.version {
            return Err(HandshakeError::Downgrade);
        }
        if parameters.client != self.terms.client {
            return Err(HandshakeError::IndexMismatch);
        }
        match self.side {
            // A client offers the version that it uses (RFC 9368 §3).
            Side::Server if !parameters.available.contains(&parameters.chosen) => {
                Err(HandshakeError::Downgrade)
            }
            Side::Server => Ok(self.terms.client),
            Side::Client => {
                // Would the server's list have led to this version (RFC 9368 §4)?
                if select(&self.terms.available, &parameters.available) != Some(self.terms.version) {
                    return Err(HandshakeError::Downgrade);
                }
                let server = parameters
                    .server
                    .ok_or(HandshakeError::Parameters(ParseError::Truncated(0)))?;
                if self.terms.server != Some(server) {
                    return Err(HandshakeError::IndexMismatch);
                }
                Ok(server)
            }
        }
    }
}

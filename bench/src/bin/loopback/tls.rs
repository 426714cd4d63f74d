//! Identities and TLS configurations of the QUIC implementations. quinn and noq use AES-128-GCM of ring here, s2n-quic by its defaults that of
//! AWS-LC. Ours uses AES-256-GCM of AWS-LC, the first choice of rustls.

use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::{self, cipher_suite::TLS13_AES_128_GCM_SHA256};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::process::Failure;

/// The name in the certificate.
pub(crate) const NAME: &str = "localhost";

/// A certificate that its owner has signed.
pub(crate) struct Identity(CertifiedKey<KeyPair>);

impl Identity {
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self(generate_simple_self_signed([NAME.to_owned()])?))
    }

    pub(crate) fn certificate(&self) -> Vec<u8> {
        self.0.cert.der().to_vec()
    }

    pub(crate) fn key(&self) -> Vec<u8> {
        self.0.signing_key.serialize_der()
    }

    /// The certificate in hexadecimal, for the first process.
    pub(crate) fn hex(&self) -> String {
        self.certificate()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    pub(crate) fn server(&self) -> Result<ServerConfig, Failure> {
        let builder = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13])?;
        let key = PrivatePkcs8KeyDer::from(self.key());
        Ok(builder
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate().into()], key.into())?)
    }
}

/// The bytes of a certificate in hexadecimal.
pub(crate) fn parse(certificate: &str) -> Result<Vec<u8>, Failure> {
    let bytes = (0..certificate.len()).step_by(2);
    let bytes = bytes.map(|at| u8::from_str_radix(&certificate[at..at + 2], 16));
    Ok(bytes.collect::<Result<_, _>>()?)
}

/// Trusts one certificate.
pub(crate) fn client(certificate: Vec<u8>) -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.into())?;
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13])?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![TLS13_AES_128_GCM_SHA256],
        ..ring::default_provider()
    })
}

//! Certificates in place of keys. Which authorities vouch for a receiver, and with what does a receiver prove its name?

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anabranch::rustls::crypto::aws_lc_rs::default_provider;
use anabranch::rustls::pki_types::pem::{self, PemObject as _};
use anabranch::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use anabranch::rustls::version::TLS13;
use anabranch::rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_platform_verifier::BuilderVerifierExt as _;

use crate::failure::Failure;
use crate::parse::PeerAddresses;

/// The authorities that a sender trusts (`--ca`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Authorities {
    /// Those of this host, as browsers use them.
    System,
    /// Those in a file.
    File(PathBuf),
}

impl FromStr for Authorities {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "system" => Self::System,
            file => Self::File(file.into()),
        })
    }
}

impl Authorities {
    /// How a sender verifies a receiver's certificate.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, Failure> {
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_protocol_versions(&[&TLS13]).map_err(Failure::work)?;
        let builder = match self {
            Self::System => builder.with_platform_verifier().map_err(|error| {
                Failure::Work(format!(
                    "the authorities of this host: {error}; name a file with --ca FILE"
                ))
            })?,
            Self::File(file) => builder.with_root_certificates(roots(file)?),
        };
        Ok(builder.with_no_client_auth())
    }
}

fn roots(file: &Path) -> Result<RootCertStore, Failure> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(file)? {
        let added = roots.add(certificate);
        added.map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
    }
    Ok(roots)
}

/// The certificates of a file, at least one.
fn chain(file: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let certificates = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let certificates: Vec<_> = certificates.map_err(|error| unreadable(file, &error))?;
    if certificates.is_empty() {
        let text = format!(
            "{} has no certificate; they are in PEM, as \"BEGIN CERTIFICATE\"",
            file.display()
        );
        return Err(Failure::Usage(text));
    }
    Ok(certificates)
}

fn unreadable(file: &Path, error: &pem::Error) -> Failure {
    Failure::Usage(format!("{}: {error}", file.display()))
}

/// With what a receiver proves its name: the certificates in `file`, its own first, and the private key of that.
pub(crate) fn server_config(file: &Path, key: &Path) -> Result<ServerConfig, Failure> {
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(&[&TLS13]).map_err(Failure::work)?;
    let config = builder
        .with_no_client_auth()
        .with_single_cert(chain(file)?, private);
    config.map_err(|error| Failure::Usage(format!("{} and {}: {error}", file.display(), key.display())))
}

/// The name that a receiver has to prove: the first that the user gives.
pub(crate) fn name_of(to: &PeerAddresses) -> Result<ServerName<'static>, Failure> {
    let Some(first) = to.hosts.first() else {
        return Err(Failure::usage("--to names no receiver"));
    };
    ServerName::try_from(first.host.clone()).map_err(|_| {
        Failure::Usage(format!(
            "{} is no name that a certificate can have; put the receiver's name first in --to",
            first.host
        ))
    })
}

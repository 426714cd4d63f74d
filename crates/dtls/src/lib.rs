//! DTLS below SCTP, as WebRTC has it (RFC 8261): sessions whose peer is known by the fingerprint of its certificate.
//!
//! A [`Session`] turns packets into DTLS records and back. Both ends have a [`Certificate`] of their own making, and learn the
//! [`Fingerprint`] of the other one beforehand, in WebRTC from the session description (RFC 8122). The records and the handshake are
//! those of the crate `dimpl`: DTLS 1.3 (RFC 9147), or 1.2 (RFC 6347) if the peer has nothing newer.
//!
//! Sans-IO: time is an argument. Randomness comes from the operating system.

mod certificate;
mod session;

pub use certificate::{Certificate, CertificateError, Fingerprint, FingerprintParseError};
pub use session::{Session, SessionError};

#[cfg(test)]
mod tests;

//! Errors of the handshake, and the reasons to drop a packet.

use rustls::{AlertDescription, CertificateError};

use crate::identity::{PublicKey, UntrustedKey};
use crate::packet::ParseError;

/// Why a handshake failed.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum HandshakeError {
    /// TLS failed here: for example, the peer's certificate or key is not accepted.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The peer gave up and stated this alert (RFC 8446 §6).
    #[error("the peer closed the handshake: {0:?}")]
    ClosedByPeer(AlertDescription),
    /// The peer speaks none of our versions.
    #[error("no version in common with the peer")]
    NoCommonVersion,
    /// Somebody on the way made the two ends use another version than they would have (RFC 9368 §4).
    #[error("the version negotiation was tampered with")]
    Downgrade,
    /// The peer's transport parameters are missing or malformed.
    #[error("the peer's transport parameters: {0}")]
    Parameters(ParseError),
    /// The indexes in the packets are not those that the peer authenticated (RFC 9000 §7.3).
    #[error("the indexes of the packets are not the peer's")]
    IndexMismatch,
    /// The peer did not agree that this is a sealed datagram connection.
    #[error("the peer speaks another protocol")]
    WrongProtocol,
    /// The peer sent more handshake bytes than a handshake has.
    #[error("the peer's handshake is too long")]
    TooLong,
    /// The hosts say that no program listens there (ICMP Port Unreachable).
    #[error("no program listens at the address of the peer")]
    Refused,
    /// No answer in time.
    #[error("the peer did not answer in time")]
    TimedOut,
}

impl HandshakeError {
    /// The key that the peer presented, if it failed because that is not trusted here.
    #[must_use]
    pub fn untrusted_key(&self) -> Option<PublicKey> {
        let Self::Tls(rustls::Error::InvalidCertificate(CertificateError::Other(reason))) = self else {
            return None;
        };
        let UntrustedKey(key) = reason.0.downcast_ref()?;
        Some(*key)
    }

    /// Whether it failed because the peer does not accept our certificate or key (RFC 8446 §6.2).
    #[must_use]
    pub const fn refuses_us(&self) -> bool {
        matches!(
            self,
            Self::ClosedByPeer(
                AlertDescription::BadCertificate
                    | AlertDescription::UnsupportedCertificate
                    | AlertDescription::CertificateRevoked
                    | AlertDescription::CertificateExpired
                    | AlertDescription::CertificateUnknown
                    | AlertDescription::UnknownCA
                    | AlertDescription::AccessDenied
                    | AlertDescription::CertificateRequired
            )
        )
    }

    /// The alert that tells the peer.
    pub(crate) fn alert(&self, tls: Option<AlertDescription>) -> AlertDescription {
        match self {
            Self::Tls(_) => tls.unwrap_or(AlertDescription::InternalError),
            Self::ClosedByPeer(_) | Self::Refused | Self::TimedOut => AlertDescription::UserCanceled,
            Self::NoCommonVersion | Self::Downgrade => AlertDescription::ProtocolVersion,
            Self::Parameters(_) | Self::IndexMismatch => AlertDescription::IllegalParameter,
            Self::WrongProtocol => AlertDescription::NoApplicationProtocol,
            Self::TooLong => AlertDescription::DecodeError,
        }
    }
}

/// Why a datagram changed nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Dropped {
    /// It is no packet of this protocol.
    #[error("malformed: {0}")]
    Malformed(#[from] ParseError),
    /// It belongs to no connection.
    #[error("no such connection")]
    UnknownConnection,
    /// Its connection has no keys for it yet.
    #[error("no keys yet")]
    NoKeys,
    /// It is not authentic.
    #[error("not authentic")]
    Forged,
    /// It arrived before, or is too old to tell.
    #[error("received before")]
    Replayed,
    /// So many packets were not authentic that the keys may open no more (RFC 9001 §6.6). The connection has ended.
    #[error("too many forged packets")]
    IntegrityLimit,
    /// Its cookie is not valid here.
    #[error("invalid cookie")]
    InvalidCookie,
    /// It is for a client, or for a server, and we are not.
    #[error("not for this end")]
    WrongRole,
    /// As many handshakes as permitted are in progress.
    #[error("too many handshakes")]
    Busy,
}

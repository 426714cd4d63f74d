//! Error numbers: which `errno` does a program get?

use std::io;

use anabranch::{
    AddressError, BindError, CloseReason, ConnectConfigError, ConnectError, KeyError, ReconfigurationError,
    SendError,
};

/// A value of `errno`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Errno(pub(crate) i32);

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(libc::EIO))
    }
}

impl From<rustix::io::Errno> for Errno {
    fn from(error: rustix::io::Errno) -> Self {
        Self(error.raw_os_error())
    }
}

impl From<BindError> for Errno {
    fn from(error: BindError) -> Self {
        match error {
            BindError::Socket(error) | BindError::Address { source: error, .. } => error.into(),
            _ => Self(libc::EADDRNOTAVAIL),
        }
    }
}

impl From<ConnectError> for Errno {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Refused | ConnectError::Failed(CloseReason::AbortedByPeer { .. }) => {
                Self(libc::ECONNREFUSED)
            }
            ConnectError::NoAnswer => Self(libc::ETIMEDOUT),
            ConnectError::UntrustedKey(_) => Self(libc::EKEYREJECTED),
            ConnectError::KeyNotAccepted(_) => Self(libc::EACCES),
            ConnectError::NoTrust => Self(libc::ENOKEY),
            ConnectError::Insecure(_) => Self(libc::EPROTO),
            ConnectError::Config(ConnectConfigError::InUse) => Self(libc::EADDRINUSE),
            ConnectError::Config(ConnectConfigError::InvalidAddress(_)) => Self(libc::EINVAL),
            ConnectError::Address(_) | ConnectError::Config(_) => Self(libc::ENETUNREACH),
            ConnectError::Failed(reason) => Self::of_end(&reason).unwrap_or(Self(libc::ECONNREFUSED)),
            _ => Self(libc::ECONNREFUSED),
        }
    }
}

impl Errno {
    /// The error that an association leaves behind; `None` after a graceful shutdown.
    pub(crate) const fn of_end(reason: &CloseReason) -> Option<Self> {
        match reason {
            CloseReason::Finished => None,
            CloseReason::Refused => Some(Self(libc::ECONNREFUSED)),
            CloseReason::NoAnswer
            | CloseReason::PeerUnreachable
            | CloseReason::NoProgress
            | CloseReason::ShutdownTimeout => Some(Self(libc::ETIMEDOUT)),
            CloseReason::Aborted => Some(Self(libc::ECONNABORTED)),
            _ => Some(Self(libc::ECONNRESET)),
        }
    }

    /// Why a stream reconfiguration is not requested.
    pub(crate) const fn of_reconfiguration(error: ReconfigurationError) -> Self {
        match error {
            ReconfigurationError::InProgress => Self(libc::EINPROGRESS),
            ReconfigurationError::NotAvailable => Self(libc::ENOPROTOOPT),
            _ => Self(libc::EINVAL),
        }
    }

    /// Why an address is not changed.
    pub(crate) const fn of_address(error: AddressError) -> Self {
        match error {
            AddressError::NotConnected => Self(libc::ENOTCONN),
            AddressError::NotAgreed => Self(libc::EOPNOTSUPP),
            _ => Self(libc::EINVAL),
        }
    }

    /// Why a key is not changed.
    pub(crate) const fn of_key(error: KeyError) -> Self {
        match error {
            KeyError::NotOffered => Self(libc::EACCES),
            _ => Self(libc::EINVAL),
        }
    }

    /// Why a message is not sent.
    pub(crate) const fn of_send(error: &SendError) -> Self {
        match error {
            SendError::TooLarge { .. } => Self(libc::EMSGSIZE),
            SendError::Empty | SendError::InvalidStream { .. } | SendError::InvalidKey => Self(libc::EINVAL),
            _ => Self(libc::EPIPE),
        }
    }
}

//! Dialect: what does a call do where RFC 6458 leaves it open, and Linux and FreeBSD differ?

use crate::environment::Environment;
use crate::errno::Errno;

/// The system whose programs expect an answer (`ANABRANCH_DIALECT`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Dialect {
    #[default]
    Linux,
    FreeBsd,
}

impl Dialect {
    pub(crate) fn read(name: &str) -> Option<Self> {
        match name {
            "linux" => Some(Self::Linux),
            "freebsd" => Some(Self::FreeBsd),
            _ => None,
        }
    }

    /// That of the environment. Sockets exist only in a valid environment.
    pub(crate) fn current() -> Self {
        Environment::current().map_or_else(|_| Self::default(), |environment| environment.dialect)
    }

    const fn either<T: Copy>(self, linux: T, freebsd: T) -> T {
        match self {
            Self::Linux => linux,
            Self::FreeBsd => freebsd,
        }
    }

    /// `shutdown` of a socket of the one-to-many style (§4.1.7 describes the other style only).
    pub(crate) const fn shutdown_of_one_to_many(self) -> Result<(), Errno> {
        self.either(Ok(()), Err(Errno(libc::EOPNOTSUPP)))
    }

    /// `connect` of a socket of the one-to-many style to a peer with which it has an association (§3.1.6).
    pub(crate) const fn has_association(self, is_established: bool) -> Errno {
        let linux = if is_established {
            libc::EISCONN
        } else {
            libc::EALREADY
        };
        Errno(self.either(linux, libc::EALREADY))
    }

    /// Sending without an address to an association that does not exist (§3.1.4, §4.1.8).
    pub(crate) const fn sends_to_none(self) -> Errno {
        Errno(self.either(libc::EPIPE, libc::ENOENT))
    }

    /// Whether a message may end the association, too, by `SCTP_EOF` (§5.3.4).
    pub(crate) const fn sends_with_eof(self) -> Result<(), Errno> {
        self.either(Err(Errno(libc::EINVAL)), Ok(()))
    }

    /// `SCTP_AUTOCLOSE` in the one-to-one style: reading it, and setting it (§8.1.8).
    pub(crate) const fn autoclose_of_one_to_one(self) -> (Result<u32, Errno>, Errno) {
        self.either(
            (Err(Errno(libc::EOPNOTSUPP)), Errno(libc::EOPNOTSUPP)),
            (Ok(0), Errno(libc::EINVAL)),
        )
    }

    /// `SCTP_GET_ASSOC_NUMBER` and `SCTP_GET_ASSOC_ID_LIST` in the one-to-one style (§8.2.5, §8.2.6).
    pub(crate) const fn associations_of_one_to_one(self) -> Errno {
        Errno(self.either(libc::EOPNOTSUPP, libc::EINVAL))
    }
}

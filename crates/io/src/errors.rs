//! Socket errors. Which of them end the use of a socket?
//!
//! A multipath transport survives an interface that goes down, a route that disappears or a firewall that rejects: the
//! packets are lost, the path's timer expires, and traffic moves to another path. Treating such errors as
//! fatal would turn a broken path into a broken association.

use std::io::{Error, ErrorKind};

/// The consequence of a socket error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorClass {
    /// No buffer space or no data; wait for readiness.
    WouldBlock,
    /// The datagram was larger than the path or the interface allows: it is lost, and so will be others of its
    /// size.
    TooLarge,
    /// The datagram is lost, or an earlier one was, which the kernel reports now (an ICMP error). The socket
    /// still works.
    Lost,
    /// The descriptor is no longer a socket; nothing can be sent or received.
    Broken,
}

/// The class of `error`, returned by a socket of this crate.
///
/// ```
/// use anabranch_io::{ErrorClass, classify};
/// use std::io::{Error, ErrorKind};
/// assert_eq!(classify(&Error::from(ErrorKind::WouldBlock)), ErrorClass::WouldBlock);
/// assert_eq!(classify(&Error::from(ErrorKind::ConnectionRefused)), ErrorClass::Lost);
/// assert_eq!(classify(&Error::from(ErrorKind::NetworkUnreachable)), ErrorClass::Lost);
/// ```
#[must_use]
pub fn classify(error: &Error) -> ErrorClass {
    if error.kind() == ErrorKind::WouldBlock {
        return ErrorClass::WouldBlock;
    }
    match error.raw_os_error() {
        Some(libc::EMSGSIZE) => ErrorClass::TooLarge,
        Some(libc::EBADF | libc::ENOTSOCK) => ErrorClass::Broken,
        // Everything else has been seen to pass: ECONNREFUSED, EHOSTUNREACH and ENETUNREACH come from ICMP or
        // a missing route, ENETDOWN and EADDRNOTAVAIL from an interface that went away and may come back,
        // EPERM from a packet filter, ENOBUFS and ENOMEM from a full queue, EIO and EINVAL from a driver that
        // does not segment.
        Some(_) | None => ErrorClass::Lost,
    }
}

/// Whether `error` may belong to an earlier datagram, for which an ICMP message arrived (ip(7), `IP_RECVERR`). The call
/// then had no effect, and the next one may succeed.
pub(crate) fn may_be_pending(error: &Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(
            libc::ECONNREFUSED
                | libc::EHOSTUNREACH
                | libc::ENETUNREACH
                | libc::EMSGSIZE
                | libc::EHOSTDOWN
                | libc::ENONET
                | libc::ENOPROTOOPT
                | libc::EOPNOTSUPP
                | libc::EPROTO
                | libc::EACCES
        )
    )
}

/// An error of class [`ErrorClass::Broken`]: for sockets that detect by other means that they no longer work.
#[must_use]
pub fn broken() -> Error {
    Error::from_raw_os_error(libc::EBADF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn firewall_queue_and_route_errors_only_lose_packets() {
        for number in [
            libc::EPERM,
            libc::ENOBUFS,
            libc::ENETUNREACH,
            libc::EHOSTUNREACH,
            libc::ECONNREFUSED,
            libc::EADDRNOTAVAIL,
        ] {
            assert_eq!(classify(&Error::from_raw_os_error(number)), ErrorClass::Lost);
        }
        assert_eq!(
            classify(&Error::from_raw_os_error(libc::EMSGSIZE)),
            ErrorClass::TooLarge
        );
    }

    #[test]
    fn a_descriptor_that_is_not_a_socket_is_broken() {
        assert_eq!(classify(&broken()), ErrorClass::Broken);
        assert_eq!(
            classify(&Error::from_raw_os_error(libc::ENOTSOCK)),
            ErrorClass::Broken
        );
    }
}

//! Which errors of a socket are the end of it? Almost none: a path that cannot send just loses packets.
//!
//! A multipath transport lives on after an interface goes down, a route disappears or a firewall says no: the
//! packets are lost, the path's timer expires, and traffic moves to another path. Treating such errors as
//! fatal would turn a broken path into a broken association.

use std::io::{Error, ErrorKind};

/// What an error of a socket means to its user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// No room or nothing there; wait for readiness.
    NotNow,
    /// The datagram was larger than the path or the interface allows: it is lost, and so will be others of its
    /// size.
    TooLarge,
    /// The datagram is lost, or an earlier one was and the kernel tells now (an ICMP error). The socket is
    /// as good as before.
    Lost,
    /// The descriptor is no socket any more; nothing will ever pass again.
    Broken,
}

//= rfc9260 10-2
/// What does `error`, returned by a socket of this crate, mean?
///
/// ```
/// use anabranch_io::{Trouble, trouble};
/// use std::io::{Error, ErrorKind};
/// assert_eq!(trouble(&Error::from(ErrorKind::WouldBlock)), Trouble::NotNow);
/// assert_eq!(trouble(&Error::from(ErrorKind::ConnectionRefused)), Trouble::Lost);
/// assert_eq!(trouble(&Error::from(ErrorKind::NetworkUnreachable)), Trouble::Lost);
/// ```
#[must_use]
pub fn trouble(error: &Error) -> Trouble {
    if error.kind() == ErrorKind::WouldBlock {
        return Trouble::NotNow;
    }
    match error.raw_os_error() {
        Some(libc::EMSGSIZE) => Trouble::TooLarge,
        Some(libc::EBADF | libc::ENOTSOCK) => Trouble::Broken,
        // Everything else has been seen to pass: ECONNREFUSED, EHOSTUNREACH and ENETUNREACH come from ICMP or
        // a missing route, ENETDOWN and EADDRNOTAVAIL from an interface that went away and may come back,
        // EPERM from a packet filter, ENOBUFS and ENOMEM from a full queue, EIO and EINVAL from a driver that
        // does not segment.
        Some(_) | None => Trouble::Lost,
    }
}

/// An error of which [`trouble`] says [`Trouble::Broken`]: for sockets that find out otherwise that nothing will pass again.
#[must_use]
pub fn broken() -> Error {
    Error::from_raw_os_error(libc::EBADF)
}

#[cfg(test)]
mod tests {
    use super::*;

    //= rfc9260 10-2
    #[test]
    fn a_firewall_a_full_queue_and_a_missing_route_only_lose_packets() {
        for number in [
            libc::EPERM,
            libc::ENOBUFS,
            libc::ENETUNREACH,
            libc::EHOSTUNREACH,
            libc::ECONNREFUSED,
            libc::EADDRNOTAVAIL,
        ] {
            assert_eq!(trouble(&Error::from_raw_os_error(number)), Trouble::Lost);
        }
        assert_eq!(
            trouble(&Error::from_raw_os_error(libc::EMSGSIZE)),
            Trouble::TooLarge
        );
    }

    #[test]
    fn a_descriptor_that_is_no_socket_is_broken() {
        assert_eq!(trouble(&broken()), Trouble::Broken);
        assert_eq!(
            trouble(&Error::from_raw_os_error(libc::ENOTSOCK)),
            Trouble::Broken
        );
    }
}

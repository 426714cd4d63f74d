//! IP fragmentation: permitted for a single datagram, forbidden otherwise.
//!
//! The rule is the don't-fragment bit without regard to what the system remembers of the path: packets of a
//! transport that finds out for itself how large they may be (RFC 8899 §3). The exception is a piece of a message
//! that was cut when the path carried more (RFC 9260 §6.9). It is rare, so it may cost four system calls.

use std::io;

use socket2::Socket;

/// While it exists, datagrams of the socket may be fragmented.
#[derive(Debug)]
pub(crate) struct Permit<'s> {
    socket: &'s Socket,
    is_ipv6: bool,
}

impl<'s> Permit<'s> {
    /// Permits fragmentation. Where the system cannot, datagrams are sent as before.
    pub(crate) fn give(socket: &'s Socket, is_ipv6: bool) -> Self {
        // Whatever fails, the datagram is sent: at worst it is lost.
        let _ = system::permit(socket, is_ipv6, true);
        Self { socket, is_ipv6 }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let _ = system::permit(self.socket, self.is_ipv6, false);
    }
}

#[cfg(target_os = "linux")]
mod system {
    use super::{Socket, io};
    use nix::sys::socket::{setsockopt, sockopt::Ipv6DontFrag};
    use rustix::net::sockopt::{
        Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
    };

    pub(super) fn permit(socket: &Socket, is_ipv6: bool, permitted: bool) -> io::Result<()> {
        if is_ipv6 {
            setsockopt(socket, Ipv6DontFrag, &!permitted)?;
            let mode = if permitted {
                Ipv6PathMtuDiscovery::DONT
            } else {
                Ipv6PathMtuDiscovery::PROBE
            };
            return Ok(set_ipv6_mtu_discover(socket, mode)?);
        }
        let mode = if permitted {
            Ipv4PathMtuDiscovery::DONT
        } else {
            Ipv4PathMtuDiscovery::PROBE
        };
        Ok(set_ip_mtu_discover(socket, mode)?)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Socket, io};

    pub(super) fn permit(_socket: &Socket, _is_ipv6: bool, _permitted: bool) -> io::Result<()> {
        Ok(())
    }
}

//! How do sockets and associations come and go? With errors that name the address, and without loose ends.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use anabranch::io::Socket;
use anabranch::{Association, AssociationConfig, ConnectError, Endpoint, EndpointBuilder, udp_socket};
use rustix::io::Errno;
use tokio::time::timeout;

use crate::failure::Failure;

/// How long the last packets of an endpoint may take to leave.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Opens a UDP socket.
pub(crate) fn open(local: SocketAddr) -> Result<Arc<dyn Socket>, Failure> {
    udp_socket(local).map_err(|error| bind_failure(local, &error))
}

/// All addresses of this host; an IP version that it does not have is left out.
pub(crate) fn open_everywhere(port: u16) -> Result<Vec<Arc<dyn Socket>>, Failure> {
    let mut sockets = Vec::new();
    for address in [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()] {
        let local = SocketAddr::new(address, port);
        match udp_socket(local) {
            Ok(socket) => sockets.push(socket),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(bind_failure(local, &error)),
        }
    }
    if sockets.is_empty() {
        Err(Failure::work("this host has no IP address"))
    } else {
        Ok(sockets)
    }
}

/// The IP version is switched off, or the kernel was built without it.
fn is_missing(error: &io::Error) -> bool {
    let has_no_addresses = error.kind() == io::ErrorKind::AddrNotAvailable;
    has_no_addresses || error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
}

/// The addresses that the system would send from to each of `remotes`, each once.
///
/// Not simply all addresses of this host: a bridge to virtual machines, say, would be paired with an address
/// of the peer that it cannot reach.
pub(crate) fn open_towards(remotes: &[SocketAddr]) -> Result<Vec<Arc<dyn Socket>>, Failure> {
    let mut sources: Vec<SocketAddr> = Vec::new();
    let mut no_route = None;
    for remote in remotes {
        match source_towards(*remote) {
            Ok(source) if sources.iter().any(|known| known.ip() == source.ip()) => {}
            Ok(source) => sources.push(source),
            Err(error) => no_route = Some(Failure::Work(format!("no way to {}: {error}", remote.ip()))),
        }
    }
    match no_route {
        Some(failure) if sources.is_empty() => Err(failure),
        _ => sources.into_iter().map(open).collect(),
    }
}

/// Asks the routing table: connecting a UDP socket sends nothing.
fn source_towards(remote: SocketAddr) -> io::Result<SocketAddr> {
    let unspecified: IpAddr = if remote.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let probe = UdpSocket::bind((unspecified, 0))?;
    probe.connect(remote)?;
    let mut source = probe.local_addr()?;
    source.set_port(0);
    Ok(source)
}

fn bind_failure(local: SocketAddr, error: &io::Error) -> Failure {
    let text = match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("{local} is in use by another program; stop that one, or choose another port")
        }
        io::ErrorKind::AddrNotAvailable => {
            let ip = local.ip();
            return Failure::Usage(format!(
                "{ip} is not an address of this host; `ip address` lists those that are"
            ));
        }
        io::ErrorKind::PermissionDenied => format!("{local} needs privileges; choose a port above 1023"),
        _ => format!("cannot open {local}: {error}"),
    };
    Failure::Work(text)
}

/// An endpoint on `sockets`, to be refined.
pub(crate) fn endpoint_on(sockets: Vec<Arc<dyn Socket>>, config: AssociationConfig) -> EndpointBuilder {
    sockets.into_iter().fold(
        Endpoint::builder().association_config(config),
        EndpointBuilder::socket,
    )
}

/// Sets up an association with the peer at `remotes`, or gives up after `patience`.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    remotes: &[SocketAddr],
    patience: Duration,
) -> Result<Guarded, Failure> {
    let peer = remotes
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    match timeout(patience, endpoint.connect(remotes)).await {
        Ok(Ok(association)) => Ok(Guarded(association)),
        Ok(Err(ConnectError::NoAnswer)) | Err(_) => Err(Failure::Work(format!(
            "no answer from {peer} within {} s; is `anabranch recv` running there, and does every firewall let \
             UDP through?",
            patience.as_secs_f64()
        ))),
        Ok(Err(ConnectError::Impossible(error))) => Err(Failure::Usage(format!("{peer}: {error}"))),
        Ok(Err(error)) => Err(Failure::Work(format!("{peer}: {error}"))),
    }
}

/// Lets the last packets leave.
pub(crate) async fn close(endpoint: &Endpoint) {
    // What has not left by then, the peer will find out by itself.
    let _ = timeout(LAST_WORDS, endpoint.close()).await;
}

/// An association that ends at once if whoever works with it is dropped half-way.
#[derive(Debug)]
pub(crate) struct Guarded(pub(crate) Association);

impl Deref for Guarded {
    type Target = Association;

    fn deref(&self) -> &Association {
        &self.0
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if !self.0.is_closed() {
            self.0.abort("interrupted");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_an_ip_version_is_told_from_a_port_in_use() {
        let is_left_out = |errno: Errno| is_missing(&io::Error::from_raw_os_error(errno.raw_os_error()));
        assert!(is_left_out(Errno::AFNOSUPPORT) && is_left_out(Errno::ADDRNOTAVAIL));
        assert!(!is_left_out(Errno::ADDRINUSE) && !is_left_out(Errno::ACCESS));
    }
}

//! Opening and closing of sockets, endpoints and associations, with errors that name the address.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use anabranch::io::Socket;
use anabranch::{Association, AssociationConfig, ConnectError, Endpoint, EndpointBuilder, udp_socket};
use rustix::io::Errno;
use tokio::time::timeout;

use crate::failure::Failure;
use crate::keys::SenderKeys;

/// Maximum time for the last packets of an endpoint to be sent.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum time for the receiver to end an association.
const FAREWELL: Duration = Duration::from_millis(500);

/// Opens a UDP socket.
pub(crate) fn open(local: SocketAddr) -> Result<Arc<dyn Socket>, Failure> {
    udp_socket(local).map_err(|error| bind_failure(local, &error))
}

/// Opens sockets for all addresses of this host; a missing IP version is skipped.
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
        Err(Failure::work("this host has no IP address; configure one"))
    } else {
        Ok(sockets)
    }
}

/// Whether the IP version is disabled or not built into the kernel.
fn is_missing(error: &io::Error) -> bool {
    let has_no_addresses = error.kind() == io::ErrorKind::AddrNotAvailable;
    has_no_addresses || error.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error())
}

/// Explains why a socket cannot be opened at `local`.
pub(crate) fn bind_failure(local: SocketAddr, error: &io::Error) -> Failure {
    let text = match error.kind() {
        io::ErrorKind::AddrInUse => {
            format!("{local} is in use by another program; stop it, or choose another port")
        }
        io::ErrorKind::AddrNotAvailable => {
            let ip = local.ip();
            return Failure::Usage(format!(
                "{ip} is not an address of this host; `ip address` lists them"
            ));
        }
        io::ErrorKind::PermissionDenied => format!("{local} needs privileges; choose a port above 1023"),
        _ => format!("cannot open {local}: {error}"),
    };
    Failure::Work(text)
}

/// An endpoint builder with `sockets`, whose security is not chosen yet.
pub(crate) fn endpoint_on(sockets: Vec<Arc<dyn Socket>>, config: AssociationConfig) -> EndpointBuilder {
    sockets.into_iter().fold(
        Endpoint::builder().association_config(config),
        EndpointBuilder::socket,
    )
}

/// The addresses of the peer, for messages.
pub(crate) fn named(remotes: &[SocketAddr]) -> String {
    let remotes: Vec<String> = remotes.iter().map(ToString::to_string).collect();
    remotes.join(", ")
}

/// What users start to receive files.
pub(crate) const RECEIVER: &str = "anabranch recv";

/// Sets up an association with the peer at `remotes`. Errors name `patience`, the endpoint's time to connect, and where its `keys` are
/// from.
pub(crate) async fn connect(
    endpoint: &Endpoint,
    remotes: &[SocketAddr],
    patience: Duration,
    keys: &SenderKeys,
) -> Result<Guarded, Failure> {
    let connected = try_connect(endpoint, remotes, patience, keys, RECEIVER).await;
    connected.map_err(|unconnected| unconnected.failure)
}

/// Why there is no association.
#[derive(Debug)]
pub(crate) struct Unconnected {
    pub(crate) failure: Failure,
    /// Whether the receiver may be there later.
    pub(crate) is_absent: bool,
}

/// As [`connect`]. Errors name the `program` that the user starts at the other end.
pub(crate) async fn try_connect(
    endpoint: &Endpoint,
    remotes: &[SocketAddr],
    patience: Duration,
    keys: &SenderKeys,
    program: &str,
) -> Result<Guarded, Unconnected> {
    let connected = endpoint.connect(remotes).await;
    let is_absent = matches!(connected, Err(ConnectError::Refused | ConnectError::NoAnswer));
    let connected = explained(connected, &named(remotes), patience, keys, program);
    connected.map_err(|failure| Unconnected { failure, is_absent })
}

fn explained(
    connected: Result<Association, ConnectError>,
    peer: &str,
    patience: Duration,
    keys: &SenderKeys,
    program: &str,
) -> Result<Guarded, Failure> {
    match connected {
        Ok(association) => Ok(Guarded(association)),
        Err(ConnectError::Refused) => Err(Failure::Work(format!(
            "nothing listens at {peer}: the host says that the port is closed; start `{program}` there, or check the \
             address and port"
        ))),
        Err(ConnectError::NoAnswer) => Err(Failure::Work(format!(
            "no answer from {peer} within {} s; is `{program}` running there, does every firewall let UDP through, \
             and do both ends encrypt, or neither (--insecure)?",
            patience.as_secs_f64()
        ))),
        Err(ConnectError::UntrustedKey(key)) => Err(Failure::Work(format!(
            "{peer} has the key {key}, not the one {}: is this what `{program}` prints there? If not, somebody else answers",
            keys.source()
        ))),
        Err(ConnectError::KeyNotAccepted(key)) => Err(Failure::Work(format!(
            "{peer} does not accept our key {key}; its --allow lists those that it accepts"
        ))),
        Err(ConnectError::Config(error)) => Err(Failure::Usage(format!("{peer}: {error}"))),
        Err(error) => Err(Failure::Work(format!("{peer}: {error}"))),
    }
}

/// Closes the endpoint after its last packets are sent.
pub(crate) async fn close(endpoint: &Endpoint) {
    // After the timeout, the peer detects the end by itself.
    let _ = timeout(CLOSE_TIMEOUT, endpoint.close()).await;
}

/// An association that is aborted when dropped before its end.
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

/// Discards what arrives until the association is closed.
pub(crate) async fn ended(association: &Association) {
    while let Ok(Some(_)) = association.recv().await {}
    association.closed().await;
}

/// Ends an association that was only a question.
pub(crate) async fn shut_down(association: &Association) {
    // Whether the receiver confirms the shutdown does not matter.
    let _ = timeout(FAREWELL, association.shutdown()).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_ip_version_differs_from_port_in_use() {
        let is_skipped = |errno: Errno| is_missing(&io::Error::from_raw_os_error(errno.raw_os_error()));
        assert!(is_skipped(Errno::AFNOSUPPORT) && is_skipped(Errno::ADDRNOTAVAIL));
        assert!(!is_skipped(Errno::ADDRINUSE) && !is_skipped(Errno::ACCESS));
    }
}

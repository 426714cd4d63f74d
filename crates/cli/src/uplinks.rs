//! Uplinks of a sender: which sockets to send from, and how they follow the host's interfaces.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::time::Duration;

#[cfg(target_os = "linux")]
use anabranch::InterfaceChanges;
use anabranch::io::{Egress, Socket, Uplink, device_of, is_host_address, uplinks, uplinks_of_device};
use anabranch::{AddressError, Association, Endpoint, PathPreference, uplink_socket};
#[cfg(target_os = "linux")]
use tokio::time::{sleep, timeout};

use crate::failure::Failure;
use crate::network::bind_failure;
use crate::parse::{Origin, Origins};

/// Sockets to send from, and what the user should know about them.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    pub(crate) sockets: Vec<Arc<dyn Socket>>,
    /// Problems of the sockets, with remedies.
    pub(crate) warnings: Vec<String>,
}

impl Opened {
    pub(crate) fn open(&mut self, local: SocketAddr, remotes: &[SocketAddr]) -> Result<(), Failure> {
        let (socket, egress) = uplink_socket(local, remotes).map_err(|error| bind_failure(local, &error))?;
        self.sockets.push(socket);
        self.warnings.extend(warning(local.ip(), &egress));
        Ok(())
    }
}

/// The problem of a socket at `address`, with a remedy.
pub(crate) fn warning(address: IpAddr, egress: &Egress) -> Option<String> {
    match egress {
        Egress::Routed | Egress::Bound { .. } => None,
        Egress::Elsewhere { device } => Some(format!(
            "packets from {address} do not leave by {device}, which has no route to the receiver; add one, for instance \
             `ip route add default via GATEWAY dev {device} metric 1000`"
        )),
    }
}

/// The local addresses to send from at this moment, the preferred ones first. `beside`: a device that is no uplink.
///
/// # Errors
///
/// An address or device was named that this host does not have, or no route leads to any of `remotes`.
pub(crate) fn locals(
    beside: Option<&str>,
    from: Option<&Origins>,
    remotes: &[SocketAddr],
) -> Result<Vec<SocketAddr>, Failure> {
    let mut locals = match from {
        Some(origins) => of_origins(origins, remotes),
        None => towards(beside, remotes),
    }?;
    arrange(&mut locals, remotes, |remote| source_towards(remote).ok());
    Ok(locals)
}

/// Moves local addresses to the places at which paths pair them with `remotes` (ADR 0011): an address that is the `source` of packets to
/// exactly one of several, to the place of that one. Otherwise packets of a path could leave by one link and its SACKs arrive by another, and
/// one link lost would end two paths. Each IP version is paired separately.
fn arrange(
    locals: &mut [SocketAddr],
    remotes: &[SocketAddr],
    source: impl Fn(SocketAddr) -> Option<SocketAddr>,
) {
    for is_ipv4 in [true, false] {
        let of_version = |address: &SocketAddr| address.is_ipv4() == is_ipv4;
        let places: Vec<usize> = (0..locals.len()).filter(|at| of_version(&locals[*at])).collect();
        let remotes = remotes.iter().filter(|remote| of_version(remote));
        let sources: Vec<Option<IpAddr>> = remotes
            .map(|remote| source(*remote).map(|source| source.ip()))
            .collect();
        for (source, place) in sources.iter().zip(&places) {
            let is_only = sources.len() > 1 && sources.iter().filter(|other| *other == source).count() == 1;
            let found = places.iter().find(|at| Some(locals[**at].ip()) == *source);
            if let Some(at) = found.filter(|_| is_only) {
                locals.swap(*at, *place);
            }
        }
    }
}

fn of_origins(origins: &Origins, remotes: &[SocketAddr]) -> Result<Vec<SocketAddr>, Failure> {
    let mut locals = Vec::new();
    for origin in &origins.0 {
        match origin {
            Origin::Address(address) => locals.push(*address),
            Origin::Device(name) => {
                let found = uplinks_of_device(name, |address| is_wanted(*address, remotes));
                let found = found.map_err(|error| device_failure(name, &error))?;
                if found.is_empty() {
                    return Err(Failure::Work(format!(
                        "{name} has no address that reaches the receiver; `ip address show {name}` lists those that it has"
                    )));
                }
                locals.extend(found.iter().map(local_of));
            }
        }
    }
    Ok(locals)
}

fn device_failure(name: &str, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound => Failure::Usage(format!(
            "{name} is neither an address nor a device of this host; `ip address` lists both"
        )),
        _ => Failure::Work(format!("cannot list the addresses of {name}: {error}")),
    }
}

/// The addresses that the system would send from to each of `remotes`, then those of all other devices with a default
/// route; one address of each device for each IP version.
///
/// Not simply all addresses of this host: a bridge to virtual machines, say, would be paired with an address
/// of the peer that it cannot reach.
fn towards(beside: Option<&str>, remotes: &[SocketAddr]) -> Result<Vec<SocketAddr>, Failure> {
    let mut locals: Vec<SocketAddr> = Vec::new();
    let mut no_route = None;
    for remote in remotes {
        match source_towards(*remote) {
            Ok(source) if locals.contains(&source) || is_of(source.ip(), beside) => {}
            Ok(source) => locals.push(source),
            Err(error) => {
                no_route = Some(Failure::Work(format!(
                    "no route to {}: {error}; check the address and the routing table",
                    remote.ip()
                )));
            }
        }
    }
    // A receiver on this host or in its own network is not reached over the Internet.
    let is_far = |remote: &&SocketAddr| {
        !remote.ip().is_loopback() && !locals.iter().any(|local| local.ip() == remote.ip())
    };
    let far: Vec<SocketAddr> = remotes.iter().filter(is_far).copied().collect();
    let others = uplinks(|address| is_wanted(*address, &far)).unwrap_or_default();
    for local in others.iter().map(local_of) {
        if !locals.contains(&local) {
            locals.push(local);
        }
    }
    match no_route {
        Some(failure) if locals.is_empty() => Err(failure),
        _ => Ok(locals),
    }
}

/// Whether `address` is that of the device.
fn is_of(address: IpAddr, device: Option<&str>) -> bool {
    device.is_some_and(|device| device_of(address).is_ok_and(|found| found.as_deref() == Some(device)))
}

fn local_of(uplink: &Uplink) -> SocketAddr {
    SocketAddr::new(uplink.address, 0)
}

/// Whether `address` is of the IP version of one of `remotes`.
fn is_wanted(address: IpAddr, remotes: &[SocketAddr]) -> bool {
    remotes.iter().any(|remote| remote.is_ipv4() == address.is_ipv4())
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

/// Delay between the first notification and listing the interfaces: one change causes many notifications.
#[cfg(target_os = "linux")]
const SETTLING: Duration = Duration::from_millis(100);

/// When an address that could not be removed yet is tried again.
#[cfg(target_os = "linux")]
const RETRY: Duration = Duration::from_secs(1);

/// A sender whose addresses follow the host's interfaces.
pub(crate) struct Following<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) association: &'a Association,
    pub(crate) from: Option<&'a Origins>,
    pub(crate) remotes: &'a [SocketAddr],
    /// A device that is no uplink.
    pub(crate) beside: Option<&'a str>,
    /// How paths from an address are to be used, if the user says so.
    pub(crate) preference: &'a (dyn Fn(IpAddr) -> Option<PathPreference> + Sync),
}

#[cfg(target_os = "linux")]
impl Following<'_> {
    /// Adds addresses that come and removes those that go, until dropped.
    pub(crate) async fn run(&self, warn: impl Fn(&str)) -> Infallible {
        let Ok(changes) = InterfaceChanges::start() else {
            // Without rtnetlink the addresses stay those of the start.
            return pending().await;
        };
        let mut departing = Vec::new();
        loop {
            // The first round takes what has changed since the sockets were opened. A named device or address that is gone may
            // come back.
            let wanted = locals(self.beside, self.from, self.remotes).unwrap_or_default();
            self.add_new(&wanted, &warn);
            self.endpoint.follow_routes(self.remotes);
            self.keep_returned(&mut departing);
            let is_done = self.remove_gone(&mut departing);
            let changed = changes.changed();
            let change = if is_done {
                Ok(changed.await)
            } else {
                timeout(RETRY, changed).await
            };
            match change {
                Ok(Ok(())) => sleep(SETTLING).await,
                Ok(Err(_)) => return pending().await,
                Err(_) => {}
            }
        }
    }

    fn add_new(&self, wanted: &[SocketAddr], warn: impl Fn(&str)) {
        let known = self.endpoint.local_addrs();
        let is_new = |local: &&SocketAddr| !known.iter().any(|known| known.ip() == local.ip());
        for local in wanted.iter().filter(is_new) {
            let mut opened = Opened::default();
            // It may have gone again meanwhile.
            if opened.open(*local, self.remotes).is_ok() {
                for socket in opened.sockets {
                    let local = self.endpoint.add_socket(socket);
                    if let Some(preference) = (self.preference)(local.ip()) {
                        self.association.set_path_preference(local.ip(), preference);
                    }
                    // A peer that does not agree to changes of addresses goes on with those that it knows.
                    let _ = self.association.add_local_address(local);
                }
                opened.warnings.iter().for_each(|text| warn(text));
            }
        }
    }

    /// Keeps the addresses that have come back before they could be removed.
    fn keep_returned(&self, departing: &mut Vec<SocketAddr>) {
        departing.retain(|local| {
            let has_returned = is_present(local.ip());
            if has_returned {
                // The peer has never lost it, or learns it again.
                let _ = self.association.add_local_address(*local);
            }
            !has_returned
        });
    }

    /// Removes addresses that are gone, and closes their sockets. The last address stays until another one is confirmed: it may
    /// come back, and without it there would be no association. `false` if one stays for now; it is `departing` if the association removes
    /// it later.
    fn remove_gone(&self, departing: &mut Vec<SocketAddr>) -> bool {
        let mut is_done = true;
        for local in self.endpoint.local_addrs() {
            if is_present(local.ip()) {
                continue;
            }
            match self.association.remove_local_address(local) {
                Ok(()) if self.has_path_from(local) => {
                    if !departing.contains(&local) {
                        departing.push(local);
                    }
                    is_done = false;
                }
                // An address that the association does not have was never added, or its path was removed by the peer.
                Ok(()) | Err(AddressError::UnknownAddress(_)) => {
                    departing.retain(|departing| *departing != local);
                    self.endpoint.remove_local(local);
                }
                Err(AddressError::LastAddress(_) | AddressError::TooMany) => is_done = false,
                Err(_) => {}
            }
        }
        is_done
    }

    fn has_path_from(&self, local: SocketAddr) -> bool {
        let paths = self.association.statistics().paths;
        paths.iter().any(|path| path.addr.local == local)
    }
}

/// Whether the host has `address`, or does not tell.
#[cfg(target_os = "linux")]
fn is_present(address: IpAddr) -> bool {
    is_host_address(address).unwrap_or(true)
}

/// Elsewhere the addresses stay those of the start.
#[cfg(not(target_os = "linux"))]
impl Following<'_> {
    pub(crate) async fn run(&self, _warn: impl Fn(&str)) -> Infallible {
        pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Local addresses in the order that pairs them with `remotes`; `routes` are pairs of a remote address and its source.
    fn arranged(locals: &[&str], remotes: &[&str], routes: &[(&str, &str)]) -> Vec<String> {
        let all = |texts: &[&str]| -> Vec<SocketAddr> {
            texts
                .iter()
                .map(|text| SocketAddr::new(text.parse().unwrap(), 0))
                .collect()
        };
        let mut found = all(locals);
        arrange(&mut found, &all(remotes), |remote| {
            let route = routes.iter().find(|(to, _)| remote.ip().to_string() == *to);
            route.map(|(_, source)| SocketAddr::new(source.parse().unwrap(), 0))
        });
        found.iter().map(|local| local.ip().to_string()).collect()
    }

    #[test]
    fn local_address_is_paired_with_the_remote_that_only_it_reaches() {
        let remotes = ["10.1.0.2", "10.2.0.2", "10.3.0.2"];
        let routes = [
            ("10.1.0.2", "10.1.0.1"),
            ("10.2.0.2", "10.2.0.1"),
            ("10.3.0.2", "10.3.0.1"),
        ];
        let locals = ["10.3.0.1", "10.1.0.1", "10.2.0.1"];
        assert_eq!(
            arranged(&locals, &remotes, &routes),
            ["10.1.0.1", "10.2.0.1", "10.3.0.1"]
        );
        // A network of which this host has no address that was named.
        let locals = ["10.2.0.1", "192.168.1.7"];
        assert_eq!(arranged(&locals, &remotes, &routes), ["192.168.1.7", "10.2.0.1"]);
    }

    #[test]
    fn order_of_the_user_stays_if_one_link_leads_to_all() {
        let locals = ["10.2.0.1", "10.1.0.1"];
        let routes = [("192.0.2.1", "10.1.0.1"), ("192.0.2.2", "10.1.0.1")];
        assert_eq!(arranged(&locals, &["192.0.2.1", "192.0.2.2"], &routes), locals);
        assert_eq!(arranged(&locals, &["192.0.2.1", "192.0.2.2"], &[]), locals);
        // Each local address is paired with the only remote one.
        assert_eq!(arranged(&locals, &["192.0.2.1"], &routes), locals);
    }

    #[test]
    fn each_version_is_arranged_within_its_places() {
        let locals = ["10.2.0.1", "fd02::1", "10.1.0.1", "fd01::1"];
        let remotes = ["10.1.0.2", "10.2.0.2", "fd01::2", "fd02::2"];
        let routes = [
            ("10.1.0.2", "10.1.0.1"),
            ("10.2.0.2", "10.2.0.1"),
            ("fd01::2", "fd01::1"),
            ("fd02::2", "fd02::1"),
        ];
        let expected = ["10.1.0.1", "fd01::1", "10.2.0.1", "fd02::1"];
        assert_eq!(arranged(&locals, &remotes, &routes), expected);
    }
}

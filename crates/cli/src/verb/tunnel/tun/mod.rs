//! TUN device of a tunnel: what has to be set up on this host, and is taken away again.
//!
//! | file | question |
//! |---|---|
//! | `host.rs` | how do packets get into the device? |
//! | `kill_switch.rs` | what if there is no device? |
//! | `dns.rs` | who resolves names? |

mod dns;
mod host;
mod kill_switch;

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anabranch_tunnel::{IsOwn, NameServers, TunConfig, TunDevice, carry};
use tokio::task::JoinSet;

use super::Shared;
use super::config::{Peer, Tun};
use crate::failure::Failure;
use crate::output::Event;
use crate::parse::PeerAddresses;
use crate::verb::send::resolve;

/// How users take the kill switch of a program away that does not run.
const TAKE_AWAY: &str = "take it away by `ip rule delete preference 9899` and `ip -6 rule delete preference 9899`, and the same with 9900";

/// Sets the device up, if there is to be one, and has it served.
pub(super) async fn open(
    shared: &Shared,
    parts: &mut JoinSet<Result<Infallible, Failure>>,
) -> Result<(), Failure> {
    let config = shared.state.config();
    let Some(tun) = &config.tun else { return Ok(()) };
    let tun = &without_missing_ipv6(shared, tun);
    let peer = shared.state.peer(tun.peer);
    let peer = peer.ok_or_else(|| Failure::work("the device leads to no peer"))?;
    let endpoints = endpoints(&peer.config()).await;
    let device = TunDevice::create(&tun.name).map_err(|error| Failure::Work(explain(&tun.name, &error)))?;
    let was_engaged = tun.has_kill_switch && take_kill_switch(shared, tun, &endpoints)?;
    if !tun.has_kill_switch && kill_switch::is_engaged() && kill_switch::hold().is_ok() {
        shared.warn(&format!("the kill switch of an earlier run is on; {TAKE_AWAY}"));
    }
    // What is sent to an endpoint must not go through the tunnel.
    let is_other = |server: &IpAddr| !endpoints.iter().any(|endpoint| endpoint.ip() == *server);
    let servers = NameServers {
        replaced: dns::replaced().into_iter().filter(is_other).collect(),
        used: tun.dns.clone(),
    };
    let told = if tun.dns.is_empty() {
        Ok(true)
    } else {
        dns::tell_resolved(tun)
    };
    // The device has to be there first.
    let hosts = match &told {
        Ok(true) => &servers.used,
        Ok(false) | Err(_) => &servers.replaced,
    };
    let configured = host::configure(tun, hosts).inspect_err(|_| {
        // What an earlier run was to stop stays stopped.
        if tun.has_kill_switch && !was_engaged {
            kill_switch::release();
        }
    });
    configured.map_err(Failure::Work)?;
    if let Err(text) = &told {
        shared.warn(text);
    }
    if !tun.dns.is_empty() && hosts.is_empty() && !matches!(told, Ok(true)) {
        shared.warn(
            "DNS: /etc/resolv.conf names no other host, so programs ask one on this host, which may pass the tunnel by; have it ask the name servers of DNS",
        );
    }
    shared.reporter.report(&Event::TunnelDevice {
        name: &tun.name,
        addresses: &tun.addresses,
        routes: &tun.routes,
        peer: &peer.name(),
    });
    let state = Arc::clone(&shared.state);
    let carried = TunConfig {
        name: tun.name.clone(),
        addresses: tun.addresses.clone(),
        servers,
        is_own: IsOwn::new(move |address| state.has_socket(address)),
    };

    let (name, route) = (tun.name.clone(), peer.route());
    parts.spawn(async move {
        let error = carry(device, carried, route).await;
        Err(Failure::Work(format!("the device {name} has failed: {error}")))
    });
    Ok(())
}

/// A device of both IP versions has IPv4 alone where IPv6 is off. No IPv6 packet leaves such a host, so none passes the tunnel by.
fn without_missing_ipv6(shared: &Shared, tun: &Tun) -> Tun {
    let mut tun = tun.clone();
    let has = |ipv4| {
        tun.addresses
            .iter()
            .any(|address| address.addr().is_ipv4() == ipv4)
    };
    if has(true) && has(false) && !host::has_ipv6() {
        shared.warn(&format!(
            "IPv6 is off on this host, so {} has only its IPv4 address",
            tun.name
        ));
        tun.addresses.retain(|address| address.addr().is_ipv4());
        tun.routes.retain(|route| route.addr().is_ipv4());
    }
    tun
}

/// Replaces the rules of an earlier run, which was killed, by those of this one. `true` if there were any.
fn take_kill_switch(shared: &Shared, tun: &Tun, endpoints: &[SocketAddr]) -> Result<bool, Failure> {
    let held = kill_switch::hold().map_err(Failure::Work)?;
    shared.state.hold_kill_switch(held);
    kill_switch::replace(tun, endpoints).map_err(Failure::Work)
}

/// Takes away what does not vanish with the device, when the program ends in order.
pub(super) fn close(shared: &Shared) {
    if shared.state.has_kill_switch() {
        kill_switch::release();
    }
}

/// Warns of a kill switch that stays, because the program has failed.
pub(super) fn leave(shared: &Shared) {
    if shared.state.has_kill_switch() && kill_switch::is_engaged() {
        shared.warn(&format!(
            "the kill switch stays on; start the tunnel again, or {TAKE_AWAY}"
        ));
    }
}

/// Where the tunnel sends to. With a kill switch, all are addresses.
async fn endpoints(peer: &Peer) -> Vec<SocketAddr> {
    let addresses = PeerAddresses {
        key: None,
        hosts: peer.endpoints.clone(),
    };
    // A name may be resolved later only.
    resolve(&addresses).await.unwrap_or_default()
}

fn explain(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "cannot create the device {name}: {error}; run it as root, or give the program CAP_NET_ADMIN. Without Tun in the file, Socks and Http need no privileges"
        ),
        io::ErrorKind::ResourceBusy => {
            format!("cannot create the device {name}: another program has one of this name")
        }
        io::ErrorKind::NotFound => {
            format!("cannot create the device {name}: there is no /dev/net/tun; `modprobe tun` may help")
        }
        _ => format!("cannot create the device {name}: {error}"),
    }
}

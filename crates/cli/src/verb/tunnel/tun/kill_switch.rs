//! Kill switch: what is to go through the tunnel goes nowhere without it.
//!
//! Three rules of policy routing, at fixed places, for each IP version:
//!
//! ```text
//! 9897  packets of the tunnel itself: UDP to its endpoints   ─▶ main table
//! 9898  networks of the tunnel                               ─▶ main table, without routes that are less specific: the default route of the host
//! 9899  networks of the tunnel                               ─▶ unreachable
//! ```
//!
//! The device and the networks that this host is connected to are in the main table. The rules stay when the program is killed: they are there for that. The
//! next start with a kill switch replaces them, and an end in order takes them away. Starts without one leave them alone. While they are
//! replaced, another rule at 9900 does what that at 9899 does: a program that is killed just then leaves nothing open.
//!
//! Rules have no owner. So a running program has an abstract Unix socket, of which there is one of a name in each network namespace, as rules are; it vanishes
//! with the program.

use std::io;
use std::net::SocketAddr;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixDatagram};
use std::path::Path;
use std::process::{Command, Stdio};

use ipnet::IpNet;

use super::host::ip;
use crate::verb::tunnel::config::Tun;

const OWN: u32 = 9_897;
const THROUGH: u32 = 9_898;
const NOTHING_ELSE: u32 = 9_899;

/// Stands in for [`NOTHING_ELSE`] while the rules are replaced.
const MEANWHILE: u32 = 9_900;

/// What `ip` says of a rule that is there already (`EEXIST`).
const EXISTS: &str = "File exists";

/// Name of the socket of the program whose rules these are.
const HELD: &[u8] = b"anabranch-kill-switch";

/// The right to the rules of this network namespace, as long as it is not dropped.
///
/// # Errors
///
/// Another program has it.
pub(super) fn hold() -> Result<UnixDatagram, String> {
    let socket = UnixAddr::from_abstract_name(HELD).and_then(|name| UnixDatagram::bind_addr(&name));
    socket.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            "KillSwitch: another tunnel on this host has one already; stop that tunnel, or leave KillSwitch out here".to_owned()
        }
        _ => format!("KillSwitch: cannot open the socket that tells other tunnels of it: {error}"),
    })
}

/// Replaces the rules of an earlier run, if there are any, by those of this one. Nothing passes in between. The caller [holds](hold) the
/// right to them. `true` if there were any.
///
/// # Errors
///
/// What `ip` has refused, and why. Then nothing passes that an earlier run has stopped; if there was none, no rule is left.
pub(super) fn replace(tun: &Tun, endpoints: &[SocketAddr]) -> Result<bool, String> {
    let was_engaged = is_engaged();
    if was_engaged {
        for line in unreachable(tun, MEANWHILE) {
            // An earlier run that was killed here has left the same rule.
            ip(&[line]).or_else(|text| if text.contains(EXISTS) { Ok(()) } else { Err(text) })?;
        }
    }
    delete(&[OWN, THROUGH, NOTHING_ELSE]);
    engage(tun, endpoints)?;
    delete(&[MEANWHILE]);
    Ok(was_engaged)
}

/// What keeps packets to the networks of the tunnel from going anywhere else.
fn unreachable(tun: &Tun, preference: u32) -> impl Iterator<Item = String> {
    tun.routes.iter().map(move |route| {
        let version = version_of(route.addr().is_ipv4());
        let to = towards(route);
        format!("{version} rule add preference {preference} {to}unreachable")
    })
}

/// The words of a rule for packets to `route`; none for all packets.
fn towards(route: &IpNet) -> String {
    match route.prefix_len() {
        0 => String::new(),
        _ => format!("to {route} "),
    }
}

/// Puts the rules in place. The caller [holds](hold) the right to them.
///
/// # Errors
///
/// What `ip` has refused, and why. Then none of them is left.
fn engage(tun: &Tun, endpoints: &[SocketAddr]) -> Result<(), String> {
    let endpoints = endpoints.iter().map(|endpoint| {
        let (version, host, port) = (version_of(endpoint.is_ipv4()), endpoint.ip(), endpoint.port());
        format!("{version} rule add preference {OWN} to {host} ipproto udp dport {port} lookup main")
    });
    let networks = tun.routes.iter().map(|route| {
        let version = version_of(route.addr().is_ipv4());
        let (to, less_specific) = (towards(route), longest_less_specific(route));
        format!(
            "{version} rule add preference {THROUGH} {to}lookup main suppress_prefixlength {less_specific}"
        )
    });
    let lines: Vec<String> = endpoints
        .chain(networks)
        .chain(unreachable(tun, NOTHING_ELSE))
        .collect();
    ip(&lines).inspect_err(|_| delete(&[OWN, THROUGH, NOTHING_ELSE]))
}

/// The longest prefix of routes that are less specific than that of the device. A default route is two halves there.
fn longest_less_specific(route: &IpNet) -> u8 {
    route.prefix_len().saturating_sub(1)
}

/// Takes the rules away, also those of an earlier run.
pub(super) fn release() {
    delete(&[OWN, THROUGH, NOTHING_ELSE, MEANWHILE]);
}

fn delete(preferences: &[u32]) {
    for is_ipv4 in [true, false] {
        for preference in preferences {
            // Each call deletes one, until there is none.
            while is_deleted(version_of(is_ipv4), *preference) {}
        }
    }
}

/// Whether there are rules of an earlier run.
pub(super) fn is_engaged() -> bool {
    let listed = |version: &str| {
        let output = Command::new("ip").args([version, "rule", "show"]).output();
        output.is_ok_and(|output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let is_ours = |line: &str| {
                [NOTHING_ELSE, MEANWHILE]
                    .iter()
                    .any(|preference| line.starts_with(&format!("{preference}:")))
            };
            text.lines().any(is_ours)
        })
    };
    listed("-4") || (has_ipv6() && listed("-6"))
}

fn is_deleted(version: &str, preference: u32) -> bool {
    let status = Command::new("ip")
        .args([version, "rule", "delete", "preference", &preference.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

const fn version_of(is_ipv4: bool) -> &'static str {
    if is_ipv4 { "-4" } else { "-6" }
}

fn has_ipv6() -> bool {
    Path::new("/proc/net/if_inet6").exists()
}

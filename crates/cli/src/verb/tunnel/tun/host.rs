//! Network configuration of this host, by the program `ip` (iproute2). How do packets get into the device?
//!
//! Addresses and routes belong to the device and vanish with it, also when the program is killed. A default route is two halves, which are more specific
//! than any other one and leave it as it is: sockets that are bound to an uplink still use that of their device.

use std::fs;
use std::net::IpAddr;
use std::process::{Command, Stdio};

use ipnet::IpNet;

use crate::verb::tunnel::config::Tun;

/// Gives the device its addresses and routes, and takes it up. `hosts` are reached through it, too.
///
/// # Errors
///
/// What `ip` has refused, and why.
pub(super) fn configure(tun: &Tun, hosts: &[IpAddr]) -> Result<(), String> {
    let (name, mtu) = (&tun.name, tun.mtu);
    let mut lines = vec![format!("link set dev {name} mtu {mtu} up")];
    for address in &tun.addresses {
        // Nobody else is on the link, so nobody has a duplicate of the address.
        let nodad = if address.addr().is_ipv6() { " nodad" } else { "" };
        lines.push(format!("address add {address} dev {name}{nodad}"));
    }
    let is_elsewhere = |host: &IpNet| {
        let has_address = tun
            .addresses
            .iter()
            .any(|own| own.addr().is_ipv4() == host.addr().is_ipv4());
        has_address && !tun.routes.contains(host)
    };
    let hosts = hosts.iter().map(|host| IpNet::from(*host)).filter(is_elsewhere);
    for route in tun.routes.iter().flat_map(|route| halves(*route)).chain(hosts) {
        lines.push(format!("route add {route} dev {name}"));
    }
    ip(&lines)
}

/// Whether any device of this host has an IPv6 address: with IPv6 on, at least the loopback device has one.
pub(super) fn has_ipv6() -> bool {
    fs::read_to_string("/proc/net/if_inet6").is_ok_and(|addresses| !addresses.is_empty())
}

/// A default route as two halves; others as they are.
pub(super) fn halves(route: IpNet) -> Vec<IpNet> {
    match route.prefix_len() {
        0 => route.subnets(1).map_or_else(|_| vec![route], Iterator::collect),
        _ => vec![route],
    }
}

/// Runs commands of `ip` until one fails.
///
/// # Errors
///
/// What it has refused, and why.
pub(super) fn ip(lines: &[String]) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot run `ip` (iproute2): {error}");
    for line in lines {
        let output = Command::new("ip")
            .args(line.split_whitespace())
            .stdin(Stdio::null())
            .output()
            .map_err(failed)?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`ip {line}`: {}", text.trim().replace('\n', "; ")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn default_routes_are_two_halves() {
        let halves = |route: &str| -> Vec<String> {
            super::halves(route.parse().unwrap())
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        assert_eq!(halves("0.0.0.0/0"), ["0.0.0.0/1", "128.0.0.0/1"]);
        assert_eq!(halves("::/0"), ["::/1", "8000::/1"]);
        assert_eq!(halves("10.0.0.0/8"), ["10.0.0.0/8"]);
    }
}

//! Name servers. How do programs come to ask those of the configuration?
//!
//! Where systemd-resolved runs, it is told those of the device, which it forgets with the device. Elsewhere the name servers that this host asks, as
//! `/etc/resolv.conf` has them, are reached through the device, and the tunnel asks others in their place. No file is changed, so none has to be changed back.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::verb::tunnel::config::Tun;

/// What systemd-resolved makes its status known by.
const RESOLVED: &str = "/run/systemd/resolve/stub-resolv.conf";

/// The name servers of this host that packets reach, and not those on this host itself, which ask others.
pub(super) fn replaced() -> Vec<IpAddr> {
    let text = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let servers = parse(&text);
    servers
        .into_iter()
        .filter(|server| !server.is_loopback())
        .collect()
}

/// The name servers of a text in the format of resolv.conf(5).
fn parse(text: &str) -> Vec<IpAddr> {
    let server = |line: &str| {
        let mut words = line.split_whitespace();
        let is_server = words.next() == Some("nameserver");
        // A link-local address has its device behind a `%`, and is not routed.
        words.next().filter(|_| is_server)?.parse().ok()
    };
    text.lines().filter_map(server).collect()
}

/// Tells systemd-resolved the name servers of the device, if it runs. `Ok(false)` if it does not.
///
/// # Errors
///
/// What it has refused.
pub(super) fn tell_resolved(tun: &Tun) -> Result<bool, String> {
    if !Path::new(RESOLVED).exists() {
        return Ok(false);
    }
    let servers: Vec<String> = tun.dns.iter().map(ToString::to_string).collect();
    let mut first = vec!["dns", tun.name.as_str()];
    first.extend(servers.iter().map(String::as_str));
    // All names are asked for there.
    for arguments in [first, vec!["domain", tun.name.as_str(), "~."]] {
        let output = Command::new("resolvectl")
            .args(&arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run resolvectl: {error}"))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`resolvectl {}`: {}", arguments.join(" "), text.trim()));
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_are_found_among_other_lines() {
        let text = "# nameserver 192.0.2.1\nsearch example.org\nnameserver 10.0.0.1\n nameserver\tfd00::1 \nnameserver fe80::1%eth0\nnameserver\n";
        let expected: Vec<IpAddr> = ["10.0.0.1", "fd00::1"].map(|ip| ip.parse().unwrap()).into();
        assert_eq!(parse(text), expected);
    }
}

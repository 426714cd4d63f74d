//! `anabranch tunnel check`: says what a file would do.

use std::fmt::Write as _;

use anabranch_tunnel::Proxy;
use ipnet::IpNet;

use super::config::{Config, Entrance, Listen, Tun};
use super::preferences;
use crate::failure::Failure;
use crate::output::{print, remark};
use crate::parse::Origin;

/// Prints what the file would do.
pub(super) fn run(config: &Config) -> Result<(), Failure> {
    for text in &config.warnings {
        remark(format_args!("warning: {text}"));
    }
    print(describe(config))
}

fn describe(config: &Config) -> String {
    let mut text = format!(
        "{}: our public key is {}\n",
        config.file.display(),
        config.key.public_key()
    );
    let mut line = |line: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line}");
    };
    match &config.listen {
        Some(Listen::Everywhere(port)) => line(format!("listens at UDP port {port} of all addresses")),
        Some(Listen::At(addresses)) => {
            let addresses: Vec<String> = addresses.0.iter().map(ToString::to_string).collect();
            line(format!("listens at {}", addresses.join(" and ")));
        }
        None => {}
    }
    for peer in &config.peers {
        let endpoints: Vec<String> = peer.endpoints.iter().map(ToString::to_string).collect();
        let how = match endpoints.is_empty() {
            true => "waits for it".to_owned(),
            false => format!("connects to {} from {}", endpoints.join(" and "), paths(config)),
        };
        line(format!("{} with the key {}: {how}", peer.name, peer.key));
        line(format!("  it may connect to: {}", peer.reach));
        if let Some(quota) = peer.quota {
            line(format!("  it may carry {quota}"));
        }
    }
    for Entrance { listen, proxy, peer } in &config.entrances {
        let peer = config.name_of(*peer);
        line(match proxy {
            Proxy::Socks5 => format!("SOCKS5 proxy at {listen}, through {peer}"),
            Proxy::HttpConnect => format!("HTTP CONNECT proxy at {listen}, through {peer}"),
            Proxy::Forward(target) => format!("{listen} leads to {target}, through {peer}"),
        });
    }
    if !config.classes.is_empty() {
        line(format!(
            "rules of Class: {}, before those by DSCP, port and size",
            config.classes.len()
        ));
    }
    let redundant = config.classes.iter().filter(|rule| rule.is_redundant());
    for rule in redundant {
        line(format!("on all links that do not rest: {rule}"));
    }
    for told in config
        .tun
        .iter()
        .flat_map(|tun| device(tun, config.name_of(tun.peer)))
    {
        line(told);
    }
    text
}

/// What a device would do, which leads to a peer of this name.
fn device(tun: &Tun, peer: &str) -> Vec<String> {
    let joined = |networks: &[IpNet]| {
        let networks: Vec<String> = networks.iter().map(ToString::to_string).collect();
        networks.join(" and ")
    };
    let (name, addresses, routes) = (&tun.name, joined(&tun.addresses), joined(&tun.routes));
    let mut lines = vec![format!(
        "device {name} with {addresses}, MTU {}: {routes} through {peer}",
        tun.mtu
    )];
    if !tun.dns.is_empty() {
        let servers: Vec<String> = tun.dns.iter().map(ToString::to_string).collect();
        lines.push(format!(
            "  name servers: {}, asked by {peer}",
            servers.join(" and ")
        ));
    }
    if tun.has_kill_switch {
        lines.push(
            "  kill switch: nothing to these networks passes by, also when the program is killed".to_owned(),
        );
    }
    lines
}

fn paths(config: &Config) -> String {
    let Some(origins) = &config.paths else {
        return "all uplinks".to_owned();
    };
    let names = origins.0.iter().map(|origin| {
        let name = match origin {
            Origin::Address(address) => address.ip().to_string(),
            Origin::Device(name) => name.clone(),
        };
        let known = config.preferences.iter().find(|(known, _)| known == origin);
        let described = known.map(|(_, known)| {
            let limit = known.limit.map(|limit| limit.get() as f64 * 8.0);
            preferences::describe(known.cost, limit)
        });
        name + &described.unwrap_or_default()
    });
    names.collect::<Vec<_>>().join(" and ")
}

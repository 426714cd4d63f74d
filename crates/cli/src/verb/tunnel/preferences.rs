//! Preferences between uplinks. How is the path from an address to be used?

use std::net::{IpAddr, SocketAddr};

use anabranch::PathPreference;
use anabranch::io::device_of;

use super::config::Config;
use crate::output::rate_text;
use crate::parse::Origin;

/// How paths from `address` are to be used, if the file says so: by the address itself, else by its device.
pub(super) fn of_address(config: &Config, address: IpAddr) -> Option<PathPreference> {
    let named = |(origin, _): &&(Origin, PathPreference)| match origin {
        Origin::Address(known) => known.ip() == address,
        Origin::Device(_) => false,
    };
    let known = config.preferences.iter().find(named);
    let known = known.or_else(|| {
        let device = device_of(address).ok().flatten()?;
        config
            .preferences
            .iter()
            .find(|(origin, _)| matches!(origin, Origin::Device(name) if *name == device))
    });
    known.map(|(_, preference)| *preference)
}

/// Those of the addresses of sockets.
pub(super) fn of_sockets(
    config: &Config,
    locals: impl Iterator<Item = SocketAddr>,
) -> Vec<(IpAddr, PathPreference)> {
    let locals = locals.map(|local| local.ip());
    locals
        .filter_map(|local| Some((local, of_address(config, local)?)))
        .collect()
}

/// ` (backup, at most 20 Mbit/s)`; nothing for a path like any other.
pub(super) fn describe(cost: u8, limit_bit_s: Option<f64>) -> String {
    let mut words = match cost {
        0 => Vec::new(),
        PathPreference::BACKUP => vec!["backup".to_owned()],
        cost => vec![format!("cost {cost}")],
    };
    words.extend(limit_bit_s.map(|limit| format!("at most {}", rate_text(limit))));
    match &words[..] {
        [] => String::new(),
        words => format!(" ({})", words.join(", ")),
    }
}

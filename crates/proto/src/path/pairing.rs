//! Which of our addresses talks to which of the peer's? The braid rule.

use alloc::vec::Vec;
use core::net::SocketAddr;

use anabranch_types::{AddressScope, PathAddr};

/// Most paths of one association; more address pairs are left out.
pub(crate) const MAX_PATHS: usize = 16;

/// Joins local and remote addresses to paths.
///
/// Of n local and m remote addresses of one IP version, path i joins local `i mod n` and remote `i mod m`, for
/// i below max(n, m). Every address is used, with the fewest paths, and both ends derive the same pairs from
/// the same lists: a host with two links that talks to a host with one address has two paths.
pub(crate) fn braid(local: &[SocketAddr], remote: &[SocketAddr]) -> Vec<PathAddr> {
    let of_version = |v4: bool| braid_one_version(local, remote, v4);
    let first_is_v4 = remote.first().is_none_or(SocketAddr::is_ipv4);
    let mut pairs = of_version(first_is_v4);
    pairs.extend(of_version(!first_is_v4));
    pairs.truncate(MAX_PATHS);
    pairs
}

fn braid_one_version(local: &[SocketAddr], remote: &[SocketAddr], v4: bool) -> Vec<PathAddr> {
    let local: Vec<_> = local.iter().filter(|addr| addr.is_ipv4() == v4).collect();
    let remote: Vec<_> = remote.iter().filter(|addr| addr.is_ipv4() == v4).collect();
    if local.is_empty() || remote.is_empty() {
        return Vec::new();
    }
    (0..local.len().max(remote.len()))
        .map(|index| PathAddr {
            local: *local[index % local.len()],
            remote: *remote[index % remote.len()],
        })
        .filter(can_reach)
        .collect()
}

/// A loopback address reaches only loopback addresses of the same host.
fn can_reach(pair: &PathAddr) -> bool {
    let local = AddressScope::of(pair.local.ip());
    let remote = AddressScope::of(pair.remote.ip());
    local == AddressScope::Unusable || (local == AddressScope::Loopback) == (remote == AddressScope::Loopback)
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use super::*;

    fn addresses(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn paths(local: &[&str], remote: &[&str]) -> Vec<String> {
        braid(&addresses(local), &addresses(remote))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn two_links_to_one_server_address_are_two_paths() {
        let pairs = paths(&["10.0.0.1:1", "10.1.0.1:1"], &["192.0.2.1:9"]);
        assert_eq!(pairs, ["10.0.0.1:1 -> 192.0.2.1:9", "10.1.0.1:1 -> 192.0.2.1:9"]);
    }

    #[test]
    fn as_many_on_both_sides_are_joined_one_to_one() {
        let pairs = paths(&["10.0.0.1:1", "10.1.0.1:1"], &["10.0.0.2:9", "10.1.0.2:9"]);
        assert_eq!(pairs, ["10.0.0.1:1 -> 10.0.0.2:9", "10.1.0.1:1 -> 10.1.0.2:9"]);
    }

    #[test]
    fn both_ends_derive_the_same_pairs() {
        let (left, right) = (
            ["10.0.0.1:1", "10.1.0.1:1", "10.2.0.1:1"],
            ["10.0.0.2:9", "10.1.0.2:9"],
        );
        let ours = braid(&addresses(&left), &addresses(&right));
        let theirs = braid(&addresses(&right), &addresses(&left));
        assert_eq!(
            ours,
            theirs.into_iter().map(PathAddr::reversed).collect::<Vec<_>>()
        );
    }

    #[test]
    fn ip_versions_do_not_mix_and_the_peers_first_choice_comes_first() {
        let pairs = paths(
            &["10.0.0.1:1", "[2001:db8::1]:1"],
            &["[2001:db8::2]:9", "10.0.0.2:9"],
        );
        assert_eq!(
            pairs,
            ["[2001:db8::1]:1 -> [2001:db8::2]:9", "10.0.0.1:1 -> 10.0.0.2:9"]
        );
    }

    #[test]
    fn loopback_does_not_reach_the_world() {
        assert!(paths(&["127.0.0.1:1"], &["192.0.2.1:9"]).is_empty());
        assert_eq!(paths(&["0.0.0.0:1"], &["192.0.2.1:9", "127.0.0.1:9"]).len(), 2);
    }
}

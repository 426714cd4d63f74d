//! Address pairing (ADR 0011). Which local address forms a path with which remote address?

use alloc::vec::Vec;
use core::net::SocketAddr;

use anabranch_types::{AddressScope, PathAddr};

use super::covers;

/// Maximum number of paths of an association; further address pairs are left out.
pub(crate) const MAX_PATHS: usize = 16;

//= rfc9260 6.4.1-2
/// Pairs local and remote addresses to paths.
///
/// Only addresses of one realm can reach each other: of one IP version, and both loopback or both not. Of n local and m remote
/// addresses in a realm, path i joins local `i mod n` and remote `i mod m`, for i below max(n, m). Every address is used, with the
/// fewest paths, and both ends derive the same pairs from the same lists: a host with two links that talks to a host with one
/// address has two paths.
#[must_use]
pub fn pair_addresses(local: &[SocketAddr], remote: &[SocketAddr]) -> Vec<PathAddr> {
    let mut realms: Vec<Realm> = Vec::new();
    for realm in remote.iter().map(Realm::of) {
        if !realms.contains(&realm) {
            realms.push(realm);
        }
    }
    let mut pairs: Vec<_> = realms
        .iter()
        .flat_map(|realm| realm.pair(local, remote))
        .collect();
    pairs.truncate(MAX_PATHS);
    pairs
}

/// Pairs the addresses so that `proven`, the address pair of the handshake, is a path.
///
/// If the rule of [`pair_addresses`] does not contain it, the two ends list their addresses in unrelated orders. The pairing then
/// starts at the proven pair: path i joins the i-th local address after that of the pair with the i-th remote address after it.
/// Both ends derive the same pairs in this way, too.
pub(crate) fn pair_through(local: &[SocketAddr], remote: &[SocketAddr], proven: PathAddr) -> Vec<PathAddr> {
    let pairs = pair_addresses(local, remote);
    let is_proven = |pair: &PathAddr| pair.remote == proven.remote && covers(pair.local, proven.local);
    if pairs.iter().any(is_proven) {
        return pairs;
    }
    let ours = local.iter().position(|known| covers(*known, proven.local));
    let theirs = remote.iter().position(|known| *known == proven.remote);
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        // An address of the pair is not in the lists.
        let mut pairs: Vec<_> = core::iter::once(proven).chain(pairs).collect();
        pairs.truncate(MAX_PATHS);
        return pairs;
    };
    let (mut local, mut remote) = (local.to_vec(), remote.to_vec());
    local.rotate_left(ours);
    remote.rotate_left(theirs);
    pair_addresses(&local, &remote)
}

/// The set of addresses that can reach each other: an IP version, and loopback or not.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Realm {
    is_v4: bool,
    is_loopback: bool,
}

impl Realm {
    fn of(address: &SocketAddr) -> Self {
        let is_loopback = AddressScope::of(address.ip()) == AddressScope::Loopback;
        Self {
            is_v4: address.is_ipv4(),
            is_loopback,
        }
    }

    /// Whether a local address belongs to the realm; an unspecified address belongs to all.
    fn has_local(self, address: &SocketAddr) -> bool {
        Self::of(address) == self || (address.ip().is_unspecified() && address.is_ipv4() == self.is_v4)
    }

    /// Pairs the addresses of the realm one to one; the end with fewer of them uses them again.
    fn pair(self, local: &[SocketAddr], remote: &[SocketAddr]) -> impl Iterator<Item = PathAddr> {
        let local = local
            .iter()
            .copied()
            .filter(move |address| self.has_local(address));
        let remote = remote
            .iter()
            .copied()
            .filter(move |address| Self::of(address) == self);
        let rows = local.clone().count().max(remote.clone().count());
        let rows = local.cycle().zip(remote.cycle()).take(rows);
        rows.map(|(local, remote)| PathAddr { local, remote })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use super::*;

    fn addresses(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn paths(local: &[&str], remote: &[&str]) -> Vec<String> {
        pair_addresses(&addresses(local), &addresses(remote))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn two_local_addresses_and_one_remote_are_two_paths() {
        let pairs = paths(&["10.0.0.1:1", "10.1.0.1:1"], &["192.0.2.1:9"]);
        assert_eq!(pairs, ["10.0.0.1:1 -> 192.0.2.1:9", "10.1.0.1:1 -> 192.0.2.1:9"]);
    }

    //= rfc9260 6.4.1-2
    #[test]
    fn equal_address_counts_are_paired_one_to_one() {
        let pairs = paths(&["10.0.0.1:1", "10.1.0.1:1"], &["10.0.0.2:9", "10.1.0.2:9"]);
        assert_eq!(pairs, ["10.0.0.1:1 -> 10.0.0.2:9", "10.1.0.1:1 -> 10.1.0.2:9"]);
    }

    #[test]
    fn both_ends_derive_the_same_pairs() {
        let (left, right) = (
            ["10.0.0.1:1", "10.1.0.1:1", "10.2.0.1:1"],
            ["10.0.0.2:9", "10.1.0.2:9"],
        );
        let ours = pair_addresses(&addresses(&left), &addresses(&right));
        let theirs = pair_addresses(&addresses(&right), &addresses(&left));
        assert_eq!(
            ours,
            theirs.into_iter().map(PathAddr::reversed).collect::<Vec<_>>()
        );
    }

    #[test]
    fn pairing_is_rotated_to_contain_the_handshake_pair() {
        let (near, far) = (["10.0.0.1:1", "10.1.0.1:1"], ["10.1.0.2:9", "10.0.0.2:9"]);
        let proven = PathAddr {
            local: near[0].parse().unwrap(),
            remote: far[1].parse().unwrap(),
        };
        let ours = pair_through(&addresses(&near), &addresses(&far), proven);
        let written: Vec<_> = ours.iter().map(ToString::to_string).collect();
        assert_eq!(written, ["10.0.0.1:1 -> 10.0.0.2:9", "10.1.0.1:1 -> 10.1.0.2:9"]);
        let theirs = pair_through(&addresses(&far), &addresses(&near), proven.reversed());
        let reversed: Vec<_> = theirs.into_iter().map(PathAddr::reversed).collect();
        assert_eq!(ours, reversed, "the other end thinks so too");
    }

    #[test]
    fn pairing_that_contains_the_handshake_pair_is_unchanged() {
        let lists = (
            addresses(&["10.0.0.1:1", "10.1.0.1:1"]),
            addresses(&["10.0.0.2:9", "10.1.0.2:9"]),
        );
        let proven = PathAddr {
            local: lists.0[1],
            remote: lists.1[1],
        };
        assert_eq!(
            pair_through(&lists.0, &lists.1, proven),
            pair_addresses(&lists.0, &lists.1)
        );
    }

    #[test]
    fn pair_with_an_unlisted_address_comes_first() {
        let (local, remote) = (addresses(&["10.0.0.1:1"]), addresses(&["10.0.0.2:9"]));
        let proven = PathAddr {
            local: "10.9.0.1:1".parse().unwrap(),
            remote: remote[0],
        };
        let pairs = pair_through(&local, &remote, proven);
        assert_eq!((pairs.len(), pairs[0]), (2, proven));
    }

    #[test]
    fn ip_versions_are_not_mixed_and_the_peers_first_comes_first() {
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
    fn unreachable_scopes_do_not_prevent_pairing() {
        let pairs = paths(&["10.0.0.1:1", "127.0.0.1:1"], &["127.0.0.1:9", "127.0.0.2:9"]);
        assert_eq!(
            pairs,
            ["127.0.0.1:1 -> 127.0.0.1:9", "127.0.0.1:1 -> 127.0.0.2:9"]
        );
    }

    #[test]
    fn loopback_is_not_paired_with_global_addresses() {
        assert!(paths(&["127.0.0.1:1"], &["192.0.2.1:9"]).is_empty());
        assert_eq!(paths(&["0.0.0.0:1"], &["192.0.2.1:9", "127.0.0.1:9"]).len(), 2);
    }
}

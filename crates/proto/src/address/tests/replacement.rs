//! Tests of addresses that depart: the last working address is removed when another one is confirmed.

use super::rules::{add_alice_address, asconfs};
use super::*;
use crate::AddressError;

fn remove(pair: &mut Pair, local: SocketAddr) -> Result<(), AddressError> {
    let mut alice = pair.alice.association_mut(ID).expect("it lives");
    alice.remove_local_address(local)
}

//= rfc5061 5.3.2-1
#[test]
fn asconf_is_sent_from_the_new_address_when_the_last_one_departs() {
    let mut pair = Pair::with(1);
    add_alice_address(&mut pair, at(1, 1));
    assert_eq!(remove(&mut pair, at(0, 1)), Ok(()));
    let mut packets = poll_packets(&mut pair.alice, LATER);
    pair.alice.handle_timeout(LATER);
    packets.extend(poll_packets(&mut pair.alice, LATER));
    let from_new: Vec<_> = packets
        .into_iter()
        .filter(|(path, _)| path.local == at(1, 1))
        .collect();
    assert_eq!(asconfs(&from_new).len(), 1);
    assert_eq!(from_new.len(), 1, "nothing else may be sent from there");
}

#[test]
fn departing_address_is_removed_when_another_is_confirmed() {
    let mut pair = Pair::with(1);
    add_alice_address(&mut pair, at(1, 1));
    assert_eq!(remove(&mut pair, at(0, 1)), Ok(()));
    assert!(pair.alices().addresses.local_addrs.contains(&at(0, 1)));
    pair.exchange(LATER);
    pair.exchange(LATER + Duration::from_secs(1));
    assert_eq!(*pair.alices().addresses.local_addrs, [at(1, 1)]);
    assert_eq!(pair.alice_addresses_at_bob(), [at(1, 1).ip()]);
}

#[test]
fn departing_address_that_is_added_again_stays() {
    let mut pair = Pair::with(1);
    add_alice_address(&mut pair, at(1, 1));
    assert_eq!(remove(&mut pair, at(0, 1)), Ok(()));
    add_alice_address(&mut pair, at(0, 1));
    pair.exchange(LATER);
    pair.exchange(LATER + Duration::from_secs(1));
    assert_eq!(pair.alice_addresses_at_bob(), [at(0, 1).ip(), at(1, 1).ip()]);
}

#[test]
fn address_departs_only_if_another_one_stays() {
    let mut pair = Pair::with(1);
    let refused = |local| Err(AddressError::LastAddress(local));
    assert_eq!(remove(&mut pair, at(0, 1)), refused(at(0, 1)));
    add_alice_address(&mut pair, at(1, 1));
    assert_eq!(remove(&mut pair, at(0, 1)), Ok(()));
    assert_eq!(remove(&mut pair, at(0, 1)), Ok(()), "repeated");
}

#[test]
fn departing_address_is_removed_after_the_peer_restarts() {
    let mut pair = Pair::with(1);
    add_alice_address(&mut pair, at(1, 1));
    assert_eq!(remove(&mut pair, at(0, 1)), Ok(()));
    // All that Alice sends before the restart is lost.
    for _ in 0..2 {
        poll_packets(&mut pair.alice, LATER);
        pair.alice.handle_timeout(LATER);
    }
    poll_packets(&mut pair.alice, LATER);
    pair.restart_bob();
    pair.exchange(LATER + Duration::from_secs(1));
    pair.exchange(LATER + Duration::from_secs(2));
    assert_eq!(*pair.alices().addresses.local_addrs, [at(1, 1)]);
}

//! Tests of waiting address pairs: of many listed addresses few are probed at once, and those that work are found.

use anabranch_wire::Heartbeat;

use super::*;
use crate::path::PathChange;

/// Number of addresses of each end.
const MANY: u8 = 15;

/// Time between two calls of the timers.
const STEP: Duration = Duration::from_millis(10);

fn network_of(address: SocketAddr) -> u8 {
    match address.ip() {
        IpAddr::V4(address) => address.octets()[1],
        IpAddr::V6(_) => panic!("all addresses are IPv4"),
    }
}

/// Two endpoints with many addresses, whose handshake is complete.
struct Run {
    pair: Pair,
    now: Instant,
    /// Networks to which Alice has sent a packet.
    tried: Vec<u8>,
}

impl Run {
    /// Only network 0 works during the handshake.
    fn connected() -> Self {
        Self::connected_if(&|network| network == 0)
    }

    /// Only networks for which `works` returns true work during the handshake.
    fn connected_if(works: &dyn Fn(u8) -> bool) -> Self {
        let mut run = Self {
            pair: Pair::connecting(MANY),
            now: Instant::ZERO,
            tried: Vec::new(),
        };
        run.exchange(works);
        run
    }

    /// Exchanges packets, of which only those in networks that work arrive.
    fn exchange(&mut self, works: &dyn Fn(u8) -> bool) {
        let Pair { alice, bob } = &mut self.pair;
        alice.handle_timeout(self.now);
        bob.handle_timeout(self.now);
        loop {
            let (there, back) = (poll_packets(alice, self.now), poll_packets(bob, self.now));
            if there.is_empty() && back.is_empty() {
                return;
            }
            self.tried
                .extend(there.iter().map(|(path, _)| network_of(path.local)));
            for (to, packets) in [(&mut *bob, there), (&mut *alice, back)] {
                for (path, bytes) in packets.iter().filter(|(path, _)| works(network_of(path.local))) {
                    to.handle_datagram(self.now, path.reversed(), Ecn::NotCapable, bytes);
                }
            }
        }
    }

    fn run_for(&mut self, time: Duration, works: &dyn Fn(u8) -> bool) {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            self.exchange(works);
        }
    }

    /// The networks of the paths with this reachability at each end, in ascending order.
    fn networks(&self, reachability: Reachability) -> [Vec<u8>; 2] {
        [self.pair.alices(), self.pair.bobs()].map(|end| {
            let paths = end.transfer.paths.iter();
            let found = paths.filter(|(facts, _)| facts.reachability == reachability);
            let mut networks: Vec<u8> = found.map(|(_, path)| network_of(path.addr.local)).collect();
            networks.sort_unstable();
            networks
        })
    }
}

//= rfc9260 5.4-1
#[test]
fn at_most_four_listed_addresses_are_probed_at_once() {
    let mut run = Run::connected();
    for _ in 0..3_000 {
        run.run_for(STEP, &|network| network == 0);
        for networks in run.networks(Reachability::Unconfirmed) {
            assert_eq!(networks.len(), 4, "{networks:?} at {:?}", run.now);
        }
    }
    run.tried.sort_unstable();
    run.tried.dedup();
    assert_eq!(run.tried, (0..MANY).collect::<Vec<_>>(), "each had its turn");
}

#[test]
fn only_working_address_of_15_is_found_within_12_seconds() {
    let mut run = Run::connected();
    run.run_for(Duration::from_secs(12), &|network| network == MANY - 1);
    for networks in run.networks(Reachability::Active) {
        assert!(networks.contains(&(MANY - 1)), "{networks:?}");
    }
}

#[test]
fn address_that_works_later_is_found_although_its_turns_were_in_vain() {
    let mut run = Run::connected();
    run.run_for(Duration::from_secs(60), &|network| network == 0);
    run.run_for(Duration::from_secs(900), &|network| [0, 9].contains(&network));
    assert_eq!(run.networks(Reachability::Active), [[0, 9], [0, 9]]);
}

#[test]
fn fifteen_working_addresses_are_confirmed_at_the_rate_of_heartbeats() {
    let mut run = Run::connected_if(&|_| true);
    // Four heartbeats per RTO (RFC 9260 §5.4), which is RTO.Initial while the first path has no sample.
    run.run_for(Duration::from_secs(4), &|_| true);
    let all: Vec<u8> = (0..MANY).collect();
    assert_eq!(run.networks(Reachability::Active), [all.clone(), all]);
}

#[test]
fn waiting_pairs_are_neither_added_nor_removed_for_the_application() {
    let mut run = Run::connected();
    run.run_for(Duration::from_secs(30), &|network| [0, 14].contains(&network));
    let changes: Vec<_> = core::iter::from_fn(|| run.pair.alice.poll_event())
        .filter_map(|(_, event)| match event {
            Event::Path(event) => Some((network_of(event.addr.local), event.change)),
            _ => None,
        })
        .filter(|(network, _)| *network > 0)
        .collect();
    assert_eq!(changes, [(14, PathChange::Reachability(Reachability::Active))]);
}

#[test]
fn heartbeat_from_a_waiting_address_makes_it_a_path() {
    let mut run = Run::connected();
    let bytes = run
        .pair
        .packet_from_alice(|_, packet| packet.push(&Heartbeat { info: b"from 14" }).expect("room"));
    let path = PathAddr {
        local: at(14, 2),
        remote: at(14, 1),
    };
    assert!(run.pair.bobs().addresses.is_waiting(&path));
    run.pair
        .bob
        .handle_datagram(run.now, path, Ecn::NotCapable, &bytes);
    assert!(!run.pair.bobs().addresses.is_waiting(&path));
    let answers = poll_packets(&mut run.pair.bob, run.now);
    let answered = |(to, bytes): &(PathAddr, Vec<u8>)| {
        let packet = Packet::parse(bytes).expect("in order");
        let mut chunks = packet.chunks().flatten();
        *to == path && chunks.any(|raw| raw.kind == kind::HEARTBEAT_ACK)
    };
    assert!(answers.iter().any(answered), "{answers:?}");
}

#[test]
fn deleted_address_waits_no_more() {
    let mut run = Run::connected();
    let path = PathAddr {
        local: at(14, 2),
        remote: at(14, 1),
    };
    let neighbour = PathAddr {
        local: at(13, 2),
        remote: at(13, 1),
    };
    let mut alice = run.pair.alice.association_mut(ID).expect("it lives");
    alice.remove_local_address(at(14, 1)).expect("it may");
    drop(alice);
    run.exchange(&|network| network == 0);
    let known = &run.pair.bobs().addresses;
    assert!(!known.is_waiting(&path) && known.is_waiting(&neighbour));
}

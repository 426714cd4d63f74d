//! Tests of hosts, routes and scripted changes.

use super::{Change, FilterAction, Network, Unroutable};
use crate::capture::SharedBuffer;
use crate::link::{Count, DropCause, LinkChange, LinkConfig, Loss};
use crate::test_host::{TestHost, numbered};
use crate::topology::{self, Path};
use crate::traffic::{Pattern, Source};
use crate::{Datagram, Host, HostId, LinkId};
use anabranch_types::{Instant, PathAddr, Rate, Seed};
use core::net::SocketAddr;
use std::io::{self, Write};
use std::time::Duration;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + ms(millis)
}

fn config() -> LinkConfig {
    LinkConfig::new(Rate::mbit(8), ms(10))
}

/// Alice sends a packet every 10 ms for a second; Bob keeps them.
fn stream(config: &LinkConfig) -> (Network<TestHost>, HostId, HostId, Path) {
    let mut network = Network::new(Seed(1));
    let alice = network.add_host(TestHost::default());
    let bob = network.add_host(TestHost::default());
    let path = topology::one_path(&mut network, (alice, bob), config);
    network.act(alice, |host, _| {
        *host = TestHost::sending(path.addr(9_899), 100, ms(10));
    });
    (network, alice, bob, path)
}

#[test]
fn datagram_crosses_links_of_its_route_in_order() {
    let (mut network, alice, bob, _) = stream(&config());
    let slow = network.add_link(LinkConfig::new(Rate::mbit(4), ms(5)));
    let forward = [slow, LinkId(0)];
    network.add_route(
        (alice, topology::near_addr(0)),
        &forward,
        (bob, topology::far_addr(0)),
    );
    network.run_until(at(2_000));
    // 2 + 5 ms on the first link, 1 + 10 ms on the second.
    assert_eq!(network.host(bob).received[0].0, at(18));
    assert_eq!(network.host(bob).received.len(), 100);
}

#[test]
fn replies_arrive_over_the_reversed_path() {
    let (mut network, alice, bob, _) = stream(&config());
    network.host_mut(bob).echoes = true;
    network.run_until(at(2_000));
    assert_eq!(network.host(alice).numbers(), (0..100).collect::<Vec<u32>>());
    assert_eq!(network.host(alice).received[0].0, at(22));
}

#[test]
fn datagram_without_route_is_counted() {
    let (mut network, alice, _, _) = stream(&config());
    let nowhere = PathAddr {
        local: SocketAddr::new(topology::near_addr(0), 9),
        remote: SocketAddr::new(topology::far_addr(7), 9),
    };
    network.act(alice, |host, _| host.outgoing.push_back(numbered(nowhere, 0)));
    assert_eq!(
        network.unroutable(),
        Unroutable {
            no_route: 1,
            ..Unroutable::default()
        }
    );
}

#[test]
fn unspecified_source_is_replaced_by_the_routes_source() {
    let (mut network, alice, bob, path) = stream(&config());
    let open = PathAddr {
        local: "0.0.0.0:7".parse().unwrap(),
        remote: path.addr(7).remote,
    };
    network.act(alice, |host, _| {
        host.timetable.clear();
        host.outgoing.push_back(numbered(open, 0));
    });
    network.run_until(at(100));
    assert_eq!(network.host(bob).received[0].1.path, path.addr(7));
}

#[test]
fn scheduled_changes_apply_at_their_time() {
    let (mut network, _, bob, path) = stream(&config());
    let link = path.forward[0];
    network.schedule(at(195), Change::Link(link, LinkChange::Cut));
    network.schedule(at(295), Change::Link(link, LinkChange::Heal));
    network.schedule(
        at(495),
        Change::Link(link, LinkChange::Loss(Loss::Script(vec![0, 2]))),
    );
    network.schedule(at(595), Change::Link(link, LinkChange::Mtu(999)));
    network.schedule(at(695), Change::Link(link, LinkChange::Mtu(1_000)));
    network.run_until(at(2_000));
    // Packet 19 was still travelling at the cut: it left at 191 ms and was due at 201 ms.
    let expected = (0..19).chain(30..50).chain([51]).chain(53..60).chain(70..100);
    assert_eq!(network.host(bob).numbers(), expected.collect::<Vec<u32>>());
    let stats = network.link(link).stats();
    let causes =
        [DropCause::Cut, DropCause::Lost, DropCause::TooBig].map(|cause| stats.dropped(cause).packets);
    assert_eq!(causes, [11, 2, 10]);
}

#[test]
fn scheduled_action_may_change_hosts_and_schedule_more() {
    let (mut network, alice, bob, path) = stream(&config());
    network.schedule(
        at(100),
        Change::act(move |network: &mut Network<TestHost>| {
            network.act(alice, |host, _| host.timetable.clear());
            let extra = numbered(path.addr(9_899), 77);
            network.schedule(
                at(50),
                Change::act(move |network: &mut Network<TestHost>| {
                    network.act(alice, |host, _| host.outgoing.push_back(extra));
                }),
            );
        }),
    );
    network.run_until(at(2_000));
    assert_eq!(
        network.host(bob).numbers(),
        (0..10).chain([77]).collect::<Vec<u32>>()
    );
    assert_eq!(
        network.host(bob).received[10].0,
        at(111),
        "a change scheduled for the past is applied at once"
    );
}

#[test]
fn peer_sees_rebound_port_and_replies_to_it() {
    let (mut network, alice, bob, path) = stream(&config());
    network.host_mut(bob).echoes = true;
    let inside = path.addr(9_899).local;
    let outside = SocketAddr::new(path.near_addr, 40_000);
    network.schedule(at(505), Change::Rebind { inside, outside });
    network.run_until(at(515));
    let old_name = Datagram {
        path: path.addr(9_899).reversed(),
        ..numbered(path.addr(9_899), 0)
    };
    network.act(bob, |host, _| host.outgoing.push_back(old_name));
    network.run_until(at(2_000));
    let sources: Vec<SocketAddr> = network
        .host(bob)
        .received
        .iter()
        .map(|(_, datagram)| datagram.path.local)
        .collect();
    assert_eq!((sources[50], sources[51]), (inside, outside));
    // The reply to packet 50 went to the old address, as did the extra datagram.
    assert_eq!(network.unroutable().expired_binding, 2);
    let answers = network.host(alice);
    assert_eq!(answers.received.len(), 99);
    assert!(
        answers
            .received
            .iter()
            .all(|(_, datagram)| datagram.path.remote == inside)
    );
}

#[test]
fn filter_can_drop_and_change_datagrams() {
    let (mut network, _, bob, path) = stream(&config());
    network.set_filter(
        path.forward[0],
        Box::new(|_now, datagram| {
            if datagram.payload[3] == 5 {
                return FilterAction::Drop;
            }
            datagram.payload[0] = 1;
            FilterAction::Pass
        }),
    );
    network.schedule(
        at(105),
        Change::act(move |network: &mut Network<TestHost>| network.remove_filter(LinkId(0))),
    );
    network.run_until(at(2_000));
    let changed = (0..11)
        .filter(|number| *number != 5)
        .map(|number| number | 1 << 24);
    assert_eq!(
        network.host(bob).numbers(),
        changed.chain(11..100).collect::<Vec<u32>>()
    );
    assert_eq!(
        network.link(path.forward[0]).stats().dropped(DropCause::Filtered),
        Count {
            packets: 1,
            bytes: 1_000
        }
    );
}

#[test]
fn run_while_stops_at_the_event_that_ends_the_condition() {
    let (mut network, _, bob, _) = stream(&config());
    assert!(network.run_while(at(2_000), |network| network.host(bob).received.len() < 3));
    assert_eq!((network.now(), network.host(bob).received.len()), (at(31), 3));
    assert!(!network.run_while(at(50), |network| network.host(bob).received.len() < 100));
    assert_eq!(network.now(), at(50));
}

#[test]
fn step_returns_false_without_events() {
    let (mut network, _, _, _) = stream(&config());
    while network.step() {}
    // A deadline and an arrival per packet.
    assert_eq!(network.events(), 200);
    assert_eq!(network.now(), at(1_001));
}

#[test]
fn cross_traffic_runs_from_start_to_stop_time() {
    let mut network = Network::<TestHost>::new(Seed(1));
    let link = network.add_link(config());
    let source = Source::endless(link, Pattern::Constant, Rate::mbit(4));
    network.add_source(Source {
        packet_bytes: 1_000,
        from: at(100),
        until: at(201),
        ..source
    });
    network.run_until(at(1_000));
    assert_eq!(network.link(link).stats().delivered.packets, 50);
    assert_eq!(network.link(link).stats().busy, ms(50));
}

#[test]
fn flows_share_the_rate_of_a_bottleneck() {
    let mut network = Network::new(Seed(1));
    let hosts: Vec<HostId> = (0..3).map(|_| network.add_host(TestHost::default())).collect();
    let pairs = [(hosts[0], hosts[2]), (hosts[1], hosts[2]), (hosts[0], hosts[2])];
    let paths = topology::shared_bottleneck(&mut network, &pairs, &config(), &config());
    for ((from, _), path) in pairs.iter().zip(&paths) {
        // Three times 4 Mbit/s into 8 Mbit/s.
        let timetable = TestHost::sending(path.addr(9_899), 500, ms(2)).timetable;
        network.host_mut(*from).timetable.extend(timetable);
        network
            .host_mut(*from)
            .timetable
            .make_contiguous()
            .sort_by_key(|(at, _)| *at);
        network.touch(*from);
    }
    network.run_until(at(1_000));
    let arrived = network.host(hosts[2]).received.len();
    assert!((970..=980).contains(&arrived), "{arrived}");
    assert_eq!(paths[0].forward[1], paths[2].forward[1]);
    assert!(
        network
            .link(paths[0].forward[1])
            .stats()
            .dropped(DropCause::QueueFull)
            .packets
            > 300
    );
}

/// A sink that fails after some bytes.
struct FullDisk(usize);

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self
            .0
            .checked_sub(bytes.len())
            .ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn failing_sink_stops_only_its_own_capture() {
    let (mut network, alice, _, path) = stream(&config());
    let good = SharedBuffer::default();
    network.capture_host(alice, "alice", FullDisk(3_000));
    network.capture_link(path.forward[0], good.clone());
    network.run_until(at(2_000));
    assert!(good.take().len() > 100_000);
    assert_eq!(
        network.finish_captures().unwrap_err().kind(),
        io::ErrorKind::StorageFull
    );
}

/// A host whose deadline never advances.
struct Stuck;

impl Host for Stuck {
    fn on_datagram(&mut self, _now: Instant, _datagram: Datagram) {}
    fn on_deadline(&mut self, _now: Instant) {}
    fn poll_transmit(&mut self, _now: Instant) -> Option<Datagram> {
        None
    }
    fn deadline(&self) -> Option<Instant> {
        Some(at(5))
    }
}

#[test]
#[should_panic(expected = "does not get past its deadline")]
fn host_with_stuck_deadline_panics() {
    let mut network = Network::new(Seed(1));
    network.add_host(Stuck);
    network.run_until(at(10));
}

#[test]
fn network_is_send() {
    fn moves<T: Send>(_: &T) {}
    moves(&stream(&config()).0);
}

//! Hosts, routes and scripted changes.

use super::{Change, Fate, Lost, World};
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

/// Alice sends a packet every 10 ms for a second, Bob keeps them.
fn stream(config: &LinkConfig) -> (World<TestHost>, HostId, HostId, Path) {
    let mut world = World::new(Seed(1));
    let alice = world.add_host(TestHost::default());
    let bob = world.add_host(TestHost::default());
    let path = topology::one_path(&mut world, (alice, bob), config);
    world.act(alice, |host, _| {
        *host = TestHost::sending(path.addr(9_899), 100, ms(10));
    });
    (world, alice, bob, path)
}

#[test]
fn a_datagram_crosses_the_links_of_its_route_one_after_the_other() {
    let (mut world, alice, bob, _) = stream(&config());
    let slow = world.add_link(LinkConfig::new(Rate::mbit(4), ms(5)));
    let there = [slow, LinkId(0)];
    world.add_route((alice, topology::near(0)), &there, (bob, topology::far(0)));
    world.run_until(at(2_000));
    // 2 + 5 ms on the first link, 1 + 10 ms on the second.
    assert_eq!(world.host(bob).received[0].0, at(18));
    assert_eq!(world.host(bob).received.len(), 100);
}

#[test]
fn answers_come_back_over_the_reversed_path() {
    let (mut world, alice, bob, _) = stream(&config());
    world.host_mut(bob).echoes = true;
    world.run_until(at(2_000));
    assert_eq!(world.host(alice).numbers(), (0..100).collect::<Vec<u32>>());
    assert_eq!(world.host(alice).received[0].0, at(22));
}

#[test]
fn a_datagram_without_a_route_is_counted() {
    let (mut world, alice, _, _) = stream(&config());
    let nowhere = PathAddr {
        local: SocketAddr::new(topology::near(0), 9),
        remote: SocketAddr::new(topology::far(7), 9),
    };
    world.act(alice, |host, _| host.outgoing.push_back(numbered(nowhere, 0)));
    assert_eq!(
        world.lost(),
        Lost {
            without_route: 1,
            ..Lost::default()
        }
    );
}

#[test]
fn an_open_source_becomes_that_of_the_route() {
    let (mut world, alice, bob, path) = stream(&config());
    let open = PathAddr {
        local: "0.0.0.0:7".parse().unwrap(),
        remote: path.addr(7).remote,
    };
    world.act(alice, |host, _| {
        host.timetable.clear();
        host.outgoing.push_back(numbered(open, 0));
    });
    world.run_until(at(100));
    assert_eq!(world.host(bob).received[0].1.path, path.addr(7));
}

#[test]
fn scripted_changes_happen_at_their_moment() {
    let (mut world, _, bob, path) = stream(&config());
    let link = path.there[0];
    world.schedule(at(195), Change::Link(link, LinkChange::Cut));
    world.schedule(at(295), Change::Link(link, LinkChange::Heal));
    world.schedule(
        at(495),
        Change::Link(link, LinkChange::Loss(Loss::Script(vec![0, 2]))),
    );
    world.schedule(at(595), Change::Link(link, LinkChange::Mtu(999)));
    world.schedule(at(695), Change::Link(link, LinkChange::Mtu(1_000)));
    world.run_until(at(2_000));
    // Packet 19 was still travelling at the cut: it left at 191 ms and was due at 201 ms.
    let expected = (0..19).chain(30..50).chain([51]).chain(53..60).chain(70..100);
    assert_eq!(world.host(bob).numbers(), expected.collect::<Vec<u32>>());
    let stats = world.link(link).stats();
    let causes =
        [DropCause::Cut, DropCause::Lost, DropCause::TooBig].map(|cause| stats.dropped(cause).packets);
    assert_eq!(causes, [11, 2, 10]);
}

#[test]
fn a_scripted_action_may_do_anything_to_the_world() {
    let (mut world, alice, bob, path) = stream(&config());
    world.schedule(
        at(100),
        Change::act(move |world: &mut World<TestHost>| {
            world.act(alice, |host, _| host.timetable.clear());
            let extra = numbered(path.addr(9_899), 77);
            world.schedule(
                at(50),
                Change::act(move |world: &mut World<TestHost>| {
                    world.act(alice, |host, _| host.outgoing.push_back(extra));
                }),
            );
        }),
    );
    world.run_until(at(2_000));
    assert_eq!(
        world.host(bob).numbers(),
        (0..10).chain([77]).collect::<Vec<u32>>()
    );
    assert_eq!(
        world.host(bob).received[10].0,
        at(111),
        "what is scheduled for the past happens at once"
    );
}

#[test]
fn a_rebound_port_is_what_the_peer_sees_and_answers() {
    let (mut world, alice, bob, path) = stream(&config());
    world.host_mut(bob).echoes = true;
    let inside = path.addr(9_899).local;
    let outside = SocketAddr::new(path.near, 40_000);
    world.schedule(at(505), Change::Rebind { inside, outside });
    world.run_until(at(515));
    let old_name = Datagram {
        path: path.addr(9_899).reversed(),
        ..numbered(path.addr(9_899), 0)
    };
    world.act(bob, |host, _| host.outgoing.push_back(old_name));
    world.run_until(at(2_000));
    let sources: Vec<SocketAddr> = world
        .host(bob)
        .received
        .iter()
        .map(|(_, datagram)| datagram.path.local)
        .collect();
    assert_eq!((sources[50], sources[51]), (inside, outside));
    // The answer to packet 50 went to the old name, as did the stray one.
    assert_eq!(world.lost().to_expired_binding, 2);
    let answers = world.host(alice);
    assert_eq!(answers.received.len(), 99);
    assert!(
        answers
            .received
            .iter()
            .all(|(_, datagram)| datagram.path.remote == inside)
    );
}

#[test]
fn a_filter_sees_every_datagram_and_may_drop_or_change_it() {
    let (mut world, _, bob, path) = stream(&config());
    world.set_filter(
        path.there[0],
        Box::new(|_now, datagram| {
            if datagram.payload[3] == 5 {
                return Fate::Drop;
            }
            datagram.payload[0] = 1;
            Fate::Pass
        }),
    );
    world.schedule(
        at(105),
        Change::act(move |world: &mut World<TestHost>| world.remove_filter(LinkId(0))),
    );
    world.run_until(at(2_000));
    let changed = (0..11)
        .filter(|number| *number != 5)
        .map(|number| number | 1 << 24);
    assert_eq!(
        world.host(bob).numbers(),
        changed.chain(11..100).collect::<Vec<u32>>()
    );
    assert_eq!(
        world.link(path.there[0]).stats().dropped(DropCause::Filtered),
        Count {
            packets: 1,
            bytes: 1_000
        }
    );
}

#[test]
fn running_while_a_condition_holds_stops_at_the_event_that_ends_it() {
    let (mut world, _, bob, _) = stream(&config());
    assert!(world.run_while(at(2_000), |world| world.host(bob).received.len() < 3));
    assert_eq!((world.now(), world.host(bob).received.len()), (at(31), 3));
    assert!(!world.run_while(at(50), |world| world.host(bob).received.len() < 100));
    assert_eq!(world.now(), at(50));
}

#[test]
fn a_world_where_nothing_will_happen_does_not_step() {
    let (mut world, _, _, _) = stream(&config());
    while world.step() {}
    // A deadline and an arrival per packet.
    assert_eq!(world.events(), 200);
    assert_eq!(world.now(), at(1_001));
}

#[test]
fn cross_traffic_loads_a_link_from_its_start_to_its_end() {
    let mut world = World::<TestHost>::new(Seed(1));
    let link = world.add_link(config());
    let source = Source::endless(link, Pattern::Constant, Rate::mbit(4));
    world.add_source(Source {
        packet_bytes: 1_000,
        from: at(100),
        until: at(201),
        ..source
    });
    world.run_until(at(1_000));
    assert_eq!(world.link(link).stats().delivered.packets, 50);
    assert_eq!(world.link(link).stats().busy, ms(50));
}

#[test]
fn flows_through_one_bottleneck_share_its_rate() {
    let mut world = World::new(Seed(1));
    let hosts: Vec<HostId> = (0..3).map(|_| world.add_host(TestHost::default())).collect();
    let pairs = [(hosts[0], hosts[2]), (hosts[1], hosts[2]), (hosts[0], hosts[2])];
    let paths = topology::shared_bottleneck(&mut world, &pairs, &config(), &config());
    for ((from, _), path) in pairs.iter().zip(&paths) {
        // Three times 4 Mbit/s into 8 Mbit/s.
        let timetable = TestHost::sending(path.addr(9_899), 500, ms(2)).timetable;
        world.host_mut(*from).timetable.extend(timetable);
        world
            .host_mut(*from)
            .timetable
            .make_contiguous()
            .sort_by_key(|(at, _)| *at);
        world.touch(*from);
    }
    world.run_until(at(1_000));
    let arrived = world.host(hosts[2]).received.len();
    assert!((970..=980).contains(&arrived), "{arrived}");
    assert_eq!(paths[0].there[1], paths[2].there[1]);
    assert!(
        world
            .link(paths[0].there[1])
            .stats()
            .dropped(DropCause::QueueFull)
            .packets
            > 300
    );
}

/// Accepts a little and then fails.
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
fn a_sink_that_fails_ends_its_capture_and_no_other() {
    let (mut world, alice, _, path) = stream(&config());
    let good = SharedBuffer::default();
    world.capture_host(alice, "alice", FullDisk(3_000));
    world.capture_link(path.there[0], good.clone());
    world.run_until(at(2_000));
    assert!(good.take().len() > 100_000);
    assert_eq!(
        world.finish_captures().unwrap_err().kind(),
        io::ErrorKind::StorageFull
    );
}

/// Wants to be called at a moment that has passed, for ever.
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
fn a_host_that_never_gets_past_its_deadline_is_noticed() {
    let mut world = World::new(Seed(1));
    world.add_host(Stuck);
    world.run_until(at(10));
}

#[test]
fn a_world_can_move_to_another_thread() {
    fn moves<T: Send>(_: &T) {}
    moves(&stream(&config()).0);
}

//! Soak test: many associations over impaired paths for a long time. Does anything leak, hang or get lost?
//!
//! After each storm the network recovers and the applications fall silent: then everything sent must have arrived, and the
//! heap must be no larger than after the first storm. At the end all associations finish, and what each side sent is held
//! against what the other read. `ANABRANCH_SOAK_ASSOCIATIONS`, `ANABRANCH_SOAK_ROUNDS` and `ANABRANCH_SOAK_SECONDS` (of each storm)
//! set the size, `ANABRANCH_SOAK_SEED` the course of events; `make soak` sets a large one.
#![cfg(test)]

mod checksums;
mod host;
mod impairments;

use std::alloc::System;
use std::collections::BTreeSet;
use std::env;
use std::time::Duration;

use anabranch_netsim::{HostId, Network, topology};
use anabranch_proto::Association;
use anabranch_sim::app::pattern;
use anabranch_types::{Instant, Seed};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use host::{SoakHost, Totals};
use impairments::Impairments;

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Time between changes of the network.
const CHANGE_INTERVAL: Duration = Duration::from_millis(500);
/// Time between changes of the addresses of all paths, in which joins are repeated.
const CHANGES_APART: Duration = Duration::from_secs(30);
/// Time after a round in which everything must arrive: more than twice the longest timeout.
const QUIET: Duration = Duration::from_secs(150);
/// Further time in which paths are removed that never worked: after five heartbeats.
const REMOVAL: Duration = Duration::from_secs(450);
/// Time in which an association whose peer is gone ends: the timeouts of Association.Max.Retrans and a margin.
const FINAL_QUIET: Duration = Duration::from_secs(1_200);
/// Memory of a path. An association may have more paths than after the first round, because a peer behind a NAT lists addresses that cannot
/// be reached.
const PATH: f64 = 4e3;
/// How often it is checked whether handshakes are in progress.
const HANDSHAKE_STEP: Duration = Duration::from_millis(50);
/// Time in which handshakes are completed before addresses change.
const HANDSHAKES: Duration = Duration::from_secs(20);
/// Memory that ended associations may leave, such as invalidated tags, in bytes.
const SLACK: f64 = 50e3;

struct Soak {
    network: Network<SoakHost>,
    hosts: (HostId, HostId),
    impairments: Impairments,
}

#[test]
fn soak_leaks_nothing_and_delivers_all() {
    let associations = number("ANABRANCH_SOAK_ASSOCIATIONS").unwrap_or(60);
    let rounds = number("ANABRANCH_SOAK_ROUNDS").unwrap_or(3);
    let storm = Duration::from_secs(number("ANABRANCH_SOAK_SECONDS").unwrap_or(60) as u64);
    // The buffer of message content is allocated once and never freed.
    drop(pattern(0, 1));
    let baseline = heap();
    let seed = Seed(number("ANABRANCH_SOAK_SEED").unwrap_or(1) as u64);
    let mut soak = Soak::begin(associations, storm, seed);
    let mut first = None;
    for round in 1..=rounds {
        soak.storm(storm);
        soak.change_addresses();
        let peak = heap() - baseline;
        soak.recover();
        let held = heap() - baseline;
        soak.print(&format!("round {round}"), peak, held);
        let paths = soak.paths();
        let (first, paths_then) = *first.get_or_insert((held, paths));
        let more = paths.saturating_sub(paths_then) as f64 * PATH;
        assert!(
            held <= first * 1.1 + SLACK + more,
            "{held} bytes held with {paths} paths, after {first} with {paths_then} in the first round"
        );
    }
    soak.end();
    soak.print("end", 0.0, heap() - baseline);
    let [near, far] = [soak.hosts.0, soak.hosts.1].map(|host| soak.network.host(host).totals);
    assert_totals_match(&near, &far);
    drop(soak);
    assert!(heap() - baseline <= SLACK, "{} bytes left", heap() - baseline);
}

fn assert_totals_match(near: &Totals, far: &Totals) {
    assert_eq!((near.finished, near.aborted), (far.finished, far.aborted));
    assert_eq!(near.sent, far.read, "from near to far");
    assert_eq!(far.sent, near.read, "from far to near");
}

impl Soak {
    fn begin(associations: usize, life: Duration, seed: Seed) -> Self {
        let mut network = Network::new(seed.split("world"));
        let [near, far] = [topology::near_addr, topology::far_addr].map(impairments::addresses);
        let calls = Some((far.clone(), life));
        let caller = network.add_host(SoakHost::new(near, seed.split("near"), calls));
        let called = network.add_host(SoakHost::new(far, seed.split("far"), None));
        let hosts = (caller, called);
        let impairments = Impairments::new(&mut network, hosts, associations, seed.split("fate").rng());
        for _ in 0..associations {
            network.act(caller, SoakHost::connect);
        }
        Self {
            network,
            hosts,
            impairments,
        }
    }

    fn storm(&mut self, time: Duration) {
        self.set_quiet(false);
        let end = self.network.now() + time;
        while self.network.now() < end {
            if let Some(path) = self.impairments.change_randomly(&mut self.network) {
                self.change_addresses_of(path);
            }
            self.run(CHANGE_INTERVAL);
        }
    }

    /// Changes the addresses of each path once without other impairments, so that all associations have the state of address changes.
    fn change_addresses(&mut self) {
        self.impairments.clear(&mut self.network);
        for path in 0..impairments::PATHS.len() {
            self.change_addresses_of(path);
            self.run(CHANGES_APART);
        }
    }

    /// Changes an address of a path when no handshake is in progress: an address that is not valid any more when the handshake ends may make it
    /// fail.
    fn change_addresses_of(&mut self, path: usize) {
        let end = self.network.now() + HANDSHAKES;
        self.network.host_mut(self.hosts.0).connects_later = true;
        while self.is_connecting() && self.network.now() < end {
            self.run(HANDSHAKE_STEP);
        }
        if !self.is_connecting() {
            self.impairments.change_addresses(&mut self.network, path);
        }
        self.network.host_mut(self.hosts.0).connects_later = false;
    }

    fn is_connecting(&self) -> bool {
        let mut open = self.open_associations(self.hosts.0);
        open.any(|association| association.statistics().state.starts_with("COOKIE"))
    }

    /// The number of paths of all associations.
    fn paths(&self) -> usize {
        let hosts = [self.hosts.0, self.hosts.1];
        let all = hosts.into_iter().flat_map(|host| self.open_associations(host));
        all.map(|association| association.path_addresses().len()).sum()
    }

    /// Removes all impairments, stops sending, and checks that everything arrives, except data to a peer that is gone behind
    /// a rebound NAT.
    fn recover(&mut self) {
        self.impairments.clear(&mut self.network);
        self.set_quiet(true);
        self.run(QUIET);
        let callers: BTreeSet<u16> = self
            .open_associations(self.hosts.0)
            .map(Association::local_port)
            .collect();
        let called = self.open_associations(self.hosts.1);
        let called = called.filter(|association| callers.contains(&association.peer_port()));
        for association in self.open_associations(self.hosts.0).chain(called) {
            let statistics = association.statistics();
            let left = statistics.send_buffer_used + statistics.receive_buffer_used;
            assert_eq!(left, 0, "{association:?}");
        }
        self.run(REMOVAL);
    }

    fn open_associations(&self, host: HostId) -> impl Iterator<Item = &Association> {
        let all = self.network.host(host).associations();
        all.filter(|association| !association.is_closed())
    }

    fn end(&mut self) {
        for host in [self.hosts.0, self.hosts.1] {
            self.network.act(host, |host, now| host.end(now));
        }
        self.run(FINAL_QUIET);
        let left = [self.hosts.0, self.hosts.1].map(|host| self.network.host(host).associations().len());
        assert_eq!(left, [0, 0], "all have ended");
    }

    fn set_quiet(&mut self, quiet: bool) {
        for host in [self.hosts.0, self.hosts.1] {
            self.network.host_mut(host).quiet = quiet;
        }
    }

    fn run(&mut self, time: Duration) {
        let end = self.network.now() + time;
        self.network.run_until(end);
    }

    fn print(&self, when: &str, peak: f64, held: f64) {
        let [near, far] = [self.hosts.0, self.hosts.1].map(|host| self.network.host(host).totals);
        println!(
            "{when:>9} at {:>6.0} s: heap {:>7.1} MB in the storm, {:>6.2} MB after it; {} finished, {} one_sided, {} aborted; \
             {:.1} MB and {:.1} MB read; {} events",
            (self.network.now() - Instant::ZERO).as_secs_f64(),
            peak / 1e6,
            held / 1e6,
            far.finished,
            far.one_sided,
            far.aborted,
            far.read.bytes as f64 / 1e6,
            near.read.bytes as f64 / 1e6,
            self.network.events(),
        );
    }
}

/// Allocated bytes.
fn heap() -> f64 {
    let stats = HEAP.stats();
    stats.bytes_allocated as f64 - stats.bytes_deallocated as f64
}

fn number(variable: &str) -> Option<usize> {
    env::var(variable).ok()?.parse().ok()
}

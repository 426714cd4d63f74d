//! Does anything leak, stick or get lost if it goes on for long? Many associations over bad paths, storm after storm.
//!
//! After each storm the network recovers and the applications fall silent: then everything sent must have arrived, and the
//! heap must be no larger than after the first storm. At the end all associations finish, and what each side sent is held
//! against what the other read. `ANABRANCH_SOAK_ASSOCIATIONS`, `ANABRANCH_SOAK_ROUNDS` and `ANABRANCH_SOAK_SECONDS` (of each storm)
//! set the size, `ANABRANCH_SOAK_SEED` the course of events; `make soak` sets a large one.
#![cfg(test)]

mod fate;
mod host;
mod ledger;

use std::alloc::System;
use std::collections::BTreeSet;
use std::env;
use std::time::Duration;

use anabranch_netsim::{HostId, Network, topology};
use anabranch_proto::Association;
use anabranch_sim::app::pattern;
use anabranch_types::{Instant, Seed};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use fate::Fate;
use host::{Crowd, Totals};

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// From one blow of fate to the next.
const BLOW: Duration = Duration::from_millis(500);
/// Time after a storm in which everything must arrive: more than the longest timeout, twice.
const CALM: Duration = Duration::from_secs(150);
/// Time in which an association ends that its peer has left: the timeouts of Association.Max.Retrans, and to spare.
const LAST_CALM: Duration = Duration::from_secs(1_200);
/// What ended associations leave behind, such as spent tags, in bytes.
const SLACK: f64 = 50e3;

struct Soak {
    network: Network<Crowd>,
    hosts: (HostId, HostId),
    fate: Fate,
}

#[test]
fn soak_leaks_nothing_and_delivers_all() {
    let associations = number("ANABRANCH_SOAK_ASSOCIATIONS").unwrap_or(60);
    let rounds = number("ANABRANCH_SOAK_ROUNDS").unwrap_or(3);
    let storm = Duration::from_secs(number("ANABRANCH_SOAK_SECONDS").unwrap_or(60) as u64);
    // The noise that messages are made of stays for good.
    drop(pattern(0, 1));
    let nothing = heap();
    let seed = Seed(number("ANABRANCH_SOAK_SEED").unwrap_or(1) as u64);
    let mut soak = Soak::begin(associations, storm, seed);
    let mut first = None;
    for round in 1..=rounds {
        soak.storm(storm);
        let peak = heap() - nothing;
        soak.calm_down();
        let held = heap() - nothing;
        soak.tell(&format!("round {round}"), peak, held);
        let first = *first.get_or_insert(held);
        assert!(
            held <= first * 1.1 + SLACK,
            "{held} bytes held, after {first} in the first round"
        );
    }
    soak.end();
    soak.tell("end", 0.0, heap() - nothing);
    let [near, far] = [soak.hosts.0, soak.hosts.1].map(|host| soak.network.host(host).totals);
    assert_accounts_agree(&near, &far);
    drop(soak);
    assert!(heap() - nothing <= SLACK, "{} bytes left", heap() - nothing);
}

fn assert_accounts_agree(near: &Totals, far: &Totals) {
    assert_eq!((near.finished, near.aborted), (far.finished, far.aborted));
    assert_eq!(near.sent, far.read, "from near to far");
    assert_eq!(far.sent, near.read, "from far to near");
}

impl Soak {
    fn begin(associations: usize, life: Duration, seed: Seed) -> Self {
        let mut network = Network::new(seed.split("network"));
        let [near, far] = [topology::near, topology::far].map(fate::addresses);
        let calls = Some((far.clone(), life));
        let caller = network.add_host(Crowd::new(near, seed.split("near"), calls));
        let called = network.add_host(Crowd::new(far, seed.split("far"), None));
        let hosts = (caller, called);
        let fate = Fate::new(&mut network, hosts, associations, seed.split("fate").rng());
        for _ in 0..associations {
            network.act(caller, Crowd::connect);
        }
        Self { network, hosts, fate }
    }

    fn storm(&mut self, time: Duration) {
        self.set_calm(false);
        let end = self.network.now() + time;
        while self.network.now() < end {
            self.fate.strike(&mut self.network);
            self.run(BLOW);
        }
    }

    /// The network recovers, nobody says anything new, and everything said arrives: except what is said to a caller that is
    /// gone, if a translator forgot the way to it too.
    fn calm_down(&mut self) {
        self.fate.relent(&mut self.network);
        self.set_calm(true);
        self.run(CALM);
        let callers: BTreeSet<u16> = self.living(self.hosts.0).map(Association::local_port).collect();
        let called = self.living(self.hosts.1);
        let called = called.filter(|association| callers.contains(&association.peer_port()));
        for association in self.living(self.hosts.0).chain(called) {
            let statistics = association.statistics();
            let left = statistics.send_buffer_used + statistics.receive_buffer_used;
            assert_eq!(left, 0, "{association:?}");
        }
    }

    fn living(&self, host: HostId) -> impl Iterator<Item = &Association> {
        let all = self.network.host(host).associations();
        all.filter(|association| !association.is_closed())
    }

    fn end(&mut self) {
        for host in [self.hosts.0, self.hosts.1] {
            self.network.act(host, |crowd, now| crowd.end(now));
        }
        self.run(LAST_CALM);
        let left = [self.hosts.0, self.hosts.1].map(|host| self.network.host(host).associations().len());
        assert_eq!(left, [0, 0], "all have ended");
    }

    fn set_calm(&mut self, calm: bool) {
        for host in [self.hosts.0, self.hosts.1] {
            self.network.host_mut(host).calm = calm;
        }
    }

    fn run(&mut self, time: Duration) {
        let end = self.network.now() + time;
        self.network.run_until(end);
    }

    fn tell(&self, when: &str, peak: f64, held: f64) {
        let [near, far] = [self.hosts.0, self.hosts.1].map(|host| self.network.host(host).totals);
        println!(
            "{when:>9} at {:>6.0} s: heap {:>7.1} MB in the storm, {:>6.2} MB after it; {} finished, {} unheard, {} aborted; \
             {:.1} MB and {:.1} MB read; {} events",
            (self.network.now() - Instant::ZERO).as_secs_f64(),
            peak / 1e6,
            held / 1e6,
            far.finished,
            far.unheard,
            far.aborted,
            far.read.bytes as f64 / 1e6,
            near.read.bytes as f64 / 1e6,
            self.network.events(),
        );
    }
}

/// Bytes in use.
fn heap() -> f64 {
    let stats = HEAP.stats();
    stats.bytes_allocated as f64 - stats.bytes_deallocated as f64
}

fn number(variable: &str) -> Option<usize> {
    env::var(variable).ok()?.parse().ok()
}

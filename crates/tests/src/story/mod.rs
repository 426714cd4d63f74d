//! In which words are stories told? Alice and Bob, the paths between them, and what happens to both.
//!
//! Alice is the near side of a simulation and connects, Bob is the far side. A [`Setting`] says what there is; with
//! [`Setting::connected`] or [`Setting::begins`] it becomes a [`World`]. When a story fails, the last packets are
//! shown.

mod forger;
mod person;
pub(crate) mod tshark;
mod wiretap;

use std::time::Duration;

use anabranch_netsim::link::Loss;
use anabranch_netsim::{LinkChange, LinkConfig, LinkId, Probability};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::AssociationConfig;
use anabranch_sim::{LoggedPacket, Scenario, Side, Simulation, Step};
use anabranch_types::{Instant, Rate, Seed, StreamId};
use anabranch_wire::dissect;

pub(crate) use forger::{Forger, Reply, first_tsn};
pub(crate) use person::Person;
use wiretap::{ChunkLosses, Losses, Notes, SackNotes};

/// Packets of each side that a failing story shows.
const SHOWN_PACKETS: usize = 120;

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) const fn mbit(megabits: u64) -> Rate {
    Rate::mbit(megabits)
}

/// Two hosts and paths, before anything happens.
pub(crate) struct Setting {
    seed: u64,
    links: Vec<LinkConfig>,
    config: AssociationConfig,
    shape: Box<dyn FnOnce(Scenario) -> Scenario>,
}

impl Setting {
    /// The same, with other dice.
    pub(crate) fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The same, with these mechanisms on both sides.
    pub(crate) fn policies(mut self, policies: PolicyRecipe) -> Self {
        self.config.policies = policies;
        self
    }

    /// The same, with other settings on both sides.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut AssociationConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// The same, built with more than these words say.
    pub(crate) fn shaped(self, shape: impl FnOnce(Scenario) -> Scenario + 'static) -> Self {
        let before = self.shape;
        Self {
            shape: Box::new(move |scenario| shape(before(scenario))),
            ..self
        }
    }

    /// The world begins; Alice has not called yet.
    pub(crate) fn begins(self) -> World {
        let scenario = Scenario::new(Seed(self.seed)).config(self.config);
        let scenario = self.links.into_iter().fold(scenario, Scenario::path);
        let mut simulation = (self.shape)(scenario).build();
        for side in Side::BOTH {
            simulation.act(side, |host, _| host.log_mut().keep(SHOWN_PACKETS));
        }
        World { simulation }
    }

    /// The world begins, Alice connects, and both know it.
    pub(crate) fn connected(self) -> World {
        let mut world = self.begins();
        world.alice().connects();
        world.runs_until(|world| world.is_connected(), secs(10));
        world
    }
}

/// Alice, Bob and the paths between them.
pub(crate) struct World {
    pub(crate) simulation: Simulation,
}

impl World {
    /// One clean path.
    pub(crate) fn one_path(rate: Rate, delay: Duration) -> Setting {
        Self::paths([LinkConfig::new(rate, delay)])
    }

    /// Two clean paths of the same kind.
    pub(crate) fn two_paths(rate: Rate, delay: Duration) -> Setting {
        Self::paths([LinkConfig::new(rate, delay), LinkConfig::new(rate, delay)])
    }

    /// Paths that share nothing.
    pub(crate) fn paths(links: impl IntoIterator<Item = LinkConfig>) -> Setting {
        Setting {
            seed: 1,
            links: links.into_iter().collect(),
            config: AssociationConfig::default(),
            shape: Box::new(|scenario| scenario),
        }
    }

    pub(crate) fn alice(&mut self) -> Person<'_> {
        Person::new(self, Side::Near)
    }

    pub(crate) fn bob(&mut self) -> Person<'_> {
        Person::new(self, Side::Far)
    }

    pub(crate) fn is_connected(&mut self) -> bool {
        self.alice().is_connected() && self.bob().is_connected()
    }

    pub(crate) fn runs_for(&mut self, time: Duration) {
        self.simulation.run_for(time);
    }

    /// Time passes until `done`, which must be within `limit`.
    #[track_caller]
    pub(crate) fn runs_until(&mut self, mut done: impl FnMut(&mut Self) -> bool, limit: Duration) {
        let end = self.simulation.now() + limit;
        while !done(self) {
            assert!(self.simulation.now() < end, "not within {limit:?}");
            self.simulation.run_for(ms(1));
        }
    }

    pub(crate) fn path_is_cut(&mut self, path: usize) {
        self.simulation.happens(Step::Cut(path));
    }

    pub(crate) fn path_heals(&mut self, path: usize) {
        self.simulation.happens(Step::Heal(path));
    }

    /// A side begins to use its end of a path, or uses it no more.
    pub(crate) fn happens(&mut self, step: Step) {
        self.simulation.happens(step);
    }

    /// A translator before Alice forgets what it knew about a path.
    pub(crate) fn path_is_rebound(&mut self, path: usize, port: u16) {
        self.simulation.happens(Step::Rebind(path, port));
    }

    /// A path loses packets by chance, in both directions.
    pub(crate) fn path_becomes_lossy(&mut self, path: usize, fraction: f64) {
        let loss = Loss::Bernoulli(Probability::of(fraction));
        self.simulation
            .happens(Step::Change(path, LinkChange::Loss(loss)));
    }

    /// A path takes IP packets of at most `mtu` bytes from now on, in both directions, and says nothing.
    pub(crate) fn path_carries(&mut self, path: usize, mtu: u32) {
        self.simulation.happens(Step::Change(path, LinkChange::Mtu(mtu)));
    }

    /// The next `count` packets with such a chunk are lost, whoever sends them and wherever.
    pub(crate) fn loses_next(&mut self, count: u32, chunk: u8) {
        let mut wiretap = Losses::of(count, chunk);
        for link in self.links() {
            self.simulation.network_mut().set_filter(link, wiretap.filter());
        }
    }

    /// Of the chunks that Alice sends from now on, counted from 0, these lose so many of their transmissions.
    pub(crate) fn loses_chunks(&mut self, script: &[(u32, u32)]) {
        let losses = ChunkLosses::of(script);
        let paths = self.simulation.paths().iter();
        let links: Vec<_> = paths.flat_map(|path| path.there.clone()).collect();
        for link in links {
            self.simulation.network_mut().set_filter(link, losses.filter());
        }
    }

    /// From now on, Bob gets no such chunk over `path`.
    pub(crate) fn bob_never_gets(&mut self, path: usize, chunk: u8) {
        for link in self.simulation.paths()[path].there.clone() {
            let filter = Losses::of(u32::MAX, chunk).filter();
            self.simulation.network_mut().set_filter(link, filter);
        }
    }

    /// The types of all chunks that Bob sends over `path` from now on.
    pub(crate) fn notes_what_bob_sends(&mut self, path: usize) -> Notes {
        let notes = Notes::default();
        for link in self.simulation.paths()[path].back.clone() {
            self.simulation.network_mut().set_filter(link, notes.filter());
        }
        notes
    }

    /// What Bob read on `stream` since `since`, as a rate.
    pub(crate) fn rate_of_stream(&self, stream: u16, since: Instant) -> Rate {
        let bytes = self.arrivals(stream, since).map(|(_, bytes, _)| bytes).sum();
        Rate::of(bytes, self.simulation.now() - since).expect("some time")
    }

    /// How long messages on `stream` that Bob read since `since` took on average, from handing over to reading.
    #[track_caller]
    pub(crate) fn delay_of_stream(&self, stream: u16, since: Instant) -> Duration {
        let delays: Vec<Duration> = self.delays(stream, since).collect();
        assert!(!delays.is_empty(), "nothing on stream {stream}");
        delays.iter().sum::<Duration>() / delays.len() as u32
    }

    /// The same of the one that took longest.
    #[track_caller]
    pub(crate) fn slowest_of_stream(&self, stream: u16, since: Instant) -> Duration {
        self.delays(stream, since).max().expect("something was read")
    }

    fn delays(&self, stream: u16, since: Instant) -> impl Iterator<Item = Duration> {
        let sender = self.simulation.conversation(Side::Near).expect("a sender");
        let sent = sender.outbox();
        let arrivals = self.arrivals(stream, since);
        arrivals.map(|(number, _, at)| at - sent.sent_at(number).expect("it was sent"))
    }

    fn arrivals(&self, stream: u16, since: Instant) -> impl Iterator<Item = (u32, u64, Instant)> {
        let reader = self.simulation.conversation(Side::Far).expect("a reader");
        let arrivals = reader.inbox().on_stream(StreamId(stream));
        arrivals.filter(move |(_, _, at)| *at >= since)
    }

    /// How much the SACKs say that Bob sends from now on.
    pub(crate) fn notes_sacks_of_bob(&mut self) -> SackNotes {
        let notes = SackNotes::default();
        let links: Vec<_> = self
            .simulation
            .paths()
            .iter()
            .flat_map(|path| path.back.clone())
            .collect();
        for link in links {
            self.simulation.network_mut().set_filter(link, notes.filter());
        }
        notes
    }

    fn links(&self) -> Vec<LinkId> {
        self.simulation.network().link_ids().collect()
    }

    /// Everything that either sent was read by the other, once, intact and in order.
    #[track_caller]
    pub(crate) fn everything_arrived(&mut self) {
        let (alice, bob) = (Side::Near, Side::Far);
        for (from, to) in [(alice, bob), (bob, alice)] {
            let (sender, reader) = (
                self.simulation.conversation(from),
                self.simulation.conversation(to),
            );
            let (sender, reader) = (sender.expect("a sender"), reader.expect("a reader"));
            if let Err(complaint) = reader.inbox().equals(sender.outbox()) {
                panic!("from {from:?}: {complaint}");
            }
        }
    }

    /// Time passes until all is delivered, which must be within `limit`.
    #[track_caller]
    pub(crate) fn delivers_everything(&mut self, limit: Duration) {
        self.runs_until(
            |world| {
                let flushed = world.alice().has_flushed() && world.bob().has_flushed();
                flushed
                    && world.alice().sent() == world.bob().inbox().messages()
                    && world.bob().sent() == world.alice().inbox().messages()
            },
            limit,
        );
        self.everything_arrived();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for side in Side::BOTH {
                println!("{side:?}, at {}:", self.simulation.now());
                self.simulation.host(side).log().packets().for_each(print_packet);
            }
        }
    }
}

/// Shows a packet as its host saw it.
pub(crate) fn print_packet(packet: &LoggedPacket) {
    let arrow = match packet.direction {
        anabranch_sim::Direction::Sent => "─▶",
        anabranch_sim::Direction::Received => "◀─",
    };
    println!(
        "{} {arrow} {} {}",
        packet.at,
        packet.path,
        dissect::line(&packet.bytes)
    );
}

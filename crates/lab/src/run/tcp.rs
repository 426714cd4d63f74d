//! What comes out of a point whose data TCP carries? One path, one connection for each stream.

use core::sync::atomic::{AtomicBool, Ordering};

use anabranch_netsim::link::{DropCause, LinkStats};
use anabranch_sim::Side;
use anabranch_sim::tcp::{
    Connection, ConnectionStatistics, FlowCounters, TcpApp, TcpConfig, TcpScenario, TcpSimulation,
};
use anabranch_types::{Instant, Seed};

use super::record::Record;
use super::samples::{EVERY, TcpSamples};
use super::scenario::{links, reading};
use super::{RunError, talker};
use crate::plan::{AppPlan, End, Setting};

/// Simulates a point over TCP.
pub(super) fn simulate(setting: &Setting, seed: u64, stop: &AtomicBool) -> Result<Record, RunError> {
    let mut simulation = scenario(setting, seed)?;
    let begin = Instant::ZERO + setting.time.warm_up.0;
    let end = begin + setting.time.measure.0;
    let mut samples = TcpSamples::default();
    let talker = talker(setting);
    pass(&mut simulation, begin, stop, |_| {})?;
    let before = Snapshot::take(&simulation, talker);
    pass(&mut simulation, end, stop, |simulation| {
        samples.take(simulation, talker);
    })?;
    let after = Snapshot::take(&simulation, talker);
    let mut record = Record::default();
    let window = Window {
        setting,
        simulation: &simulation,
        before: &before,
        after: &after,
    };
    window.write(&mut record);
    if let Some(path) = setting.paths.names().next() {
        samples.write(&format!("path.{path}"), &mut record);
    }
    Ok(record)
}

fn pass(
    simulation: &mut TcpSimulation,
    end: Instant,
    stop: &AtomicBool,
    mut look: impl FnMut(&TcpSimulation),
) -> Result<(), RunError> {
    while simulation.now() < end {
        if stop.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        simulation.run_for(EVERY.min(end - simulation.now()));
        look(simulation);
    }
    Ok(())
}

/// The hosts, which connect one after another as often as there are streams; each connection carries its share.
fn scenario(setting: &Setting, seed: u64) -> Result<TcpSimulation, RunError> {
    let (name, path) = setting.paths.iter().next().ok_or(RunError::NoAssociation)?;
    let (there, back) = links(path, name);
    let config = config(setting);
    let connections = connections(setting);
    let mut simulation = TcpScenario::new(Seed(seed), there)
        .with_way_back(back)
        .config(config)
        .near_talks(app(setting, End::Near, connections))
        .far_talks(app(setting, End::Far, connections).reading(reading(setting.reading)))
        .build();
    simulation.connect_in_turn(connections);
    Ok(simulation)
}

fn config(setting: &Setting) -> TcpConfig {
    TcpConfig {
        policies: setting.policies.0,
        send_buffer: setting.association.send_buffer.0,
        receive_buffer: setting.association.receive_buffer.0,
        mtu: u16::try_from(setting.association.mtu.0).unwrap_or(u16::MAX),
        sack: setting.tcp.sack,
        nr_sack: setting.tcp.nr_sack,
        timestamps: setting.tcp.timestamps,
        nagle: setting.tcp.nagle,
        ..TcpConfig::default()
    }
}

/// As many as the application with the most streams has.
fn connections(setting: &Setting) -> u64 {
    let streams = |(_, app): (&str, &AppPlan)| app.streams.map_or(1, |streams| u64::from(streams.0));
    setting.apps.iter().map(streams).max().unwrap_or(1)
}

fn app(setting: &Setting, end: End, connections: u64) -> TcpApp {
    let mut here = setting.apps.iter().filter(|(_, app)| app.end() == end);
    let Some((_, app)) = here.next() else {
        return TcpApp::reader();
    };
    match app.messages {
        Some(messages) => TcpApp::sender(u64::from(messages.0) * app.message.0 / connections),
        None => TcpApp::bulk(),
    }
}

/// Everything that is counted, at one moment.
struct Snapshot {
    at: Instant,
    bytes: u64,
    counters: FlowCounters,
    duplicates: u64,
    links: [LinkStats; 2],
}

impl Snapshot {
    fn take(simulation: &TcpSimulation, talker: Side) -> Self {
        let path = simulation.path();
        let links = match talker {
            Side::Near => [path.there[0], path.back[0]],
            Side::Far => [path.back[0], path.there[0]],
        };
        Self {
            at: simulation.now(),
            bytes: simulation
                .host(talker.other())
                .apps()
                .map(|(_, app)| app.bytes_read())
                .sum(),
            counters: sum(statistics(simulation, talker)),
            duplicates: sum(statistics(simulation, talker.other())).duplicate_bytes,
            links: links.map(|link| simulation.world().link(link).stats().clone()),
        }
    }
}

fn statistics(simulation: &TcpSimulation, side: Side) -> impl Iterator<Item = ConnectionStatistics> + '_ {
    let connections = simulation.host(side).endpoint().connections();
    connections.map(|(_, connection): (_, &Connection)| connection.statistics())
}

fn sum(all: impl Iterator<Item = ConnectionStatistics>) -> FlowCounters {
    all.fold(FlowCounters::default(), |mut sum, statistics| {
        let counters = statistics.counters;
        sum.bytes_sent += counters.bytes_sent;
        sum.bytes_retransmitted += counters.bytes_retransmitted;
        sum.retransmissions += counters.retransmissions;
        sum.timeouts += counters.timeouts;
        sum.segments_received += counters.segments_received;
        sum.duplicate_bytes += counters.duplicate_bytes;
        sum
    })
}

/// What happened between two snapshots.
struct Window<'a> {
    setting: &'a Setting,
    simulation: &'a TcpSimulation,
    before: &'a Snapshot,
    after: &'a Snapshot,
}

impl Window<'_> {
    /// The metrics that mean the same for both transports.
    fn write(&self, record: &mut Record) {
        let Self { before, after, .. } = self;
        let seconds = (after.at - before.at).as_secs_f64();
        let goodput = (after.bytes - before.bytes) as f64 * 8e-6 / seconds;
        record.set("goodput", goodput);
        record.set("completed", self.completed());
        let grown =
            |counter: fn(&FlowCounters) -> u64| (counter(&after.counters) - counter(&before.counters)) as f64;
        let timeouts = grown(|counters| counters.timeouts);
        let again = grown(|counters| counters.bytes_retransmitted);
        let first = grown(|counters| counters.bytes_sent);
        let packet = f64::from(self.setting.association.mtu.0);
        for group in core::iter::once(String::new())
            .chain(self.setting.paths.names().map(|name| format!("path.{name}.")))
        {
            record.set(format!("{group}timeouts"), timeouts);
            record.set(
                format!("{group}fast-retransmits"),
                grown(|counters| counters.retransmissions) - timeouts,
            );
            record.set(format!("{group}retransmitted"), again / (first + again));
        }
        record.set(
            "duplicates",
            (after.duplicates - before.duplicates) as f64 / packet,
        );
        for name in self.setting.paths.names() {
            record.set(format!("path.{name}.throughput"), goodput);
            self.link(record, &format!("path.{name}"), seconds);
        }
    }

    /// When the last connection had delivered everything.
    fn completed(&self) -> Option<f64> {
        let apps = self.simulation.host(talker(self.setting).other()).apps();
        let opened = apps.len() as u64 >= connections(self.setting);
        let last = apps
            .map(|(_, app)| app.finished_at())
            .collect::<Option<Vec<_>>>()?;
        let last = last.into_iter().max()?;
        opened.then_some((last - Instant::ZERO).as_secs_f64())
    }

    fn link(&self, record: &mut Record, group: &str, seconds: f64) {
        let (before, after) = (&self.before.links[0], &self.after.links[0]);
        for (name, cause) in [
            ("queue", DropCause::QueueFull),
            ("early", DropCause::Early),
            ("loss", DropCause::Lost),
            ("cut", DropCause::Cut),
        ] {
            let drops = after.dropped(cause).packets - before.dropped(cause).packets;
            record.set(format!("{group}.drops.{name}"), drops as f64);
        }
        let busy = after.busy.saturating_sub(before.busy).as_secs_f64();
        record.set(format!("{group}.idle"), (1.0 - busy / seconds).max(0.0));
        let back =
            self.after.links[1].dropped_in_total().packets - self.before.links[1].dropped_in_total().packets;
        record.set(format!("{group}.back.drops"), back as f64);
    }
}

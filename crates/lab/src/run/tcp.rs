//! What comes out of a point whose data TCP carries? One path, one connection for each stream.

use core::sync::atomic::{AtomicBool, Ordering};

use anabranch_netsim::LinkConfig;
use anabranch_sim::tcp::{
    Connection, ConnectionStatistics, FlowCounters, TcpApp, TcpConfig, TcpScenario, TcpSimulation,
};
use anabranch_sim::{Rival, Side};
use anabranch_types::{Instant, Seed};

use super::links;
use super::record::Record;
use super::samples::{EVERY, TcpSamples};
use super::scenario::{reading, rival as any_rival, there_and_back};
use super::{RunError, talker};
use crate::plan::{AppPlan, AssociationPlan, End, Mechanisms, Named, RivalPlan, Setting, TcpPlan};

/// Simulates a point over TCP.
pub(super) fn simulate(setting: &Setting, seed: u64, stop: &AtomicBool) -> Result<Record, RunError> {
    let mut simulation = scenario(setting, seed)?;
    let begin = Instant::ZERO + setting.time.warm_up.0;
    let end = begin + setting.time.measure.0;
    let mut samples = TcpSamples::default();
    pass(&mut simulation, begin, stop, |_| {})?;
    let before = Snapshot::take(&simulation, setting);
    pass(&mut simulation, end, stop, |simulation| {
        samples.take(simulation, setting);
    })?;
    let after = Snapshot::take(&simulation, setting);
    let mut record = Record::default();
    let window = Window {
        setting,
        simulation: &simulation,
        before: &before,
        after: &after,
    };
    window.write(&mut record);
    samples.write(setting, &mut record);
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
    let (there, back) = there_and_back(path, name);
    let config = config(setting.association, setting.tcp, setting.policies);
    let connections = connections(&setting.apps);
    let far = app(&setting.apps, End::Far, connections).reading(reading(setting.reading));
    let mut scenario = TcpScenario::new(Seed(seed), there)
        .with_way_back(back)
        .config(config)
        .near_talks(app(&setting.apps, End::Near, connections))
        .far_talks(far);
    if let Some(bottleneck) = &setting.bottleneck {
        let (there, back) = there_and_back(bottleneck, "bottleneck");
        scenario = scenario.bottleneck(there, back);
    }
    for (_, rival) in setting.rivals.iter() {
        scenario = scenario.rival(any_rival(rival, setting));
    }
    let mut simulation = scenario.build();
    simulation.connect_in_turn(connections);
    simulation.connect_rivals();
    Ok(simulation)
}

/// Another pair of hosts, with one connection for each stream.
pub(super) fn rival(access: LinkConfig, plan: &RivalPlan) -> Rival {
    let config = config(plan.association, plan.tcp, plan.policies);
    let connections = connections(&plan.apps);
    Rival::tcp(access, config, app(&plan.apps, End::Near, connections)).with_connections(connections)
}

fn config(association: AssociationPlan, tcp: TcpPlan, policies: Mechanisms) -> TcpConfig {
    TcpConfig {
        policies: policies.0,
        send_buffer: association.send_buffer.0,
        receive_buffer: association.receive_buffer.0,
        mtu: u16::try_from(association.mtu.0).unwrap_or(u16::MAX),
        sack: tcp.sack,
        nr_sack: tcp.nr_sack,
        timestamps: tcp.timestamps,
        nagle: tcp.nagle,
        ..TcpConfig::default()
    }
}

/// As many as the application with the most streams has.
fn connections(apps: &Named<AppPlan>) -> u64 {
    let streams = |(_, app): (&str, &AppPlan)| app.streams.map_or(1, |streams| u64::from(streams.0));
    apps.iter().map(streams).max().unwrap_or(1)
}

fn app(apps: &Named<AppPlan>, end: End, connections: u64) -> TcpApp {
    let mut here = apps.iter().filter(|(_, app)| app.end() == end);
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
    links: Vec<links::Counted>,
    rivals: Vec<u64>,
}

impl Snapshot {
    fn take(simulation: &TcpSimulation, setting: &Setting) -> Self {
        let talker = talker(setting);
        let links = links::of(simulation.paths(), setting).into_iter();
        let rivals = 0..setting.rivals.len();
        Self {
            at: simulation.now(),
            bytes: simulation
                .host(talker.other())
                .apps()
                .map(|(_, app)| app.bytes_read())
                .sum(),
            counters: sum(statistics(simulation, talker)),
            duplicates: sum(statistics(simulation, talker.other())).duplicate_bytes,
            links: links
                .map(|link| links::Counted::at(simulation.world(), link))
                .collect(),
            rivals: rivals.map(|index| simulation.delivered_by_rival(index)).collect(),
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
        }
        links::write(record, self.setting, &before.links, &after.links, seconds);
        for (index, name) in self.setting.rivals.names().enumerate() {
            let bytes = after.rivals[index] - before.rivals[index];
            record.set(format!("rival.{name}.goodput"), bytes as f64 * 8e-6 / seconds);
        }
    }

    /// When the last connection had delivered everything.
    fn completed(&self) -> Option<f64> {
        let apps = self.simulation.host(talker(self.setting).other()).apps();
        let opened = apps.len() as u64 >= connections(&self.setting.apps);
        let last = apps
            .map(|(_, app)| app.finished_at())
            .collect::<Option<Vec<_>>>()?;
        let last = last.into_iter().max()?;
        opened.then_some((last - Instant::ZERO).as_secs_f64())
    }
}

//! What happened in the measuring time? The difference of two snapshots.

use anabranch_sim::tcp::{Connection, ConnectionStatistics, TcpCounters, TcpMeter, TcpSimulation};
use anabranch_sim::{Histogram, Overhead, Side};
use anabranch_types::Instant;

use super::super::record::Record;
use super::super::{links, objects};
use super::connections;
use super::paths::{PathView, views};
use super::talker;
use crate::plan::{Setting, TransportPlan};

/// Of IPv4 and TCP, without options.
const HEADERS: u32 = 40;

/// Everything that is counted, at one moment.
pub(super) struct Snapshot {
    at: Instant,
    bytes: u64,
    messages: u64,
    delays: Histogram,
    /// Of each path, at the end that talks.
    sent: Vec<PathView>,
    /// Of each path, at the end that reads.
    received: Vec<PathView>,
    counters: TcpCounters,
    /// Bytes that arrived twice, on one flow or on two.
    duplicates: u64,
    /// Chunks of data sent over a flow after another one had carried them.
    reinjections: u64,
    /// Bytes that a flow sent though another one had carried them, or carries them too.
    of_others: u64,
    links: Vec<links::Counted>,
    rivals: Vec<u64>,
    /// Of the end that talks and of the other one.
    overheads: [Option<Overhead>; 2],
}

impl Snapshot {
    /// The first SYN leaves as soon as there is a simulation; where there is no warm-up it counts.
    pub(super) fn with_the_first_syn(self) -> Self {
        Self {
            overheads: [None; 2],
            ..self
        }
    }

    pub(super) fn take(simulation: &TcpSimulation, setting: &Setting) -> Self {
        let talker = talker(setting);
        let reader = simulation.host(talker.other());
        let meters = || reader.apps().filter_map(|(_, app)| app.meter());
        let mut delays = Histogram::default();
        meters().for_each(|meter| delays.add(meter.delays()));
        let links = links::of(simulation.paths(), setting).into_iter();
        let twice = |all: ConnectionStatistics| {
            all.counters.duplicate_bytes + all.data.map_or(0, |data| data.duplicate_bytes)
        };
        let mut counters = TcpCounters::default();
        statistics(simulation, talker).for_each(|statistics| counters += statistics.counters);
        Self {
            at: simulation.now(),
            bytes: reader.apps().map(|(_, app)| app.bytes_read()).sum(),
            messages: meters().map(TcpMeter::messages).sum(),
            delays,
            sent: views(simulation, talker),
            received: views(simulation, talker.other()),
            counters,
            duplicates: statistics(simulation, talker.other()).map(twice).sum(),
            reinjections: statistics(simulation, talker)
                .filter_map(|statistics| Some(statistics.data?.reinjections))
                .sum(),
            of_others: of_others(simulation, talker),
            links: links
                .map(|link| links::Counted::at(simulation.network(), link))
                .collect(),
            rivals: (0..setting.cross_traffic.len())
                .map(|index| simulation.delivered_by_rival(index))
                .collect(),
            overheads: [talker, talker.other()].map(|side| simulation.host(side).overhead().copied()),
        }
    }
}

fn statistics(simulation: &TcpSimulation, side: Side) -> impl Iterator<Item = ConnectionStatistics> + '_ {
    let connections = simulation.host(side).endpoint().connections();
    connections.map(|(_, connection): (_, &Connection)| connection.statistics())
}

fn of_others(simulation: &TcpSimulation, side: Side) -> u64 {
    let connections = simulation.host(side).endpoint().connections();
    let subflows = connections.flat_map(|(_, connection)| connection.paths());
    subflows
        .map(|subflow| subflow.reinjected_bytes + subflow.duplicated_bytes)
        .sum()
}

/// What happened between two snapshots.
pub(super) struct Window<'a> {
    pub(super) setting: &'a Setting,
    pub(super) simulation: &'a TcpSimulation,
    pub(super) before: &'a Snapshot,
    pub(super) after: &'a Snapshot,
}

impl Window<'_> {
    /// The metrics that mean the same for all transports, and those of TCP alone.
    pub(super) fn write(&self, record: &mut Record) {
        let Self { before, after, .. } = self;
        record.set("goodput", self.mbit(after.bytes - before.bytes));
        record.set("completion-time", completed(self.simulation, self.setting));
        let apps = self.simulation.host(talker(self.setting).other()).apps();
        let carriers = apps.map(|(_, app)| (app.bytes_read(), app.last_read_at()));
        objects::write(record, self.setting, carriers);
        for (index, group) in ["forward", "reverse"].into_iter().enumerate() {
            objects::write_overhead(record, group, before.overheads[index], after.overheads[index]);
        }
        self.delays(record);
        let grown =
            |counter: fn(&TcpCounters) -> u64| (counter(&after.counters) - counter(&before.counters)) as f64;
        // A flow repeats for the first time what another one had carried.
        let of_others = after.of_others.saturating_sub(before.of_others) as f64;
        sent_again(record, "", of_others, grown);
        record.set("retransmissions", grown(|counters| counters.retransmissions));
        if self.setting.transport == TransportPlan::Mptcp {
            record.set("reinjections", (after.reinjections - before.reinjections) as f64);
        }
        let segments = after.sent.iter().flat_map(|path| &path.facts);
        let segment = segments.map(|facts| u32::from(facts.max_data_chunk)).max();
        let segment = f64::from(segment.unwrap_or(self.setting.association.mtu.0 - HEADERS));
        let twice = (after.duplicates - before.duplicates) as f64;
        record.set("duplicates", twice / segment);
        for (index, name) in self.setting.paths.names().enumerate() {
            self.path(record, name, index);
        }
        links::write(record, self.setting, &before.links, &after.links, self.seconds());
        for (index, name) in self.setting.cross_traffic.names().enumerate() {
            let bytes = after.rivals[index] - before.rivals[index];
            record.set(format!("cross-traffic.{name}.goodput"), self.mbit(bytes));
        }
    }

    fn seconds(&self) -> f64 {
        (self.after.at - self.before.at).as_secs_f64()
    }

    fn mbit(&self, bytes: u64) -> f64 {
        bytes as f64 * 8e-6 / self.seconds()
    }

    fn path(&self, record: &mut Record, name: &str, index: usize) {
        let Self { before, after, .. } = self;
        let arrived =
            after.received[index].counters.bytes_received - before.received[index].counters.bytes_received;
        record.set(format!("path.{name}.throughput"), self.mbit(arrived));
        let (before, after) = (&before.sent[index].counters, &after.sent[index].counters);
        sent_again(record, &format!("path.{name}."), 0.0, |counter| {
            // The place of a flow that is over may have been taken by another one.
            counter(after).saturating_sub(counter(before)) as f64
        });
    }

    fn delays(&self, record: &mut Record) {
        let delays = self.after.delays.since(&self.before.delays);
        let in_ms = |micros: f64| micros / 1e3;
        record.set("messages", (self.after.messages - self.before.messages) as f64);
        record.set("delay.mean", delays.mean().map(in_ms));
        for (name, share) in [("delay.p50", 0.5), ("delay.p95", 0.95), ("delay.p99", 0.99)] {
            let quantile = delays.quantile(share).map(|micros| in_ms(micros as f64));
            record.set(name, quantile);
        }
        if self.setting.record.histograms {
            record.set_histogram("delay", &delays);
        }
    }
}

/// When the last connection had delivered everything; `None` before.
pub(super) fn completed(simulation: &TcpSimulation, setting: &Setting) -> Option<f64> {
    let apps = simulation.host(talker(setting).other()).apps();
    if (apps.len() as u64) < connections(&setting.apps) {
        return None;
    }
    let finished = apps.map(|(_, app)| app.finished_at());
    let last = finished.collect::<Option<Vec<_>>>()?.into_iter().max()?;
    Some((last - Instant::ZERO).as_secs_f64())
}

/// What was sent again and why, by a function that says how much a counter has grown. Of what flows sent for the first
/// time, `of_others` bytes were sent by others before.
fn sent_again(
    record: &mut Record,
    group: &str,
    of_others: f64,
    grown: impl Fn(fn(&TcpCounters) -> u64) -> f64,
) {
    let again = grown(|counters| counters.bytes_retransmitted);
    let all = grown(|counters| counters.bytes_sent) + again;
    record.set(format!("{group}timeouts"), grown(|counters| counters.timeouts));
    record.set(
        format!("{group}fast-retransmits"),
        grown(|counters| counters.found_lost),
    );
    record.set(format!("{group}retransmitted"), (again + of_others) / all);
}

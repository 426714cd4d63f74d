//! What happened in the measuring time? The difference of two snapshots, and what was sampled between them.

use std::collections::BTreeMap;

use anabranch_netsim::topology;
use anabranch_sim::app::StreamMeter;
use anabranch_sim::{
    AssociationStatistics, Histogram, Overhead, PathCounters, PathStatistics, ProcessorTally, SackCensus,
    Side, Simulation,
};
use anabranch_types::{Instant, PathId, StreamId};

use super::record::Record;
use super::samples::Samples;
use super::talker;
use super::{links, objects};
use crate::metric;
use crate::plan::{HostPlan, Setting};

/// Everything that is counted, at one moment.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    at: Instant,
    near: AssociationStatistics,
    far: AssociationStatistics,
    messages: u64,
    bytes: u64,
    last_read: Option<Instant>,
    streams: BTreeMap<StreamId, StreamMeter>,
    census: SackCensus,
    /// Of the near and the far host, if their processors take time.
    processors: [Option<ProcessorTally>; 2],
    /// Of each path's own link and of the bottleneck, there and back.
    links: Vec<links::Counted>,
    rivals: Vec<u64>,
    /// Of the end that talks and of the other one.
    overheads: [Option<Overhead>; 2],
}

/// Where the core put path number `index` of the setting, by its two addresses; either end may be asked.
pub(super) fn path_id(statistics: &AssociationStatistics, index: usize) -> Option<PathId> {
    let number = u8::try_from(index).ok()?;
    let ends = [topology::near(number), topology::far(number)];
    let joins = |path: &&PathStatistics| {
        let (local, remote) = (path.addr.local.ip(), path.addr.remote.ip());
        ends == [local, remote] || ends == [remote, local]
    };
    statistics.paths.iter().find(joins).map(|path| path.id)
}

impl Snapshot {
    /// Before anything has happened, handshake and all.
    pub(super) fn of_the_start(setting: &Setting) -> Self {
        let links = setting.paths.len() + usize::from(setting.bottleneck.is_some());
        let tally = |host: HostPlan| host.processor.map(|_| ProcessorTally::default());
        Self {
            at: Instant::ZERO,
            near: AssociationStatistics::default(),
            far: AssociationStatistics::default(),
            messages: 0,
            bytes: 0,
            last_read: None,
            streams: BTreeMap::new(),
            census: SackCensus::default(),
            processors: [setting.hosts.near, setting.hosts.far].map(tally),
            links: vec![links::Counted::default(); links],
            rivals: vec![0; setting.cross_traffic.len()],
            overheads: [None; 2],
        }
    }

    /// `None` while there are not two associations.
    pub(super) fn take(simulation: &Simulation, setting: &Setting) -> Option<Self> {
        let statistics = |side| Some(simulation.association(side)?.statistics());
        let talker = talker(setting);
        let inbox = simulation.conversation(talker.other())?.inbox();
        let links = links::of(simulation.paths(), setting).into_iter();
        let rivals = 0..setting.cross_traffic.len();
        Some(Self {
            at: simulation.now(),
            near: statistics(talker)?,
            far: statistics(talker.other())?,
            messages: inbox.messages(),
            bytes: inbox.bytes(),
            last_read: inbox.last_at(),
            streams: inbox
                .meter()
                .map(|meter| meter.streams().clone())
                .unwrap_or_default(),
            census: simulation.host(talker).census().cloned().unwrap_or_default(),
            processors: Side::BOTH.map(|side| simulation.host(side).processor().cloned()),
            links: links
                .map(|link| links::Counted::at(simulation.network(), link))
                .collect(),
            rivals: rivals.map(|index| simulation.delivered_by_rival(index)).collect(),
            overheads: [talker, talker.other()].map(|side| simulation.host(side).overhead().copied()),
        })
    }
}

/// What happened between two snapshots.
pub(super) struct Window<'a> {
    pub(super) setting: &'a Setting,
    pub(super) before: &'a Snapshot,
    pub(super) after: &'a Snapshot,
    pub(super) samples: &'a Samples,
}

impl Window<'_> {
    /// Every metric that [`metric::names`] lists for the setting, as far as there was something to measure.
    pub(super) fn record(&self) -> Record {
        let mut record = Record::default();
        self.whole(&mut record);
        for (index, name) in self.setting.paths.names().enumerate() {
            self.path(&mut record, name, index);
        }
        links::write(
            &mut record,
            self.setting,
            &self.before.links,
            &self.after.links,
            self.seconds(),
        );
        for (index, end) in ["near", "far"].into_iter().enumerate() {
            self.processor(&mut record, end, index);
        }
        for stream in metric::streams(&self.setting.apps) {
            self.stream(&mut record, stream);
        }
        for (index, name) in self.setting.cross_traffic.names().enumerate() {
            let bytes = self.after.rivals[index] - self.before.rivals[index];
            record.set(format!("cross-traffic.{name}.goodput"), self.mbit(bytes));
        }
        let streams = self.after.streams.values();
        let streams = streams.map(|stream| (stream.bytes, stream.last_at));
        objects::write(&mut record, self.setting, streams);
        for (index, group) in ["forward", "reverse"].into_iter().enumerate() {
            let (before, after) = (self.before.overheads[index], self.after.overheads[index]);
            objects::write_overhead(&mut record, group, before, after);
        }
        record
    }

    fn seconds(&self) -> f64 {
        (self.after.at - self.before.at).as_secs_f64()
    }

    fn mbit(&self, bytes: u64) -> f64 {
        bytes as f64 * 8e-6 / self.seconds()
    }

    fn whole(&self, record: &mut Record) {
        let Self { before, after, .. } = self;
        record.set("goodput", self.mbit(after.bytes - before.bytes));
        record.set("messages", (after.messages - before.messages) as f64);
        let is_complete = self
            .setting
            .all_messages()
            .is_none_or(|all| after.messages >= all);
        let last_read = after.last_read.filter(|_| is_complete);
        record.set(
            "completion-time",
            last_read.map(|at| (at - Instant::ZERO).as_secs_f64()),
        );
        let delays = self.delays();
        record.set("delay.mean", delays.mean().map(in_ms));
        record.set("delay.streams.mean", self.mean_of_streams().map(in_ms));
        for (name, share) in [("delay.p50", 0.5), ("delay.p95", 0.95), ("delay.p99", 0.99)] {
            record.set(name, quantile(&delays, share));
        }
        let census = self.census();
        record.set("sack.tsns.mean", census.gap_tsns.mean());
        let most = |histogram: &Histogram| histogram.quantile(1.0).map(|most| most as f64);
        record.set("sack.tsns.max", most(&census.gap_tsns));
        record.set("sack.single.max", most(&census.tsns_of_single_block));
        record.set("sack.blocks.mean", census.gap_blocks.mean());
        if self.setting.record.histograms {
            record.set_histogram("delay", &delays);
            record.set_histogram("sack.tsns", &census.gap_tsns);
            record.set_histogram("sack.blocks", &census.gap_blocks);
        }
        self.association(record);
        self.samples.write(record);
    }

    fn delays(&self) -> Histogram {
        let mut all = Histogram::default();
        for stream in self.after.streams.keys() {
            all.add(&self.stream_meter(*stream).delays);
        }
        all
    }

    /// Each stream counts the same, however many messages it carried.
    fn mean_of_streams(&self) -> Option<f64> {
        let streams = self.after.streams.keys();
        let means: Vec<f64> = streams
            .filter_map(|stream| self.stream_meter(*stream).delays.mean())
            .collect();
        (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64)
    }

    fn stream_meter(&self, stream: StreamId) -> StreamMeter {
        let of = |snapshot: &Snapshot| snapshot.streams.get(&stream).cloned().unwrap_or_default();
        let (before, after) = (of(self.before), of(self.after));
        StreamMeter {
            messages: after.messages - before.messages,
            bytes: after.bytes - before.bytes,
            delays: after.delays.since(&before.delays),
            last_at: after.last_at,
        }
    }

    fn census(&self) -> SackCensus {
        let (before, after) = (&self.before.census, &self.after.census);
        SackCensus {
            gap_tsns: after.gap_tsns.since(&before.gap_tsns),
            gap_blocks: after.gap_blocks.since(&before.gap_blocks),
            tsns_of_single_block: after.tsns_of_single_block.since(&before.tsns_of_single_block),
        }
    }

    fn association(&self, record: &mut Record) {
        let (before, after) = (&self.before.near, &self.after.near);
        let sacks = after.sacks_received - before.sacks_received;
        let visited = after.sack_elements_visited - before.sack_elements_visited;
        record.set("sacks", sacks as f64);
        record.set("sack.visited.mean", visited as f64 / sacks as f64);
        let duplicates = self.after.far.duplicates_received - self.before.far.duplicates_received;
        record.set("duplicates", duplicates as f64);
        let sum = |counter: fn(&PathCounters) -> u64| {
            let of = |statistics: &AssociationStatistics| -> u64 {
                statistics.paths.iter().map(|path| counter(&path.counters)).sum()
            };
            of(after).saturating_sub(of(before)) as f64
        };
        retransmissions(record, "", sum);
    }

    fn path(&self, record: &mut Record, name: &str, index: usize) {
        let group = format!("path.{name}.");
        let counter = |statistics: &AssociationStatistics, counter: fn(&PathCounters) -> u64| {
            let id = path_id(statistics, index);
            let mut paths = statistics.paths.iter();
            let path = paths.find(|path| Some(path.id) == id);
            path.map_or(0, |path| counter(&path.counters))
        };
        let (near, far) = (
            (&self.before.near, &self.after.near),
            (&self.before.far, &self.after.far),
        );
        let received = |counters: &PathCounters| counters.payload_received;
        let arrived = counter(far.1, received).saturating_sub(counter(far.0, received));
        record.set(format!("{group}throughput"), self.mbit(arrived));
        retransmissions(record, &group, |of| {
            counter(near.1, of).saturating_sub(counter(near.0, of)) as f64
        });
    }

    fn processor(&self, record: &mut Record, end: &str, index: usize) {
        let (Some(before), Some(after)) = (&self.before.processors[index], &self.after.processors[index])
        else {
            return;
        };
        let group = format!("processor.{end}");
        let share = |time: core::time::Duration| time.as_secs_f64() / self.seconds();
        record.set(
            format!("{group}.utilization"),
            share(after.busy.saturating_sub(before.busy)),
        );
        let with_sacks = after.with_sacks.saturating_sub(before.with_sacks);
        record.set(format!("{group}.sack-utilization"), share(with_sacks));
        let times = after.micros_per_sack.since(&before.micros_per_sack);
        // Those times are in whole microseconds, of which few are of one SACK.
        let mean = (times.count() > 0).then(|| with_sacks.as_secs_f64() * 1e6 / times.count() as f64);
        record.set(format!("{group}.sack.mean"), mean);
        record.set(
            format!("{group}.dropped"),
            (after.dropped - before.dropped) as f64,
        );
        if self.setting.record.histograms {
            record.set_histogram(&format!("{group}.sack"), &times);
        }
    }

    fn stream(&self, record: &mut Record, stream: u16) {
        let meter = self.stream_meter(StreamId(stream));
        let group = format!("stream.{stream}");
        record.set(format!("{group}.goodput"), self.mbit(meter.bytes));
        record.set(format!("{group}.delay.mean"), meter.delays.mean().map(in_ms));
        record.set(format!("{group}.delay.p50"), quantile(&meter.delays, 0.5));
        record.set(format!("{group}.delay.p95"), quantile(&meter.delays, 0.95));
    }
}

/// What was sent again and why, by a function that says how much a counter has grown.
fn retransmissions(record: &mut Record, group: &str, grown: impl Fn(fn(&PathCounters) -> u64) -> f64) {
    record.set(format!("{group}timeouts"), grown(|counters| counters.timeouts));
    record.set(
        format!("{group}fast-retransmits"),
        grown(|counters| counters.fast_retransmits),
    );
    record.set(
        format!("{group}rescheduled"),
        grown(|counters| counters.rescheduled),
    );
    let again = grown(|counters| counters.payload_retransmitted);
    let first = grown(|counters| counters.payload_sent);
    record.set(format!("{group}retransmitted"), again / (first + again));
}

fn in_ms(micros: f64) -> f64 {
    micros / 1e3
}

fn quantile(histogram: &Histogram, share: f64) -> Option<f64> {
    histogram.quantile(share).map(|micros| in_ms(micros as f64))
}

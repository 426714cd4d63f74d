//! Metrics of the measuring time. What changed between two snapshots, and what was sampled between them?
//!
//! Every metric is written here or in a module called from here, from counters shared by all transports and the test
//! bed. If a transport or stack lacks a counter, the metric is missing.

use anabranch_sim::app::StreamMeter;
use anabranch_sim::{
    DataCounters, Histogram, HostCounters, HostState, SackStatistics, Simulation, Transport,
};
use anabranch_types::Instant;

use super::record::Record;
use super::samples::Samples;
use super::{connections, links, objects, sides};
use crate::metric;
use crate::plan::{Setting, TransportPlan};

/// Length of the IPv4 and TCP headers, without options.
const HEADERS: u32 = 40;

/// All counters at one time.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    /// Counters of the end that sends the measured data, and of the end that reads them.
    pub(super) sender: HostCounters,
    pub(super) receiver: HostCounters,
    /// Both directions of each path's own link, then of the bottleneck.
    pub(super) links: Vec<links::Counted>,
    /// Bytes delivered by the cross traffic.
    pub(super) cross_traffic: Vec<u64>,
}

impl Snapshot {
    /// The state before the handshake: all counters are zero.
    pub(super) fn of_the_start(setting: &Setting) -> Self {
        let links = setting.paths.len() + usize::from(setting.bottleneck.is_some());
        Self {
            sender: HostCounters::default(),
            receiver: HostCounters::default(),
            links: vec![links::Counted::default(); links],
            cross_traffic: vec![0; setting.cross_traffic.len()],
        }
    }

    /// Takes a snapshot; `None` until both ends have an association.
    pub(super) fn take<T: Transport>(simulation: &Simulation<T>, setting: &Setting) -> Option<Self> {
        let (sender, receiver) = sides(setting);
        let links = links::of(simulation.paths(), setting).into_iter();
        let cross_traffic = 0..setting.cross_traffic.len();
        Some(Self {
            sender: simulation.counters(sender)?,
            receiver: simulation.counters(receiver)?,
            links: links
                .map(|link| links::Counted::at(simulation.network(), link))
                .collect(),
            cross_traffic: cross_traffic
                .map(|index| simulation.delivered_by_cross_traffic(index))
                .collect(),
        })
    }
}

/// The time when the receiver had read all data; `None` before. Without a message limit, SCTP's last read counts.
pub(super) fn completed(setting: &Setting, reader: &HostState) -> Option<Instant> {
    match setting.transport {
        TransportPlan::Sctp => {
            let all = setting.all_messages();
            let is_all = all.is_none_or(|all| reader.messages_read >= all);
            reader.last_read_at.filter(|_| is_all)
        }
        TransportPlan::Tcp | TransportPlan::Mptcp => {
            let is_all = reader.applications >= connections(&setting.apps);
            reader.finished_at.filter(|_| is_all)
        }
    }
}

/// The interval between two snapshots.
pub(super) struct Window<'a> {
    pub(super) setting: &'a Setting,
    pub(super) before: &'a Snapshot,
    pub(super) after: &'a Snapshot,
    pub(super) samples: &'a Samples,
    /// Length of the interval.
    pub(super) seconds: f64,
}

impl Window<'_> {
    /// Computes the metrics that [`metric::names`] lists for the setting, except those without any measurement.
    pub(super) fn record(&self) -> Record {
        let Self {
            setting,
            before,
            after,
            seconds,
            ..
        } = *self;
        let mut record = Record::default();
        self.whole(&mut record);
        for (index, name) in setting.paths.names().enumerate() {
            self.path(&mut record, name, index);
        }
        links::write(&mut record, setting, &before.links, &after.links, seconds);
        for (index, name) in setting.cross_traffic.names().enumerate() {
            let bytes = after.cross_traffic[index] - before.cross_traffic[index];
            record.set(format!("cross-traffic.{name}.goodput"), self.mbit(bytes));
        }
        let streams = after.receiver.streams.values();
        let streams = streams.map(|stream| (stream.bytes, stream.last_at));
        objects::write(&mut record, setting, streams);
        self.hosts(&mut record);
        self.delays(&mut record);
        self.sacks(&mut record);
        self.samples.write(&mut record);
        record
    }

    fn mbit(&self, bytes: u64) -> f64 {
        bytes as f64 * 8e-6 / self.seconds
    }

    fn whole(&self, record: &mut Record) {
        let (before, after) = (&self.before.receiver.state, &self.after.receiver.state);
        record.set("goodput", self.mbit(after.bytes_read - before.bytes_read));
        let messages = after.messages_read - before.messages_read;
        record.set("messages", messages as f64);
        let completed = completed(self.setting, after);
        record.set(
            "completion-time",
            completed.map(|at| (at - Instant::ZERO).as_secs_f64()),
        );
        let (first, last) = (&self.before.receiver, &self.after.receiver);
        let duplicates = last.duplicates;
        record.set(
            "duplicates",
            duplicates.map(|last| last.since(first.duplicates, self.largest_segment())),
        );
        let (before, after) = (&self.before.sender, &self.after.sender);
        retransmissions(record, "", &before.data, &after.data);
        let segments = grown(before.segments_retransmitted, after.segments_retransmitted);
        record.set("retransmissions", segments);
        record.set("reinjections", grown(before.reinjections, after.reinjections));
    }

    /// Payload of the largest segment that the sender creates.
    fn largest_segment(&self) -> u32 {
        let paths = self.after.sender.state.paths.iter();
        let facts = paths.flat_map(|path| &path.facts);
        let largest = facts.map(|(facts, _)| u32::from(facts.max_data_chunk)).max();
        largest.unwrap_or(self.setting.association.mtu.0 - HEADERS)
    }

    fn path(&self, record: &mut Record, name: &str, index: usize) {
        let of = |host: &HostCounters| host.paths.get(index).copied().unwrap_or_default();
        let (before, after) = (of(&self.before.receiver), of(&self.after.receiver));
        let arrived = after
            .received
            .map(|after| after.saturating_sub(before.received.unwrap_or(0)));
        record.set(
            format!("path.{name}.throughput"),
            arrived.map(|bytes| self.mbit(bytes)),
        );
        let (before, after) = (of(&self.before.sender), of(&self.after.sender));
        retransmissions(record, &format!("path.{name}."), &before, &after);
    }

    /// Processor time and packets of both hosts.
    fn hosts(&self, record: &mut Record) {
        let sender = (&self.before.sender, &self.after.sender);
        let receiver = (&self.before.receiver, &self.after.receiver);
        for (group, (before, after)) in [("forward", sender), ("reverse", receiver)] {
            objects::write_overhead(record, group, before.overhead, after.overhead);
        }
        let (sends, _) = sides(self.setting);
        let ends = match sends {
            anabranch_sim::Side::Near => [sender, receiver],
            anabranch_sim::Side::Far => [receiver, sender],
        };
        for (end, (before, after)) in ["near", "far"].into_iter().zip(ends) {
            self.processor(record, end, before, after);
        }
    }

    fn processor(&self, record: &mut Record, end: &str, before: &HostCounters, after: &HostCounters) {
        let Some(after) = &after.processor else {
            return;
        };
        let before = before.processor.clone().unwrap_or_default();
        let group = format!("processor.{end}");
        let share = |time: core::time::Duration| time.as_secs_f64() / self.seconds;
        record.set(
            format!("{group}.utilization"),
            share(after.busy.saturating_sub(before.busy)),
        );
        let with_sacks = after.with_sacks.saturating_sub(before.with_sacks);
        record.set(format!("{group}.sack-utilization"), share(with_sacks));
        let times = after.micros_per_sack.since(&before.micros_per_sack);
        // The histogram has whole microseconds, which is too coarse for the mean time of one SACK.
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

    fn delays(&self, record: &mut Record) {
        let mut delays = Histogram::default();
        for stream in self.after.receiver.streams.keys() {
            delays.add(&self.stream_meter(*stream).delays);
        }
        record.set("delay.mean", delays.mean().map(in_ms));
        for (name, share) in [("delay.p50", 0.5), ("delay.p95", 0.95), ("delay.p99", 0.99)] {
            record.set(name, quantile(&delays, share));
        }
        if self.setting.record.histograms {
            record.set_histogram("delay", &delays);
        }
        if self.setting.transport == TransportPlan::Sctp {
            record.set("delay.streams.mean", self.mean_of_streams().map(in_ms));
            for stream in metric::streams(&self.setting.apps) {
                self.stream(record, stream);
            }
        }
    }

    /// Gives each stream the same weight, whatever its number of messages.
    fn mean_of_streams(&self) -> Option<f64> {
        let streams = self.after.receiver.streams.keys();
        let means: Vec<f64> = streams
            .filter_map(|stream| self.stream_meter(*stream).delays.mean())
            .collect();
        (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64)
    }

    fn stream(&self, record: &mut Record, stream: u16) {
        let meter = self.stream_meter(stream.into());
        let group = format!("stream.{stream}");
        record.set(format!("{group}.goodput"), self.mbit(meter.bytes));
        record.set(format!("{group}.delay.mean"), meter.delays.mean().map(in_ms));
        record.set(format!("{group}.delay.p50"), quantile(&meter.delays, 0.5));
        record.set(format!("{group}.delay.p95"), quantile(&meter.delays, 0.95));
    }

    fn stream_meter(&self, stream: u32) -> StreamMeter {
        let of = |host: &HostCounters| host.streams.get(&stream).cloned().unwrap_or_default();
        let (before, after) = (of(&self.before.receiver), of(&self.after.receiver));
        StreamMeter {
            messages: after.messages - before.messages,
            bytes: after.bytes - before.bytes,
            delays: after.delays.since(&before.delays),
            last_at: after.last_at,
        }
    }

    fn sacks(&self, record: &mut Record) {
        let Some(after) = &self.after.sender.sacks else {
            return;
        };
        let before = self.before.sender.sacks.clone().unwrap_or_default();
        let received = after.received - before.received;
        let visited = after.elements_visited - before.elements_visited;
        record.set("sacks", received as f64);
        record.set("sack.visited.mean", visited as f64 / received as f64);
        let (before, after) = (&before.reported, &after.reported);
        let reported = SackStatistics {
            gap_tsns: after.gap_tsns.since(&before.gap_tsns),
            gap_blocks: after.gap_blocks.since(&before.gap_blocks),
            tsns_of_single_block: after.tsns_of_single_block.since(&before.tsns_of_single_block),
        };
        let max = |histogram: &Histogram| histogram.quantile(1.0).map(|max| max as f64);
        record.set("sack.tsns.mean", reported.gap_tsns.mean());
        record.set("sack.tsns.max", max(&reported.gap_tsns));
        record.set("sack.single.max", max(&reported.tsns_of_single_block));
        record.set("sack.blocks.mean", reported.gap_blocks.mean());
        if self.setting.record.histograms {
            record.set_histogram("sack.tsns", &reported.gap_tsns);
            record.set_histogram("sack.blocks", &reported.gap_blocks);
        }
    }
}

/// Retransmissions by cause, on one path or on all.
fn retransmissions(record: &mut Record, group: &str, before: &DataCounters, after: &DataCounters) {
    let grown = |counter: fn(&DataCounters) -> Option<u64>| grown(counter(before), counter(after));
    record.set(format!("{group}timeouts"), grown(|data| data.timeouts));
    record.set(
        format!("{group}fast-retransmits"),
        grown(|data| data.fast_retransmits),
    );
    record.set(format!("{group}rescheduled"), grown(|data| data.rescheduled));
    // Reinjected data count as sent for the first time on the new subflow, so they are added here.
    let redundant = after.redundant.saturating_sub(before.redundant) as f64;
    let sent = grown(|data| data.sent);
    let again = grown(|data| data.retransmitted);
    let share = again.zip(sent).map(|(again, sent)| (again + redundant) / sent);
    record.set(format!("{group}retransmitted"), share);
}

/// Increase of a counter. The counter of a path restarts when another subflow replaces the old one.
fn grown(before: Option<u64>, after: Option<u64>) -> Option<f64> {
    after.map(|after| after.saturating_sub(before.unwrap_or(0)) as f64)
}

fn in_ms(micros: f64) -> f64 {
    micros / 1e3
}

fn quantile(histogram: &Histogram, share: f64) -> Option<f64> {
    histogram.quantile(share).map(|micros| in_ms(micros as f64))
}

//! Report of a test. What do both ends have measured together? The figures of both, in the shape of iperf3's JSON.

use std::time::{SystemTime, UNIX_EPOCH};

use super::clock::Basis;
use super::figures::{Figures, PathFigures, Sum};
use super::meter::Count;
use super::session::amount;
use super::task::{Direction, Task};
use crate::network::Guarded;
use crate::output::{
    Amount, Connected, Delays, EndReport, IntervalReport, OneWayDelays, PathEnd, Processors, StartReport,
    StreamAmount, StreamEnd, TaskReport, TestReport, Timestamp,
};
use crate::parse::Traffic;

/// What a report is made of.
#[derive(Debug)]
pub(super) struct Measured<'m> {
    pub(super) task: &'m Task,
    pub(super) is_client: bool,
    pub(super) start: StartReport,
    pub(super) intervals: Vec<IntervalReport>,
    pub(super) ours: Figures,
    /// Absent if the peer could not report.
    pub(super) theirs: Option<Figures>,
    pub(super) basis: Basis,
    pub(super) round_trips: Option<Delays>,
    pub(super) error: Option<String>,
}

/// One direction, as its two ends have measured it.
#[derive(Clone, Copy, Debug, Default)]
struct OneWay<'f> {
    sent: Option<&'f Sum>,
    received: Option<&'f Sum>,
    delays: Option<Delays>,
}

impl Measured<'_> {
    pub(super) fn report(self) -> TestReport {
        let (client, server) = match self.is_client {
            true => (Some(&self.ours), self.theirs.as_ref()),
            false => (self.theirs.as_ref(), Some(&self.ours)),
        };
        let forward = OneWay::between(client, server);
        let reverse = OneWay::between(server, client);
        let (first, second) = match self.task.direction {
            Direction::Forward => (forward, OneWay::default()),
            Direction::Reverse => (reverse, OneWay::default()),
            Direction::Both => (forward, reverse),
        };
        let names = if self.is_client {
            ("client", "server")
        } else {
            ("server", "client")
        };
        let mut paths = path_ends(&self.ours, names.0);
        paths.extend(self.theirs.iter().flat_map(|figures| path_ends(figures, names.1)));
        let all = [Some(&self.ours), self.theirs.as_ref()];
        let end = EndReport {
            streams: [&first, &second]
                .into_iter()
                .flat_map(|way| way.streams(self.task))
                .collect(),
            sum_sent: sum_of(first.sent, self.task, true),
            sum_received: sum_of(first.received, self.task, false),
            sum_sent_bidir_reverse: sum_of(second.sent, self.task, true),
            sum_received_bidir_reverse: sum_of(second.received, self.task, false),
            paths,
            one_way_delay: first.delays.map(|delays| one_way(delays, self.basis)),
            one_way_delay_bidir_reverse: second.delays.map(|delays| one_way(delays, self.basis)),
            round_trip_time: self.round_trips,
            abandoned: all
                .into_iter()
                .flatten()
                .fold(0, |sum, figures| sum.saturating_add(figures.abandoned)),
            cpu_utilization_percent: Processors {
                host_total: self.ours.processor_percent,
                remote_total: self.theirs.as_ref().map(|figures| figures.processor_percent),
            },
        };
        TestReport {
            start: self.start,
            intervals: self.intervals,
            end,
            error: self.error,
        }
    }
}

impl<'f> OneWay<'f> {
    fn between(from: Option<&'f Figures>, to: Option<&'f Figures>) -> Self {
        Self {
            sent: from.and_then(|figures| figures.sent.as_ref()),
            received: to.and_then(|figures| figures.received.as_ref()),
            delays: to.and_then(|figures| figures.delays),
        }
    }

    fn streams(&self, task: &Task) -> Vec<StreamEnd> {
        let sent = self.sent.map(|sum| amounts(sum, task, true)).unwrap_or_default();
        let received = self
            .received
            .map(|sum| amounts(sum, task, false))
            .unwrap_or_default();
        let count = sent.len().max(received.len());
        let ends = (0..count).map(|index| StreamEnd {
            sender: sent.get(index).copied(),
            receiver: received.get(index).copied(),
        });
        ends.collect()
    }
}

fn amounts(sum: &Sum, task: &Task, sender: bool) -> Vec<StreamAmount> {
    let per_association = usize::from(task.streams).max(1);
    let streams = sum.streams.iter().enumerate();
    let amounts = streams.map(|(index, (bytes, messages))| StreamAmount {
        socket: (index / per_association + 1) as u16,
        stream: (index % per_association + 1) as u16,
        amount: {
            let (bytes, messages) = (*bytes, *messages);
            amount((0.0, sum.seconds), Count { bytes, messages }, sender)
        },
    });
    amounts.collect()
}

fn sum_of(sum: Option<&Sum>, task: &Task, sender: bool) -> Option<Amount> {
    Amount::sum(&amounts(sum?, task, sender))
}

fn one_way(delays: Delays, basis: Basis) -> OneWayDelays {
    let (clock, error_ms) = match basis {
        Basis::SameClock => ("same", None),
        Basis::Estimated { error } => ("estimated", Some(error as f64 / 1e6)),
    };
    OneWayDelays {
        clock,
        error_ms,
        delays,
    }
}

fn path_ends(figures: &Figures, measured_by: &'static str) -> Vec<PathEnd> {
    let sums = [&figures.sent, &figures.received];
    let seconds = sums
        .into_iter()
        .flatten()
        .map(|sum| sum.seconds)
        .fold(0.0, f64::max);
    let ends = figures.paths.iter().map(|path: &PathFigures| {
        let counted = [path.sent, path.retransmitted, path.received];
        let carried = counted.into_iter().fold(0, u64::saturating_add);
        PathEnd {
            socket: path.association,
            local: path.local.to_string(),
            remote: path.remote.to_string(),
            measured_by,
            sent: path.sent,
            retransmitted: path.retransmitted,
            received: path.received,
            bits_per_second: carried as f64 * 8.0 / seconds.max(1e-9),
            rtt_ms: path.rtt_ms,
        }
    });
    ends.collect()
}

/// What is known when the test begins.
pub(super) fn start_of<'a>(
    task: &Task,
    encrypted: bool,
    associations: impl Iterator<Item = &'a Guarded>,
) -> StartReport {
    let connected = (1..).zip(associations).filter_map(|(socket, association)| {
        let addr = association.statistics().paths.first()?.addr;
        Some(Connected {
            socket,
            local_host: addr.local.ip(),
            local_port: addr.local.port(),
            remote_host: addr.remote.ip(),
            remote_port: addr.remote.port(),
        })
    });
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    StartReport {
        connected: connected.collect(),
        version: format!("anabranch {}", crate::VERSION),
        timestamp: Timestamp {
            timesecs: since.map_or(0, |since| since.as_secs()),
        },
        test_start: TaskReport {
            protocol: "SCTP",
            num_streams: u32::from(task.associations) * u32::from(task.streams),
            associations: task.associations,
            streams: task.streams,
            blksize: task.length,
            omit: task.omit_seconds,
            duration: task.seconds.unwrap_or(0.0),
            bytes: task.bytes.unwrap_or(0),
            reverse: u8::from(task.direction == Direction::Reverse),
            bidir: u8::from(task.direction == Direction::Both),
            interval: task.interval_seconds,
            target_bitrate: task.rate_bit_s.unwrap_or(0),
            traffic: traffic_text(task.traffic),
            unordered: task.unordered,
            lifetime_seconds: task.lifetime_seconds,
            retransmissions: task.retransmissions,
            encrypted,
        },
    }
}

fn traffic_text(traffic: Traffic) -> String {
    match traffic {
        Traffic::Constant => "constant".to_owned(),
        Traffic::Poisson => "poisson".to_owned(),
        Traffic::OnOff {
            on_seconds,
            off_seconds,
        } => format!("on-off:{on_seconds}s,{off_seconds}s"),
    }
}

/// A line for users, before the first interval.
pub(super) fn headline(task: &Task, peer: &str) -> String {
    let many = |count: u32, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let direction = match task.direction {
        Direction::Forward => "client to server",
        Direction::Reverse => "server to client",
        Direction::Both => "both directions",
    };
    format!(
        "testing with {peer}: {direction}, {} with {}, messages of {} bytes",
        many(task.associations.into(), "association"),
        many(task.streams.into(), "stream"),
        task.length
    )
}

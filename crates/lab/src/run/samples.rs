//! How full were buffers, windows and queues? Sampled a hundred times in a second, and only sums are kept.

use core::time::Duration;

use anabranch_policy::PathFacts;
use anabranch_sim::{Histogram, Simulation};
use anabranch_types::Instant;

use super::links;
use super::measure::path_id;
use super::record::{Record, TimeSeriesRow};
use super::silence::{Reading, Silence};
use super::talker;
use crate::plan::Setting;

/// From one sample to the next.
pub(super) const EVERY: Duration = Duration::from_millis(10);

/// What was sampled so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    send_buffer: Histogram,
    retransmission_queue: Histogram,
    receive_buffer: Histogram,
    sender_blocked: Mean,
    receiver_blocked: Mean,
    paths: Vec<PathSamples>,
    /// Of each path's own link, then of the bottleneck.
    queues: Vec<Histogram>,
    names: Vec<String>,
    silence: Silence,
    reading: Reading,
}

/// What was sampled of one path.
#[derive(Clone, Debug, Default)]
pub(super) struct PathSamples {
    window: Mean,
    flight: Mean,
    full: Mean,
    srtt: Mean,
    rto: Mean,
    backed_off: Mean,
    blocked: Mean,
}

/// A mean and a maximum that are still open.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: u64,
    most: f64,
}

impl Mean {
    fn note(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
        self.most = self.most.max(value);
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The most that was noted; nothing is below zero.
    fn most(self) -> Option<f64> {
        (self.count > 0).then_some(self.most)
    }
}

impl PathSamples {
    pub(super) fn note(&mut self, path: &PathFacts, is_full: bool, send_buffer: u64) {
        self.window.note(path.cwnd as f64);
        self.flight.note(path.in_flight as f64);
        self.full.note(f64::from(is_full));
        self.blocked.note(blocked(path, send_buffer));
        self.rto.note(path.rto.as_secs_f64() * 1e3);
        self.backed_off.note(f64::from(path.errors > 0));
        if let Some(srtt) = path.srtt {
            self.srtt.note(srtt.as_secs_f64() * 1e3);
        }
    }

    pub(super) fn write(&self, name: &str, record: &mut Record) {
        record.set(format!("{name}.cwnd.mean"), self.window.value());
        record.set(format!("{name}.flight.mean"), self.flight.value());
        record.set(format!("{name}.cwnd-limited"), self.full.value());
        record.set(format!("{name}.srtt.mean"), self.srtt.value());
        record.set(format!("{name}.srtt.max"), self.srtt.most());
        record.set(format!("{name}.rto.mean"), self.rto.value());
        record.set(format!("{name}.rto.max"), self.rto.most());
        record.set(format!("{name}.backed-off"), self.backed_off.value());
        record.set(format!("{name}.blocked.mean"), self.blocked.value());
    }
}

impl Samples {
    pub(super) fn new(setting: &Setting) -> Self {
        let names: Vec<String> = setting.paths.names().map(|name| format!("path.{name}")).collect();
        let bottleneck = setting.bottleneck.iter().map(|_| "bottleneck".to_owned());
        let names: Vec<String> = names.into_iter().chain(bottleneck).collect();
        Self {
            paths: vec![PathSamples::default(); setting.paths.len()],
            queues: vec![Histogram::default(); names.len()],
            names,
            ..Self::default()
        }
    }

    /// Looks at everything.
    pub(super) fn take(&mut self, simulation: &Simulation, setting: &Setting) {
        let (Some(near), Some(far)) = (
            simulation.association(talker(setting)),
            simulation.association(talker(setting).other()),
        ) else {
            return;
        };
        let (statistics, far) = (near.statistics(), far.statistics());
        self.send_buffer.note(statistics.send_buffer_used);
        self.receive_buffer.note(far.receive_buffer_used);
        let facts = near.path_facts();
        let packet = facts
            .iter()
            .map(|path| u64::from(path.max_data_chunk))
            .max()
            .unwrap_or(0);
        let limit = setting.association.send_buffer.0;
        let sent = statistics.send_buffer_sent;
        self.retransmission_queue.note(sent);
        let has_room = facts
            .iter()
            .any(|path| path.is_usable() && path.in_flight + packet <= path.cwnd);
        self.sender_blocked
            .note(f64::from(has_room && sent + packet > limit));
        self.receiver_blocked
            .note(f64::from(statistics.peer_window < packet));
        for (index, samples) in self.paths.iter_mut().enumerate() {
            let id = path_id(&statistics, index);
            let Some(path) = facts.iter().find(|path| Some(path.id) == id) else {
                continue;
            };
            // The last packet may exceed the window (RFC 9260 §6.1 B).
            samples.note(path, path.in_flight >= path.cwnd, limit);
        }
        let at = simulation.now() - Instant::ZERO;
        let links = links::of(simulation.paths(), setting).into_iter();
        let own = links.take(setting.paths.len());
        let delivered = own.map(|(link, _)| simulation.network().link(link).stats().delivered.packets);
        self.silence.note(at, delivered.sum());
        let reader = simulation.conversation(talker(setting).other());
        self.reading
            .note(at, reader.map_or(0, |reader| reader.inbox().bytes()));
        let waiting = waiting(simulation, setting);
        for (queue, waiting) in self.queues.iter_mut().zip(waiting) {
            queue.note(waiting);
        }
    }

    /// Writes the metrics that are made of samples.
    pub(super) fn write(&self, record: &mut Record) {
        let buffers = [
            ("send-buffer", &self.send_buffer),
            ("retransmission-queue", &self.retransmission_queue),
            ("receive-buffer", &self.receive_buffer),
        ];
        for (name, histogram) in buffers {
            record.set(format!("{name}.mean"), histogram.mean());
            record.set(
                format!("{name}.max"),
                histogram.quantile(1.0).map(|bytes| bytes as f64),
            );
        }
        self.silence.write(record);
        self.reading.write(record);
        record.set("sender-blocked", self.sender_blocked.value());
        record.set("receiver-blocked", self.receiver_blocked.value());
        for (samples, name) in self.paths.iter().zip(&self.names) {
            samples.write(name, record);
        }
        for (queue, name) in self.queues.iter().zip(&self.names) {
            write_queue(queue, name, record);
        }
    }
}

pub(super) fn write_queue(queue: &Histogram, name: &str, record: &mut Record) {
    record.set(format!("{name}.queue.mean"), queue.mean());
    record.set(
        format!("{name}.queue.max"),
        queue.quantile(1.0).map(|packets| packets as f64),
    );
}

/// Packets that wait at each path's own link, then at the bottleneck.
fn waiting<'a>(simulation: &'a Simulation, setting: &Setting) -> impl Iterator<Item = u64> + 'a {
    let links = links::of(simulation.paths(), setting).into_iter();
    links.map(|(link, _)| simulation.network().link(link).waiting().packets)
}

/// The share of the send buffer that is taken by what arrived over the path and cannot be freed.
pub(super) fn blocked(path: &PathFacts, send_buffer: u64) -> f64 {
    path.queued.saturating_sub(path.in_flight) as f64 / send_buffer as f64
}

/// The rows of the time series for this moment, one for each path.
pub(super) fn time_series_rows(simulation: &Simulation, setting: &Setting, rows: &mut Vec<TimeSeriesRow>) {
    let (Some(near), Some(far)) = (
        simulation.association(talker(setting)),
        simulation.association(talker(setting).other()),
    ) else {
        return;
    };
    let (statistics, far) = (near.statistics(), far.statistics());
    let reader = simulation.conversation(talker(setting).other());
    let delivered = reader.map_or(0, |reader| reader.inbox().bytes());
    let facts = near.path_facts();
    for ((index, name), waiting) in setting
        .paths
        .names()
        .enumerate()
        .zip(waiting(simulation, setting))
    {
        let id = path_id(&statistics, index);
        let Some(path) = facts.iter().find(|path| Some(path.id) == id) else {
            continue;
        };
        rows.push(TimeSeriesRow {
            time: simulation.now().as_nanos() as f64 / 1e9,
            path: name.to_owned(),
            cwnd: path.cwnd,
            ssthresh: (path.ssthresh < u64::MAX).then_some(path.ssthresh),
            flight: path.in_flight,
            queued: path.queued,
            blocked: blocked(path, setting.association.send_buffer.0),
            srtt: path.srtt.map(|srtt| srtt.as_secs_f64() * 1e3),
            rto: path.rto.as_secs_f64() * 1e3,
            link_queue: waiting,
            send_buffer: statistics.send_buffer_used,
            receive_buffer: far.receive_buffer_used,
            delivered,
        });
    }
}

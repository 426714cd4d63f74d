//! Periodic sampling, every 10 ms. How full were buffers, windows and queues? Keeps only sums, histograms and time
//! series.

use core::time::Duration;

use anabranch_policy::PathFacts;
use anabranch_sim::{Histogram, HostState, Simulation, Transport};
use anabranch_types::Instant;

use super::record::{Record, TimeSeriesRow};
use super::silence::{Reading, Silence};
use super::{links, sides};
use crate::plan::{BackendPlan, Setting, TransportPlan};

/// Sampling interval.
pub(super) const EVERY: Duration = Duration::from_millis(10);

/// Accumulated samples of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    send_buffer: Histogram,
    retransmission_queue: Histogram,
    receive_buffer: Histogram,
    sender_blocked: Mean,
    receiver_blocked: Mean,
    paths: Vec<PathSamples>,
    /// Queue lengths at each path's own link, then at the bottleneck.
    queues: Vec<Histogram>,
    names: Vec<String>,
    /// Recorded for SCTP and for all runs on real hosts.
    silence: Option<(Silence, Reading)>,
}

/// Accumulated samples of one path.
#[derive(Clone, Debug, Default)]
struct PathSamples {
    window: Mean,
    flight: Mean,
    full: Mean,
    srtt: Mean,
    rto: Mean,
    backed_off: Mean,
    blocked: Mean,
}

/// A running mean and maximum.
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

    /// The maximum; values are never negative.
    fn most(self) -> Option<f64> {
        (self.count > 0).then_some(self.most)
    }
}

impl PathSamples {
    fn note(&mut self, path: &PathFacts, is_full: bool, send_buffer: u64) {
        self.window.note(path.cwnd as f64);
        self.flight.note(path.in_flight as f64);
        self.full.note(f64::from(is_full));
        self.blocked.note(blocked(path, send_buffer));
        self.rto.note(path.rto().as_secs_f64() * 1e3);
        self.backed_off.note(f64::from(path.errors > 0));
        if let Some(srtt) = path.srtt() {
            self.srtt.note(srtt.as_secs_f64() * 1e3);
        }
    }

    fn write(&self, name: &str, record: &mut Record) {
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
        let has_silence = setting.transport == TransportPlan::Sctp || setting.backend == BackendPlan::Testbed;
        Self {
            paths: vec![PathSamples::default(); setting.paths.len()],
            queues: vec![Histogram::default(); names.len()],
            names,
            silence: has_silence.then(Default::default),
            ..Self::default()
        }
    }

    /// Takes a sample of the simulation.
    pub(super) fn take<T: Transport>(&mut self, simulation: &Simulation<T>, setting: &Setting) {
        let (sender, receiver) = sides(setting);
        let (Some(sender), Some(receiver)) = (simulation.state(sender), simulation.state(receiver)) else {
            return;
        };
        self.note_hosts(&sender, &receiver, setting);
        let links = links::of(simulation.paths(), setting).into_iter();
        let own = links.take(setting.paths.len());
        let delivered = own.map(|(link, _)| simulation.network().link(link).stats().delivered.packets);
        self.note_arrivals(
            simulation.now() - Instant::ZERO,
            delivered.sum(),
            receiver.bytes_read,
        );
        self.note_queues(waiting(simulation, setting));
    }

    fn note_hosts(&mut self, sender: &HostState, receiver: &HostState, setting: &Setting) {
        let limit = setting.association.send_buffer.bytes();
        let all = || {
            sender
                .paths
                .iter()
                .flat_map(|path| &path.facts)
                .map(|(facts, _)| facts)
        };
        let packet = all()
            .map(|path| u64::from(path.max_data_chunk))
            .max()
            .unwrap_or(0);
        let has_room = all().any(|path| path.is_usable() && path.in_flight + packet <= path.cwnd);
        for buffer in &sender.send_buffers {
            self.send_buffer.note(buffer.used);
            self.retransmission_queue.note(buffer.sent);
            if let Some(peer_window) = buffer.peer_window {
                self.sender_blocked
                    .note(f64::from(has_room && buffer.sent + packet > limit));
                self.receiver_blocked.note(f64::from(peer_window < packet));
            }
        }
        for held in &receiver.receive_buffers {
            self.receive_buffer.note(*held);
        }
        for (samples, path) in self.paths.iter_mut().zip(&sender.paths) {
            for (facts, is_full) in &path.facts {
                samples.note(facts, *is_full, limit);
            }
        }
    }

    /// Records the packets delivered to the far end and the bytes read by its application up to `at`, the time since
    /// the start of the run.
    pub(super) fn note_arrivals(&mut self, at: Duration, packets: u64, bytes: u64) {
        if let Some((silence, reading)) = &mut self.silence {
            silence.note(at, packets);
            reading.note(at, bytes);
        }
    }

    /// Records the packets queued at each path's own link, then at the bottleneck.
    pub(super) fn note_queues(&mut self, waiting: impl Iterator<Item = u64>) {
        for (queue, waiting) in self.queues.iter_mut().zip(waiting) {
            queue.note(waiting);
        }
    }

    /// Writes the metrics computed from samples.
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
        if let Some((silence, reading)) = self.silence {
            silence.write(record);
            reading.write(record);
        }
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

fn write_queue(queue: &Histogram, name: &str, record: &mut Record) {
    record.set(format!("{name}.queue.mean"), queue.mean());
    record.set(
        format!("{name}.queue.max"),
        queue.quantile(1.0).map(|packets| packets as f64),
    );
}

/// Returns the packets queued at each path's own link, then at the bottleneck.
fn waiting<'a, T: Transport>(
    simulation: &'a Simulation<T>,
    setting: &Setting,
) -> impl Iterator<Item = u64> + use<'a, T> {
    let links = links::of(simulation.paths(), setting).into_iter();
    links.map(|(link, _)| simulation.network().link(link).waiting().packets)
}

/// The share of the send buffer taken by chunks that have arrived over the path but cannot be freed yet.
fn blocked(path: &PathFacts, send_buffer: u64) -> f64 {
    path.queued.saturating_sub(path.in_flight) as f64 / send_buffer as f64
}

/// Adds the current rows of the time series, one for each path in use.
pub(super) fn time_series_rows<T: Transport>(
    simulation: &Simulation<T>,
    setting: &Setting,
    rows: &mut Vec<TimeSeriesRow>,
) {
    let (sender, receiver) = sides(setting);
    let (Some(sender), Some(receiver)) = (simulation.state(sender), simulation.state(receiver)) else {
        return;
    };
    let Some(send_buffer) = sender.send_buffers.first() else {
        return;
    };
    let paths = setting.paths.names().zip(&sender.paths);
    for ((name, path), waiting) in paths.zip(waiting(simulation, setting)) {
        let Some((path, _)) = path.facts.first() else {
            continue;
        };
        rows.push(TimeSeriesRow {
            time: simulation.now().as_nanos() as f64 / 1e9,
            path: name.to_owned(),
            cwnd: path.cwnd,
            ssthresh: (path.ssthresh < u64::MAX).then_some(path.ssthresh),
            flight: path.in_flight,
            queued: path.queued,
            blocked: blocked(path, setting.association.send_buffer.bytes()),
            srtt: path.srtt().map(|srtt| srtt.as_secs_f64() * 1e3),
            rto: path.rto().as_secs_f64() * 1e3,
            link_queue: waiting,
            send_buffer: send_buffer.used,
            receive_buffer: receiver.receive_buffers.iter().sum(),
            delivered: receiver.bytes_read,
        });
    }
}

//! How full were buffers, windows and queues of TCP? Several connections count as several samples.

use anabranch_sim::tcp::TcpSimulation;
use anabranch_sim::{Histogram, Side};

use super::super::links;
use super::super::record::{Record, TimeSeriesRow};
use super::super::samples::{PathSamples, blocked, write_queue};
use super::paths::views;
use super::talker;
use crate::plan::Setting;

/// What was sampled so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    send_buffer: Histogram,
    retransmission_queue: Histogram,
    receive_buffer: Histogram,
    paths: Vec<PathSamples>,
    /// Of each path's own link, then of the bottleneck.
    queues: Vec<Histogram>,
}

/// What a side holds in the receive buffers of its connections: what can be read, and what waits for others.
fn received(simulation: &TcpSimulation, side: Side) -> impl Iterator<Item = u64> + '_ {
    let connections = simulation.host(side).endpoint().connections();
    connections.map(|(_, connection)| connection.unread() + connection.statistics().out_of_order_bytes)
}

impl Samples {
    /// Looks at everything.
    pub(super) fn take(&mut self, simulation: &TcpSimulation, setting: &Setting) {
        let talker = talker(setting);
        for (_, connection) in simulation.host(talker).endpoint().connections() {
            let statistics = connection.statistics();
            self.send_buffer.note(statistics.send_buffer_used);
            self.retransmission_queue.note(statistics.send_buffer_sent);
        }
        for held in received(simulation, talker.other()) {
            self.receive_buffer.note(held);
        }
        let views = views(simulation, talker);
        self.paths.resize_with(views.len(), PathSamples::default);
        for (samples, view) in self.paths.iter_mut().zip(views) {
            for facts in &view.facts {
                // A segment leaves only if the window takes all of it.
                let is_full = facts.in_flight + u64::from(facts.max_data_chunk) > facts.cwnd;
                samples.note(facts, is_full, setting.association.send_buffer.0);
            }
        }
        let links = links::of(simulation.paths(), setting);
        self.queues.resize_with(links.len(), Histogram::default);
        for (queue, (link, _)) in self.queues.iter_mut().zip(links) {
            queue.note(simulation.network().link(link).waiting().packets);
        }
    }

    /// Writes the metrics that are made of samples.
    pub(super) fn write(&self, setting: &Setting, record: &mut Record) {
        for (name, histogram) in [
            ("send-buffer", &self.send_buffer),
            ("retransmission-queue", &self.retransmission_queue),
            ("receive-buffer", &self.receive_buffer),
        ] {
            record.set(format!("{name}.mean"), histogram.mean());
            let most = histogram.quantile(1.0);
            record.set(format!("{name}.max"), most.map(|bytes| bytes as f64));
        }
        let names: Vec<String> = setting.paths.names().map(|name| format!("path.{name}")).collect();
        for (samples, name) in self.paths.iter().zip(&names) {
            samples.write(name, record);
        }
        let names = names.iter().map(String::as_str).chain(["bottleneck"]);
        for (queue, name) in self.queues.iter().zip(names) {
            write_queue(queue, name, record);
        }
    }
}

/// The rows of the time series for this moment, one for each path that the connection uses.
pub(super) fn time_series_rows(simulation: &TcpSimulation, setting: &Setting, rows: &mut Vec<TimeSeriesRow>) {
    let talker = talker(setting);
    let views = views(simulation, talker);
    let mut connections = simulation.host(talker).endpoint().connections();
    let Some((_, connection)) = connections.next() else {
        return;
    };
    let send_buffer = connection.statistics().send_buffer_used;
    let receive_buffer = received(simulation, talker.other()).sum();
    let reader = simulation.host(talker.other());
    let delivered = reader.apps().map(|(_, app)| app.bytes_read()).sum();
    let links = links::of(simulation.paths(), setting);
    for ((view, name), (link, _)) in views.iter().zip(setting.paths.names()).zip(links) {
        let Some(path) = view.facts.first() else {
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
            link_queue: simulation.network().link(link).waiting().packets,
            send_buffer,
            receive_buffer,
            delivered,
        });
    }
}

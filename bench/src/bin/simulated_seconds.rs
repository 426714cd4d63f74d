//! Benchmark `simulated_seconds`: CPU time of a number of simulated seconds with SCTP, TCP and Multipath TCP.
//!
//! Each packet that arrives at the end of a link counts. The number after each name is a hash of all packets of both hosts: while it
//! is the same, a change affects only speed. As in the lab, it is made of totals instead: if it changes, more than speed has changed.

use std::time::Duration;

use anabranch_bench::{Arguments, Column, Stopwatch, Table};
use anabranch_netsim::LinkConfig;
use anabranch_netsim::link::QueueConfig;
use anabranch_policy::PolicyRecipe;
use anabranch_proto::{AssociationConfig, BufferSize};
use anabranch_sim::app::{Bulk, Conversation, Streams, Workload};
use anabranch_sim::tcp::{MptcpConfig, TcpApp, TcpConfig, TcpScenario};
use anabranch_sim::{Scenario, Side, Simulation, Transport};
use anabranch_types::{Rate, Seed};

/// Both buffers of the two paths, in bytes.
const BUFFER: u64 = 1_864_135;

fn main() {
    let arguments = Arguments {
        json: false,
        runs: 3,
        seconds: 300.0,
    };
    let arguments = arguments.or("simulated_seconds: CPU time for --seconds of simulated time");
    let columns = [
        ("cpu_seconds", 2),
        ("times_real_time", 0),
        ("kilo_packets_per_s", 0),
        ("mbit_per_s", 1),
    ];
    let columns = columns.map(|(name, decimals)| Column { name, decimals });
    let title = format!(
        "{} simulated seconds, the best of {}",
        arguments.seconds, arguments.runs
    );
    let mut table = Table::new(title, &columns);
    let mut measure = |name: &str, network: fn(f64) -> Run| {
        let run = Run::best_of(arguments.runs, network, arguments.seconds);
        let figures = [
            run.cpu_seconds,
            arguments.seconds / run.cpu_seconds,
            run.packets as f64 / run.cpu_seconds / 1e3,
            run.mbit_per_s,
        ];
        table.row(format!("{name}: {:016x}", run.trace), &figures);
    };
    measure("SCTP, one path, 20 Mbit/s", |seconds| {
        Run::traced(one_path(), seconds)
    });
    measure(
        "SCTP, two paths, 10 and 100 Mbit/s, as in experiments/sar-1.toml",
        |seconds| Run::traced(two_paths(), seconds),
    );
    measure("SCTP as in the lab, one path", |seconds| {
        Run::of(as_in_the_lab(one_path()).build(), seconds)
    });
    measure("SCTP as in the lab, two paths", |seconds| {
        Run::of(as_in_the_lab(two_paths()).build(), seconds)
    });
    measure("TCP as in the lab, one path", |seconds| {
        Run::of(tcp().build(), seconds)
    });
    measure("Multipath TCP as in the lab, two paths", |seconds| {
        Run::of(mptcp().build(), seconds)
    });
    table.print(arguments.json);
}

fn one_path() -> Scenario {
    let link = LinkConfig::new(Rate::mbit(20), Duration::from_millis(10));
    with_bulk_transfer(Scenario::new(Seed(1)).path(link), 1_444)
}

fn two_paths() -> Scenario {
    let link = |mbit| {
        LinkConfig::new(Rate::mbit(mbit), Duration::from_millis(1))
            .queue(QueueConfig::Packets(100))
            .framing(26)
    };
    let mut policies = PolicyRecipe::profile("freebsd-2017").expect("a name of the catalogue");
    policies
        .set("sack-handling", "indexed")
        .expect("a name of the catalogue");
    let scenario = Scenario::new(Seed(1))
        .path(link(10))
        .path(link(100))
        .config(AssociationConfig {
            send_buffer: BufferSize::Fixed(BUFFER),
            receive_buffer: BufferSize::Fixed(BUFFER),
            policies,
            ..AssociationConfig::default()
        });
    with_bulk_transfer(scenario, 1_452)
}

/// Adds a bulk transfer from the near end. Messages are metered and not stored, as in the lab, so memory does not grow with the
/// simulated time.
fn with_bulk_transfer(scenario: Scenario, message: usize) -> Scenario {
    let bulk = Workload::Bulk(Bulk::new(message, Streams::one(0)));
    scenario
        .near_app(Conversation::new([bulk]).metered())
        .far_app(Conversation::new([]).metered())
}

/// Without checksums and without a hash of all packets, directly over IP.
fn as_in_the_lab(scenario: Scenario) -> Scenario {
    scenario.offload_checksums().untraced().encapsulation_port(0)
}

fn tcp() -> TcpScenario {
    let link = LinkConfig::new(Rate::mbit(20), Duration::from_millis(10));
    with_tcp_transfer(TcpScenario::tcp(Seed(1)).path(link), None)
}

fn mptcp() -> TcpScenario {
    let link = |mbit| {
        LinkConfig::new(Rate::mbit(mbit), Duration::from_millis(1))
            .queue(QueueConfig::Packets(100))
            .framing(26)
    };
    let scenario = TcpScenario::tcp(Seed(1)).path(link(10)).path(link(100));
    with_tcp_transfer(scenario, Some(MptcpConfig::default()))
}

/// Adds a bulk transfer of messages that carry the time at which they were written.
fn with_tcp_transfer(scenario: TcpScenario, mptcp: Option<MptcpConfig>) -> TcpScenario {
    let message = 1_452;
    let config = TcpConfig {
        mptcp,
        send_buffer: BUFFER,
        receive_buffer: BUFFER,
        ..TcpConfig::default()
    };
    scenario
        .offload_checksums()
        .config(config)
        .near_app(TcpApp::bulk().stamped(message))
        .far_app(TcpApp::reader().metered(message))
}

struct Run {
    cpu_seconds: f64,
    /// Packets that arrived at the end of a link.
    packets: u64,
    mbit_per_s: f64,
    /// Hash of all packets; in runs without it, a number made of the totals of bytes, packets and events.
    trace: u64,
}

impl Run {
    fn best_of(runs: usize, network: fn(f64) -> Self, seconds: f64) -> Self {
        let all = (0..runs).map(|_| network(seconds));
        let best = all.min_by(|one, other| one.cpu_seconds.total_cmp(&other.cpu_seconds));
        best.expect("invariant: there is one run at least")
    }

    fn traced(scenario: Scenario, seconds: f64) -> Self {
        let mut simulation = scenario.build();
        let run = Self::measure(&mut simulation, seconds);
        Self {
            trace: simulation.outcome().trace_hash,
            ..run
        }
    }

    fn of<T: Transport>(mut simulation: Simulation<T>, seconds: f64) -> Self {
        Self::measure(&mut simulation, seconds)
    }

    fn measure<T: Transport>(simulation: &mut Simulation<T>, seconds: f64) -> Self {
        let stopwatch = Stopwatch::start();
        simulation.connect();
        simulation.run_for(Duration::from_secs_f64(seconds));
        let cpu_seconds = stopwatch.elapsed().as_secs_f64();
        let network = simulation.network();
        let links = network.link_ids().map(|id| network.link(id).stats());
        let packets = links.map(|stats| stats.delivered.packets).sum();
        let bytes = T::bytes_read(simulation.host(Side::Far));
        Self {
            cpu_seconds,
            packets,
            mbit_per_s: bytes as f64 * 8e-6 / seconds,
            trace: bytes ^ packets.rotate_left(24) ^ network.events().rotate_left(48),
        }
    }
}

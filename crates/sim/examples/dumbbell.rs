//! Benchmark against ns-3: one flow over a dumbbell, as in `bench/ns3/dumbbell.cc`, with 10 Mbit/s and 10 ms between
//! two routers, a queue of 100 packets, access links of 1 Gbit/s. The arguments are `tcp` or a profile of SCTP, and seconds. Prints
//! packets that crossed the bottleneck, and Mbit/s, for `scripts/bench-ns3`. Neither simulator computes checksums.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_netsim::topology::{self, Path};
use anabranch_netsim::{Host, HostId, LinkConfig, Network};
use anabranch_policy::PolicyRecipe;
use anabranch_proto::{AssociationConfig, EndpointConfig};
use anabranch_sim::SctpHost;
use anabranch_sim::app::{Bulk, Conversation, Streams, Workload};
use anabranch_sim::tcp::{TcpApp, TcpConfig, TcpHost};
use anabranch_types::{Instant, Rate, Seed};

const TCP_PORT: u16 = 80;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_else(|| "tcp".into());
    let seconds = arguments.next().and_then(|text| text.parse().ok());
    let simulated = Duration::from_secs(seconds.unwrap_or(300));
    match what.as_str() {
        "tcp" => tcp(simulated),
        profile => match PolicyRecipe::profile(profile) {
            Ok(policies) => sctp(policies, simulated),
            Err(error) => eprintln!("{error}; or tcp"),
        },
    }
}

fn tcp(simulated: Duration) {
    let mut network = Network::new(Seed(1));
    let host = |seed| TcpHost::new(Seed(seed), TcpApp::reader()).offload_checksums();
    let near = network.add_host(host(1));
    let mut reader = host(2);
    reader.listen(TcpConfig::default());
    let far = network.add_host(reader);
    let path = dumbbell(&mut network, (near, far));
    network.act(near, |host, now| {
        let (local, remote) = (
            SocketAddr::new(path.near_addr, 0),
            SocketAddr::new(path.far_addr, TCP_PORT),
        );
        host.connect(now, local, remote, TcpConfig::default(), TcpApp::bulk());
    });
    run(&mut network, &path, simulated, |network| {
        network.host(far).apps().map(|(_, app)| app.bytes_read()).sum()
    });
}

fn sctp(policies: PolicyRecipe, simulated: Duration) {
    let mut network = Network::new(Seed(1));
    let config = AssociationConfig {
        policies,
        ..AssociationConfig::default()
    };
    let host = |ip, accept, seed| {
        let endpoint = EndpointConfig {
            local: vec![SocketAddr::new(ip, 0)],
            accept,
            checksum_offload: true,
            ..EndpointConfig::default()
        };
        SctpHost::new(endpoint, Seed(seed), Conversation::default().metered()).untraced()
    };
    let near = network.add_host(host(topology::near_addr(0), None, 1));
    let far = network.add_host(host(topology::far_addr(0), Some(config.clone()), 2));
    let path = dumbbell(&mut network, (near, far));
    let bulk = Workload::Bulk(Bulk::new(1_452, Streams::one(0)));
    network.act(near, |host, now| {
        let remotes = [SocketAddr::new(path.far_addr, 0)];
        let connected = host.connect(now, &remotes, &config, Conversation::new([bulk]).metered());
        connected.expect("invariant: the address can be connected");
    });
    run(&mut network, &path, simulated, |network| {
        let host = network.host(far);
        let read = host.associations().filter_map(|id| host.conversation(id));
        read.map(|conversation| conversation.inbox().bytes()).sum()
    });
}

/// Sender, two routers, receiver: three links in each direction.
fn dumbbell<H: Host>(network: &mut Network<H>, hosts: (HostId, HostId)) -> Path {
    let access = LinkConfig::new(Rate::mbit(1_000), Duration::ZERO);
    let middle = LinkConfig::new(Rate::mbit(10), Duration::from_millis(10));
    let mut links = |names: [&str; 3]| {
        let [left, bottleneck, right] = names.map(str::to_owned);
        vec![
            network.add_link(access.clone().named(left)),
            network.add_link(middle.clone().named(bottleneck)),
            network.add_link(access.clone().named(right)),
        ]
    };
    let path = Path {
        near_addr: topology::near_addr(0),
        far_addr: topology::far_addr(0),
        forward: links(["left→", "bottleneck→", "right→"]),
        reverse: links(["right←", "bottleneck←", "left←"]),
    };
    topology::connect(network, hosts, &path);
    path
}

fn run<H: Host>(
    network: &mut Network<H>,
    path: &Path,
    simulated: Duration,
    read: impl Fn(&Network<H>) -> u64,
) {
    network.run_until(Instant::ZERO + simulated);
    let bottleneck = [path.forward[1], path.reverse[1]];
    let crossed = bottleneck.map(|link| network.link(link).stats().delivered.packets);
    println!(
        "{}\t{:.2}",
        crossed.iter().sum::<u64>(),
        read(network) as f64 * 8e-6 / simulated.as_secs_f64()
    );
}

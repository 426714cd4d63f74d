//! Test networks: hosts, routers and links made of network namespaces. Needs root, `ip`, `tc` and `nft`.
//!
//! Every host is a namespace of its own and is deleted when the [`Network`] is dropped.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A set of namespaces that belong together.
#[derive(Debug)]
pub(crate) struct Network {
    prefix: String,
    hosts: Vec<Host>,
    _turn: Option<Turn>,
}

/// The right to have networks: links share the processor, so that one test at a time has it.
#[derive(Debug)]
pub(crate) struct Turn {
    _guard: MutexGuard<'static, ()>,
}

impl Turn {
    pub(crate) fn take() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        // A test that failed has taken its namespaces away.
        let _guard = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        Self { _guard }
    }
}

impl Network {
    /// An empty network; `None` without the right to make namespaces.
    pub(crate) fn new() -> Option<Self> {
        Self::make(Some(Turn::take()))
    }

    /// The same beside others of a test that has taken its turn.
    pub(crate) fn beside_others(_turn: &Turn) -> Option<Self> {
        Self::make(None)
    }

    fn make(turn: Option<Turn>) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut network = Self {
            prefix: format!("field-{}-{number}", std::process::id()),
            hosts: Vec::new(),
            _turn: turn,
        };
        let probe = network.namespace("probe");
        succeeds(&mut ip(&["netns", "add", &probe])).then(|| {
            network.hosts.push(Host { namespace: probe });
            network
        })
    }

    fn namespace(&self, name: &str) -> String {
        format!("{}-{name}", self.prefix)
    }

    /// A host without any link.
    pub(crate) fn host(&mut self, name: &str) -> Host {
        let host = Host {
            namespace: self.namespace(name),
        };
        check(&mut ip(&["netns", "add", &host.namespace]));
        self.hosts.push(host.clone());
        host.run("ip link set lo up");
        host
    }

    /// A host that forwards packets.
    pub(crate) fn router(&mut self, name: &str) -> Host {
        let router = self.host(name);
        router.run("sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
        router
    }

    /// A client, a router and a server in a line, with IPv6: fd00:1::/64 is `up0` of the client and `lan` of the router, fd00:2::/64
    /// is `wan` of the router, shaped to `rate` Mbit/s, and `eth0` of the server, fd00:2::5. The client has no address yet.
    pub(crate) fn ipv6_line(&mut self, rate: u32) -> [Host; 3] {
        let (client, server) = (self.host("client"), self.host("server"));
        let router = self.router("router");
        client.connect("up0", &router, "lan");
        router.connect("wan", &server, "eth0");
        router.add_address("lan", "fd00:1::1/64");
        router.add_address("wan", "fd00:2::1/64");
        server.add_address("eth0", "fd00:2::5/64");
        server.run("ip -6 route add default via fd00:2::1");
        router.shape("wan", rate);
        [client, router, server]
    }

    /// A switch: devices that are plugged into it form one network.
    pub(crate) fn switch(&mut self, name: &str) -> Host {
        let switch = self.host(name);
        switch.run("ip link add bridge type bridge");
        switch.run("ip link set bridge up");
        switch
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in &self.hosts {
            // A namespace lives as long as a process is in it; the tests have ended theirs.
            succeeds(&mut ip(&["netns", "delete", &host.namespace]));
        }
    }
}

/// A namespace: a host, a router or a switch.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    namespace: String,
}

impl Host {
    /// A program that runs on this host.
    pub(crate) fn command(&self, program: &str) -> Command {
        ip(&["netns", "exec", &self.namespace, program])
    }

    /// Runs a command line without quotation marks; it must succeed.
    pub(crate) fn run(&self, line: &str) {
        check(&mut self.line(line));
    }

    /// Runs a command line that may fail, for instance because nothing is there to delete.
    pub(crate) fn try_run(&self, line: &str) -> bool {
        succeeds(&mut self.line(line))
    }

    fn line(&self, line: &str) -> Command {
        let mut words = line.split_whitespace();
        let mut command = self.command(words.next().unwrap());
        command.args(words);
        command
    }

    /// Joins `device` of this host and `peer_device` of `peer` by a link without a limit.
    pub(crate) fn connect(&self, device: &str, peer: &Self, peer_device: &str) {
        let ends = [
            "link",
            "add",
            device,
            "netns",
            &self.namespace,
            "type",
            "veth",
            "peer",
            "name",
            peer_device,
            "netns",
            &peer.namespace,
        ];
        check(&mut ip(&ends));
        for (host, device) in [(self, device), (peer, peer_device)] {
            host.run(&format!("sysctl -q net.ipv6.conf.{device}.accept_dad=0"));
            host.run(&format!("ip link set {device} up"));
        }
    }

    /// Plugs `device` of this host into a switch.
    pub(crate) fn plug_into(&self, device: &str, switch: &Self, port: &str) {
        self.connect(device, switch, port);
        switch.run(&format!("ip link set {port} master bridge"));
    }

    /// Gives `device` an address with its prefix length.
    pub(crate) fn add_address(&self, device: &str, address: &str) {
        let nodad = if address.contains(':') { " nodad" } else { "" };
        self.run(&format!("ip address add {address} dev {device}{nodad}"));
    }

    /// Gives `device` another address; a NAT forgets the mappings to the old one.
    pub(crate) fn replace_address(&self, device: &str, old: &str, new: &str) {
        self.run(&format!("ip address delete {old} dev {device}"));
        self.add_address(device, new);
        self.try_run("conntrack -F");
    }

    /// Limits what leaves by `device`, with a queue of 30 ms.
    pub(crate) fn shape(&self, device: &str, mbit: u32) {
        self.shape_with_queue(device, mbit, 30);
    }

    /// Limits what leaves by `device`, with a queue of `queue_ms`.
    pub(crate) fn shape_with_queue(&self, device: &str, mbit: u32, queue_ms: u32) {
        self.run(&format!(
            "tc qdisc replace dev {device} root tbf rate {mbit}mbit burst 16kb latency {queue_ms}ms"
        ));
    }

    /// Translates the source addresses of what leaves by `device` into the router's own.
    pub(crate) fn masquerade(&self, device: &str) {
        self.run("nft add table ip nat");
        self.run("nft add chain ip nat leave { type nat hook postrouting priority 100 ; }");
        self.map_ports(device, "");
    }

    /// Forgets all mappings, as a router does that is switched off and on: the next ones have ports of the range `ports`.
    pub(crate) fn restart_nat(&self, device: &str, ports: &str) {
        self.map_ports(device, ports);
        self.try_run("conntrack -F");
    }

    fn map_ports(&self, device: &str, ports: &str) {
        self.run("nft flush chain ip nat leave");
        // A range of ports is only valid for a transport protocol.
        let rule = if ports.is_empty() {
            format!("nft add rule ip nat leave oifname {device} masquerade")
        } else {
            format!("nft add rule ip nat leave oifname {device} udp dport 1-65535 masquerade to :{ports}")
        };
        self.run(&rule);
    }

    /// Forwards everything again.
    pub(crate) fn forward_all(&self) {
        self.forward_all_of("filter");
    }

    /// Forwards again what `table` dropped.
    pub(crate) fn forward_all_of(&self, table: &str) {
        self.run(&format!("nft delete table inet {table}"));
    }

    /// Has batches of datagrams segmented before they leave by `device`: a filter on their way would see them as one packet.
    pub(crate) fn segment(&self, device: &str) {
        self.run(&format!("ip link set dev {device} gso_max_segs 1"));
    }

    /// Bytes that have left by `device`.
    pub(crate) fn bytes_sent(&self, device: &str) -> u64 {
        let file = format!("/sys/class/net/{device}/statistics/tx_bytes");
        let read = self.command("cat").arg(file).output().unwrap();
        String::from_utf8(read.stdout).unwrap().trim().parse().unwrap()
    }

    /// Drops what matches `rule` on its way through this router, in the syntax of nft.
    pub(crate) fn drop_forwarded(&self, rule: &str) {
        self.drop_forwarded_in("filter", rule);
    }

    /// The same in a table of its own, which can be deleted alone.
    pub(crate) fn drop_forwarded_in(&self, table: &str, rule: &str) {
        self.run(&format!("nft add table inet {table}"));
        self.run(&format!(
            "nft add chain inet {table} through {{ type filter hook forward priority 0 ; }}"
        ));
        self.run(&format!("nft add rule inet {table} through {rule} drop"));
    }
}

fn ip(arguments: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(arguments);
    command
}

fn check(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

//! The network of a scenario, and how it changes.

use std::cell::RefCell;

use super::draw::{RandomScenario, Uplink, What};
use crate::network::{Host, Network, Turn};

/// A network.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) client: Host,
    pub(crate) server: Host,
    scenario: RandomScenario,
    lines: Vec<Line>,
    switch: Host,
    _network: Network,
}

/// An uplink as it is now.
#[derive(Debug)]
struct Line {
    uplink: Uplink,
    isp: Host,
    /// The NAT nearest to the server, and its device there.
    outermost: (Host, &'static str),
    /// The last number of the client's addresses, and of the public address.
    now: RefCell<(u32, u32)>,
}

impl Site {
    /// `None` without the right to make namespaces.
    pub(crate) fn make(scenario: &RandomScenario, turn: &Turn) -> Option<Self> {
        let mut network = Network::beside_others(turn)?;
        let client = network.host("client");
        let server = network.host("server");
        let switch = network.switch("switch");
        server.plug_into("eth0", &switch, "server");
        server.segment("eth0");
        let mut site = Self {
            client,
            server,
            scenario: scenario.clone(),
            lines: Vec::new(),
            switch,
            _network: network,
        };
        site.add_server_addresses("eth0", 1);
        for (number, uplink) in scenario.uplinks.iter().enumerate() {
            site.add_uplink(number, *uplink);
        }
        Some(site)
    }

    /// The server's addresses, as `--to` takes them.
    pub(crate) fn server_addresses(&self) -> String {
        let family = self.scenario.family;
        let v4 = family.has_v4().then_some("203.0.113.1");
        let v6 = family.has_v6().then_some("2001:db8::1");
        v4.into_iter().chain(v6).collect::<Vec<_>>().join(",")
    }

    /// The client's devices, as `--from` takes them.
    pub(crate) fn devices(&self) -> String {
        let names: Vec<String> = (0..self.lines.len()).map(device).collect();
        names.join(",")
    }

    fn add_server_addresses(&self, device: &str, last: u32) {
        self.add(
            &self.server,
            device,
            (&format!("203.0.113.{last}/24"), &format!("2001:db8::{last}/64")),
        );
    }

    /// Gives `device` those of an IPv4 and an IPv6 address whose families the scenario has.
    fn add(&self, host: &Host, device: &str, (v4, v6): (&str, &str)) {
        if self.scenario.family.has_v4() {
            host.add_address(device, v4);
        }
        if self.scenario.family.has_v6() {
            host.add_address(device, v6);
        }
    }

    fn add_uplink(&mut self, number: usize, uplink: Uplink) {
        let subnet = number + 1;
        let public = 11 + number as u32;
        let isp = self._network.router(&format!("isp{number}"));
        self.client.connect(&device(number), &isp, "lan");
        self.client.segment(&device(number));
        self.add(
            &isp,
            "lan",
            (&format!("192.168.{subnet}.1/24"), &format!("fd00:{subnet}::1/64")),
        );
        // An IPv6 address would go when the cable is pulled out of a router that has only this one.
        isp.run("sysctl -q net.ipv6.conf.lan.keep_addr_on_down=1");
        let outside = (format!("203.0.113.{public}/24"), format!("2001:db8::{public}/64"));
        let outermost = if uplink.nats < 2 {
            isp.plug_into("wan", &self.switch, &format!("isp{number}"));
            self.add(&isp, "wan", (&outside.0, &outside.1));
            (isp.clone(), "wan")
        } else {
            let carrier = self._network.router(&format!("cgn{number}"));
            isp.connect("wan", &carrier, "inside");
            carrier.plug_into("outside", &self.switch, &format!("cgn{number}"));
            self.add(&carrier, "outside", (&outside.0, &outside.1));
            self.add(
                &carrier,
                "inside",
                (&format!("100.64.{number}.1/24"), &format!("fd64:{number}::1/64")),
            );
            self.add(
                &isp,
                "wan",
                (&format!("100.64.{number}.2/24"), &format!("fd64:{number}::2/64")),
            );
            if self.scenario.family.has_v4() {
                isp.run(&format!("ip route add default via 100.64.{number}.1"));
                carrier.masquerade("outside");
            }
            if self.scenario.family.has_v6() {
                isp.run(&format!("ip route add default via fd64:{number}::1"));
                carrier.run(&format!("ip route add fd00:{subnet}::/64 via fd64:{number}::2"));
            }
            (carrier, "outside")
        };
        if self.scenario.family.has_v4() && uplink.nats > 0 {
            isp.masquerade("wan");
        } else if self.scenario.family.has_v4() {
            self.server.run(&format!(
                "ip route add 192.168.{subnet}.0/24 via 203.0.113.{public}"
            ));
        }
        if self.scenario.family.has_v6() {
            self.server
                .run(&format!("ip route add fd00:{subnet}::/64 via 2001:db8::{public}"));
        }
        self.lines.push(Line {
            uplink,
            isp,
            outermost,
            now: RefCell::new((5, public)),
        });
        self.set_rate(number, uplink.mbit);
        self.configure(number);
    }

    fn set_rate(&self, number: usize, mbit: u32) {
        let line = &self.lines[number];
        for device in ["lan", "wan"] {
            line.isp.shape_with_queue(device, mbit, line.uplink.queue_ms);
        }
    }

    /// Gives uplink `number` the addresses and routes that it is to have now, as a DHCP client does.
    fn configure(&self, number: usize) {
        let (device, subnet) = (device(number), number + 1);
        let last = self.lines[number].now.borrow().0;
        let metric = 100 * subnet;
        let v4 = (
            format!("192.168.{subnet}.{last}"),
            format!("192.168.{subnet}.1"),
            24,
        );
        let v6 = (format!("fd00:{subnet}::{last}"), format!("fd00:{subnet}::1"), 64);
        let mut versions = Vec::new();
        if self.scenario.family.has_v4() {
            versions.push(v4);
        }
        if self.scenario.family.has_v6() {
            versions.push(v6);
        }
        for (address, gateway, length) in versions {
            let version = if length == 24 { "-4" } else { "-6" };
            let nodad = if length == 24 { "" } else { "nodad" };
            let client = &self.client;
            client.run(&format!(
                "ip address replace {address}/{length} dev {device} {nodad}"
            ));
            client.run(&format!(
                "ip {version} route replace default via {gateway} dev {device} metric {metric}"
            ));
            if self.scenario.policy_routing {
                client.run(&format!(
                    "ip {version} route replace default via {gateway} dev {device} table {metric}"
                ));
                client.try_run(&format!("ip {version} rule delete from {address}"));
                client.run(&format!("ip {version} rule add from {address} table {metric}"));
            }
        }
    }

    /// It happens.
    pub(crate) fn begin(&self, what: What) {
        match what {
            What::Unplugged(uplink) => self.lines[uplink].isp.run("ip link set lan down"),
            What::SwitchedOff(uplink) => self.client.run(&format!("ip link set {} down", device(uplink))),
            What::AddressLost(uplink) => self.take_addresses(uplink),
            What::Renumbered(uplink) => {
                self.take_addresses(uplink);
                self.renumber(uplink);
            }
            What::MuteClient(uplink) => self.lines[uplink].isp.drop_forwarded_in("mute", "iifname lan"),
            What::MuteServer(uplink) => self.lines[uplink].isp.drop_forwarded_in("mute", "iifname wan"),
            What::NatRestarted(uplink) => {
                let (nat, device) = &self.lines[uplink].outermost;
                nat.restart_nat(device, "20000-60000");
            }
            What::PublicAddress(uplink) => {
                let line = &self.lines[uplink];
                let public = &mut line.now.borrow_mut().1;
                let (nat, device) = &line.outermost;
                let old = format!("203.0.113.{public}/24");
                *public += 20;
                nat.replace_address(device, &old, &format!("203.0.113.{public}/24"));
            }
            What::Hole {
                uplink,
                size,
                silent: true,
            } => {
                let rule = format!("meta length > {size}");
                self.lines[uplink].isp.drop_forwarded_in("hole", &rule);
            }
            What::Hole {
                uplink,
                size,
                silent: false,
            } => self.set_mtu(uplink, size),
            What::Rate { uplink, mbit } => self.set_rate(uplink, mbit),
            What::ServerAddress => {
                self.server.plug_into("eth1", &self.switch, "server1");
                self.server.segment("eth1");
                self.add_server_addresses("eth1", 2);
            }
            What::SuspendedSender | What::SuspendedReceiver => {}
        }
    }

    /// It is over.
    pub(crate) fn end(&self, what: What) {
        match what {
            What::Unplugged(uplink) => self.lines[uplink].isp.run("ip link set lan up"),
            What::SwitchedOff(uplink) => {
                self.client.run(&format!("ip link set {} up", device(uplink)));
                self.configure(uplink);
            }
            What::AddressLost(uplink) => self.renumber(uplink),
            What::MuteClient(uplink) | What::MuteServer(uplink) => {
                self.lines[uplink].isp.forward_all_of("mute");
            }
            What::Hole {
                uplink, silent: true, ..
            } => self.lines[uplink].isp.forward_all_of("hole"),
            What::Hole {
                uplink,
                silent: false,
                ..
            } => self.set_mtu(uplink, 1_500),
            What::Rate { uplink, .. } => self.set_rate(uplink, self.scenario.uplinks[uplink].mbit),
            What::ServerAddress => self.server.run("ip link delete eth1"),
            What::Renumbered(_)
            | What::NatRestarted(_)
            | What::PublicAddress(_)
            | What::SuspendedSender
            | What::SuspendedReceiver => {}
        }
    }

    /// A router whose next link is narrow: it answers large packets by ICMP.
    fn set_mtu(&self, uplink: usize, mtu: u32) {
        self.lines[uplink]
            .isp
            .run(&format!("ip link set dev wan mtu {mtu}"));
    }

    fn take_addresses(&self, uplink: usize) {
        let device = device(uplink);
        self.client
            .run(&format!("ip address flush dev {device} scope global"));
    }

    fn renumber(&self, uplink: usize) {
        self.lines[uplink].now.borrow_mut().0 += 1;
        self.configure(uplink);
    }
}

fn device(number: usize) -> String {
    format!("up{number}")
}

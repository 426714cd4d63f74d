//! A laptop with several uplinks that calls a server: each uplink has a router of its own, with or without NAT.
//!
//! ```text
//!            ┌─ up0 ── lan [isp0: NAT, tbf] wan ─┐
//!   client ──┤                                   ├─ switch ── server (one address)
//!            └─ up1 ── lan [isp1: NAT, tbf] wan ─┘
//! ```

use super::network::{Host, Network};
use super::transfer::Order;

/// How the network is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// The rate of each uplink, both ways, in Mbit/s.
    pub(crate) rates: &'static [u32],
    /// Whether the routers translate addresses.
    pub(crate) nat: bool,
    /// Whether the client has a routing table for each source address, so that a packet leaves by the device whose
    /// address it bears.
    pub(crate) policy_routing: bool,
}

/// The network of the drawing.
#[derive(Debug)]
pub(crate) struct Uplinks {
    pub(crate) client: Host,
    pub(crate) isps: Vec<Host>,
    pub(crate) server: Host,
    /// The NAT behind the routers of the providers, if there is one.
    pub(crate) carrier: Option<Host>,
    /// What the server and the outermost routers are plugged into.
    pub(crate) switch: Host,
    pub(crate) network: Network,
    settings: Settings,
}

/// The server's address.
pub(crate) const SERVER: &str = "203.0.113.1";

/// Where the providers' routers are plugged in.
#[derive(Clone, Debug)]
struct Upstream {
    switch: Host,
    /// The first three numbers of the addresses there.
    subnet: &'static str,
    /// The router that leads to the server, if that is not in the same network, and its address.
    gateway: Option<(Host, String)>,
}

impl Uplinks {
    /// `None` without the right to make namespaces.
    pub(crate) fn make(settings: Settings) -> Option<Self> {
        Self::make_behind(settings, |_, upstream| upstream)
    }

    /// The same behind one more NAT, that of a carrier: the server sees a single address.
    pub(crate) fn make_behind_one_address(settings: Settings) -> Option<Self> {
        Self::make_behind(settings, |network, upstream| {
            let carrier = network.router("cgn");
            let inner = network.switch("inner");
            carrier.plug_into("outside", &upstream.switch, "cgn");
            carrier.add_address("outside", &format!("{}.9/24", upstream.subnet));
            carrier.masquerade("outside");
            carrier.plug_into("inside", &inner, "cgn");
            carrier.add_address("inside", "100.64.0.1/24");
            Upstream {
                switch: inner,
                subnet: "100.64.0",
                gateway: Some((carrier, "100.64.0.1".to_owned())),
            }
        })
    }

    /// With what `extend` puts between the providers' routers and the server.
    fn make_behind(
        settings: Settings,
        extend: impl FnOnce(&mut Network, Upstream) -> Upstream,
    ) -> Option<Self> {
        let mut network = Network::new()?;
        let client = network.host("client");
        let server = network.host("server");
        let switch = network.switch("switch");
        server.plug_into("eth0", &switch, "server");
        server.add_address("eth0", &format!("{SERVER}/24"));
        let upstream = Upstream {
            switch: switch.clone(),
            subnet: "203.0.113",
            gateway: None,
        };
        let upstream = extend(&mut network, upstream);
        let mut uplinks = Self {
            client,
            isps: Vec::new(),
            server,
            carrier: upstream.gateway.clone().map(|(carrier, _)| carrier),
            switch,
            settings,
            network,
        };
        for number in 0..settings.rates.len() {
            uplinks.add_uplink(number, &upstream);
        }
        Some(uplinks)
    }

    fn add_uplink(&mut self, number: usize, upstream: &Upstream) {
        let isp = self.network.router(&format!("isp{number}"));
        let outside = format!("{}.{}", upstream.subnet, 11 + number);
        self.client.connect(&device(number), &isp, "lan");
        isp.plug_into("wan", &upstream.switch, &format!("isp{number}"));
        isp.add_address("lan", &format!("{}/24", gateway(number)));
        isp.add_address("wan", &format!("{outside}/24"));
        if let Some((_, gateway)) = &upstream.gateway {
            isp.run(&format!("ip route add default via {gateway}"));
        }
        isp.shape("wan", self.settings.rates[number]);
        isp.shape("lan", self.settings.rates[number]);
        if self.settings.nat {
            isp.masquerade("wan");
        } else {
            let subnet = subnet(number);
            self.server
                .run(&format!("ip route add {subnet}.0/24 via {outside}"));
        }
        self.isps.push(isp);
        self.bring_up(number);
    }

    /// A transfer of `bytes` bytes to the server, with these options of `send`.
    pub(crate) fn order<'a>(&'a self, bytes: usize, send: &'a [&'a str]) -> Order<'a> {
        Order {
            client: &self.client,
            server: &self.server,
            bytes,
            send,
            recv: &["--listen", SERVER],
        }
    }

    /// Gives the server one more interface with this address.
    pub(crate) fn add_server_interface(&self, device: &str, address: &str) {
        self.server.plug_into(device, &self.switch, device);
        self.server.add_address(device, &format!("{address}/24"));
    }

    /// Gives uplink `number` its address and its routes, as a DHCP client does.
    pub(crate) fn bring_up(&self, number: usize) {
        self.configure(number, &address(number));
    }

    /// The same with another address.
    pub(crate) fn configure(&self, number: usize, address: &str) {
        let (device, gateway) = (device(number), gateway(number));
        let metric = 100 * (number + 1);
        self.client.add_address(&device, &format!("{address}/24"));
        self.client.run(&format!(
            "ip route add default via {gateway} dev {device} metric {metric}"
        ));
        if self.settings.policy_routing {
            let table = 100 + number;
            self.client.run(&format!(
                "ip route replace default via {gateway} dev {device} table {table}"
            ));
            self.client
                .run(&format!("ip rule add from {address} table {table}"));
        }
    }

    /// Removes the address and the routes of uplink `number`.
    pub(crate) fn take_down(&self, number: usize) {
        self.client
            .run(&format!("ip address flush dev {} scope global", device(number)));
    }
}

/// The client's device of uplink `number`.
pub(crate) fn device(number: usize) -> String {
    format!("up{number}")
}

/// The client's address there. Private, and of different networks.
pub(crate) fn address(number: usize) -> String {
    format!("{}.5", subnet(number))
}

fn gateway(number: usize) -> String {
    format!("{}.1", subnet(number))
}

fn subnet(number: usize) -> String {
    match number {
        0 => "192.168.1".to_owned(),
        _ => format!("10.0.{}", number - 1),
    }
}

//! Random impairments of the network: cuts, loss, reordering, duplication, corruption, changes of rate and delay, drops of large
//! packets, NAT rebinding, NATs that take another public address, hosts that get other addresses.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use anabranch_netsim::link::{Loss, QueueConfig, Reorder};
use anabranch_netsim::topology::{self, Path};
use anabranch_netsim::{HostId, LinkChange, LinkConfig, Network, Probability, Side};
use anabranch_proto::DEFAULT_PORT;
use anabranch_types::{Instant, Rate, Rng};

use crate::host::SoakHost;

/// Mbit/s and one-way milliseconds of each path, for a thousand associations.
pub(crate) const PATHS: [(f64, u64); 3] = [(30.0, 10), (20.0, 40), (10.0, 80)];
/// Maximum loss, in packets per thousand, of all paths but the impaired one, so that every association survives.
const MAX_LOSS_OF_OTHERS: u64 = 30;

/// Paths and their impairments. At most one path is cut, severely impaired, or has new addresses at a time.
pub(crate) struct Impairments {
    hosts: (HostId, HostId),
    paths: Vec<Path>,
    rates: Vec<Rate>,
    rng: Rng,
    /// The path that is cut, severely impaired or has new addresses, and until when.
    impaired: Option<(usize, Instant)>,
    /// The last byte of the newest address.
    newest: u8,
}

pub(crate) fn addresses(of: fn(u8) -> IpAddr) -> Vec<SocketAddr> {
    let numbers = 0..PATHS.len() as u8;
    numbers
        .map(|path| SocketAddr::new(of(path), DEFAULT_PORT))
        .collect()
}

impl Impairments {
    /// Creates the paths, with capacity for `associations` associations.
    pub(crate) fn new(
        network: &mut Network<SoakHost>,
        hosts: (HostId, HostId),
        associations: usize,
        rng: Rng,
    ) -> Self {
        let rates = PATHS.map(|(mbit, _)| Rate::bits_per_second((mbit * 1e3) as u64 * associations as u64));
        let links = rates.iter().zip(PATHS).map(|(rate, (_, millis))| {
            let queue = QueueConfig::Packets(50 + associations as u32 / 2);
            LinkConfig::new(*rate, Duration::from_millis(millis)).queue(queue)
        });
        let paths = topology::disjoint_paths(network, hosts, &links.collect::<Vec<_>>());
        Self {
            hosts,
            paths,
            rates: rates.into(),
            rng,
            impaired: None,
            newest: 2,
        }
    }

    /// Applies a random change. Returns a path whose addresses are to change.
    pub(crate) fn change_randomly(&mut self, network: &mut Network<SoakHost>) -> Option<usize> {
        let path = self.rng.below(self.paths.len() as u64) as usize;
        if let Some((impaired, _)) = self.impaired.take_if(|(_, until)| *until <= network.now()) {
            self.restore(network, impaired);
        }
        match self.rng.below(36) {
            0..4 if self.impaired.is_none() => {
                self.select_impaired(network, path);
                self.change(network, path, &LinkChange::Cut);
            }
            4..8 if self.impaired.is_none() => {
                self.select_impaired(network, path);
                self.impair(network, path, 200);
            }
            8..20 if self.impaired.is_none_or(|(impaired, _)| impaired != path) => {
                self.impair(network, path, MAX_LOSS_OF_OTHERS);
            }
            20..24 => {
                let percent = 50 + self.rng.below(100);
                let rate = Rate::bits_per_second(self.rates[path].as_bits_per_second() * percent / 100);
                self.change(network, path, &LinkChange::Rate(Some(rate)));
            }
            24..28 => {
                let delay = Duration::from_millis(self.rng.below(200));
                self.change(network, path, &LinkChange::Delay(delay));
            }
            28 => self.rebind(network, path, self.paths[path].near_addr),
            29..32 if self.impaired.is_none() => {
                self.select_impaired(network, path);
                return Some(path);
            }
            32..34 => {
                let size = 1_280 + self.rng.below(200) as u32;
                self.change(network, path, &LinkChange::Hole(size));
            }
            34 => self.change(network, path, &LinkChange::Hole(u32::MAX)),
            _ => {}
        }
        None
    }

    /// The NAT of the near end takes another public address, or one end gets another address.
    pub(crate) fn change_addresses(&mut self, network: &mut Network<SoakHost>, path: usize) {
        match self.rng.below(3) {
            0 => self.renumber(network, path, Side::Near),
            1 => self.renumber(network, path, Side::Far),
            _ => {
                let public = self.new_address(path, 3);
                self.rebind(network, path, public);
            }
        }
    }

    /// The NAT of the near end uses another port of `public`.
    fn rebind(&mut self, network: &mut Network<SoakHost>, path: usize, public: IpAddr) {
        let inside = SocketAddr::new(self.paths[path].near_addr, DEFAULT_PORT);
        let outside = SocketAddr::new(public, 20_000 + self.rng.below(1_000) as u16);
        network.rebind(inside, outside);
    }

    /// One end gets another address.
    fn renumber(&mut self, network: &mut Network<SoakHost>, path: usize, side: Side) {
        let at = |address| SocketAddr::new(address, DEFAULT_PORT);
        let former = at(self.paths[path].end(side));
        let address = self.new_address(path, 1 + side.index() as u8);
        self.paths[path].renumber(network, self.hosts, side, address);
        let host = [self.hosts.0, self.hosts.1][side.index()];
        network.act(host, |host, _| host.renumber(former, at(address)));
        if side == Side::Far {
            network.act(self.hosts.0, |host, _| host.call_instead(former, at(address)));
        }
    }

    fn new_address(&mut self, path: usize, network: u8) -> IpAddr {
        self.newest = self.newest % 250 + 1;
        Ipv4Addr::new(10, path as u8, network, self.newest).into()
    }

    /// Removes all impairments.
    pub(crate) fn clear(&mut self, network: &mut Network<SoakHost>) {
        self.impaired = None;
        for path in 0..self.paths.len() {
            self.restore(network, path);
        }
    }

    fn select_impaired(&mut self, network: &Network<SoakHost>, path: usize) {
        let until = network.now() + Duration::from_millis(500 + self.rng.below(20_000));
        self.impaired = Some((path, until));
    }

    fn restore(&self, network: &mut Network<SoakHost>, path: usize) {
        self.change(network, path, &LinkChange::Heal);
        self.change(network, path, &LinkChange::Hole(u32::MAX));
        self.change(network, path, &LinkChange::Rate(Some(self.rates[path])));
        self.set_impairments(network, path, [0; 4]);
    }

    /// Sets random impairments of up to `per_mille` packets in a thousand each.
    fn impair(&mut self, network: &mut Network<SoakHost>, path: usize, per_mille: u64) {
        let all = [(); 4].map(|()| self.rng.below(per_mille + 1));
        self.set_impairments(network, path, all);
    }

    fn set_impairments(&self, network: &mut Network<SoakHost>, path: usize, per_mille: [u64; 4]) {
        let [lose, reorder, duplicate, corrupt] =
            per_mille.map(|chance| Probability::of(chance as f64 / 1_000.0));
        let held_back = Reorder {
            chance: reorder,
            hold: Duration::from_millis(50),
        };
        for what in [
            LinkChange::Loss(Loss::Bernoulli(lose)),
            LinkChange::Reorder(held_back),
            LinkChange::Duplicate(duplicate),
            LinkChange::Corrupt(corrupt),
        ] {
            self.change(network, path, &what);
        }
    }

    fn change(&self, network: &mut Network<SoakHost>, path: usize, what: &LinkChange) {
        let Path { forward, reverse, .. } = &self.paths[path];
        for link in forward.iter().chain(reverse) {
            network.change_link(*link, what.clone());
        }
    }
}

//! Who owns the state of the paths? One set: facts that policies read, and machinery that they do not.

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_policy::{PathFacts, Reachability};
use anabranch_types::{Instant, PathAddr, PathId};

use super::{Path, PathStatistics, RttEstimator};
use anabranch_policy::options::RtoParameters;

/// Bytes of a common header (RFC 9260 §3.1).
const COMMON_HEADER: u16 = 12;
/// Smallest packet that every path is taken to carry, whatever MTU was configured.
const SMALLEST_MTU: u16 = 576;

/// All paths of one association. Ids are dense: path i is at index i of both arrays.
#[derive(Debug, Default)]
pub(crate) struct PathSet {
    facts: Vec<PathFacts>,
    inner: Vec<Path>,
}

/// Which path did a packet come over?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrived {
    /// This one.
    On(PathId),
    /// This one, but the peer's encapsulation port is new: a NAT between us has a new binding (RFC 6951 §5.4).
    Rebound(PathId),
    /// The peer is not known to have this address.
    Unknown,
}

impl PathSet {
    pub(crate) fn new(pairs: &[PathAddr], mtu: u16, rto: RtoParameters) -> Self {
        let mut set = Self {
            facts: Vec::with_capacity(pairs.len()),
            inner: Vec::with_capacity(pairs.len()),
        };
        for (index, addr) in pairs.iter().enumerate() {
            let id = PathId(u8::try_from(index).expect("pairing makes few paths"));
            let max_packet = max_packet(addr, mtu);
            let mut facts = PathFacts::new(id, max_packet, (max_packet - COMMON_HEADER) & !3, rto.initial);
            facts.primary = index == 0;
            set.facts.push(facts);
            set.inner.push(Path::new(*addr, RttEstimator::new(rto)));
        }
        set
    }

    pub(crate) fn facts(&self) -> &[PathFacts] {
        &self.facts
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..self.inner.len()).map(|index| PathId(index as u8))
    }

    pub(crate) fn fact(&self, id: PathId) -> &PathFacts {
        &self.facts[id.index()]
    }

    pub(crate) fn fact_mut(&mut self, id: PathId) -> &mut PathFacts {
        &mut self.facts[id.index()]
    }

    pub(crate) fn path(&self, id: PathId) -> &Path {
        &self.inner[id.index()]
    }

    pub(crate) fn path_mut(&mut self, id: PathId) -> &mut Path {
        &mut self.inner[id.index()]
    }

    pub(crate) fn contains(&self, id: PathId) -> bool {
        id.index() < self.inner.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&PathFacts, &Path)> {
        self.facts.iter().zip(&self.inner)
    }

    pub(crate) fn primary(&self) -> PathId {
        self.facts
            .iter()
            .find(|facts| facts.primary)
            .map_or(PathId(0), |facts| facts.id)
    }

    pub(crate) fn set_primary(&mut self, primary: PathId) {
        for facts in &mut self.facts {
            facts.primary = facts.id == primary;
        }
    }

    /// The path with these two ends, exactly or as nearly as the peer's addresses allow.
    pub(crate) fn arrived(&self, addr: PathAddr) -> Arrived {
        let position = |matches: &dyn Fn(&PathAddr) -> bool| {
            self.inner
                .iter()
                .position(|path| matches(&path.addr))
                .map(|index| PathId(index as u8))
        };
        let here = |known: &PathAddr| covers(known.local, addr.local);
        if let Some(id) = position(&|known| known.remote == addr.remote && here(known)) {
            return Arrived::On(id);
        }
        if let Some(id) = position(&|known| known.remote == addr.remote) {
            return Arrived::On(id);
        }
        if let Some(id) = position(&|known| known.remote.ip() == addr.remote.ip() && here(known)) {
            return Arrived::Rebound(id);
        }
        Arrived::Unknown
    }

    /// Whether the peer is known to have this address.
    pub(crate) fn leads_to(&self, ip: IpAddr) -> bool {
        self.inner.iter().any(|path| path.addr.remote.ip() == ip)
    }

    pub(crate) fn remotes(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.inner.iter().map(|path| path.addr.remote)
    }

    /// Copies what the estimator of `id` says into its facts.
    pub(crate) fn publish_rtt(&mut self, id: PathId) {
        let rtt = &self.inner[id.index()].rtt;
        let facts = &mut self.facts[id.index()];
        facts.srtt = rtt.smoothed();
        facts.rttvar = rtt.variation();
        facts.min_rtt = rtt.smallest();
        facts.rto = rtt.rto();
    }

    /// Chunks sent on `id` arrived.
    pub(crate) fn chunks_arrived(&mut self, id: PathId, chunks: u32) {
        let rate = &mut self.inner[id.index()].loss_rate;
        rate.on_acknowledged(chunks);
        self.facts[id.index()].loss_per_million = rate.per_million();
    }

    /// Chunks sent on `id` were declared lost.
    pub(crate) fn chunks_lost(&mut self, id: PathId, chunks: u32) {
        let rate = &mut self.inner[id.index()].loss_rate;
        rate.on_lost(chunks);
        let facts = &mut self.facts[id.index()];
        facts.loss_per_million = rate.per_million();
        facts.lost_chunks += u64::from(chunks);
    }

    /// The first usable path over which the peer wants a SACK at once.
    pub(crate) fn sack_asked(&self) -> Option<PathId> {
        let mut all = self.iter();
        let asked = all.find(|(facts, path)| path.sack_asked && facts.is_usable());
        asked.map(|(facts, _)| facts.id)
    }

    /// The `number`th SACK of the association left on `id`. Nobody waits any more for one on a path that is not
    /// usable.
    pub(crate) fn sack_sent(&mut self, id: PathId, number: u64) {
        for (facts, path) in self.facts.iter_mut().zip(&mut self.inner) {
            path.sack_asked &= facts.id != id && facts.is_usable();
        }
        let facts = &mut self.facts[id.index()];
        facts.data_since_sack = false;
        facts.last_sack = number;
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.inner
            .iter()
            .flat_map(|path| {
                [
                    path.t3.expires(),
                    path.heartbeat.deadline(),
                    path.release_at,
                    path.blocked_until,
                ]
            })
            .flatten()
            .min()
    }

    pub(crate) fn usable_count(&self) -> u32 {
        self.facts.iter().filter(|facts| facts.is_usable()).count() as u32
    }

    /// Largest DATA chunk that fits every path: what is lost on one must fit the others (RFC 9260 §6.9).
    pub(crate) fn smallest_data_chunk(&self) -> usize {
        self.facts
            .iter()
            .map(|facts| usize::from(facts.max_data_chunk))
            .min()
            .unwrap_or_default()
    }

    /// Whether the peer is known to be at the far end of `id`, which may be the only one and dead.
    pub(crate) fn is_confirmed(&self, id: PathId) -> bool {
        let facts = self.facts.get(id.index());
        facts.is_some_and(|facts| facts.reachability != Reachability::Unconfirmed)
    }

    /// A path to send control chunks on: `preferred` if it works, else the best of the others.
    pub(crate) fn working(&self, preferred: PathId) -> PathId {
        let rank = |facts: &PathFacts| match facts.reachability {
            Reachability::Active => 0,
            Reachability::PotentiallyFailed => 1,
            Reachability::Inactive => 2,
            Reachability::Unconfirmed => 3,
        };
        let best = self
            .facts
            .iter()
            .min_by_key(|facts| (rank(facts), facts.id != preferred, facts.id));
        best.map_or(preferred, |facts| facts.id)
    }

    pub(crate) fn statistics(&self) -> Vec<PathStatistics> {
        self.iter()
            .map(|(facts, path)| PathStatistics {
                id: facts.id,
                addr: path.addr,
                reachability: facts.reachability,
                primary: facts.primary,
                srtt: facts.srtt,
                rto: facts.rto,
                window: facts.window,
                slow_start_threshold: facts.slow_start_threshold,
                in_flight: facts.in_flight,
                counters: path.counters,
            })
            .collect()
    }
}

/// Whether a packet that came to `arrived` came to `known`, which may be unspecified.
pub(crate) fn covers(known: SocketAddr, arrived: SocketAddr) -> bool {
    known == arrived
        || (known.ip().is_unspecified() && known.port() == arrived.port())
        || arrived.ip().is_unspecified()
}

fn max_packet(addr: &PathAddr, mtu: u16) -> u16 {
    let ip_header = if addr.remote.is_ipv4() { 20 } else { 40 };
    let udp_header = if addr.remote.port() == 0 { 0 } else { 8 };
    // Chunks are padded to four bytes, so a packet length that is no multiple of four cannot be used up.
    (mtu.max(SMALLEST_MTU) - ip_header - udp_header) & !3
}

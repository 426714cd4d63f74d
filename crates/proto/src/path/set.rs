//! Path set: the facts of all paths, which policies read, and their internal state.

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use anabranch_policy::{PathFacts, Reachability, last_resort, path_facts};
use anabranch_types::{Instant, PathAddr, PathId, earliest};

use super::{MtuSearch, Path, PathIds, PathList, PathMtu, PathPreference, PathStatistics, RttEstimator};
use anabranch_policy::catalog::PathMtuChoice;
use anabranch_policy::options::RtoParameters;

/// Length of the SCTP common header in bytes (RFC 9260 §3.1).
const COMMON_HEADER: u16 = 12;
/// Packet size that every path is assumed to carry, whatever MTU is configured.
const SMALLEST_MTU: u16 = 576;
/// Packet size that every IPv6 path carries: links are required to (RFC 8200 §5).
const SMALLEST_MTU_V6: u16 = 1_280;

/// All paths of an association, in the order of ids. Without address changes ids are dense: path i is at index i of both arrays.
/// The id of a removed path stays vacant until no chunk in the send buffer refers to it.
#[derive(Debug, Default)]
pub(crate) struct PathSet {
    facts: PathList<PathFacts>,
    inner: PathList<Path>,
    /// Ids of the paths in `facts`.
    ids: PathIds,
    /// Paths over which a chunk with the I bit arrived, which requests an immediate SACK over the same path (RFC 9260 §3.3.1).
    sacks_asked: PathIds,
    /// Paths that responded once and do not now: potentially failed or inactive.
    unresponsive: PathIds,
    /// Bytes of each packet that are reserved.
    reserved: u16,
    /// Whether the MTU search of newly usable paths may still have to be started.
    sizes_unasked: bool,
    /// Bytes of packets in both directions over paths that were removed.
    carried_before: u64,
}

/// The path over which a packet arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrived {
    /// A known path.
    On(PathId),
    /// A known path with a new encapsulation port of the peer: a NAT has a new binding (RFC 6951 §5.4), or another path begins
    /// behind the same public address. Of several paths, the one that was silent the longest.
    Rebound(PathId),
    /// The address is not known as one of the peer's.
    Unknown,
}

impl PathSet {
    pub(crate) fn new(pairs: &[PathAddr], sizes: Sizes, rto: RtoParameters) -> Self {
        let mut set = Self {
            facts: PathList::default(),
            inner: PathList::default(),
            ids: PathIds::default(),
            sacks_asked: PathIds::default(),
            unresponsive: PathIds::default(),
            reserved: 0,
            sizes_unasked: true,
            carried_before: 0,
        };
        for (index, addr) in pairs.iter().enumerate() {
            let id = PathId(u8::try_from(index).expect("pairing makes few paths"));
            set.insert(id, *addr, sizes, rto);
        }
        set.set_primary(PathId(0));
        set
    }

    /// Adds a path with an unused id.
    pub(crate) fn insert(&mut self, id: PathId, addr: PathAddr, sizes: Sizes, rto: RtoParameters) {
        let at = self.facts.partition_point(|facts| facts.id < id);
        let size = sizes.of(&addr).size();
        let max_packet = max_packet(&addr, size) - self.reserved;
        let mut facts = PathFacts::new(id, max_packet, max_data_chunk(max_packet), RttEstimator::new(rto));
        facts.ipv6 = addr.remote.is_ipv6();
        self.facts.insert(at, facts);
        self.inner.insert(at, Path::new(addr, size));
        self.ids.insert(id);
        self.choose_resting();
    }

    /// Removes a path. If it was the primary path, the best of the others replaces it.
    pub(crate) fn remove(&mut self, id: PathId) {
        let Some(at) = self.position(id) else { return };
        let removed = self.inner.remove(at);
        self.carried_before += removed.counters.carried();
        self.ids.remove(id);
        self.sacks_asked.remove(id);
        self.unresponsive.remove(id);
        let was_primary = self.facts.remove(at).primary;
        self.choose_resting();
        if was_primary {
            self.set_primary(self.best());
        }
    }

    /// The lowest unused id for which `free` returns true.
    pub(crate) fn vacant(&self, free: impl Fn(PathId) -> bool) -> Option<PathId> {
        (0..PathIds::LIMIT)
            .map(PathId)
            .find(|id| !self.ids.contains(*id) && free(*id))
    }

    fn position(&self, id: PathId) -> Option<usize> {
        // Ids are dense unless addresses have changed, so the first guess is nearly always right.
        let guess = id.index();
        if self.facts.get(guess).is_some_and(|facts| facts.id == id) {
            return Some(guess);
        }
        self.facts.binary_search_by_key(&id, |facts| facts.id).ok()
    }

    fn at(&self, id: PathId) -> usize {
        self.position(id)
            .expect("who names a path has looked whether it is there")
    }

    pub(crate) fn facts(&self) -> &[PathFacts] {
        &self.facts
    }

    /// The ids of all paths.
    pub(crate) fn ids(&self) -> PathIds {
        self.ids.clone()
    }

    pub(crate) fn fact(&self, id: PathId) -> &PathFacts {
        &self.facts[self.at(id)]
    }

    pub(crate) fn fact_mut(&mut self, id: PathId) -> &mut PathFacts {
        let at = self.at(id);
        &mut self.facts[at]
    }

    pub(crate) fn path(&self, id: PathId) -> &Path {
        &self.inner[self.at(id)]
    }

    pub(crate) fn path_mut(&mut self, id: PathId) -> &mut Path {
        let at = self.at(id);
        &mut self.inner[at]
    }

    /// Sets the reachability of path `id`.
    pub(crate) fn set_reachability(&mut self, id: PathId, reachability: Reachability) {
        self.fact_mut(id).reachability = reachability;
        match reachability {
            Reachability::PotentiallyFailed | Reachability::Inactive => self.unresponsive.insert(id),
            Reachability::Active | Reachability::Unconfirmed => self.unresponsive.remove(id),
        }
        self.choose_resting();
    }

    /// Sets the preference of the application for path `id`; returns whether it is another one.
    pub(crate) fn set_own_preference(&mut self, id: PathId, own: Option<PathPreference>) -> bool {
        let path = self.path_mut(id);
        let before = path.own_preference();
        // A peer that was told a preference is told that there is none any more.
        let own = own.or_else(|| before.map(|_| PathPreference::default()));
        if own == before {
            return false;
        }
        let preferred = path.preferred.get_or_insert_default();
        preferred.own = own;
        preferred.is_told = false;
        self.choose_resting();
        true
    }

    /// Sets the preference of the peer for path `id`.
    pub(crate) fn set_peer_preference(&mut self, id: PathId, preference: PathPreference) {
        self.path_mut(id).preferred.get_or_insert_default().of_peer = preference;
        self.choose_resting();
    }

    /// Determines which paths rest: the active ones that cost more than another active one.
    fn choose_resting(&mut self) {
        let costs = self.iter().filter(|(facts, _)| facts.is_active());
        let least = costs.map(|(_, path)| path.preference().cost).min();
        for (facts, path) in self.facts.iter_mut().zip(&*self.inner) {
            facts.resting = facts.is_active() && least.is_some_and(|least| path.preference().cost > least);
        }
    }

    /// Paths that responded once and do not now: potentially failed or inactive.
    pub(crate) const fn unresponsive(&self) -> &PathIds {
        &self.unresponsive
    }

    /// Facts and internal state of path `id`.
    pub(crate) fn both(&self, id: PathId) -> (&PathFacts, &Path) {
        let at = self.at(id);
        (&self.facts[at], &self.inner[at])
    }

    /// Facts and internal state of path `id`, for a change.
    pub(crate) fn both_mut(&mut self, id: PathId) -> (&mut PathFacts, &mut Path) {
        let at = self.at(id);
        (&mut self.facts[at], &mut self.inner[at])
    }

    pub(crate) const fn contains(&self, id: PathId) -> bool {
        self.ids.contains(id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&PathFacts, &Path)> {
        self.facts.iter().zip(&*self.inner)
    }

    /// The primary path, selected by the handshake, the application or the peer. It stays the primary path while it is inactive,
    /// and data returns to it afterwards (RFC 7829 §5).
    pub(crate) fn primary(&self) -> PathId {
        self.facts
            .iter()
            .find(|facts| facts.primary)
            .map_or(PathId(0), |facts| facts.id)
    }

    pub(crate) fn set_primary(&mut self, primary: PathId) {
        for facts in &mut *self.facts {
            facts.primary = facts.id == primary;
        }
    }

    //= rfc5061 5.3-10, 5.3-12, 5.3-32, 5.3-33
    /// Finds the path of a packet: by both addresses, by the remote address, or by its IP address with another port.
    pub(crate) fn arrived(&self, addr: &PathAddr) -> Arrived {
        let position = |matches: &dyn Fn(&PathAddr) -> bool| {
            self.inner
                .iter()
                .position(|path| matches(&path.addr))
                .map(|at| self.facts[at].id)
        };
        let here = |known: &PathAddr| covers(known.local, addr.local);
        if let Some(id) = position(&|known| known.remote == addr.remote && here(known)) {
            return Arrived::On(id);
        }
        if let Some(id) = position(&|known| known.remote == addr.remote) {
            return Arrived::On(id);
        }
        let same_ip = |path: &Path| path.addr.remote.ip() == addr.remote.ip() && here(&path.addr);
        let candidates = self.iter().filter(|(_, path)| same_ip(path));
        let silent_longest = candidates.min_by_key(|(_, path)| path.heard_at);
        silent_longest.map_or(Arrived::Unknown, |(facts, _)| Arrived::Rebound(facts.id))
    }

    /// Whether any path leads to this address.
    pub(crate) fn leads_to(&self, ip: IpAddr) -> bool {
        self.inner.iter().any(|path| path.addr.remote.ip() == ip)
    }

    /// Whether any path has this local address.
    pub(crate) fn is_from(&self, local: SocketAddr) -> bool {
        self.inner.iter().any(|path| path.addr.local == local)
    }

    pub(crate) fn remotes(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.inner.iter().map(|path| path.addr.remote)
    }

    /// Changes the bounds of the RTO of all paths.
    pub(crate) fn set_rto_limits(&mut self, limits: RtoParameters) {
        for facts in &mut *self.facts {
            facts.rtt.set_limits(limits);
        }
    }

    /// Adds an RTT sample of path `id`: something sent at `sent_at` is acknowledged at `now`.
    pub(crate) fn rtt_sample(&mut self, id: PathId, sent_at: Instant, now: Instant) {
        let (facts, path) = self.both_mut(id);
        let backed_off = facts.rto();
        facts.rtt.on_sample(sent_at, now);
        if 2 * facts.rto() <= backed_off
            && let Some(sending) = path.sending.active_mut()
        {
            sending.t3.shorten(facts.rto(), now);
        }
    }

    /// Counts acknowledged chunks of path `id` in its loss rate.
    pub(crate) fn chunks_arrived(&mut self, id: PathId, chunks: u32) {
        let at = self.at(id);
        let rate = &mut self.inner[at].loss_rate;
        rate.on_acknowledged(chunks);
        self.facts[at].loss_per_million = rate.per_million();
    }

    /// Counts lost chunks of path `id` in its loss rate.
    pub(crate) fn chunks_lost(&mut self, id: PathId, chunks: u32) {
        let at = self.at(id);
        let rate = &mut self.inner[at].loss_rate;
        rate.on_lost(chunks);
        let facts = &mut self.facts[at];
        facts.loss_per_million = rate.per_million();
        facts.lost_chunks += u64::from(chunks);
    }

    /// Notes that the peer requests an immediate SACK over path `id`.
    pub(crate) const fn ask_sack(&mut self, id: PathId) {
        self.sacks_asked.insert(id);
    }

    /// The first usable path over which the peer requests an immediate SACK.
    pub(crate) fn sack_asked(&self) -> Option<PathId> {
        self.sacks_asked.clone().find(|id| self.fact(*id).is_usable())
    }

    /// Notes that SACK number `number` of the association was sent on path `id`. Requests for SACKs on unusable paths are dropped.
    pub(crate) fn sack_sent(&mut self, id: PathId, number: u64) {
        self.sacks_asked.remove(id);
        let waiting = self.sacks_asked.clone();
        self.sacks_asked = waiting.filter(|id| self.fact(*id).is_usable()).collect();
        let facts = self.fact_mut(id);
        facts.data_since_sack = false;
        facts.last_sack = number;
    }

    /// Releases memory of paths on which nothing is sent.
    pub(crate) fn release_memory(&mut self) {
        for path in &mut *self.inner {
            path.sending.release_if_idle();
        }
    }

    /// Bytes of each packet that are reserved for an AUTH chunk.
    pub(crate) const fn reserved(&self) -> u16 {
        self.reserved
    }

    /// Reserves `bytes` of each packet.
    pub(crate) fn set_reserved(&mut self, bytes: u16) {
        self.reserved = bytes;
        for id in self.ids() {
            self.publish_mtu(id);
        }
    }

    /// Copies the path MTU of path `id` into its facts.
    pub(crate) fn publish_mtu(&mut self, id: PathId) {
        let at = self.at(id);
        let (path, facts) = (&self.inner[at], &mut self.facts[at]);
        facts.max_packet = max_packet(&path.addr, path.packet_size()) - self.reserved;
        facts.max_data_chunk = max_data_chunk(facts.max_packet);
    }

    /// The first path on which a heartbeat is due.
    pub(crate) fn heartbeat_due(&self, now: Instant) -> Option<PathId> {
        let at = self.inner.iter().position(|path| path.heartbeat.is_due(now))?;
        Some(self.facts[at].id)
    }

    /// The first path on which a tail loss probe is due.
    pub(crate) fn tail_probe_due(&self) -> Option<PathId> {
        let at = self
            .inner
            .iter()
            .position(|path| path.sending.tail_probe.is_due())?;
        Some(self.facts[at].id)
    }

    /// The path on which an MTU probe is due, and the length of its SCTP packet.
    pub(crate) fn mtu_probe_due(&self, now: Instant) -> Option<(PathId, u16)> {
        let mut paths = self.iter();
        paths.find_map(|(facts, path)| {
            let size = path.mtu.as_ref()?.due(now)?;
            let probe = || (facts.id, max_packet(&path.addr, size) - self.reserved);
            self.tries_sizes(facts).then(probe)
        })
    }

    /// Whether MTU probes are sent on a path. On an unusable path a lost probe says nothing about its size.
    fn tries_sizes(&self, facts: &PathFacts) -> bool {
        facts.is_active() || self.another_usable(facts.id).is_none()
    }

    /// Notes that a path has become usable.
    pub(crate) const fn note_usable(&mut self) {
        self.sizes_unasked = true;
    }

    /// Whether [`PathSet::note_usable`] was called since the last call of this method.
    pub(crate) const fn take_newly_usable(&mut self) -> bool {
        core::mem::replace(&mut self.sizes_unasked, false)
    }

    /// The path with exactly these addresses.
    pub(crate) fn between(&self, addr: PathAddr) -> Option<PathId> {
        let mut all = self.ids().zip(&*self.inner);
        all.find(|(_, path)| path.addr == addr).map(|(id, _)| id)
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let moment = |(facts, path): (&PathFacts, &Path)| path.deadline(self.tries_sizes(facts));
        earliest(self.iter().map(moment))
    }

    /// A usable path other than `this`, if there is one, for retransmissions of what was not acknowledged on `this`.
    pub(crate) fn another_usable(&self, this: PathId) -> Option<PathId> {
        let is_another = |facts: &&PathFacts| facts.is_usable() && facts.id != this;
        self.facts.iter().find(is_another).map(|facts| facts.id)
    }

    /// A path on which what leaves now is likely to be answered: usable, nothing that was sent on it went unanswered since, and not from one
    /// of the `departing` local addresses.
    pub(crate) fn working(&self, departing: &[SocketAddr]) -> Option<PathId> {
        let works = |(facts, path): &(&PathFacts, &Path)| {
            facts.is_active() && facts.errors == 0 && !departing.contains(&path.addr.local)
        };
        self.iter().find(works).map(|(facts, _)| facts.id)
    }

    pub(crate) fn any_usable(&self) -> bool {
        self.facts.iter().any(PathFacts::is_usable)
    }

    /// Number of active paths, also of those that rest.
    pub(crate) fn active_count(&self) -> usize {
        self.facts.iter().filter(|facts| facts.is_active()).count()
    }

    pub(crate) fn usable_count(&self) -> u32 {
        self.facts.iter().filter(|facts| facts.is_usable()).count() as u32
    }

    //= rfc9260 6-9, 6.9-6, 6.9-11, 7.3-3, 7.3-4
    /// Fragment length for `path`. A chunk should fit every usable path, so that it can be retransmitted on any of them (AMDCS, RFC
    /// 9260 §6.9). Unusable paths do not limit it.
    pub(crate) fn cut_length(&self, path: PathId) -> usize {
        let own = self.fact(path).max_data_chunk;
        let takes_part = |facts: &&PathFacts| {
            matches!(
                facts.reachability,
                Reachability::Active | Reachability::PotentiallyFailed
            )
        };
        let others = self.facts.iter().filter(takes_part);
        let smallest = others.map(|facts| facts.max_data_chunk).fold(own, u16::min);
        smallest.into()
    }

    /// Whether the address of path `id` is confirmed; the path may be inactive.
    pub(crate) fn is_confirmed(&self, id: PathId) -> bool {
        let facts = path_facts(&self.facts, id);
        facts.is_some_and(|facts| facts.reachability != Reachability::Unconfirmed)
    }

    /// Whether any path is confirmed, so that it may carry more than heartbeats. This holds unless the peer has deleted all
    /// confirmed addresses.
    pub(crate) fn any_confirmed(&self) -> bool {
        self.facts
            .iter()
            .any(|facts| facts.reachability != Reachability::Unconfirmed)
    }

    /// The path for chunks that are not bound to one: the primary path if it is usable, otherwise the best of the others.
    pub(crate) fn best(&self) -> PathId {
        let first = |fit: fn(&PathFacts) -> bool| {
            let fit = self.facts.iter().filter(|facts| fit(facts));
            fit.min_by_key(|facts| (!facts.primary, facts.id))
                .map(|facts| facts.id)
        };
        first(PathFacts::is_usable)
            .or_else(|| last_resort(&self.facts))
            .or_else(|| first(|_| true))
            .unwrap_or(PathId(0))
    }

    /// Bytes of packets in both directions, over paths that were removed, too.
    pub(crate) fn carried(&self) -> u64 {
        let now = self.inner.iter().map(|path| path.counters.carried());
        self.carried_before + now.sum::<u64>()
    }

    pub(crate) fn statistics(&self) -> Vec<PathStatistics> {
        self.iter()
            .map(|(facts, path)| PathStatistics {
                id: facts.id,
                addr: path.addr,
                reachability: facts.reachability,
                resting: facts.resting,
                preference: path.preference(),
                primary: facts.primary,
                mtu: path.packet_size(),
                srtt: facts.srtt(),
                min_rtt: facts.min_rtt(),
                rto: facts.rto(),
                cwnd: facts.cwnd,
                ssthresh: facts.ssthresh,
                in_flight: facts.in_flight,
                pacing_limited: facts.pacing_limited,
                sent_chunks: facts.sent_chunks,
                lost_chunks: facts.lost_chunks,
                counters: path.counters.all(),
            })
            .collect()
    }
}

/// Whether the local address `known`, which may be unspecified, covers the address `arrived`.
pub(crate) fn covers(known: SocketAddr, arrived: SocketAddr) -> bool {
    known == arrived
        || (known.ip().is_unspecified() && known.port() == arrived.port())
        || arrived.ip().is_unspecified()
}

/// Packet sizes of a path: searched or fixed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The largest IP packet to send, in bytes, without `overhead`.
    pub(crate) largest: u16,
    /// Bytes that a layer below adds to each packet.
    pub(crate) overhead: u16,
    pub(crate) choice: PathMtuChoice,
}

impl Sizes {
    pub(crate) fn of(self, addr: &PathAddr) -> PathMtu {
        let max = self.largest.max(SMALLEST_MTU);
        match self.choice {
            PathMtuChoice::Fixed(_) => PathMtu::fixed(max),
            PathMtuChoice::Search(parameters) => {
                let min = if addr.remote.is_ipv4() {
                    SMALLEST_MTU
                } else {
                    SMALLEST_MTU_V6.saturating_sub(self.overhead).max(SMALLEST_MTU)
                };
                PathMtu::searching(MtuSearch {
                    min,
                    base: parameters.base.max(min),
                    max,
                    raise_after: parameters.raise_after,
                })
            }
        }
    }
}

//= rfc6951 5.6-1
/// Length of the SCTP packet in an IP packet of `mtu` bytes.
pub(crate) fn max_packet(addr: &PathAddr, mtu: u16) -> u16 {
    let ip_header = if addr.remote.is_ipv4() { 20 } else { 40 };
    let udp_header = if addr.remote.port() == 0 { 0 } else { 8 };
    // Chunks are padded to four bytes, so only multiples of four can be used.
    (mtu.max(SMALLEST_MTU) - ip_header - udp_header) & !3
}

const fn max_data_chunk(max_packet: u16) -> u16 {
    (max_packet - COMMON_HEADER) & !3
}

#[cfg(test)]
mod tests {
    use super::*;

    //= rfc6951 5.6-1
    #[test]
    fn encapsulated_packet_is_shorter_by_the_udp_header() {
        for (address, ip_header) in [("10.0.0.2", 20), ("fd00::2", 40)] {
            let ip: IpAddr = address.parse().expect("an address");
            let sizes = [0, 9_899].map(|port| {
                let remote = SocketAddr::new(ip, port);
                max_packet(
                    &PathAddr {
                        local: remote,
                        remote,
                    },
                    1_500,
                )
            });
            assert_eq!(sizes, [1_500 - ip_header, 1_500 - ip_header - 8]);
        }
    }
}

//! State of the program: what holds at the moment, and which tunnels to which peers are there?

use std::collections::BTreeMap;
use std::net::SocketAddr;
#[cfg(target_os = "linux")]
use std::os::unix::net::UnixDatagram;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use anabranch::{Endpoint, KeyList, PublicKey};
use anabranch_tunnel::{Classes, Exit, Flows, Route, Tunnel};
use chrono::{DateTime, Utc};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::config::{Config, Peer, Quota};
use super::quota::{Meter, Usage, now};
use super::reload::Reload;
use crate::network;

/// Associations that a peer may have at a time: it sets up a new one when it has lost the last one without a word. An older one ends then.
const MAX_TUNNELS: usize = 8;

/// Why the associations of a peer end that the file does not name any more.
const REVOKED: &str = "this key is not that of a peer any more";

/// All peers with their tunnels.
#[derive(Debug)]
pub(super) struct State {
    config: Mutex<Arc<Config>>,
    /// In the order of the file.
    peers: Mutex<Vec<Arc<PeerState>>>,
    /// Sorts what programs of this host begin.
    classes: Classes,
    /// What the TUN device has of its peer, with the key of that peer.
    device: Option<(PublicKey, RouteState)>,
    /// The keys of the peers, for the handshakes of a server.
    trusted: KeyList,
    endpoints: Mutex<Vec<Endpoint>>,
    last_number: AtomicU64,
    /// What came of reading the file again, the last time.
    reloaded: Mutex<Option<(Instant, Reload)>>,
    /// Whether the last attempt to store what peers have carried succeeded.
    is_usage_stored: AtomicBool,
    /// While this program has the kill switch of its network namespace.
    #[cfg(target_os = "linux")]
    kill_switch: OnceLock<UnixDatagram>,
}

/// A peer with its tunnels.
#[derive(Debug)]
pub(super) struct PeerState {
    key: PublicKey,
    config: Mutex<Arc<Peer>>,
    /// Its limits hold for all tunnels of the peer.
    exit: Exit,
    route_state: RouteState,
    classes: Classes,
    /// With their numbers, the oldest first.
    tunnels: Mutex<Vec<(u64, Tunnel)>>,
    /// What they have carried.
    meter: Mutex<Meter>,
    /// Why its last association was refused.
    last_refusal: Mutex<String>,
    /// The file does not name the peer any more.
    is_removed: watch::Sender<bool>,
}

/// What programs of this host have of a peer. That of a TUN device outlives its peer, which may come back.
#[derive(Clone, Debug)]
struct RouteState {
    /// The flows that programs of this host have begun.
    flows: Flows,
    /// The tunnel that new connections use.
    newest: watch::Sender<Option<Tunnel>>,
}

impl RouteState {
    fn new() -> Self {
        Self {
            flows: Flows::default(),
            newest: watch::Sender::new(None),
        }
    }

    /// That of the peer with `key`: the one of the device, if it leads there.
    fn to(key: PublicKey, device: Option<&(PublicKey, Self)>) -> Self {
        let of_device = device.filter(|(known, _)| *known == key);
        of_device.map_or_else(Self::new, |(_, state)| state.clone())
    }
}

/// What a new configuration has changed among the peers.
#[derive(Debug, Default)]
pub(super) struct PeerChanges {
    pub(super) added: Vec<Arc<PeerState>>,
    /// For users.
    pub(super) texts: Vec<String>,
}

impl State {
    /// The state with what peers have carried before, by their keys.
    pub(super) fn new(config: Config, usage: &BTreeMap<String, Usage>) -> Self {
        let classes = Classes::default();
        classes.replace(config.classes.clone());
        let device = config.tun.as_ref().map(|tun| (tun.peer, RouteState::new()));
        let peers = config.peers.iter().map(|peer| {
            Arc::new(PeerState::new(
                peer,
                &classes,
                RouteState::to(peer.key, device.as_ref()),
                usage.get(&peer.key.to_string()),
            ))
        });
        Self {
            peers: Mutex::new(peers.collect()),
            classes,
            device,
            trusted: KeyList::new(keys_of(&config)),
            config: Mutex::new(Arc::new(config)),
            endpoints: Mutex::default(),
            last_number: AtomicU64::new(0),
            reloaded: Mutex::default(),
            is_usage_stored: AtomicBool::new(true),
            #[cfg(target_os = "linux")]
            kill_switch: OnceLock::new(),
        }
    }

    /// The configuration that holds at the moment.
    pub(super) fn config(&self) -> Arc<Config> {
        Arc::clone(&locked(&self.config))
    }

    /// From now on, `config` holds. The associations of peers that it does not name end.
    pub(super) fn replace(&self, config: Config) -> PeerChanges {
        // Before associations end: their peers cannot come back.
        self.trusted.replace(keys_of(&config));
        let mut changes = PeerChanges::default();
        let mut peers = locked(&self.peers);
        for gone in peers
            .iter()
            .filter(|known| !config.peers.iter().any(|peer| peer.key == known.key))
        {
            changes.texts.push(format!("{}: removed", gone.name()));
            gone.revoke();
        }
        let kept = |peer: &Peer| peers.iter().find(|known| known.key == peer.key).cloned();
        let all = config.peers.iter().map(|peer| match kept(peer) {
            Some(known) => {
                changes.texts.extend(known.change(peer));
                known
            }
            None => {
                let new = Arc::new(PeerState::new(
                    peer,
                    &self.classes,
                    RouteState::to(peer.key, self.device.as_ref()),
                    None,
                ));
                changes.texts.push(format!("{}: added", peer.name));
                changes.added.push(Arc::clone(&new));
                new
            }
        });
        let all: Vec<Arc<PeerState>> = all.collect();
        *peers = all;
        if locked(&self.config).classes != config.classes {
            self.classes.replace(config.classes.clone());
            changes.texts.push("Class".to_owned());
        }
        *locked(&self.config) = Arc::new(config);
        changes
    }

    /// What came of reading the file again.
    pub(super) fn set_reloaded(&self, reload: Reload) {
        *locked(&self.reloaded) = Some((Instant::now(), reload));
    }

    /// The same, and when that was.
    pub(super) fn reloaded(&self) -> Option<(Instant, Reload)> {
        locked(&self.reloaded).clone()
    }

    /// This program has the kill switch of its network namespace until it ends.
    #[cfg(target_os = "linux")]
    pub(super) fn hold_kill_switch(&self, held: UnixDatagram) {
        let _ = self.kill_switch.set(held);
    }

    /// Whether this program has the kill switch.
    #[cfg(target_os = "linux")]
    pub(super) fn has_kill_switch(&self) -> bool {
        self.kill_switch.get().is_some()
    }

    /// The keys of the peers, whichever they are.
    pub(super) const fn trusted(&self) -> &KeyList {
        &self.trusted
    }

    /// All peers.
    pub(super) fn peers(&self) -> Vec<Arc<PeerState>> {
        locked(&self.peers).clone()
    }

    /// The peer with this key.
    pub(super) fn peer(&self, key: PublicKey) -> Option<Arc<PeerState>> {
        locked(&self.peers).iter().find(|peer| peer.key == key).cloned()
    }

    /// A new tunnel to a peer is up; returns its number. The oldest one ends if there are too many. `None` if the peer was removed, or may
    /// carry nothing: then it was aborted.
    pub(super) fn add(&self, peer: &PeerState, tunnel: &Tunnel) -> Option<u64> {
        let mut tunnels = peer.locked_tunnels();
        if peer.is_removed() {
            tunnel.association().abort(REVOKED);
            return None;
        }
        for (known, tunnel) in &*tunnels {
            locked(&peer.meter).count(*known, tunnel);
        }
        if let Some(reason) = peer.exhausted(now()) {
            tunnel.association().abort(&reason);
            return None;
        }
        let number = 1 + self.last_number.fetch_add(1, Ordering::Relaxed);
        if tunnels.len() >= MAX_TUNNELS {
            let (known, oldest) = tunnels.remove(0);
            locked(&peer.meter).forget(known);
            oldest
                .association()
                .abort("replaced by a newer tunnel of the same key");
        }
        tunnels.push((number, tunnel.clone()));
        peer.route_state.newest.send_replace(Some(tunnel.clone()));
        Some(number)
    }

    /// Whether a socket of an endpoint is bound to `address`.
    pub(super) fn has_socket(&self, address: SocketAddr) -> bool {
        let is_bound = |local: &SocketAddr| {
            local.port() == address.port() && (local.ip() == address.ip() || local.ip().is_unspecified())
        };
        let endpoints = self.endpoints().clone();
        endpoints
            .iter()
            .any(|endpoint| endpoint.local_addrs().iter().any(is_bound))
    }

    /// What peers have carried could be stored, or not; returns whether it could the last time.
    pub(super) fn set_usage_stored(&self, is_stored: bool) -> bool {
        self.is_usage_stored.swap(is_stored, Ordering::Relaxed)
    }

    /// `endpoint` is to be closed with the program.
    pub(super) fn keep(&self, endpoint: &Endpoint) {
        self.endpoints().push(endpoint.clone());
    }

    /// Closes an endpoint of an association that is over.
    pub(super) async fn close(&self, endpoint: &Endpoint) {
        network::close(endpoint).await;
        // A closed endpoint has no addresses.
        self.endpoints().retain(|known| !known.local_addrs().is_empty());
    }

    /// Closes all endpoints at once.
    pub(super) async fn close_endpoints(&self) {
        let endpoints = std::mem::take(&mut *self.endpoints());
        let mut closing = JoinSet::new();
        for endpoint in endpoints {
            closing.spawn(async move { network::close(&endpoint).await });
        }
        while closing.join_next().await.is_some() {}
    }

    fn endpoints(&self) -> MutexGuard<'_, Vec<Endpoint>> {
        locked(&self.endpoints)
    }
}

impl PeerState {
    fn new(peer: &Peer, classes: &Classes, route_state: RouteState, usage: Option<&Usage>) -> Self {
        let begin = now();
        let unused = Usage { begin, bytes: 0 };
        Self {
            key: peer.key,
            config: Mutex::new(Arc::new(peer.clone())),
            exit: Exit::new(peer.reach.clone()),
            route_state,
            classes: classes.clone(),
            tunnels: Mutex::default(),
            meter: Mutex::new(Meter::new(*usage.unwrap_or(&unused))),
            last_refusal: Mutex::default(),
            is_removed: watch::Sender::new(false),
        }
    }

    /// From now on, `peer` holds; returns what has changed.
    fn change(&self, peer: &Peer) -> Vec<String> {
        let before = std::mem::replace(&mut *locked(&self.config), Arc::new(peer.clone()));
        let mut texts = Vec::new();
        if before.name != peer.name {
            texts.push(format!("{}: Name, which was {}", peer.name, before.name));
        }
        if before.reach != peer.reach {
            self.exit.set_reach(peer.reach.clone());
            texts.push(format!("{}: Allow", peer.name));
        }
        if before.quota != peer.quota {
            texts.push(format!("{}: Quota", peer.name));
        }
        texts
    }

    /// The peer is none any more.
    fn revoke(&self) {
        let mut tunnels = self.locked_tunnels();
        self.is_removed.send_replace(true);
        for (_, tunnel) in tunnels.drain(..) {
            tunnel.association().abort(REVOKED);
        }
        // From here on, another state of the same peer may use it.
        self.route_state.newest.send_replace(None);
    }

    /// Whether the file does not name it any more.
    pub(super) fn is_removed(&self) -> bool {
        *self.is_removed.borrow()
    }

    /// Waits until the file does not name it any more.
    pub(super) async fn removed(&self) {
        // The sender is there as long as this is.
        let _ = self
            .is_removed
            .subscribe()
            .wait_for(|is_removed| *is_removed)
            .await;
    }

    pub(super) const fn key(&self) -> PublicKey {
        self.key
    }

    /// What the file says of it.
    pub(super) fn config(&self) -> Arc<Peer> {
        Arc::clone(&locked(&self.config))
    }

    pub(super) fn name(&self) -> String {
        self.config().name.clone()
    }

    /// The route to it, for connections and flows that begin.
    pub(super) fn route(&self) -> Route {
        Route::new(
            self.route_state.newest.subscribe(),
            self.flows(),
            self.classes.clone(),
        )
    }

    /// The flows to it that programs of this host have begun.
    pub(super) fn flows(&self) -> Flows {
        self.route_state.flows.clone()
    }

    /// What connects to its targets.
    pub(super) fn exit(&self) -> Exit {
        self.exit.clone()
    }

    /// Its tunnels at the moment, with their numbers.
    pub(super) fn tunnels(&self) -> Vec<(u64, Tunnel)> {
        self.locked_tunnels().clone()
    }

    /// A tunnel is over.
    pub(super) fn remove(&self, number: u64) {
        let mut tunnels = self.locked_tunnels();
        if self.is_removed() {
            return;
        }
        let ended = tunnels.extract_if(.., |(known, _)| *known == number).last();
        let mut meter = locked(&self.meter);
        if let Some((_, tunnel)) = ended {
            meter.count(number, &tunnel);
        }
        meter.forget(number);
        drop(meter);
        let newest = tunnels.last().map(|(_, tunnel)| tunnel.clone());
        self.route_state.newest.send_replace(newest);
    }

    /// What it has carried in the period of `now`, if it has a quota, and the quota.
    pub(super) fn usage(&self, now: DateTime<Utc>) -> Option<(Quota, Usage)> {
        let quota = self.config().quota?;
        Some((quota, locked(&self.meter).usage(quota, now)))
    }

    /// Counts what its tunnels have carried, and ends them if that is more than its quota.
    pub(super) fn enforce_quota(&self, now: DateTime<Utc>) {
        // A tunnel that is removed meanwhile, and counted then, would be counted twice.
        let tunnels = self.locked_tunnels();
        for (number, tunnel) in &*tunnels {
            locked(&self.meter).count(*number, tunnel);
        }
        if let Some(reason) = self.exhausted(now) {
            for (_, tunnel) in &*tunnels {
                tunnel.association().abort(&reason);
            }
        }
    }

    /// Why it may carry nothing at the moment, if so.
    pub(super) fn exhausted(&self, now: DateTime<Utc>) -> Option<String> {
        let quota = self.config().quota?;
        locked(&self.meter).exhausted(quota, now)
    }

    /// Notes why an association was refused; whether the one before was refused for the same reason.
    pub(super) fn was_refused(&self, reason: &str) -> bool {
        let before = std::mem::replace(&mut *locked(&self.last_refusal), reason.to_owned());
        before == reason
    }

    fn locked_tunnels(&self) -> MutexGuard<'_, Vec<(u64, Tunnel)>> {
        locked(&self.tunnels)
    }
}

fn keys_of(config: &Config) -> Vec<PublicKey> {
    config.peers.iter().map(|peer| peer.key).collect()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::path::Path;

    use anabranch::PrivateKey;

    use super::*;

    /// A host with a device that leads to the peer with this key.
    fn config(own: &PrivateKey, peer: PublicKey) -> Config {
        let own = own.to_base64();
        let text = format!(
            "[Interface]\nPrivateKey = {own}\nTun = anabranch0\nAddress = 10.9.0.1/24\nRoute = 192.0.2.0/24\n\
             [Peer]\nName = server\nPublicKey = {peer}\nEndpoint = 198.51.100.1:9899\n"
        );
        Config::parse(Path::new("client.conf"), &text).unwrap()
    }

    #[test]
    fn peer_of_a_device_that_comes_back_has_the_way_that_the_device_has_taken() {
        let [own, key, other] = [(); 3].map(|()| PrivateKey::generate().unwrap());
        let state = State::new(config(&own, key.public_key()), &BTreeMap::new());
        let first = state.peer(key.public_key()).unwrap();
        let taken = first.route_state.newest.subscribe();
        for peer in [&other, &key] {
            let (next, _) = state.config().replaced_by(config(&own, peer.public_key()));
            state.replace(next);
        }
        let back = state.peer(key.public_key()).unwrap();
        assert!(first.is_removed() && !back.is_removed());
        assert!(taken.same_channel(&back.route_state.newest.subscribe()));
        // What ends late takes nothing from it.
        let mut told = back.route_state.newest.subscribe();
        told.mark_unchanged();
        first.remove(1);
        assert!(!told.has_changed().unwrap());
    }
}

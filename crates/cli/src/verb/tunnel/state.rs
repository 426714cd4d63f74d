//! State of the program: which tunnels to which peers are there at the moment?

use std::net::SocketAddr;
#[cfg(target_os = "linux")]
use std::os::unix::net::UnixDatagram;
#[cfg(target_os = "linux")]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anabranch::{Endpoint, PublicKey};
use anabranch_tunnel::{Exit, Flows, Route, Tunnel};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::config::Config;
use crate::network;

/// Associations that a peer may have at a time: it sets up a new one when it has lost the last one without a word. An older one ends then.
const MAX_TUNNELS: usize = 8;

/// All peers with their tunnels.
#[derive(Debug)]
pub(super) struct State {
    peers: Vec<PeerState>,
    endpoints: Mutex<Vec<Endpoint>>,
    last_number: AtomicU64,
    /// While this program has the kill switch of its network namespace.
    #[cfg(target_os = "linux")]
    kill_switch: OnceLock<UnixDatagram>,
}

#[derive(Debug)]
struct PeerState {
    key: PublicKey,
    /// Its limits hold for all tunnels of the peer.
    exit: Exit,
    /// Those that programs of this host have begun.
    flows: Flows,
    /// With their numbers, the oldest first.
    tunnels: Mutex<Vec<(u64, Tunnel)>>,
    /// The one that new connections use.
    newest: watch::Sender<Option<Tunnel>>,
}

impl State {
    pub(super) fn new(config: &Config) -> Self {
        let peers = config.peers.iter().map(|peer| PeerState {
            key: peer.key,
            exit: Exit::new(peer.reach.clone()),
            flows: Flows::default(),
            tunnels: Mutex::default(),
            newest: watch::Sender::new(None),
        });
        Self {
            peers: peers.collect(),
            endpoints: Mutex::default(),
            last_number: AtomicU64::new(0),
            #[cfg(target_os = "linux")]
            kill_switch: OnceLock::new(),
        }
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

    /// The place of the peer with this key.
    pub(super) fn peer_with(&self, key: PublicKey) -> Option<usize> {
        self.peers.iter().position(|peer| peer.key == key)
    }

    /// The way to a peer.
    pub(super) fn route(&self, peer: usize) -> Route {
        Route::new(self.peers[peer].newest.subscribe(), self.flows(peer))
    }

    /// The flows to a peer that programs of this host have begun.
    pub(super) fn flows(&self, peer: usize) -> Flows {
        self.peers[peer].flows.clone()
    }

    /// What connects to the targets of a peer.
    pub(super) fn exit(&self, peer: usize) -> Exit {
        self.peers[peer].exit.clone()
    }

    /// The tunnels of a peer at the moment, with their numbers.
    pub(super) fn tunnels(&self, peer: usize) -> Vec<(u64, Tunnel)> {
        self.peers[peer].tunnels().clone()
    }

    /// A new tunnel to a peer is up; returns its number. The oldest one ends if there are too many.
    pub(super) fn add(&self, peer: usize, tunnel: &Tunnel) -> u64 {
        let number = 1 + self.last_number.fetch_add(1, Ordering::Relaxed);
        let peer = &self.peers[peer];
        let mut tunnels = peer.tunnels();
        if tunnels.len() >= MAX_TUNNELS {
            let (_, oldest) = tunnels.remove(0);
            oldest
                .association()
                .abort("replaced by a newer tunnel of the same key");
        }
        tunnels.push((number, tunnel.clone()));
        peer.newest.send_replace(Some(tunnel.clone()));
        number
    }

    /// A tunnel is over.
    pub(super) fn remove(&self, peer: usize, number: u64) {
        let peer = &self.peers[peer];
        let mut tunnels = peer.tunnels();
        tunnels.retain(|(known, _)| *known != number);
        let newest = tunnels.last().map(|(_, tunnel)| tunnel.clone());
        peer.newest.send_replace(newest);
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
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PeerState {
    fn tunnels(&self) -> MutexGuard<'_, Vec<(u64, Tunnel)>> {
        self.tunnels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

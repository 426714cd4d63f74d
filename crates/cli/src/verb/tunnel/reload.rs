//! Reload: the file is read again. What changes at once, what needs a restart, and what if it has an error?

use std::convert::Infallible;
use std::sync::Arc;

use anabranch_tunnel::Role;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::config::Config;
use super::entrances::Entrances;
use super::state::PeerState;
use super::{Shared, client, preferences};
use crate::failure::Failure;
use crate::output::Event;

/// What came of reading the file again.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize, Serialize)]
pub(super) struct Reload {
    /// Why nothing has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// What has changed.
    pub(super) changes: Vec<String>,
    /// Keys that say something else, and need a restart.
    pub(super) needs_restart: Vec<String>,
}

/// A question for a reload, with the place for what comes of it.
pub(super) type Asked = oneshot::Sender<Reload>;

/// What changes while the program runs.
#[derive(Debug)]
pub(super) struct Changing {
    pub(super) entrances: Entrances,
    /// Those that keep tunnels to peers up.
    clients: JoinSet<()>,
    asked: mpsc::Receiver<Asked>,
}

impl Changing {
    pub(super) fn new(asked: mpsc::Receiver<Asked>) -> Self {
        Self {
            entrances: Entrances::default(),
            clients: JoinSet::new(),
            asked,
        }
    }

    /// Keeps tunnels to those of these peers up that have an endpoint.
    pub(super) fn call(&mut self, shared: &Shared, peers: Vec<Arc<PeerState>>) {
        for peer in peers
            .into_iter()
            .filter(|peer| !peer.config().endpoints.is_empty())
        {
            self.clients.spawn(client::run(shared.clone(), peer));
        }
    }

    /// Reads the file again whenever somebody asks.
    pub(super) async fn run(&mut self, shared: &Shared) -> Result<Infallible, Failure> {
        loop {
            tokio::select! {
                Some(asked) = self.asked.recv() => {
                    // After a signal, nobody waits for the answer.
                    let _ = asked.send(self.reload(shared));
                }
                Some(ended) = self.clients.join_next() => ended.map_err(Failure::work)?,
                else => return std::future::pending().await,
            }
        }
    }

    /// Ends all of it.
    pub(super) async fn shutdown(&mut self) {
        self.entrances.shutdown().await;
        self.clients.shutdown().await;
    }

    fn reload(&mut self, shared: &Shared) -> Reload {
        let loaded = Config::load(&shared.state.config().file).map_err(Failure::usage);
        let reload = loaded.and_then(|new| self.apply(shared, new));
        let reload = reload.unwrap_or_else(|failure| Reload {
            error: Some(failure.to_string()),
            ..Reload::default()
        });
        shared.reporter.report(&Event::TunnelReloaded {
            error: reload.error.as_deref(),
            changes: &reload.changes,
            needs_restart: &reload.needs_restart,
        });
        shared.state.set_reloaded(reload.clone());
        reload
    }

    fn apply(&mut self, shared: &Shared, new: Config) -> Result<Reload, Failure> {
        let before = shared.state.config();
        let (next, needs_restart) = before.replaced_by(new);
        // What may fail comes first.
        let prepared = self.entrances.prepare(&next.entrances)?;
        for text in next
            .warnings
            .iter()
            .filter(|text| !before.warnings.contains(text))
        {
            shared.warn(text);
        }
        let has_other_preferences = next.preferences != before.preferences;
        let peers = shared.state.replace(next);
        let mut changes = peers.texts;
        self.call(shared, peers.added);
        changes.extend(self.entrances.replace(shared, prepared));
        if has_other_preferences {
            prefer(shared);
            changes.push("Path: cost, backup and cap".to_owned());
        }
        Ok(Reload {
            error: None,
            changes,
            needs_restart,
        })
    }
}

/// Gives the paths of all associations that this host has set up the preferences of the file.
fn prefer(shared: &Shared) {
    let config = shared.state.config();
    let tunnels = shared.state.peers().into_iter().flat_map(|peer| peer.tunnels());
    for (_, tunnel) in tunnels.filter(|(_, tunnel)| tunnel.role() == Role::Client) {
        for path in tunnel.association().statistics().paths {
            let local = path.addr.local.ip();
            let preference = preferences::of_address(&config, local);
            tunnel
                .association()
                .set_path_preference(local, preference.unwrap_or_default());
        }
    }
}

//! Server: accepts associations of the peers that the file names.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use anabranch::{Association, CloseReason, Endpoint, PeerInfo, PolicyRecipe};
use anabranch_tunnel::{End, Role, association_config};
use tokio::task::JoinSet;

use super::Shared;
use super::carry::carry;
use super::config::Listen;
use super::quota::now;
use super::state::PeerState;
use crate::failure::Failure;
use crate::keys::ReceiverKeys;
use crate::listening::{listen, listening_sockets};
use crate::network::Guarded;
use crate::output::Event;

/// Listens for the peers.
pub(super) async fn open(shared: &Shared, at: &Listen) -> Result<Endpoint, Failure> {
    let config = shared.state.config();
    let sockets = match at {
        Listen::Everywhere(port) => listening_sockets(None, *port)?,
        Listen::At(addresses) => listening_sockets(Some(addresses), 0)?,
    };
    let keys = ReceiverKeys::Listed {
        own: config.key.clone(),
        allowed: shared.state.trusted().clone(),
    };
    let endpoint = listen(sockets, association_config(PolicyRecipe::default()), &keys).await?;
    shared.state.keep(&endpoint);
    shared.reporter.report(&Event::TunnelListening {
        addresses: &endpoint.local_addrs(),
        key: &config.key.public_key().to_string(),
    });
    Ok(endpoint)
}

/// Serves the peers until dropped; `tunnels` then still run.
pub(super) async fn run(
    shared: &Shared,
    endpoint: &Endpoint,
    tunnels: &mut JoinSet<()>,
) -> Result<Infallible, Failure> {
    loop {
        tokio::select! {
            association = endpoint.accept() => {
                let association = association.ok_or_else(|| Failure::work("the sockets of the server failed"))?;
                tunnels.spawn(serve(shared.clone(), Guarded(association)));
            }
            Some(_) = tunnels.join_next() => {}
        }
    }
}

async fn serve(shared: Shared, association: Guarded) {
    let Some(peer) = peer_of(&shared, &association) else {
        // The handshake refuses other keys, but this one may have been removed since.
        association.abort("this key is not that of a peer");
        return;
    };
    let end = carry(&shared, (&peer, Role::Server), association, pending()).await;
    let exhausted = match end {
        // The peer is told why by the ABORT, and the user here.
        End::Closed(CloseReason::Aborted) => peer.exhausted(now()),
        _ => None,
    };
    // A client tries again every few seconds, which says nothing new.
    if exhausted.as_ref().is_some_and(|reason| peer.was_refused(reason)) {
        return;
    }
    shared.reporter.report(&Event::TunnelDown {
        peer: &peer.name(),
        message: &exhausted.unwrap_or_else(|| end.to_string()),
        seconds: None,
    });
}

fn peer_of(shared: &Shared, association: &Association) -> Option<Arc<PeerState>> {
    let key = association.peer_identity().and_then(PeerInfo::public_key)?;
    shared.state.peer(key)
}

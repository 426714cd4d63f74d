//! One tunnel, from the end of the handshake to that of the association.

use std::convert::Infallible;
use std::future::Future;

use anabranch_tunnel::{Datagram, End, ExitFlows, Role, Tunnel};

use super::Shared;
use super::state::PeerState;
use crate::network::Guarded;
use crate::output::{Event, PathReport, report_path_changes};

/// Carries connections and datagrams until the association ends; `meanwhile` runs beside that.
pub(super) async fn carry(
    shared: &Shared,
    (peer, role): (&PeerState, Role),
    association: Guarded,
    meanwhile: impl Future<Output = Infallible>,
) -> End {
    let tunnel = Tunnel::new(association.0.clone(), role);
    let exit = peer.exit();
    let serve = |incoming| {
        let exit = exit.clone();
        // It ends with the tunnel.
        tokio::spawn(async move { exit.serve(incoming).await });
    };
    let (flows, exit_flows) = (peer.flows(), ExitFlows::new(peer.exit(), tunnel.clone()));
    let take = |datagram: Datagram| match tunnel.has_begun(&datagram) {
        true => flows.deliver(datagram),
        false => exit_flows.take(datagram),
    };
    if !tunnel.is_tunnel() {
        // It is never listed, and takes no other one's place.
        return tunnel.run(serve, take).await;
    }
    let Some(number) = shared.state.add(peer, &tunnel) else {
        // It was aborted, because the peer is none any more, or its quota is used up.
        return tunnel.run(serve, take).await;
    };
    let _listed = Listed { peer, number };
    shared.reporter.report(&Event::TunnelUp {
        peer: &peer.name(),
        transfer: number,
        paths: &PathReport::all(&association),
    });
    tokio::select! {
        end = tunnel.run(serve, take) => end,
        never = report_path_changes(&association, number, &*shared.reporter) => match never {},
        never = meanwhile => match never {},
    }
}

/// A tunnel is listed until this is dropped.
struct Listed<'s> {
    peer: &'s PeerState,
    number: u64,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.peer.remove(self.number);
    }
}

//! Entrances: the places where programs of this host connect to.

use std::convert::Infallible;

use anabranch_tunnel::{Proxy, serve};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::Shared;
use crate::failure::Failure;
use crate::network::bind_failure;
use crate::output::Event;

/// Opens all entrances, and has them served.
pub(super) async fn open(
    shared: &Shared,
    parts: &mut JoinSet<Result<Infallible, Failure>>,
) -> Result<(), Failure> {
    for entrance in &shared.config.entrances {
        let listener = TcpListener::bind(entrance.listen).await;
        let listener = listener.map_err(|error| bind_failure(entrance.listen, &error))?;
        let (kind, target) = match &entrance.proxy {
            Proxy::Socks5 => ("socks", None),
            Proxy::HttpConnect => ("http", None),
            Proxy::Forward(target) => ("forward", Some(target.to_string())),
        };
        shared.reporter.report(&Event::TunnelEntrance {
            kind,
            address: listener.local_addr().map_err(Failure::work)?,
            target: target.as_deref(),
            peer: &shared.config.peers[entrance.peer].name,
        });
        let (proxy, route) = (entrance.proxy.clone(), shared.state.route(entrance.peer));
        parts.spawn(async move { Ok(serve(listener, proxy, route).await) });
    }
    Ok(())
}

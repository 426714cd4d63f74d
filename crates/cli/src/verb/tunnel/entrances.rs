//! Entrances: the places where programs of this host connect to.

use std::net::{SocketAddr, TcpListener as StdListener};

use anabranch_tunnel::{Proxy, serve};
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

use super::Shared;
use super::config::Entrance;
use crate::failure::Failure;
use crate::network::bind_failure;
use crate::output::Event;

/// All entrances that are open.
#[derive(Debug, Default)]
pub(super) struct Entrances {
    open: Vec<Open>,
    tasks: JoinSet<()>,
}

/// An entrance with its socket, which another one at the same address takes over.
#[derive(Debug)]
struct Open {
    entrance: Entrance,
    socket: StdListener,
    task: AbortHandle,
}

/// Sockets for the entrances of a configuration, in their order. Those of the entrances that are open are among them.
#[derive(Debug)]
pub(super) struct Prepared(Vec<(Entrance, StdListener)>);

impl Entrances {
    /// Opens the sockets that `wanted` needs beside those that are open. Until they are [served](Self::replace), nothing has changed.
    ///
    /// # Errors
    ///
    /// One cannot be opened.
    pub(super) fn prepare(&self, wanted: &[Entrance]) -> Result<Prepared, Failure> {
        let sockets = wanted.iter().map(|entrance| {
            let at = entrance.listen;
            let socket = match self.at(entrance) {
                Some(open) => open.socket.try_clone(),
                None => listen(at),
            };
            Ok((
                entrance.clone(),
                socket.map_err(|error| bind_failure(at, &error))?,
            ))
        });
        sockets.collect::<Result<_, Failure>>().map(Prepared)
    }

    /// Serves these entrances, and no others. Connections through those that stay as they are live on. Returns what has changed, for users.
    pub(super) fn replace(&mut self, shared: &Shared, prepared: Prepared) -> Result<Vec<String>, Failure> {
        let (mut before, mut texts) = (std::mem::take(&mut self.open), Vec::new());
        for (entrance, socket) in prepared.0 {
            if let Some(place) = before.iter().position(|open| open.entrance == entrance) {
                self.open.push(before.swap_remove(place));
                continue;
            }
            let replaced = before
                .iter()
                .position(|open| is_same_place(&open.entrance, &entrance));
            if let Some(place) = replaced {
                before.swap_remove(place).task.abort();
            }
            let verb = if replaced.is_some() {
                "leads elsewhere"
            } else {
                "opened"
            };
            texts.push(format!("{}: {verb}", entrance.listen));
            let open = self.serve(shared, entrance, socket).map_err(Failure::work)?;
            self.open.push(open);
        }
        for gone in before {
            gone.task.abort();
            texts.push(format!("{}: closed", gone.entrance.listen));
        }
        Ok(texts)
    }

    /// Ends all of them.
    pub(super) async fn shutdown(&mut self) {
        self.tasks.shutdown().await;
    }

    fn serve(&mut self, shared: &Shared, entrance: Entrance, socket: StdListener) -> std::io::Result<Open> {
        let listener = TcpListener::from_std(socket.try_clone()?)?;
        let (kind, target) = match &entrance.proxy {
            Proxy::Socks5 => ("socks", None),
            Proxy::HttpConnect => ("http", None),
            Proxy::Forward(target) => ("forward", Some(target.to_string())),
        };
        // Parsing has found it, and removed peers have no entrances.
        let peer = shared
            .state
            .peer(entrance.peer)
            .ok_or(std::io::ErrorKind::NotFound)?;
        shared.reporter.report(&Event::TunnelEntrance {
            kind,
            address: listener.local_addr()?,
            target: target.as_deref(),
            peer: &peer.name(),
        });
        let (proxy, route) = (entrance.proxy.clone(), peer.route());
        while self.tasks.try_join_next().is_some() {}
        let task = self
            .tasks
            .spawn(async move { match serve(listener, proxy, route).await {} });
        Ok(Open {
            entrance,
            socket,
            task,
        })
    }

    /// The open entrance whose socket `entrance` takes.
    fn at(&self, entrance: &Entrance) -> Option<&Open> {
        self.open
            .iter()
            .find(|open| open.entrance == *entrance || is_same_place(&open.entrance, entrance))
    }
}

/// Whether both are at the same address. Those with port 0 have others.
fn is_same_place(one: &Entrance, other: &Entrance) -> bool {
    one.listen == other.listen && one.listen.port() != 0
}

fn listen(at: SocketAddr) -> std::io::Result<StdListener> {
    let socket = StdListener::bind(at)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

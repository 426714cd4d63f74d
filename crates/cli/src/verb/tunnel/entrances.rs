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

/// The entrances of a configuration, in their order. Those that are open as they are to be have no new sockets.
#[derive(Debug)]
pub(super) struct Prepared(Vec<(Entrance, Option<Opened>)>);

/// The socket of an entrance, and the listener that is to be served.
#[derive(Debug)]
struct Opened {
    socket: StdListener,
    listener: TcpListener,
    address: SocketAddr,
}

impl Entrances {
    /// Opens the sockets that `wanted` needs beside those that are open. Until they are [served](Self::replace), nothing has changed.
    ///
    /// # Errors
    ///
    /// One cannot be opened.
    pub(super) fn prepare(&self, wanted: &[Entrance]) -> Result<Prepared, Failure> {
        let mut kept: Vec<&Open> = self.open.iter().collect();
        let prepared = wanted.iter().map(|entrance| {
            if let Some(place) = kept.iter().position(|open| open.entrance == *entrance) {
                kept.swap_remove(place);
                return Ok((entrance.clone(), None));
            }
            let at = entrance.listen;
            let socket = match self
                .open
                .iter()
                .find(|open| is_same_place(&open.entrance, entrance))
            {
                Some(open) => open.socket.try_clone(),
                None => listen(at),
            };
            let opened = socket.and_then(Opened::new);
            let opened = opened.map_err(|error| bind_failure(at, &error))?;
            Ok((entrance.clone(), Some(opened)))
        });
        prepared.collect::<Result<_, Failure>>().map(Prepared)
    }

    /// Serves these entrances, and no others. Connections through those that stay as they are live on. Returns what has changed, for users.
    pub(super) fn replace(&mut self, shared: &Shared, prepared: Prepared) -> Vec<String> {
        let (mut before, mut texts) = (std::mem::take(&mut self.open), Vec::new());
        for (entrance, opened) in prepared.0 {
            let Some(opened) = opened else {
                let place = before.iter().position(|open| open.entrance == entrance);
                self.open.extend(place.map(|place| before.swap_remove(place)));
                continue;
            };
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
            self.serve(shared, entrance, opened);
        }
        for gone in before {
            gone.task.abort();
            texts.push(format!("{}: closed", gone.entrance.listen));
        }
        texts
    }

    /// Ends all of them.
    pub(super) async fn shutdown(&mut self) {
        self.tasks.shutdown().await;
    }

    fn serve(&mut self, shared: &Shared, entrance: Entrance, opened: Opened) {
        // Parsing has found it, and removed peers have no entrances.
        let Some(peer) = shared.state.peer(entrance.peer) else {
            return;
        };
        let (kind, target) = match &entrance.proxy {
            Proxy::Socks5 => ("socks", None),
            Proxy::HttpConnect => ("http", None),
            Proxy::Forward(target) => ("forward", Some(target.to_string())),
        };
        shared.reporter.report(&Event::TunnelEntrance {
            kind,
            address: opened.address,
            target: target.as_deref(),
            peer: &peer.name(),
        });
        let (listener, socket) = (opened.listener, opened.socket);
        let (proxy, route) = (entrance.proxy.clone(), peer.route());
        while self.tasks.try_join_next().is_some() {}
        let task = self
            .tasks
            .spawn(async move { match serve(listener, proxy, route).await {} });
        self.open.push(Open {
            entrance,
            socket,
            task,
        });
    }
}

impl Opened {
    fn new(socket: StdListener) -> std::io::Result<Self> {
        Ok(Self {
            listener: TcpListener::from_std(socket.try_clone()?)?,
            address: socket.local_addr()?,
            socket,
        })
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

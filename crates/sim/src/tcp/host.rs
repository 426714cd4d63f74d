//! TCP host on the simulated network: it passes segments, timer expiries and application data to the endpoint.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anabranch_netsim::{Datagram, Host, Protocol};
use anabranch_tcp::{AddressPair, Connection, ConnectionId, Endpoint, Event, TcpConfig};
use anabranch_types::{Ecn, Instant, PathAddr, Seed};

use super::TcpApp;
use crate::{Overhead, spare_buffers};

/// Port on which servers listen.
pub const TCP_PORT: u16 = 80;

/// An endpoint with an application on each of its connections.
pub struct TcpHost {
    endpoint: Endpoint,
    apps: BTreeMap<ConnectionId, TcpApp>,
    /// Application template for accepted connections.
    answering: TcpApp,
    segments_received: u64,
    overhead: Option<Overhead>,
    /// Connections still to be opened, each when the previous one is established.
    in_turn: Option<InTurn>,
}

/// Connections to be opened one after another.
struct InTurn {
    began: Instant,
    count: u64,
    left: u64,
    local: SocketAddr,
    remote: SocketAddr,
    config: TcpConfig,
    app: TcpApp,
}

impl TcpHost {
    /// Creates a host whose initial sequence numbers come from `seed`. Each accepted connection gets a copy of `answering`.
    #[must_use]
    pub fn new(seed: Seed, answering: TcpApp) -> Self {
        Self {
            endpoint: Endpoint::new(seed),
            apps: BTreeMap::new(),
            answering,
            segments_received: 0,
            overhead: None,
            in_turn: None,
        }
    }

    /// Leaves out checksums, as where the network damages no packets.
    #[must_use]
    pub fn offload_checksums(self) -> Self {
        Self {
            endpoint: self.endpoint.offload_checksums(),
            ..self
        }
    }

    /// Starts listening.
    pub fn listen(&mut self, config: TcpConfig) {
        self.endpoint.listen(TCP_PORT, config);
    }

    /// Opens a connection with an application on it.
    ///
    /// # Panics
    ///
    /// If the two addresses are of different IP versions, or all ports are taken.
    pub fn connect(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        config: TcpConfig,
        app: TcpApp,
    ) -> ConnectionId {
        let connected = self.endpoint.connect(local, remote, config);
        let id = connected.expect("a scenario's addresses can be connected");
        self.apps.insert(id, app);
        self.talk(now, id, |app, connection| app.act(now, connection));
        id
    }

    /// Opens `count` connections one after another, each when the previous one is established, like a program that blocks in
    /// `connect`.
    pub fn connect_in_turn(
        &mut self,
        now: Instant,
        count: u64,
        ends: (SocketAddr, SocketAddr),
        config: TcpConfig,
        app: TcpApp,
    ) {
        self.in_turn = Some(InTurn {
            began: now,
            count,
            left: count,
            local: ends.0,
            remote: ends.1,
            config,
            app,
        });
        self.connect_next(now);
    }

    fn connect_next(&mut self, now: Instant) {
        let Some(in_turn) = self.in_turn.as_mut().filter(|in_turn| in_turn.left > 0) else {
            return;
        };
        let number = in_turn.count - in_turn.left;
        in_turn.left -= 1;
        let (local, remote) = (in_turn.local, in_turn.remote);
        let app = in_turn
            .app
            .clone()
            .in_turn((number, in_turn.count), in_turn.began, now);
        let config = in_turn.config.clone();
        self.connect(now, local, remote, config, app);
    }

    /// Gives access to a connection and its application; `None` if there is no such connection.
    pub fn talk<R>(
        &mut self,
        now: Instant,
        id: ConnectionId,
        act: impl FnOnce(&mut TcpApp, &mut Connection) -> R,
    ) -> Option<R> {
        let app = self.apps.get_mut(&id)?;
        let result = self.endpoint.with(id, |connection| act(app, connection));
        self.serve(now);
        result
    }

    /// Drops a connection, as a restarted host does.
    pub fn forget(&mut self, id: ConnectionId) {
        self.endpoint.forget(id);
    }

    /// The endpoint.
    #[must_use]
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The applications, by connection.
    pub fn apps(&self) -> impl DoubleEndedIterator<Item = (ConnectionId, &TcpApp)> + ExactSizeIterator {
        self.apps.iter().map(|(id, app)| (*id, app))
    }

    /// The application on a connection; it outlives the connection.
    #[must_use]
    pub fn app(&self, id: ConnectionId) -> Option<&TcpApp> {
        self.apps.get(&id)
    }

    /// Segments received, including damaged ones.
    #[must_use]
    pub const fn segments_received(&self) -> u64 {
        self.segments_received
    }

    /// Starts counting the overhead of the segments sent from now on.
    pub fn count_overhead(&mut self) {
        self.overhead = Some(Overhead::default());
    }

    /// Overhead of the segments sent, if [`TcpHost::count_overhead`] was called.
    #[must_use]
    pub const fn overhead(&self) -> Option<&Overhead> {
        self.overhead.as_ref()
    }

    fn serve(&mut self, now: Instant) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            if event == Event::Connected {
                self.connect_next(now);
            }
            let app = self.apps.entry(id).or_insert_with(|| self.answering.clone());
            let mut event = Some(event);
            self.endpoint.with(id, |connection| {
                if let Some(event) = event.take() {
                    app.on_event(now, event, Some(connection));
                }
            });
            if let Some(event) = event {
                app.on_event(now, event, None);
            }
        }
    }
}

impl Host for TcpHost {
    fn on_datagram(&mut self, now: Instant, datagram: Datagram) {
        self.segments_received += 1;
        let addresses = AddressPair {
            source: datagram.path.local.ip(),
            destination: datagram.path.remote.ip(),
        };
        self.endpoint.handle_segment(now, addresses, &datagram.payload);
        spare_buffers::put(datagram.payload);
        self.serve(now);
    }

    fn on_deadline(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
        for (id, app) in &mut self.apps {
            if app.deadline().is_some_and(|deadline| deadline <= now) {
                self.endpoint.with(*id, |connection| app.act(now, connection));
            }
        }
        self.serve(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Datagram> {
        let mut payload = spare_buffers::take();
        let Some(addresses) = self.endpoint.poll_transmit(now, &mut payload) else {
            spare_buffers::put(payload);
            return None;
        };
        if let Some(overhead) = &mut self.overhead {
            overhead.note_tcp(&payload);
        }
        Some(Datagram {
            path: PathAddr {
                local: SocketAddr::new(addresses.source, 0),
                remote: SocketAddr::new(addresses.destination, 0),
            },
            protocol: Protocol::TCP,
            ecn: Ecn::NotCapable,
            may_fragment: false,
            payload,
        })
    }

    fn deadline(&self) -> Option<Instant> {
        let apps = self.apps.values().filter_map(TcpApp::deadline);
        apps.chain(self.endpoint.poll_timeout()).min()
    }
}

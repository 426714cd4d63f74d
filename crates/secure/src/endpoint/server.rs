//! Server: replies without state, and connections of clients that returned a valid cookie.

use anabranch_types::{Instant, PathAddr};
use rustls::quic::{ServerConnection, Version as QuicVersion};

use super::{Connection, Endpoint};
use crate::error::Dropped;
use crate::handshake::{Handshake, Level, Sealed, Terms};
use crate::packet::{ClientInitial, Request, write_retry, write_version_negotiation};
use crate::parameters::Parameters;

impl Endpoint {
    /// Answers a Request with a cookie, or with our versions. Neither reply is longer than the Request.
    pub(super) fn on_request(
        &mut self,
        now: Instant,
        from: PathAddr,
        request: &Request,
    ) -> Result<(), Dropped> {
        if self.server.is_none() {
            return Err(Dropped::WrongRole);
        }
        let datagram = if self.config.versions.contains(&request.version) {
            let cookie = self
                .cookies
                .create(now, request.version, request.client, from.remote);
            write_retry(request.client, &cookie)
        } else {
            write_version_negotiation(request.client, &self.config.versions)
        };
        self.reply(from, datagram)
    }

    /// Takes part of a ClientHello. The first with a valid cookie creates a connection.
    pub(super) fn on_client_initial(
        &mut self,
        now: Instant,
        from: PathAddr,
        initial: &ClientInitial,
        datagram: &mut [u8],
    ) -> Result<(), Dropped> {
        if self.server.is_none() {
            return Err(Dropped::WrongRole);
        }
        let known = self.clients.get(&initial.client).copied();
        let proven = known
            .and_then(|index| self.handshake(index))
            .is_some_and(|handshake| handshake.version() == initial.version && handshake.is_proven(from));
        let sealed = Sealed {
            from,
            level: Level::Initial,
            number: initial.number,
            header: initial.header,
        };
        if let (Some(index), true) = (known, proven) {
            return self.on_sealed(now, index, sealed, datagram);
        }
        let (version, client) = (initial.version, initial.client);
        let created = self
            .cookies
            .verify(now, version, client, from.remote, &initial.cookie);
        let Some(created) = created.filter(|_| self.config.versions.contains(&version)) else {
            if self.config.versions.contains(&version) {
                let cookie = self.cookies.create(now, version, client, from.remote);
                self.reply(from, write_retry(client, &cookie))?;
            }
            return Err(Dropped::InvalidCookie);
        };
        if let Some(index) = known {
            let handshake = self.handshake_mut(index).ok_or(Dropped::UnknownConnection)?;
            if handshake.version() != version {
                return Err(Dropped::InvalidCookie);
            }
            handshake.add_proven_path(from);
            return self.on_sealed(now, index, sealed, datagram);
        }
        self.accept(now, created, initial, sealed, datagram)
    }

    fn accept(
        &mut self,
        now: Instant,
        created: Instant,
        initial: &ClientInitial,
        sealed: Sealed,
        datagram: &mut [u8],
    ) -> Result<(), Dropped> {
        let tls = self.server.clone().ok_or(Dropped::WrongRole)?;
        if self.clients.len() - self.lingering.len() >= self.config.max_handshakes {
            return Err(Dropped::Busy);
        }
        let index = self.new_index()?;
        let terms = Terms {
            version: initial.version,
            available: self.config.versions.clone(),
            client: initial.client,
            server: Some(index),
        };
        let parameters = Parameters {
            chosen: terms.version,
            available: terms.available.clone(),
            client: terms.client,
            server: terms.server,
            reset: self.resets.token(index),
        };
        let tls = ServerConnection::new(tls, QuicVersion::V1, parameters.encode())
            .map_err(|_| Dropped::WrongRole)?;
        let mut handshake = Handshake::server(now, tls.into(), terms, now - created);
        handshake.add_proven_path(sealed.from);
        self.clients.insert(initial.client, index);
        let connection = Connection {
            handshake: Some(Box::new(handshake)),
            attempt: None,
            listed: None,
            established: None,
        };
        self.connections.insert(index, connection);
        let result = self.on_sealed(now, index, sealed, datagram);
        if result == Err(Dropped::Forged) {
            self.close(index);
        }
        result
    }
}

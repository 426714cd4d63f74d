//! Client: attempts to connect, cookies, and other versions.

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_types::{Instant, PathAddr};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, Connection as Tls, Version as QuicVersion};

use super::{Attempt, Connection, Endpoint};
use crate::error::{Dropped, HandshakeError};
use crate::handshake::{ALPN, Handshake, Level, Sealed, Terms};
use crate::index::Index;
use crate::packet::{Request, Retry, ServerInitial, VersionNegotiation};
use crate::parameters::Parameters;
use crate::version::{Version, select};

impl Endpoint {
    /// Begins a handshake that races over `paths`, each with the greatest UDP payload that fits it. `name` is the name
    /// that the server must prove; `tls` says how.
    ///
    /// # Errors
    ///
    /// If TLS 1.3 cannot be used with this configuration, or no randomness is left.
    pub fn connect(
        &mut self,
        now: Instant,
        tls: &ClientConfig,
        name: ServerName<'static>,
        paths: &[(PathAddr, usize)],
    ) -> Result<Index, HandshakeError> {
        let mut tls = tls.clone();
        // A resumed session would need tickets, and early data would be replayed.
        tls.resumption = Resumption::disabled();
        tls.enable_early_data = false;
        let index = self
            .new_index()
            .map_err(|_| rustls::Error::FailedToGetRandomBytes)?;
        let attempt = Attempt {
            tls: Arc::new(tls),
            name,
        };
        let version = self
            .config
            .versions
            .first()
            .copied()
            .ok_or(HandshakeError::NoCommonVersion)?;
        let handshake = self.attempt(now, index, version, &attempt, paths)?;
        let connection = Connection {
            handshake: Some(Box::new(handshake)),
            attempt: Some(Box::new(attempt)),
            listed: None,
            established: None,
        };
        self.connections.insert(index, connection);
        self.relist(index);
        Ok(index)
    }

    /// Adds a path to a handshake in progress, for example after a local address changed.
    pub fn add_path(&mut self, connection: Index, path: PathAddr, size: usize) {
        if let Some(handshake) = self.handshake_mut(connection) {
            handshake.add_path(path, size);
        }
        self.relist(connection);
    }

    /// Adds paths to a handshake in progress that are tried when no other has answered after 250 ms (RFC 8305 §5), or when packets have
    /// to be sent again.
    pub fn add_alternatives(&mut self, connection: Index, paths: &[(PathAddr, usize)]) {
        if let Some(handshake) = self.handshake_mut(connection) {
            handshake.add_alternatives(paths);
        }
        self.relist(connection);
    }

    /// A host reported that no program listens at `remote`, about a packet that starts with `quoted`: ICMP Port Unreachable from the
    /// destination itself. An unanswered handshake goes on with its other addresses; without one it fails with
    /// [`HandshakeError::Refused`]. Who did not see the packet cannot quote it.
    pub fn handle_refused(&mut self, now: Instant, remote: SocketAddr, quoted: &[u8]) {
        let Some(index) = Request::client_of(quoted) else {
            return;
        };
        let result = self
            .handshake_mut(index)
            .map_or(Ok(()), |handshake| handshake.on_refused(remote));
        self.finish(now, index, result);
    }

    fn attempt(
        &self,
        now: Instant,
        index: Index,
        version: Version,
        attempt: &Attempt,
        paths: &[(PathAddr, usize)],
    ) -> Result<Handshake, HandshakeError> {
        let terms = Terms {
            version,
            available: self.config.versions.clone(),
            client: index,
            server: None,
        };
        let parameters = Parameters {
            chosen: version,
            available: terms.available.clone(),
            client: index,
            server: None,
            reset: self.resets.token(index),
        };
        let (tls, name) = (attempt.tls.clone(), attempt.name.clone());
        let alpn = vec![ALPN.to_vec()];
        let tls = ClientConnection::new_with_alpn(tls, QuicVersion::V1, name, parameters.encode(), alpn)?;
        Ok(Handshake::client(now, Tls::from(tls), terms, paths))
    }

    pub(super) fn on_retry(&mut self, now: Instant, from: PathAddr, retry: Retry) -> Result<(), Dropped> {
        let handshake = self.client_handshake(retry.client)?;
        handshake.on_retry(now, from, retry.cookie);
        self.relist(retry.client);
        Ok(())
    }

    /// Begins again with a version of the server's list, unless a server has accepted ours or has sent a list before
    /// (RFC 9000 §6.2). Nothing has been sealed by then.
    pub(super) fn on_version_negotiation(
        &mut self,
        now: Instant,
        list: &VersionNegotiation,
    ) -> Result<(), Dropped> {
        let index = list.client;
        let preferred = self.config.versions.first().copied();
        let handshake = self.client_handshake(index)?;
        let tried = handshake.version();
        if preferred != Some(tried) || handshake.has_answer() || list.versions.contains(&tried) {
            return Ok(());
        }
        let [paths, alternatives] = handshake.paths();
        let attempt = self
            .connections
            .get_mut(&index)
            .and_then(|connection| connection.attempt.take());
        let attempt = attempt.ok_or(Dropped::WrongRole)?;
        let begun = select(&self.config.versions, &list.versions)
            .ok_or(HandshakeError::NoCommonVersion)
            .and_then(|version| self.attempt(now, index, version, &attempt, &paths));
        let result = begun.map(|mut handshake| {
            handshake.add_alternatives(&alternatives);
            if let Some(connection) = self.connections.get_mut(&index) {
                connection.handshake = Some(Box::new(handshake));
                connection.attempt = Some(attempt);
            }
        });
        self.finish(now, index, result);
        Ok(())
    }

    pub(super) fn on_server_initial(
        &mut self,
        now: Instant,
        from: PathAddr,
        initial: &ServerInitial,
        datagram: &mut [u8],
    ) -> Result<(), Dropped> {
        let sealed = Sealed {
            from,
            level: Level::Initial,
            number: initial.number,
            header: initial.header,
        };
        let result = self
            .client_handshake(initial.client)?
            .on_sealed(now, sealed, datagram);
        let authentic = !matches!(result, Ok(false));
        if authentic && let Some(handshake) = self.handshake_mut(initial.client) {
            handshake.on_server_index(initial.server);
        }
        self.finish(now, initial.client, result.map(|_| ()));
        if authentic { Ok(()) } else { Err(Dropped::Forged) }
    }

    /// The handshake of our client connection `index`.
    fn client_handshake(&mut self, index: Index) -> Result<&mut Handshake, Dropped> {
        let handshake = self.handshake_mut(index).ok_or(Dropped::UnknownConnection)?;
        // A server's connection has an index of its own, which no packet for clients names.
        if handshake.client_index() == index {
            Ok(handshake)
        } else {
            Err(Dropped::WrongRole)
        }
    }
}

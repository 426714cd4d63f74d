//! Client: keeps a tunnel to a peer up, over all paths, and sets up another one when it has ended.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch::{ConnectError, Endpoint, PolicyRecipe};
use anabranch_tunnel::{End, Role, association_config};
use tokio::time::sleep;

use super::Shared;
use super::carry::carry;
use super::config::Peer;
use crate::failure::Failure;
use crate::keys::{self, SenderKeys};
use crate::network::{self, Guarded, named};
use crate::output::Event;
use crate::parse::PeerAddresses;
use crate::uplinks::{Following, Opened};
use crate::verb::send::{resolve, sockets};

/// How long a peer has to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pause before the second attempt; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Longest pause between attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Keeps a tunnel to `peer` up until dropped.
pub(super) async fn run(shared: Shared, peer: usize) -> Infallible {
    let mut caller = Caller {
        peer: &shared.config.peers[peer],
        place: peer,
        shared: &shared,
        warned: BTreeSet::new(),
    };
    let (mut pause, mut last) = (FIRST_PAUSE, String::new());
    loop {
        let message = match caller.attempt().await {
            Ok(end) => {
                (pause, last) = (FIRST_PAUSE, String::new());
                end.to_string()
            }
            Err(failure) => failure.to_string(),
        };
        // The same message every few seconds says nothing new.
        if message != last {
            shared.reporter.report(&Event::TunnelDown {
                peer: &caller.peer.name,
                message: &message,
                seconds: Some(pause.as_secs_f64()),
            });
        }
        last = message;
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

struct Caller<'s> {
    shared: &'s Shared,
    peer: &'s Peer,
    place: usize,
    /// What was told already.
    warned: BTreeSet<String>,
}

impl Caller<'_> {
    /// Sets up a tunnel, and returns how it has ended.
    async fn attempt(&mut self) -> Result<End, Failure> {
        let addresses = PeerAddresses {
            key: None,
            hosts: self.peer.endpoints.clone(),
        };
        // Names and uplinks may be others than the last time.
        let remotes = resolve(&addresses).await?;
        let Opened { sockets, warnings } = sockets(self.shared.config.paths.as_ref(), &remotes)?;
        for text in warnings {
            self.warn(text);
        }
        let config = &self.shared.config;
        let keys = SenderKeys::Trusted {
            own: Some(config.key.clone()),
            receivers: vec![self.peer.key],
            source: String::new(),
        };
        let builder = network::endpoint_on(sockets, association_config(PolicyRecipe::default()));
        let endpoint = keys::send_by(builder, &keys)
            .connect_timeout(PATIENCE)
            .bind()
            .await
            .map_err(Failure::work)?;
        self.shared.state.keep(&endpoint);
        let ended = self.connect_and_carry(&endpoint, &remotes).await;
        self.shared.state.close(&endpoint).await;
        ended
    }

    async fn connect_and_carry(
        &mut self,
        endpoint: &Endpoint,
        remotes: &[SocketAddr],
    ) -> Result<End, Failure> {
        let connected = endpoint.connect(remotes).await;
        let association = connected.map_err(|error| Failure::Work(self.explain(&error, &named(remotes))))?;
        let association = Guarded(association);
        let following = association.0.clone();
        let following = Following {
            endpoint,
            association: &following,
            from: self.shared.config.paths.as_ref(),
            remotes,
        };
        let shared = self.shared;
        let meanwhile = following.run(|text| shared.warn(text));
        Ok(carry(shared, (self.place, Role::Client), association, meanwhile).await)
    }

    fn warn(&mut self, text: String) {
        if !self.warned.contains(&text) {
            self.shared.warn(&text);
            self.warned.insert(text);
        }
    }

    fn explain(&self, error: &ConnectError, peer: &str) -> String {
        match error {
            ConnectError::Refused => format!(
                "nothing listens at {peer}: the host says that the port is closed; start `anabranch tunnel` there, or check the Endpoint"
            ),
            ConnectError::NoAnswer => format!(
                "no answer from {peer} within {} s; is `anabranch tunnel` running there, and does every firewall let UDP through?",
                PATIENCE.as_secs()
            ),
            ConnectError::UntrustedKey(key) => format!(
                "{peer} has the key {key}, not the PublicKey of {}: is this what its configuration has? If not, somebody else answers",
                self.peer.name
            ),
            ConnectError::KeyNotAccepted(key) => format!(
                "{peer} does not accept our key {key}: write a [Peer] with this PublicKey into its file"
            ),
            error => format!("{peer}: {error}"),
        }
    }
}

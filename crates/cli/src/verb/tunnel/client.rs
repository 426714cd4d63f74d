//! Client: keeps a tunnel to a peer up, over all paths, and sets up another one when it has ended.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anabranch::{AssociationConfig, ConnectError, Endpoint, PolicyRecipe};
use anabranch_tunnel::{End, Role, association_config};
use tokio::time::{Instant, sleep};

use super::Shared;
use super::carry::carry;
use super::config::Config;
use super::preferences;
use super::state::PeerState;
use crate::failure::Failure;
use crate::keys::{self, SenderKeys};
use crate::network::{self, Guarded, named};
use crate::output::Event;
use crate::parse::PeerAddresses;
use crate::uplinks::{Following, Opened};
use crate::verb::send::{resolve, sockets_beside};

/// How long a peer has to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pause before the second attempt; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Longest pause between attempts. A tunnel that has lasted as long is worth another attempt soon.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Keeps a tunnel to `peer` up until it is removed from the file.
pub(super) async fn run(shared: Shared, peer: Arc<PeerState>) {
    let mut caller = Caller {
        peer: &peer,
        shared: &shared,
        warned: BTreeSet::new(),
        is_up: false,
    };
    let (mut pauses, mut last) = (Pauses(FIRST_PAUSE), String::new());
    loop {
        let (message, lasted) = match caller.attempt().await {
            Ok((end, lasted)) => {
                if end != End::NoTunnel {
                    // That it was up was told, too.
                    last.clear();
                }
                (end.to_string(), lasted)
            }
            Err(failure) => (failure.to_string(), Duration::ZERO),
        };
        if peer.is_removed() {
            if caller.is_up {
                shared.reporter.report(&Event::TunnelDown {
                    peer: &peer.name(),
                    message: &message,
                    seconds: None,
                });
            }
            return;
        }
        let pause = pauses.after(lasted);
        // The same message every few seconds says nothing new.
        if message != last {
            shared.reporter.report(&Event::TunnelDown {
                peer: &peer.name(),
                message: &message,
                seconds: Some(pause.as_secs_f64()),
            });
        }
        last = message;
        tokio::select! {
            () = sleep(pause) => {}
            () = peer.removed() => return,
        }
    }
}

/// Pauses between attempts. Has the next one.
#[derive(Debug)]
struct Pauses(Duration);

impl Pauses {
    /// The pause after a tunnel that has lasted for some time.
    fn after(&mut self, lasted: Duration) -> Duration {
        if lasted >= LONGEST_PAUSE {
            self.0 = FIRST_PAUSE;
        }
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}

struct Caller<'s> {
    shared: &'s Shared,
    peer: &'s PeerState,
    /// What was told already.
    warned: BTreeSet<String>,
    /// The last attempt has led to a tunnel, and that was told.
    is_up: bool,
}

impl Caller<'_> {
    /// Sets up a tunnel, and returns how it has ended, and how long it lasted.
    async fn attempt(&mut self) -> Result<(End, Duration), Failure> {
        self.is_up = false;
        let addresses = PeerAddresses {
            key: None,
            hosts: self.peer.config().endpoints.clone(),
        };
        // Names and uplinks may be others than the last time.
        let remotes = resolve(&addresses).await?;
        let config = self.shared.state.config();
        let Opened { sockets, warnings } = sockets_beside(device(&config), config.paths.as_ref(), &remotes)?;
        for text in warnings {
            self.warn(text);
        }
        let keys = SenderKeys::Trusted {
            own: Some(config.key.clone()),
            receivers: vec![self.peer.key()],
            source: String::new(),
        };
        let locals = sockets.iter().map(|socket| socket.local_addr());
        let association = AssociationConfig {
            path_preferences: preferences::of_sockets(&config, locals),
            ..association_config(PolicyRecipe::default())
        };
        let builder = network::endpoint_on(sockets, association);
        let endpoint = keys::send_by(builder, &keys)
            .connect_timeout(PATIENCE)
            .bind()
            .await
            .map_err(Failure::work)?;
        self.shared.state.keep(&endpoint);
        let peer = self.peer;
        let ended = tokio::select! {
            ended = self.connect_and_carry(&endpoint, &remotes, &config) => ended,
            () = peer.removed() => Err(Failure::work("the file does not name this peer any more")),
        };
        self.shared.state.close(&endpoint).await;
        ended
    }

    async fn connect_and_carry(
        &mut self,
        endpoint: &Endpoint,
        remotes: &[SocketAddr],
        config: &Arc<Config>,
    ) -> Result<(End, Duration), Failure> {
        let connected = endpoint.connect(remotes).await;
        let association = connected.map_err(|error| Failure::Work(self.explain(&error, &named(remotes))))?;
        let association = Guarded(association);
        let shared = self.shared;
        let following = association.0.clone();
        let following = Following {
            endpoint,
            association: &following,
            from: config.paths.as_ref(),
            remotes,
            beside: device(config),
            // An address that comes back may have had another one.
            preference: &|address| {
                Some(preferences::of_address(&shared.state.config(), address).unwrap_or_default())
            },
        };
        let is_up = &mut self.is_up;
        // It begins after the tunnel was told.
        let meanwhile = async {
            *is_up = true;
            prefer(shared, &following, config);
            following.run(|text| shared.warn(text)).await
        };
        let begun = Instant::now();
        let end = carry(shared, (self.peer, Role::Client), association, meanwhile).await;
        Ok((end, begun.elapsed()))
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
                self.peer.name()
            ),
            ConnectError::KeyNotAccepted(key) => format!(
                "{peer} does not accept our key {key}: write a [Peer] with this PublicKey into its file"
            ),
            error => format!("{peer}: {error}"),
        }
    }
}

/// Gives the paths of an association that was set up with `config` the preferences that a reload has changed meanwhile. Later ones reach it,
/// as it is listed.
fn prefer(shared: &Shared, following: &Following<'_>, config: &Arc<Config>) {
    let mut known = Arc::clone(config);
    loop {
        let now = shared.state.config();
        if now.preferences == known.preferences {
            return;
        }
        for local in following.endpoint.local_addrs() {
            let preference = preferences::of_address(&now, local.ip()).unwrap_or_default();
            following.association.set_path_preference(local.ip(), preference);
        }
        known = now;
    }
}

/// The device of this tunnel, which is no uplink.
fn device(config: &Config) -> Option<&str> {
    config.tun.as_ref().map(|tun| tun.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunnel_that_ends_at_once_is_set_up_less_and_less_often() {
        let mut pauses = Pauses(FIRST_PAUSE);
        let short = LONGEST_PAUSE - Duration::from_millis(1);
        let seconds: Vec<f64> = (0..7).map(|_| pauses.after(short).as_secs_f64()).collect();
        assert_eq!(seconds, [0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0]);
        assert_eq!(pauses.after(LONGEST_PAUSE), FIRST_PAUSE);
    }
}

//! First use. What is the key of a receiver that is not known yet, and does the user trust it?

use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anabranch::io::Socket;
use anabranch::{PeerInfo, PublicKey};
use tokio::time::timeout;

use crate::failure::Failure;
use crate::interrupt::on_thread;
use crate::keys::{self, SenderKeys};
use crate::known_peers::KnownPeers;
use crate::network;
use crate::parse::PeerAddress;
use crate::settings::Settings;
use crate::transfer::address_seen;

/// How a new key comes to be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FirstUse {
    /// At once (`--accept-new`).
    Accept,
    /// If the user says so.
    Ask,
    /// Never: nobody can be asked.
    Refuse,
}

impl FirstUse {
    /// `accepts` is `--accept-new`; `is_free` means that neither input nor output is in use by something else.
    fn new(accepts: bool, is_free: bool) -> Self {
        let asks = is_free && io::stdin().is_terminal() && io::stderr().is_terminal();
        match (accepts, asks) {
            (true, _) => Self::Accept,
            (false, true) => Self::Ask,
            (false, false) => Self::Refuse,
        }
    }

    /// Decides whether the key of `hosts` is trusted.
    async fn decide(self, hosts: &[PeerAddress], key: PublicKey, program: &str) -> Result<(), Failure> {
        let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let names = names.join(", ");
        match self {
            Self::Accept => Ok(()),
            Self::Refuse => Err(Failure::Work(format!(
                "the key of {names} is not known here. It is {key}: compare it with what `{program}` prints there; then put \
                 {key}@ before its address, or trust it with --accept-new"
            ))),
            Self::Ask => {
                let program = program.to_owned();
                let agrees = on_thread(move || ask(&names, key, &program).map_err(Failure::work)).await?;
                if agrees {
                    Ok(())
                } else {
                    Err(Failure::work("the key was not trusted; nothing was sent"))
                }
            }
        }
    }
}

fn ask(names: &str, key: PublicKey, program: &str) -> io::Result<bool> {
    let mut terminal = io::stderr();
    write!(
        terminal,
        "The key of {names} is not known here. It is {key}.\n\
         Is this what `{program}` prints there? Trust it from now on [y/N]? "
    )?;
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Remembers the key of a receiver; returns what to tell the user, unless the key was known.
pub(crate) fn remember(hosts: &[PeerAddress], key: PublicKey) -> Result<Option<String>, Failure> {
    let known = KnownPeers::load(&keys::folder()?)?;
    if known.keys_of(hosts).contains(&key) {
        return Ok(None);
    }
    let shown = known.file().display();
    Ok(Some(match known.remember(hosts, key) {
        Ok(()) => format!("trusted the new key {key}, now in {shown}"),
        Err(error) => format!("trusted the new key {key} this time; {shown}: {error}"),
    }))
}

/// A sender, or client, and a receiver that it does not know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting<'m> {
    pub(crate) hosts: &'m [PeerAddress],
    pub(crate) remotes: &'m [SocketAddr],
    pub(crate) settings: &'m Settings,
    pub(crate) patience: Duration,
    /// `--accept-new`
    pub(crate) accepts: bool,
    /// Whether neither input nor output is in use by something else.
    pub(crate) is_free: bool,
    /// What the user starts at the other end.
    pub(crate) program: &'m str,
}

impl Meeting<'_> {
    /// Finds out the receiver's key, and remembers it if it is trusted.
    pub(crate) async fn trust(
        self,
        sockets: Vec<Arc<dyn Socket>>,
        warn: impl Fn(&str),
    ) -> Result<PublicKey, Failure> {
        let key = self.learn(sockets).await?;
        FirstUse::new(self.accepts, self.is_free)
            .decide(self.hosts, key, self.program)
            .await?;
        if let Some(told) = remember(self.hosts, key)? {
            warn(&told);
        }
        Ok(key)
    }

    /// Asks the receiver for its key, in an association that carries nothing.
    async fn learn(self, sockets: Vec<Arc<dyn Socket>>) -> Result<PublicKey, Failure> {
        let builder = network::endpoint_on(sockets, self.settings.association_config()?);
        let keys = SenderKeys::Unknown { own: None };
        let endpoint = keys::send_by(builder, &keys)
            .connect_timeout(self.patience)
            .bind()
            .await
            .map_err(Failure::work)?;
        let connected =
            network::try_connect(&endpoint, self.remotes, self.patience, &keys, self.program).await;
        let key = match connected {
            Ok(association) => {
                // The receiver takes it for a check of the uplink, not for a transfer that failed.
                let _ = timeout(self.patience, address_seen(&association)).await;
                network::shut_down(&association).await;
                Ok(association.peer_identity().and_then(PeerInfo::public_key))
            }
            Err(unconnected) => Err(unconnected.failure),
        };
        network::close(&endpoint).await;
        key?.ok_or_else(|| Failure::work("the receiver has a certificate, not a key"))
    }
}

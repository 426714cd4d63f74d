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
use crate::network;
use crate::parse::PeerAddress;
use crate::settings::Settings;
use crate::transfer::address_seen;

/// How a new key comes to be trusted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FirstUse {
    /// At once (`--accept-new`).
    Accept,
    /// If the user says so.
    Ask,
    /// Never: nobody can be asked.
    Refuse,
}

impl FirstUse {
    /// `accepts` is `--accept-new`; `is_free` means that neither input nor output is in use by something else.
    pub(crate) fn new(accepts: bool, is_free: bool) -> Self {
        let asks = is_free && io::stdin().is_terminal() && io::stderr().is_terminal();
        match (accepts, asks) {
            (true, _) => Self::Accept,
            (false, true) => Self::Ask,
            (false, false) => Self::Refuse,
        }
    }

    /// Decides whether the key of `hosts` is trusted.
    pub(crate) async fn decide(self, hosts: &[PeerAddress], key: PublicKey) -> Result<(), Failure> {
        let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let names = names.join(", ");
        match self {
            Self::Accept => Ok(()),
            Self::Refuse => Err(Failure::Work(format!(
                "the key of {names} is not known here. It is {key}: compare it with what `anabranch recv` prints there; then give \
                 --to {key}@..., or trust it with --accept-new"
            ))),
            Self::Ask => {
                let agrees = on_thread(move || ask(&names, key).map_err(Failure::work)).await?;
                if agrees {
                    Ok(())
                } else {
                    Err(Failure::work("the key was not trusted; nothing was sent"))
                }
            }
        }
    }
}

fn ask(names: &str, key: PublicKey) -> io::Result<bool> {
    let mut terminal = io::stderr();
    write!(
        terminal,
        "The key of {names} is not known here. It is {key}.\n\
         Is this what `anabranch recv` prints there? Trust it from now on [y/N]? "
    )?;
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Asks the receiver for its key, in an association that carries nothing.
pub(crate) async fn learn(
    sockets: Vec<Arc<dyn Socket>>,
    remotes: &[SocketAddr],
    settings: &Settings,
    patience: Duration,
) -> Result<PublicKey, Failure> {
    let builder = network::endpoint_on(sockets, settings.association_config()?);
    let keys = SenderKeys::Unknown { own: None };
    let endpoint = keys::send_by(builder, &keys)
        .connect_timeout(patience)
        .bind()
        .await
        .map_err(Failure::work)?;
    let key = match network::connect(&endpoint, remotes, patience, &keys).await {
        Ok(association) => {
            // The receiver takes it for a check of the uplink, not for a transfer that failed.
            let _ = timeout(patience, address_seen(&association)).await;
            network::shut_down(&association).await;
            Ok(association.peer_identity().and_then(PeerInfo::public_key))
        }
        Err(failure) => Err(failure),
    };
    network::close(&endpoint).await;
    key?.ok_or_else(|| Failure::work("the receiver has a certificate, not a key"))
}

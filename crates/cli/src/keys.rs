//! Keys of the program: a private key from a file, and how endpoints use it.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anabranch::io::expand_wildcard;
use anabranch::{EndpointBuilder, PrivateKey, PublicKey};

use crate::failure::Failure;

/// Keys of a receiver.
#[derive(Debug)]
pub(crate) struct ReceiverKeys {
    own: PrivateKey,
    allowed: Vec<PublicKey>,
}

impl ReceiverKeys {
    /// Those of `--key` and `--allow`; `None` to receive in the clear.
    pub(crate) fn load(file: Option<&Path>, allowed: Vec<PublicKey>) -> Result<Option<Self>, Failure> {
        let own = file.map(load).transpose()?;
        Ok(own.map(|own| Self { own, allowed }))
    }

    /// What `--to` of a sender takes: our key and all addresses at which we listen.
    pub(crate) fn address(&self, listening: &[SocketAddr]) -> String {
        let addresses = listening.iter().flat_map(|local| {
            let is_wildcard = local.ip().is_unspecified();
            let present = expand_wildcard(*local).unwrap_or_default();
            present
                .into_iter()
                .filter(move |address| !is_wildcard || !address.ip().is_loopback())
        });
        let addresses: Vec<String> = addresses.map(|address| address.to_string()).collect();
        format!("{}@{}", self.own.public_key(), addresses.join(","))
    }
}

/// Keys of a sender.
#[derive(Clone, Debug)]
pub(crate) struct SenderKeys {
    own: Option<PrivateKey>,
    receiver: PublicKey,
}

impl SenderKeys {
    /// The key before the receiver's addresses, and that of `--key`; `None` to send in the clear.
    pub(crate) fn load(file: Option<&Path>, receiver: Option<PublicKey>) -> Result<Option<Self>, Failure> {
        let own = file.map(load).transpose()?;
        match (receiver, own) {
            (Some(receiver), own) => Ok(Some(Self { own, receiver })),
            (None, None) => Ok(None),
            (None, Some(_)) => Err(Failure::usage(
                "--key needs the receiver's key before its addresses, as `anabranch recv` prints them: KEY@HOST",
            )),
        }
    }
}

/// An endpoint with the keys of a receiver, or in the clear.
pub(crate) fn receive_by(builder: EndpointBuilder, keys: Option<&ReceiverKeys>) -> EndpointBuilder {
    let Some(keys) = keys else {
        return builder.insecure();
    };
    let builder = builder.identity(keys.own.clone());
    if keys.allowed.is_empty() {
        return builder.trust_everyone();
    }
    keys.allowed
        .iter()
        .fold(builder, |builder, key| builder.trust(*key))
}

/// An endpoint with the keys of a sender, or in the clear.
pub(crate) fn send_by(builder: EndpointBuilder, keys: Option<&SenderKeys>) -> EndpointBuilder {
    let Some(keys) = keys else {
        return builder.insecure();
    };
    let builder = builder.trust(keys.receiver);
    match &keys.own {
        Some(own) => builder.identity(own.clone()),
        None => builder,
    }
}

fn load(file: &Path) -> Result<PrivateKey, Failure> {
    let shown = file.display();
    let text = fs::read_to_string(file).map_err(|error| Failure::Usage(format!("{shown}: {error}")))?;
    parse(&text).map_err(|error| Failure::Usage(format!("{shown}: {error}")))
}

/// Parses a private key as `genkey` prints it.
pub(crate) fn parse(text: &str) -> Result<PrivateKey, String> {
    let key = text.trim().parse::<PrivateKey>();
    key.map_err(|error| format!("{error}; `anabranch genkey` makes keys"))
}

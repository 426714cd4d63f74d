//! Keys of the program: from a file, from the folder of its configuration, or from the command line; and how endpoints use them.

use std::env;
use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anabranch::io::expand_wildcard;
use anabranch::rustls::pki_types::ServerName;
use anabranch::rustls::{ClientConfig, KeyLogFile, ServerConfig};
use anabranch::{EndpointBuilder, KeyList, PrivateKey, PublicKey};
use etcetera::BaseStrategy as _;

use crate::failure::Failure;
use crate::known_peers::{KnownPeers, create_private};
use crate::parse::PeerAddresses;

/// Name of a receiver's private key in the folder of the program's configuration.
const RECEIVER_KEY: &str = "receiver.key";

/// Name of the file with the secret that names this user's transfers.
const TRANSFER_SECRET: &str = "transfer.secret";

/// Keys of a receiver.
#[derive(Debug)]
pub(crate) enum ReceiverKeys {
    /// None: packets are in the clear.
    Insecure,
    /// Certificates.
    Certified(ServerConfig),
    /// Our key, and those of the permitted senders; all are permitted if the list is empty.
    Sealed {
        own: PrivateKey,
        allowed: Vec<PublicKey>,
    },
    /// Our key, and a list of the permitted senders, which may change.
    Listed { own: PrivateKey, allowed: KeyList },
}

impl ReceiverKeys {
    /// Our key is that of `file`, or the one that this user's receivers always have. If that cannot be kept, there is a warning.
    pub(crate) fn load(
        file: Option<&Path>,
        allowed: Vec<PublicKey>,
    ) -> Result<(Self, Option<String>), Failure> {
        let (own, warning) = match file {
            Some(file) => (load(file)?, None),
            None => own_key()?,
        };
        Ok((Self::Sealed { own, allowed }, warning))
    }

    /// What `--to` of a sender takes: our key and all addresses at which we listen. `None` in the clear.
    pub(crate) fn address(&self, listening: &[SocketAddr]) -> Option<String> {
        let (Self::Sealed { own, .. } | Self::Listed { own, .. }) = self else {
            return None;
        };
        let addresses = listening.iter().flat_map(|local| {
            let is_wildcard = local.ip().is_unspecified();
            let present = expand_wildcard(*local).unwrap_or_default();
            present
                .into_iter()
                .filter(move |address| !is_wildcard || !address.ip().is_loopback())
        });
        let addresses: Vec<String> = addresses.map(|address| address.to_string()).collect();
        Some(format!("{}@{}", own.public_key(), addresses.join(",")))
    }
}

/// Keys of a sender.
#[derive(Clone, Debug)]
pub(crate) enum SenderKeys {
    /// None: packets are in the clear.
    Insecure,
    /// An authority vouches for the receiver's name.
    Authority {
        config: Box<ClientConfig>,
        name: ServerName<'static>,
    },
    /// The receiver has one of these keys, which are those of `source`.
    Trusted {
        own: Option<PrivateKey>,
        receivers: Vec<PublicKey>,
        source: String,
    },
    /// The receiver's key is not known yet.
    Unknown { own: Option<PrivateKey> },
}

impl SenderKeys {
    /// Our key is that of `file`, or a new one. The receiver's is the one before its addresses, or else the one by which it is known.
    pub(crate) fn load(file: Option<&Path>, to: &PeerAddresses) -> Result<Self, Failure> {
        let own = file.map(load).transpose()?;
        let (receivers, source) = if let Some(key) = to.key {
            (vec![key], "before the @".to_owned())
        } else {
            let known = KnownPeers::load(&folder()?)?;
            (known.keys_of(&to.hosts), format!("in {}", known.file().display()))
        };
        Ok(match receivers[..] {
            [] => Self::Unknown { own },
            _ => Self::Trusted {
                own,
                receivers,
                source,
            },
        })
    }

    /// From now on, `receiver` is the receiver's key.
    pub(crate) fn trusting(self, receiver: PublicKey) -> Self {
        match self {
            Self::Unknown { own } => Self::Trusted {
                own,
                receivers: vec![receiver],
                source: "that was trusted a moment ago".to_owned(),
            },
            settled => settled,
        }
    }

    /// Where the receiver's keys are from, for messages.
    pub(crate) fn source(&self) -> &str {
        match self {
            Self::Trusted { source, .. } => source,
            Self::Insecure | Self::Authority { .. } | Self::Unknown { .. } => "",
        }
    }

    pub(crate) const fn is_insecure(&self) -> bool {
        matches!(self, Self::Insecure)
    }

    /// A warning if the secrets of these keys' sessions are written to a file.
    pub(crate) fn key_log_warning(&self) -> Option<String> {
        key_log_warning().filter(|_| !self.is_insecure())
    }
}

/// The environment variable that names a file for the secrets of sessions, as browsers have it.
const KEY_LOG: &str = "SSLKEYLOGFILE";

/// A warning if secrets are written to a file.
pub(crate) fn key_log_warning() -> Option<String> {
    let file = env::var_os(KEY_LOG)?;
    Some(format!(
        "{KEY_LOG} is set: who has {} can read what is sent",
        Path::new(&file).display()
    ))
}

/// An endpoint that writes its secrets to the file of [`KEY_LOG`], if that is set.
fn logging(builder: EndpointBuilder) -> EndpointBuilder {
    match env::var_os(KEY_LOG) {
        Some(_) => builder.key_log(Arc::new(KeyLogFile::new())),
        None => builder,
    }
}

/// An endpoint with the keys of a receiver, or in the clear.
pub(crate) fn receive_by(builder: EndpointBuilder, keys: &ReceiverKeys) -> EndpointBuilder {
    let builder = logging(builder);
    match keys {
        ReceiverKeys::Insecure => builder.insecure(),
        ReceiverKeys::Certified(config) => builder.tls_server(config.clone()),
        ReceiverKeys::Sealed { own, allowed } => {
            let builder = builder.identity(own.clone());
            if allowed.is_empty() {
                return builder.trust_everyone();
            }
            allowed.iter().fold(builder, |builder, key| builder.trust(*key))
        }
        ReceiverKeys::Listed { own, allowed } => builder.identity(own.clone()).trust_listed(allowed),
    }
}

/// An endpoint with the keys of a sender, or in the clear. While the receiver's key is not known, nothing may be sent.
pub(crate) fn send_by(builder: EndpointBuilder, keys: &SenderKeys) -> EndpointBuilder {
    let builder = logging(builder);
    let (builder, own) = match keys {
        SenderKeys::Insecure => return builder.insecure(),
        SenderKeys::Authority { config, name } => return builder.tls_client(*config.clone(), name.clone()),
        SenderKeys::Trusted { own, receivers, .. } => {
            let trusting = receivers.iter().fold(builder, |builder, key| builder.trust(*key));
            (trusting, own)
        }
        SenderKeys::Unknown { own } => (builder.trust_everyone(), own),
    };
    match own {
        Some(own) => builder.identity(own.clone()),
        None => builder,
    }
}

/// The folder of the program's configuration: `anabranch` in `$XDG_CONFIG_HOME` or `~/.config`.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let strategy = etcetera::choose_base_strategy();
    let strategy = strategy.map_err(|_| {
        Failure::work(
            "this user has no home directory for keys; set XDG_CONFIG_HOME, or give the keys as arguments",
        )
    })?;
    Ok(strategy.config_dir().join("anabranch"))
}

/// The file with the key of this user's receivers; made the first time.
#[cfg(target_os = "linux")]
pub(crate) fn own_key_file() -> Result<PathBuf, Failure> {
    let file = folder()?.join(RECEIVER_KEY);
    if !matches!(fs::exists(&file), Ok(true)) {
        make(&file).map_err(|error| Failure::Work(format!("{}: {error}", file.display())))?;
    }
    Ok(file)
}

/// The key of this user's receivers; made the first time. If it cannot be kept, it is a new one, and there is a warning.
fn own_key() -> Result<(PrivateKey, Option<String>), Failure> {
    let kept = folder().and_then(|folder| {
        let file = folder.join(RECEIVER_KEY);
        match fs::exists(&file) {
            Ok(true) => load(&file),
            _ => make(&file).map_err(|error| Failure::Work(format!("{}: {error}", file.display()))),
        }
    });
    match kept {
        Ok(key) => Ok((key, None)),
        Err(Failure::Work(reason)) => {
            let warning =
                format!("this receiver has a new key each time, which senders have to trust anew: {reason}");
            Ok((PrivateKey::generate().map_err(Failure::work)?, Some(warning)))
        }
        Err(other) => Err(other),
    }
}

/// The secret from which the ids of this user's transfers are derived, so that nobody else can go on with them; made the first time.
/// `None` if it cannot be kept.
pub(crate) fn transfer_secret() -> Option<String> {
    let file = folder().ok()?.join(TRANSFER_SECRET);
    match fs::read_to_string(&file) {
        Ok(secret) => Some(secret).filter(|secret| secret.len() >= 32),
        Err(_) => make(&file).ok().map(|key| format!("{}\n", key.to_base64())),
    }
}

/// A text that nobody can guess.
pub(crate) fn token() -> Result<String, Failure> {
    let key = PrivateKey::generate().map_err(Failure::work)?;
    Ok(key.to_base64())
}

/// Makes a key in a new file; another program may do so at the same time.
fn make(file: &Path) -> io::Result<PrivateKey> {
    let folder = file.parent().unwrap_or(file);
    create_private(folder)?;
    let key = PrivateKey::generate().map_err(io::Error::other)?;
    let mut whole = tempfile::NamedTempFile::new_in(folder)?;
    writeln!(whole, "{}", key.to_base64())?;
    match whole.persist_noclobber(file) {
        Ok(_) => Ok(key),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            parse(&fs::read_to_string(file)?).map_err(io::Error::other)
        }
        Err(error) => Err(error.error),
    }
}

fn load(file: &Path) -> Result<PrivateKey, Failure> {
    read(file).map_err(Failure::Usage)
}

/// The private key in a file.
pub(crate) fn read(file: &Path) -> Result<PrivateKey, String> {
    let shown = file.display();
    let text = fs::read_to_string(file).map_err(|error| format!("{shown}: {error}"))?;
    parse(&text).map_err(|error| format!("{shown}: {error}"))
}

/// Parses a private key as `genkey` prints it.
pub(crate) fn parse(text: &str) -> Result<PrivateKey, String> {
    let key = text.trim().parse::<PrivateKey>();
    key.map_err(|error| format!("{error}; `anabranch genkey` makes keys"))
}

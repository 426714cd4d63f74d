//! Configuration of a tunnel, from a file in the manner of WireGuard. What is this host to do, and for which peers?
//!
//! docs/tunnel.md has all keys. Everything is parsed into valid types here; each error names the line, what is wrong and what to write.

mod class;
mod forward;
mod lines;
mod path;
mod quota;
mod reload;
#[cfg(test)]
mod tests;
mod tun;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anabranch::{PathPreference, PrivateKey, PublicKey};
use anabranch_tunnel::{ClassRule, Proxy, Reach, Rule};

use self::class::parse_class;
use self::forward::{Forward, parse_forward, parse_proxy};
pub(crate) use self::lines::ConfigError;
use self::lines::{Entry, Section, parse};
use self::path::{origins_of, parse_path};
#[cfg(test)]
pub(crate) use self::quota::Period;
pub(crate) use self::quota::Quota;
use self::quota::parse_quota;
pub(crate) use self::tun::Tun;
use self::tun::TunKeys;
use crate::keys;
use crate::parse::{
    LocalAddresses, Origin, Origins, PeerAddress, parse_from, parse_key, parse_listen, parse_to,
};

/// Keys of `[Interface]`.
const KEYS_OF_INTERFACE: &str = "PrivateKey, PrivateKeyFile, Listen, Path, Class, Socks, Http, Forward, Tun, Address, MTU, Route, DNS and KillSwitch";

/// Keys of `[Peer]`.
const KEYS_OF_PEER: &str = "PublicKey, Name, Endpoint, Allow, Quota and Forward";

/// What a tunnel's file says.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) file: PathBuf,
    pub(crate) key: PrivateKey,
    /// Where a server listens.
    pub(crate) listen: Option<Listen>,
    /// Where packets to peers with endpoints are sent from.
    pub(crate) paths: Option<Origins>,
    /// How some of `paths` are to be used.
    pub(crate) preferences: Vec<(Origin, PathPreference)>,
    /// What comes first when the paths are full.
    pub(crate) classes: Vec<ClassRule>,
    pub(crate) peers: Vec<Peer>,
    /// Places where programs of this host connect to.
    pub(crate) entrances: Vec<Entrance>,
    /// Packets of this host that go through the tunnel.
    pub(crate) tun: Option<Tun>,
    /// What the user should know.
    pub(crate) warnings: Vec<String>,
}

/// Where a server listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Listen {
    /// At this port of all addresses.
    Everywhere(u16),
    At(LocalAddresses),
}

/// A peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) key: PublicKey,
    /// Where it listens; none if it connects to us.
    pub(crate) endpoints: Vec<PeerAddress>,
    /// What it may connect to through this host.
    pub(crate) reach: Reach,
    /// What it may carry, if that is limited.
    pub(crate) quota: Option<Quota>,
}

/// A place where programs of this host connect to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entrance {
    pub(crate) listen: SocketAddr,
    pub(crate) proxy: Proxy,
    /// The key of the peer that its connections go to.
    pub(crate) peer: PublicKey,
}

impl Config {
    /// Reads and parses a file.
    pub(crate) fn load(file: &Path) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(file)
            .map_err(|error| ConfigError::new(file, None, format!("cannot read it: {error}")))?;
        Self::parse(file, &text)
    }

    pub(crate) fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        let sections = parse(file, text)?;
        let mut interface: Option<Interface> = None;
        let mut peers: Vec<PeerSection> = Vec::new();
        for section in &sections {
            let reader = Reader { file, section };
            match section.kind.to_ascii_lowercase().as_str() {
                "interface" if interface.is_none() => interface = Some(reader.interface()?),
                "interface" => return Err(reader.error("there is an [Interface] already; write one only")),
                "peer" => peers.push(reader.peer(peers.len())?),
                _ => return Err(reader.error("expected [Interface] or [Peer]")),
            }
        }
        let missing = |what| ConfigError::new(file, None, what);
        let interface =
            interface.ok_or_else(|| missing("there is no [Interface]; write one with a PrivateKey"))?;
        if peers.is_empty() {
            return Err(missing(
                "there is no [Peer]; write one with the PublicKey of the other end",
            ));
        }
        check_peers(file, &interface, &peers)?;
        let entrances = entrances(file, &interface, &peers)?;
        let tun = interface.tun.finish(file, &peers)?;
        let exposed = entrances
            .iter()
            .filter(|entrance| !entrance.listen.ip().is_loopback());
        let exposed = exposed.map(|entrance| {
            let listen = entrance.listen;
            format!("{listen} is not a loopback address: whoever can connect to it can use the tunnel without authentication")
        });
        let of_peer = |tun: &Tun| peers.iter().find(|section| section.peer.key == tun.peer);
        let of_tun = tun
            .iter()
            .flat_map(|tun| of_peer(tun).map(|section| tun.warnings(&section.peer)));
        let of_tun: Vec<String> = of_tun.flatten().collect();
        let holder = interface.key_file.as_deref().unwrap_or(file);
        let readable = is_readable_by_others(holder).then(|| {
            let holder = holder.display();
            format!("other users can read {holder}; `chmod 600` it, for it has a private key")
        });
        Ok(Self {
            file: file.to_owned(),
            warnings: exposed.chain(readable).chain(of_tun).collect(),
            key: interface.key,
            listen: interface.listen,
            paths: interface.paths,
            preferences: interface.preferences,
            classes: interface.classes,
            peers: peers.into_iter().map(|peer| peer.peer).collect(),
            entrances,
            tun,
        })
    }

    /// The name of the peer with this key.
    pub(crate) fn name_of(&self, key: PublicKey) -> &str {
        let peer = self.peers.iter().find(|peer| peer.key == key);
        peer.map_or("", |peer| peer.name.as_str())
    }
}

/// The section of this host.
struct Interface {
    key: PrivateKey,
    /// The file that holds the key, unless that is the configuration.
    key_file: Option<PathBuf>,
    listen: Option<Listen>,
    paths: Option<Origins>,
    preferences: Vec<(Origin, PathPreference)>,
    classes: Vec<ClassRule>,
    /// Line of the last `Path`.
    path_line: usize,
    /// With their lines.
    entrances: Vec<(usize, SocketAddr, Proxy)>,
    tun: TunKeys,
}

/// The section of a peer.
struct PeerSection {
    line: usize,
    peer: Peer,
    /// With their lines.
    forwards: Vec<(usize, Forward)>,
}

/// Reads a section.
struct Reader<'s> {
    file: &'s Path,
    section: &'s Section,
}

impl Reader<'_> {
    /// An error at the head of the section.
    fn error(&self, text: &str) -> ConfigError {
        ConfigError::new(self.file, Some(self.section.line), text)
    }

    fn error_at(&self, entry: &Entry, text: impl std::fmt::Display) -> ConfigError {
        ConfigError::new(self.file, Some(entry.line), format!("{}: {text}", entry.key))
    }

    /// Sets what may be written once.
    fn once<T>(&self, place: &mut Option<T>, entry: &Entry, value: T) -> Result<(), ConfigError> {
        match place.replace(value) {
            None => Ok(()),
            Some(_) => Err(self.error_at(entry, "it is written twice; leave one out")),
        }
    }

    fn interface(&self) -> Result<Interface, ConfigError> {
        let (mut key, mut listen) = (None, None);
        let (mut paths, mut joined_paths) = (None, String::new());
        let (mut entrances, mut path_line, mut key_file) = (Vec::new(), 0, None);
        let (mut tun, mut preferences, mut classes) = (TunKeys::default(), Vec::new(), Vec::new());
        for entry in &self.section.entries {
            let text = entry.value.as_str();
            let wrong = |error: String| self.error_at(entry, error);
            match entry.key.to_ascii_lowercase().as_str() {
                "privatekey" => self.once(&mut key, entry, keys::parse(text).map_err(wrong)?)?,
                "privatekeyfile" => {
                    let named = self.beside(text);
                    self.once(&mut key, entry, keys::read(&named).map_err(wrong)?)?;
                    key_file = Some(named);
                }
                "listen" => self.once(&mut listen, entry, parse_listening(text).map_err(wrong)?)?,
                "path" => {
                    path_line = entry.line;
                    let line = parse_path(text).map_err(wrong)?;
                    let separator = if joined_paths.is_empty() { "" } else { "," };
                    joined_paths += &format!("{separator}{}", line.origins);
                    // Together with those before, so that none is written twice.
                    paths = Some(parse_from(&joined_paths).map_err(wrong)?);
                    if let Some(preference) = line.preference {
                        let origins = origins_of(&line).map_err(wrong)?;
                        preferences.extend(origins.into_iter().map(|origin| (origin, preference)));
                    }
                }
                "socks" => entrances.push((entry.line, parse_proxy(text).map_err(wrong)?, Proxy::Socks5)),
                "http" => entrances.push((entry.line, parse_proxy(text).map_err(wrong)?, Proxy::HttpConnect)),
                "forward" => {
                    let forward = parse_forward(text).map_err(wrong)?;
                    entrances.push((entry.line, forward.listen, Proxy::Forward(forward.target)));
                }
                "class" => classes.extend(parse_class(text).map_err(wrong)?),
                _ if tun.take(entry).map_err(wrong)? => {}
                _ => return Err(self.unknown(entry, "Interface", KEYS_OF_INTERFACE)),
            }
        }
        Ok(Interface {
            key: key.ok_or_else(|| self.error("there is no PrivateKey; `anabranch genkey` makes keys"))?,
            key_file,
            listen,
            paths,
            preferences,
            classes,
            path_line,
            entrances,
            tun,
        })
    }

    fn peer(&self, place: usize) -> Result<PeerSection, ConfigError> {
        let (mut key, mut name, mut quota) = (None, None, None);
        let mut endpoints: Vec<PeerAddress> = Vec::new();
        let (mut forwards, mut allowed) = (Vec::new(), Vec::new());
        for entry in &self.section.entries {
            let text = entry.value.as_str();
            let wrong = |error: String| self.error_at(entry, error);
            match entry.key.to_ascii_lowercase().as_str() {
                "publickey" => self.once(&mut key, entry, parse_key(text).map_err(wrong)?)?,
                "name" => self.once(&mut name, entry, text.to_owned())?,
                "endpoint" => endpoints.extend(parse_endpoints(text).map_err(wrong)?),
                "allow" => allowed.extend(parse_allowed(text).map_err(wrong)?),
                "forward" => forwards.push((entry.line, parse_forward(text).map_err(wrong)?)),
                "quota" => self.once(&mut quota, entry, parse_quota(text).map_err(wrong)?)?,
                _ => return Err(self.unknown(entry, "Peer", KEYS_OF_PEER)),
            }
        }
        let rules: Vec<Rule> = allowed.iter().filter_map(|allowed| allowed.rule()).collect();
        let reach = match &allowed[..] {
            // Clients use a server to reach other hosts; a server need not reach the network of its client.
            [] if endpoints.is_empty() => Reach::Others,
            [Allowed::Others] => Reach::Others,
            [] | [Allowed::Nothing] => Reach::Only(Vec::new()),
            all if rules.len() == all.len() => Reach::Only(rules),
            _ => {
                return Err(
                    self.error("Allow has `others` or `nothing` and something else; write one or the other")
                );
            }
        };
        let no_key = || self.error("there is no PublicKey; `anabranch pubkey` prints that of a private key");
        let key: PublicKey = key.ok_or_else(no_key)?;
        Ok(PeerSection {
            line: self.section.line,
            peer: Peer {
                name: name.unwrap_or_else(|| format!("peer {}", place + 1)),
                key,
                endpoints,
                reach,
                quota,
            },
            forwards,
        })
    }

    fn unknown(&self, entry: &Entry, section: &str, known: &str) -> ConfigError {
        self.error_at(entry, format!("[{section}] has no such key; it has {known}"))
    }

    /// The file of this name, which is relative to the folder of the configuration.
    fn beside(&self, name: &str) -> PathBuf {
        self.file.parent().unwrap_or_else(|| Path::new("")).join(name)
    }
}

/// One value of `Allow`.
#[derive(Clone, Copy)]
enum Allowed {
    Others,
    Nothing,
    Network(Rule),
}

impl Allowed {
    const fn rule(self) -> Option<Rule> {
        match self {
            Self::Network(rule) => Some(rule),
            Self::Others | Self::Nothing => None,
        }
    }
}

/// `others`, `nothing`, or networks.
fn parse_allowed(text: &str) -> Result<Vec<Allowed>, String> {
    match text {
        "others" => return Ok(vec![Allowed::Others]),
        "nothing" => return Ok(vec![Allowed::Nothing]),
        _ => {}
    }
    let rules = text.split(',').map(|part| match part.trim() {
        word @ ("others" | "nothing") => {
            Err(format!("`{word}` has networks beside it; write one or the other"))
        }
        part => part
            .parse()
            .map(Allowed::Network)
            .map_err(|error| format!("{error}; or `others` or `nothing` alone")),
    });
    rules.collect()
}

/// `PORT`, or addresses as `--listen` of other verbs takes them.
fn parse_listening(text: &str) -> Result<Listen, String> {
    match text.parse() {
        Ok(port) => Ok(Listen::Everywhere(port)),
        Err(_) => parse_listen(text)
            .map(Listen::At)
            .map_err(|error| format!("{error}; a port alone means all addresses")),
    }
}

fn parse_endpoints(text: &str) -> Result<Vec<PeerAddress>, String> {
    let addresses = parse_to(text)?;
    match addresses.key {
        Some(_) => Err("the key is the PublicKey; write the address alone".to_owned()),
        None => Ok(addresses.hosts),
    }
}

/// Whether the peers can be reached, or can reach us, and differ.
fn check_peers(file: &Path, interface: &Interface, peers: &[PeerSection]) -> Result<(), ConfigError> {
    if interface.paths.is_some() && peers.iter().all(|peer| peer.peer.endpoints.is_empty()) {
        let text = "Path: it is for packets to a [Peer] with an Endpoint, and there is none; a server chooses addresses by Listen";
        return Err(ConfigError::new(file, Some(interface.path_line), text));
    }
    for (place, PeerSection { line, peer, .. }) in peers.iter().enumerate() {
        let error = |text: String| Err(ConfigError::new(file, Some(*line), text));
        let before = &peers[..place];
        if peer.key == interface.key.public_key() {
            return error(
                "this PublicKey is that of our own PrivateKey; write that of the other end".to_owned(),
            );
        }
        if before.iter().any(|other| other.peer.key == peer.key) {
            return error(
                "another [Peer] has the same PublicKey; each host needs a key of its own".to_owned(),
            );
        }
        if before.iter().any(|other| other.peer.name == peer.name) {
            return error(format!("another [Peer] is named {:?} too", peer.name));
        }
        if peer.quota.is_some() && !peer.endpoints.is_empty() {
            return error(
                "Quota: it is for peers that connect to us, and this one has an Endpoint; leave one of them out"
                    .to_owned(),
            );
        }
        if peer.endpoints.is_empty() && interface.listen.is_none() {
            return error(
                "neither end can connect: write an Endpoint here, or Listen in [Interface] for peers that connect to us"
                    .to_owned(),
            );
        }
    }
    Ok(())
}

/// All places to listen at for programs, each with its peer.
fn entrances(
    file: &Path,
    interface: &Interface,
    peers: &[PeerSection],
) -> Result<Vec<Entrance>, ConfigError> {
    let called: Vec<usize> = (0..peers.len())
        .filter(|place| !peers[*place].peer.endpoints.is_empty())
        .collect();
    // With their lines.
    let mut entrances: Vec<(usize, Entrance)> = Vec::new();
    for (line, listen, proxy) in &interface.entrances {
        let [peer] = called[..] else {
            let found = called.len();
            let text = format!(
                "this leads to the [Peer] with an Endpoint, of which there must be one; there are {found}"
            );
            return Err(ConfigError::new(file, Some(*line), text));
        };
        let (listen, proxy, peer) = (*listen, proxy.clone(), peers[peer].peer.key);
        entrances.push((*line, Entrance { listen, proxy, peer }));
    }
    for section in peers {
        let peer = section.peer.key;
        entrances.extend(section.forwards.iter().map(|(line, forward)| {
            let (listen, proxy) = (forward.listen, Proxy::Forward(forward.target.clone()));
            (*line, Entrance { listen, proxy, peer })
        }));
    }
    for (index, (line, entrance)) in entrances.iter().enumerate() {
        let listen = entrance.listen;
        let is_taken = entrances[..index].iter().any(|(_, other)| other.listen == listen);
        if listen.port() != 0 && is_taken {
            let text =
                format!("{listen} is to be listened at twice (Socks, Http, Forward); choose another port");
            return Err(ConfigError::new(file, Some(*line), text));
        }
    }
    Ok(entrances.into_iter().map(|(_, entrance)| entrance).collect())
}

fn is_readable_by_others(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

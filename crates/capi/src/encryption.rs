//! Encryption of sockets. Which key has this host, which peers does it trust, and which does it talk to in the clear?
//!
//! Nothing is sent in the clear because a peer cannot encrypt: an attacker on the path could pretend that. A peer is one that is talked to in
//! the clear only if its address is listed.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use anabranch::{ConnectError, EndpointBuilder, PrivateKey, PublicKey};

use crate::errno::Errno;
use crate::lock;

/// How sockets encrypt.
#[derive(Clone, Debug)]
pub(crate) struct Encryption {
    own: PrivateKey,
    /// If there is none, associations of all peers are accepted, and none is begun.
    trusted: Vec<PublicKey>,
    clear: Vec<Network>,
}

/// A range of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Network {
    address: IpAddr,
    length: u8,
}

impl Network {
    fn read(text: &str) -> Option<Self> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length.parse().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let length = length.unwrap_or(longest);
        (length <= longest).then_some(Self { address, length })
    }

    fn contains(self, ip: IpAddr) -> bool {
        let differ = match (self.address, ip.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(ip)) => (ours.to_bits() ^ ip.to_bits()).leading_zeros(),
            (IpAddr::V6(ours), IpAddr::V6(ip)) => (ours.to_bits() ^ ip.to_bits()).leading_zeros(),
            _ => return false,
        };
        differ >= self.length.into()
    }
}

/// What was said about encryption so far.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    own: Option<PrivateKey>,
    trusted: Vec<PublicKey>,
    clear: Vec<Network>,
}

impl Choice {
    /// Sets what one name stands for: `key` (a file), `trust` (a public key), or `clear` (an address, or a range of them).
    ///
    /// # Errors
    ///
    /// Why the value is not valid.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "key" => {
                let text = fs::read_to_string(value).map_err(|error| format!("{value}: {error}"))?;
                let key = text.trim().parse();
                let key = key.map_err(|error| format!("{value}: {error}; `anabranch genkey` makes keys"))?;
                self.own = Some(key);
            }
            "trust" => {
                let key = value.parse();
                self.trusted
                    .push(key.map_err(|error| format!("{value}: {error}"))?);
            }
            "clear" => {
                let network = Network::read(value);
                let expected = || {
                    format!(
                        "{value}: expected an address, or one with the length of a prefix, as 192.0.2.0/24"
                    )
                };
                self.clear.push(network.ok_or_else(expected)?);
            }
            _ => return Err(format!("{name}: expected key, trust or clear")),
        }
        Ok(())
    }

    /// As [`set`](Self::set), for lines such as `key = /etc/server.key`. Empty ones and those that begin with `#` are comments.
    ///
    /// # Errors
    ///
    /// The number of the line, and why it is not valid.
    pub(crate) fn read(&mut self, text: &str) -> Result<(), String> {
        for (index, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            let set = self.set(name.trim(), value.trim());
            set.map_err(|error| format!("line {}: {error}", index + 1))?;
        }
        Ok(())
    }

    /// `None` if nothing was said: everything is in the clear.
    ///
    /// # Errors
    ///
    /// There is no key for what was said.
    pub(crate) fn done(self) -> Result<Option<Arc<Encryption>>, String> {
        let Self { own, trusted, clear } = self;
        match own {
            Some(own) => Ok(Some(Arc::new(Encryption { own, trusted, clear }))),
            None if trusted.is_empty() && clear.is_empty() => Ok(None),
            None => Err("encryption needs a private key (key, ANABRANCH_KEY)".to_owned()),
        }
    }
}

impl Encryption {
    pub(crate) fn public_key(&self) -> PublicKey {
        self.own.public_key()
    }

    /// Whether packets to a peer with these addresses are encrypted.
    pub(crate) fn seals(&self, remotes: &[SocketAddr]) -> bool {
        let is_clear = |remote: &SocketAddr| self.clear.iter().any(|network| network.contains(remote.ip()));
        !remotes.iter().all(is_clear)
    }

    /// Whether there is a peer that may be connected to.
    pub(crate) const fn trusts_somebody(&self) -> bool {
        !self.trusted.is_empty()
    }

    /// Whether both have the same keys, and trust the same ones.
    fn agrees(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.public_key() == other.public_key() && self.trusted == other.trusted
    }

    /// An endpoint with these keys. Without trusted ones, it accepts the holders of all keys; [`seals`](Self::seals) and
    /// [`trusts_somebody`](Self::trusts_somebody) are asked before it connects.
    pub(crate) fn apply(&self, builder: EndpointBuilder) -> EndpointBuilder {
        let builder = builder.identity(self.own.clone());
        if self.trusted.is_empty() {
            return builder.trust_everyone();
        }
        self.trusted
            .iter()
            .fold(builder, |builder, key| builder.trust(*key))
    }
}

/// An endpoint lives as long as its associations, and another socket can be bound to its address meanwhile.
const OTHER_KEYS: &str = "associations with other keys have the address of this socket";

/// Whether peers may be accepted on an endpoint.
///
/// # Errors
///
/// `EACCES` if the endpoint is in the clear and should not be, or has other keys. A line on standard error says so.
pub(crate) fn check_listening(
    endpoint: Option<&Encryption>,
    wanted: Option<&Encryption>,
) -> Result<(), Errno> {
    let denied = match (endpoint, wanted) {
        (_, None) => return Ok(()),
        (Some(endpoint), Some(wanted)) if endpoint.agrees(wanted) => return Ok(()),
        (Some(_), Some(_)) => OTHER_KEYS,
        // Otherwise peers could associate in the clear, unnoticed.
        (None, Some(_)) => "this socket has a peer of --clear (ANABRANCH_CLEAR)",
    };
    say(&format!("no peers are accepted: {denied}"));
    Err(Errno(libc::EACCES))
}

/// Why an endpoint cannot connect to a peer that is to be sealed, or not.
///
/// # Errors
///
/// `EACCES` if the endpoint has begun otherwise, `ENOKEY` if no key is trusted. A line on standard error says so.
pub(crate) fn check(
    endpoint: Option<&Encryption>,
    wanted: Option<&Encryption>,
    peer: SocketAddr,
) -> Result<(), Errno> {
    let denied = match (endpoint, wanted) {
        (None, None) => return Ok(()),
        (Some(endpoint), Some(wanted)) if !endpoint.agrees(wanted) => OTHER_KEYS,
        (Some(_), Some(wanted)) if wanted.trusts_somebody() => return Ok(()),
        (Some(_), Some(_)) => {
            say(&format!(
                "not connected to {peer}: no key is trusted; name the key of the peer by --trust (ANABRANCH_TRUST)"
            ));
            return Err(Errno(libc::ENOKEY));
        }
        (None, Some(_)) => {
            "this socket is in the clear, and the peer is not among those of --clear (ANABRANCH_CLEAR)"
        }
        (Some(_), None) => {
            "this socket encrypts, and the peer is among those of --clear (ANABRANCH_CLEAR); use a socket of its own"
        }
    };
    say(&format!("not connected to {peer}: {denied}"));
    Err(Errno(libc::EACCES))
}

/// Says why there is no encrypted association with `peer`, and what to do.
pub(crate) fn explain(error: &ConnectError, peer: SocketAddr) {
    let line = match error {
        ConnectError::UntrustedKey(key) => format!(
            "{peer} has the key {key}, which is not trusted: if the program there has said that this is its key, name it by --trust \
             (ANABRANCH_TRUST); if not, somebody else answers"
        ),
        ConnectError::KeyNotAccepted(key) => {
            format!(
                "{peer} does not trust the key of this host: name {key} by --trust (ANABRANCH_TRUST) there"
            )
        }
        ConnectError::NoAnswer => format!(
            "no answer from {peer}: does the program there encrypt, too? --clear (ANABRANCH_CLEAR) lists peers that do not"
        ),
        ConnectError::Insecure(error) => format!("no encrypted association with {peer}: {error}"),
        _ => return,
    };
    say(&line);
}

/// Lines that are remembered, so that programs which try again and again get each once.
const MAX_LINES: usize = 64;

/// Writes a line to standard error, once.
pub(crate) fn say(line: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = lock(&SAID);
    if said.len() < MAX_LINES && said.insert(line.to_owned()) {
        eprintln!("anabranch: {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(text: &str) -> Result<Option<Arc<Encryption>>, String> {
        let mut choice = Choice::default();
        choice.read(text)?;
        choice.done()
    }

    /// A file with a private key.
    fn key() -> (tempfile::NamedTempFile, PrivateKey) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let key = PrivateKey::generate().unwrap();
        fs::write(file.path(), key.to_base64() + "\n").unwrap();
        (file, key)
    }

    #[test]
    fn peer_is_in_the_clear_only_if_all_its_addresses_are_listed() {
        let (file, key) = key();
        let text = format!(
            "# keys\n\nkey = {}\ntrust={}\nclear = 192.0.2.0/24\nclear = 2001:db8::7\n",
            file.path().display(),
            key.public_key()
        );
        let encryption = choice(&text).unwrap().unwrap();
        assert_eq!(encryption.public_key(), key.public_key());
        assert!(encryption.trusts_somebody());
        for (addresses, is_sealed) in [
            ("192.0.2.255:1", false),
            ("[::ffff:192.0.2.1]:1", false),
            ("192.0.3.0:1", true),
            ("[2001:db8::7]:1", false),
            ("[2001:db8::8]:1", true),
            ("192.0.2.1:1 [2001:db8::7]:1", false),
            ("192.0.2.1:1 192.0.3.1:1", true),
        ] {
            let remotes: Vec<SocketAddr> = addresses.split(' ').map(|one| one.parse().unwrap()).collect();
            assert_eq!(encryption.seals(&remotes), is_sealed, "{addresses}");
        }
    }

    #[test]
    fn nothing_said_is_in_the_clear_and_mistakes_are_named() {
        assert!(choice("# nothing\n").unwrap().is_none());
        for (text, word) in [
            ("clear = 192.0.2.0/33", "line 1"),
            ("clear = 192.0.2.0/24", "private key"),
            ("\ntrust = none", "line 2"),
            ("key = /missing", "/missing"),
            ("secret = 1", "expected key, trust or clear"),
        ] {
            let error = choice(text).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}

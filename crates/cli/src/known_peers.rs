//! Known peers. Which public key did each receiver have before? In a file with one line for each, as ssh keeps them.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anabranch::PublicKey;

use crate::failure::Failure;
use crate::parse::{PeerAddress, parse_key};

/// Name of the file in the folder of the program's configuration.
const FILE: &str = "known_peers";

/// Receivers and their keys. A line is `HOST:PORT KEY`; empty lines and those that start with `#` are comments.
#[derive(Debug)]
pub(crate) struct KnownPeers {
    file: PathBuf,
    peers: Vec<(String, PublicKey)>,
}

impl KnownPeers {
    /// Reads the file in `folder`; without one, nobody is known.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a line of it is malformed.
    pub(crate) fn load(folder: &Path) -> Result<Self, Failure> {
        let file = folder.join(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Failure::Usage(format!("{}: {error}", file.display()))),
        };
        let lines = text.lines().enumerate();
        let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let peers = lines.map(|(index, line)| {
            let failure = |error: &str| Failure::Usage(format!("{}:{}: {error}", file.display(), index + 1));
            let (host, key) = line
                .trim()
                .split_once(' ')
                .ok_or_else(|| failure("expected HOST:PORT KEY"))?;
            let key = parse_key(key.trim()).map_err(|error| failure(&error))?;
            Ok((host.to_owned(), key))
        });
        let peers = peers.collect::<Result<_, Failure>>()?;
        Ok(Self { file, peers })
    }

    /// The file, for messages.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The keys of these hosts, each once.
    pub(crate) fn keys_of(&self, hosts: &[PeerAddress]) -> Vec<PublicKey> {
        let is_meant = |name: &String| hosts.iter().any(|host| host.to_string() == *name);
        let known = self.peers.iter().filter(|(name, _)| is_meant(name));
        let mut keys: Vec<PublicKey> = Vec::new();
        for (_, key) in known {
            if !keys.contains(key) {
                keys.push(*key);
            }
        }
        keys
    }

    /// Adds a line for each of these hosts.
    pub(crate) fn remember(&self, hosts: &[PeerAddress], key: PublicKey) -> io::Result<()> {
        if let Some(folder) = self.file.parent() {
            create_private(folder)?;
        }
        let mut file = OpenOptions::new().append(true).create(true).open(&self.file)?;
        let lines: String = hosts.iter().map(|host| format!("{host} {key}\n")).collect();
        // One write, so that the lines of programs that run at the same time do not mix.
        file.write_all(lines.as_bytes())
    }
}

/// Creates a folder that only its owner can enter.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_to;

    fn hosts(text: &str) -> Vec<PeerAddress> {
        parse_to(text).unwrap().hosts
    }

    fn key(byte: u8) -> PublicKey {
        PublicKey::from([byte; 32])
    }

    #[test]
    fn remembered_keys_are_found_by_any_of_their_hosts() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("new");
        let known = KnownPeers::load(&folder).unwrap();
        assert_eq!(known.keys_of(&hosts("192.0.2.1")), []);
        known
            .remember(&hosts("192.0.2.1,[2001:db8::1]:9900"), key(1))
            .unwrap();
        known.remember(&hosts("server.example"), key(2)).unwrap();
        let known = KnownPeers::load(&folder).unwrap();
        assert_eq!(
            known.keys_of(&hosts("192.0.2.1:9899,[2001:db8::1]:9900")),
            [key(1)]
        );
        assert_eq!(known.keys_of(&hosts("[2001:db8::1]")), []);
        assert_eq!(
            known.keys_of(&hosts("192.0.2.1,server.example")),
            [key(1), key(2)]
        );
    }

    #[test]
    fn malformed_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), "# a comment\n\nserver.example:9899\n").unwrap();
        let failure = KnownPeers::load(folder.path()).unwrap_err();
        assert!(
            failure
                .to_string()
                .ends_with("known_peers:3: expected HOST:PORT KEY"),
            "{failure}"
        );
    }
}

//! `anabranch tunnel init`: writes the files of a server and a client that know each other.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anabranch::PrivateKey;
use anabranch::io::usable_addresses;
use anabranch_types::AddressScope;

use crate::arguments::TunnelInitArguments;
use crate::failure::Failure;
use crate::known_peers::create_private;
use crate::output::{print, remark};
use crate::parse::{DEFAULT_PORT, PeerAddress};

/// Writes both files and says what to do with them.
pub(super) fn run(arguments: &TunnelInitArguments) -> Result<(), Failure> {
    let endpoints = match &arguments.server {
        named if named.is_empty() => own_addresses()?,
        named => named
            .iter()
            .flat_map(|addresses| addresses.hosts.clone())
            .collect(),
    };
    let port = endpoints.first().map_or(DEFAULT_PORT, |endpoint| endpoint.port);
    if let Some(other) = endpoints.iter().find(|endpoint| endpoint.port != port) {
        return Err(Failure::Usage(format!(
            "--server {other}: the server listens at one port, here {port}; give all addresses the same one"
        )));
    }
    let [server, client] = [(); 2].map(|()| PrivateKey::generate());
    let (server, client) = (server.map_err(Failure::work)?, client.map_err(Failure::work)?);
    let folder = arguments.folder.as_path();
    let failure = |error: io::Error| Failure::Work(format!("{}: {error}", folder.display()));
    create_private(folder).map_err(failure)?;
    let files = ["server.conf", "client.conf"].map(|name| folder.join(name));
    if let Some(file) = files.iter().find(|file| fs::symlink_metadata(file).is_ok()) {
        let file = file.display();
        return Err(Failure::Usage(format!(
            "{file} exists already; choose another folder, or remove it"
        )));
    }
    let texts = [
        server_text(&server, &client, port),
        client_text(&client, &server, &endpoints, arguments.tun),
    ];
    for (file, text) in files.iter().zip(&texts) {
        write_private(file, text).map_err(failure)?;
    }
    if arguments.server.is_empty() {
        remark(format_args!("{}", told_of(&endpoints)));
    }
    let [server, client] = files.each_ref().map(|file| file.display());
    let how = if arguments.tun {
        "then all programs of the client use the tunnel, which needs root there"
    } else {
        "then programs of the client use SOCKS5 at 127.0.0.1:1080 or HTTP CONNECT at 127.0.0.1:8118:\n  curl --proxy socks5h://127.0.0.1:1080 https://example.org/"
    };
    print(format!(
        "wrote {server} and {client}, each with its private key; copy one of them to the other host, and delete it here\n\
         on the server, whose firewall must admit UDP port {port}:\n  anabranch tunnel {server}\n\
         on the client:\n  anabranch tunnel {client}\n\
         {how}\n"
    ))
}

/// What a user is told who has not named addresses of the server.
fn told_of(endpoints: &[PeerAddress]) -> String {
    let names: Vec<String> = endpoints.iter().map(ToString::to_string).collect();
    let is_public = |endpoint: &PeerAddress| {
        let address = endpoint.host.parse().ok();
        address.is_some_and(|ip| AddressScope::of(ip) == AddressScope::Global)
    };
    let warning = match endpoints.iter().any(is_public) {
        true => "",
        false => "warning: none of them can be reached from the Internet. ",
    };
    format!(
        "{warning}the client will connect to the addresses of this host: {}; if it cannot reach them, remove the files and give --server",
        names.join(", ")
    )
}

/// The addresses of this host, which `init` then takes for the server; loopback only if there is nothing else.
fn own_addresses() -> Result<Vec<PeerAddress>, Failure> {
    let present = usable_addresses().map_err(|error| {
        Failure::Work(format!(
            "cannot list the addresses of this host: {error}; give --server"
        ))
    })?;
    let (local, others): (Vec<IpAddr>, Vec<IpAddr>) = present.into_iter().partition(IpAddr::is_loopback);
    let chosen = if others.is_empty() { local } else { others };
    let named = chosen.into_iter().map(|address| PeerAddress {
        host: address.to_string(),
        port: DEFAULT_PORT,
    });
    Ok(named.collect())
}

/// Where programs of a client connect to.
const PROXIES: &str = "Socks = 127.0.0.1:1080\nHttp = 127.0.0.1:8118\n";

/// A device for all programs of a client.
const DEVICE: &str = "\
# A TUN device for all programs, with addresses that nothing else has.
Tun = anabranch0
Address = 10.98.99.1/24, fd98:99::1/64
# Networks that are reached through it. By default everything: 0.0.0.0/0, ::/0
# Route = 10.0.0.0/8
# Name servers, asked by the server.
# DNS = 192.0.2.53
# Nothing to these networks passes the tunnel by, also when the program is killed.
# KillSwitch = on
";

fn server_text(own: &PrivateKey, peer: &PrivateKey, port: u16) -> String {
    format!(
        "# anabranch tunnel: the server. docs/tunnel.md explains all keys.\n\
         [Interface]\n\
         PrivateKey = {}\n\
         # UDP port, at all addresses. Or addresses: 192.0.2.1:{port},198.51.100.1:{port}\n\
         Listen = {port}\n\
         \n\
         [Peer]\n\
         Name = client\n\
         PublicKey = {}\n\
         # What the client may connect to through this host. By default everything but this host itself, its links and metadata services.\n\
         # Allow = 10.0.0.0/8, 127.0.0.1:8080\n",
        own.to_base64(),
        peer.public_key()
    )
}

fn client_text(own: &PrivateKey, peer: &PrivateKey, endpoints: &[PeerAddress], has_tun: bool) -> String {
    let entrances = if has_tun { DEVICE } else { PROXIES };
    let endpoints: String = endpoints
        .iter()
        .map(|endpoint| format!("Endpoint = {endpoint}\n"))
        .collect();
    format!(
        "# anabranch tunnel: the client. docs/tunnel.md explains all keys.\n\
         [Interface]\n\
         PrivateKey = {}\n\
         # Devices or addresses to send from. By default all uplinks.\n\
         # Path = eth0\n\
         # Path = wwan0\n\
         {entrances}\
         # Forward = 8080:intranet.example:80\n\
         \n\
         [Peer]\n\
         Name = server\n\
         PublicKey = {}\n\
         {endpoints}",
        own.to_base64(),
        peer.public_key()
    )
}

/// Writes a new file that only its owner can read.
fn write_private(file: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::super::config::Config;
    use super::*;

    #[test]
    fn addresses_that_were_not_named_are_told() {
        let endpoints = |hosts: &[&str]| -> Vec<PeerAddress> {
            let named = hosts.iter().map(|host| PeerAddress {
                host: (*host).to_owned(),
                port: DEFAULT_PORT,
            });
            named.collect()
        };
        let private = told_of(&endpoints(&["10.0.0.1", "fd00::1"]));
        assert!(
            private.starts_with("warning: ")
                && private.contains("10.0.0.1:9899")
                && private.contains("--server"),
            "{private}"
        );
        let public = told_of(&endpoints(&["10.0.0.1", "192.0.2.1"]));
        assert!(public.starts_with("the client will connect to"), "{public}");
    }

    #[test]
    fn both_files_know_each_other() {
        let [server, client] = [1, 2].map(|_| PrivateKey::generate().unwrap());
        let endpoints = ["192.0.2.1", "2001:db8::1"].map(|host| PeerAddress {
            host: host.to_owned(),
            port: 9900,
        });
        let parse = |text: &str| Config::parse(Path::new("t.conf"), text).unwrap();
        let at_server = parse(&server_text(&server, &client, 9900));
        let at_client = parse(&client_text(&client, &server, &endpoints, false));
        let with_tun = parse(&client_text(&client, &server, &endpoints, true));
        assert!(cfg!(not(target_os = "linux")) || with_tun.tun.is_some() && with_tun.warnings.is_empty());
        assert_eq!(at_server.peers[0].key, at_client.key.public_key());
        assert_eq!(at_client.peers[0].key, at_server.key.public_key());
        assert_eq!(at_client.peers[0].endpoints, endpoints);
        assert_eq!(at_client.entrances.len(), 2);
        assert!(at_server.peers.iter().all(|peer| peer.endpoints.is_empty()));
    }
}

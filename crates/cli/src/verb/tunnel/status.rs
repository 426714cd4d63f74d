//! Status of a running tunnel, over a Unix socket beside its file.

use std::convert::Infallible;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Shared;
use super::config::Config;
use super::preferences;
use super::state::State;
use crate::failure::Failure;
use crate::output::{PathReport, SCHEMA, bytes_text, print, printable};

/// How long a running tunnel has to answer, and its reader to read.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is told, as one line of JSON.
#[derive(Debug, Deserialize, Serialize)]
struct Status {
    schema: u32,
    event: String,
    peers: Vec<PeerStatus>,
}

#[derive(Debug, Deserialize, Serialize)]
struct PeerStatus {
    name: String,
    key: String,
    tunnels: Vec<TunnelStatus>,
}

#[derive(Debug, Deserialize, Serialize)]
struct TunnelStatus {
    transfer: u64,
    /// Connections now, and so far.
    connections: u64,
    connections_so_far: u64,
    /// As in all events.
    paths: Vec<Value>,
}

/// What is shown of a path.
#[derive(Debug, Deserialize)]
struct PathStatus {
    local: String,
    remote: String,
    state: String,
    resting: bool,
    cost: u8,
    limit_bit_s: Option<f64>,
    rtt_ms: Option<f64>,
    payload_sent: u64,
    payload_retransmitted: u64,
    payload_received: u64,
}

/// Prints the status of the tunnel that runs with `file`.
pub(super) async fn show(file: &Path, json: bool) -> Result<(), Failure> {
    let socket = socket_file_of(file);
    let asked = timeout(PATIENCE, ask(&socket)).await;
    let text = match asked.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(text) => text,
        Err(error) => {
            let (socket, file) = (socket.display(), file.display());
            return Err(Failure::Work(format!(
                "{socket}: {error}; is `anabranch tunnel {file}` running, by the same user?"
            )));
        }
    };
    if json {
        return print(text);
    }
    let status: Status = serde_json::from_str(&text).map_err(|error| {
        Failure::Work(format!(
            "{}: not a status of this version: {error}",
            socket.display()
        ))
    })?;
    print(describe(&status))
}

async fn ask(socket: &Path) -> io::Result<String> {
    let mut text = String::new();
    UnixStream::connect(socket)
        .await?
        .read_to_string(&mut text)
        .await?;
    Ok(text)
}

fn describe(status: &Status) -> String {
    let mut text = String::new();
    for peer in &status.peers {
        let name = printable(&peer.name);
        if peer.tunnels.is_empty() {
            text += &format!("{name}: not connected\n");
        }
        for tunnel in &peer.tunnels {
            let (now, so_far) = (tunnel.connections, tunnel.connections_so_far);
            text += &format!("{name}: connected, carries {now} connections, {so_far} so far\n");
            for path in tunnel
                .paths
                .iter()
                .filter_map(|path| PathStatus::deserialize(path).ok())
            {
                let rtt = path
                    .rtt_ms
                    .map_or_else(String::new, |rtt| format!(", RTT {rtt:.1} ms"));
                let rests = if path.resting { ", rests" } else { "" };
                let preference = preferences::describe(path.cost, path.limit_bit_s);
                text += &format!(
                    "  {} -> {}{preference}: {}{rests}{rtt}, sent {}, received {}\n",
                    printable(&path.local),
                    printable(&path.remote),
                    printable(&path.state),
                    bytes_text(path.payload_sent + path.payload_retransmitted),
                    bytes_text(path.payload_received)
                );
            }
        }
    }
    text
}

/// Answers questions for the status. Without the socket, everything else works.
pub(super) fn listen(shared: &Shared, parts: &mut JoinSet<Result<Infallible, Failure>>) {
    let file = socket_file_of(&shared.config.file);
    match SocketFile::open(&file) {
        Ok((listener, file)) => {
            let shared = shared.clone();
            parts.spawn(async move { Ok(answer(&shared, &listener, file).await) });
        }
        Err(error) => shared.warn(&format!(
            "{}: {error}; `anabranch tunnel status` will not work",
            file.display()
        )),
    }
}

async fn answer(shared: &Shared, listener: &UnixListener, _file: SocketFile) -> Infallible {
    loop {
        let Ok((mut reader, _)) = listener.accept().await else {
            tokio::time::sleep(PATIENCE).await;
            continue;
        };
        // A reader that is gone, or does not read, gets none.
        let _ = timeout(
            PATIENCE,
            reader.write_all(line(&shared.config, &shared.state).as_bytes()),
        )
        .await;
    }
}

/// The status of the moment, as a line of JSON.
pub(super) fn line(config: &Config, state: &State) -> String {
    serde_json::to_string(&status(config, state)).expect("invariant: a status has string keys only") + "\n"
}

fn status(config: &Config, state: &State) -> Status {
    let peers = config.peers.iter().enumerate().map(|(number, peer)| PeerStatus {
        name: peer.name.clone(),
        key: peer.key.to_string(),
        tunnels: state
            .tunnels(number)
            .iter()
            .map(|(number, tunnel)| {
                let (connections, so_far) = tunnel.connections();
                let paths = PathReport::all(tunnel.association());
                let paths = paths
                    .iter()
                    .map(|path| serde_json::to_value(path).expect("invariant: a path has string keys only"));
                TunnelStatus {
                    transfer: *number,
                    connections: connections as u64,
                    connections_so_far: so_far,
                    paths: paths.collect(),
                }
            })
            .collect(),
    });
    Status {
        schema: SCHEMA,
        event: "tunnel-status".to_owned(),
        peers: peers.collect(),
    }
}

/// The socket beside the file.
fn socket_file_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".sock");
    name.into()
}

/// The name of a socket, which is removed with it.
struct SocketFile(PathBuf);

impl SocketFile {
    /// Opens a socket that only its owner can connect to. What a program that was killed has left is replaced.
    fn open(file: &Path) -> io::Result<(UnixListener, Self)> {
        if std::os::unix::net::UnixStream::connect(file).is_ok() {
            let text = "a tunnel runs with this file already";
            return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
        }
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        // In a folder of its own until its permissions are set.
        let folder = tempfile::Builder::new()
            .prefix(".tunnel")
            .tempdir_in(parent.unwrap_or_else(|| Path::new(".")))?;
        let first = folder.path().join("s");
        let listener = UnixListener::bind(&first)?;
        fs::set_permissions(&first, Permissions::from_mode(0o600))?;
        fs::rename(&first, file)?;
        Ok((listener, Self(file.to_owned())))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Its folder may be gone.
        let _ = fs::remove_file(&self.0);
    }
}

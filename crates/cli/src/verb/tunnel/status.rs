//! Status of a running tunnel, over a Unix socket beside its file.

use std::convert::Infallible;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chrono::SecondsFormat;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Shared;
use super::preferences;
use super::quota;
use super::reload::{Asked, Reload};
use super::state::{PeerState, State};
use crate::failure::Failure;
use crate::output::{PathReport, SCHEMA, bytes_text, print, printable, reloaded_text};

/// How long a running tunnel has to answer, and its reader to read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Requests. Without one, the status is told.
const STATUS: &str = "status\n";
const RELOAD: &str = "reload\n";

/// Bytes of a request that are read.
const LONGEST_REQUEST: u64 = 64;

/// What is told, as one line of JSON.
#[derive(Debug, Deserialize, Serialize)]
struct Status {
    schema: u32,
    event: String,
    peers: Vec<PeerStatus>,
    /// What came of reading the file again, if that was asked for.
    reload: Option<ReloadStatus>,
}

#[derive(Debug, Deserialize, Serialize)]
struct ReloadStatus {
    /// Time since then.
    seconds: f64,
    #[serde(flatten)]
    reload: Reload,
}

/// What is answered to the request for a reload, as one line of JSON.
#[derive(Debug, Deserialize, Serialize)]
struct Reloaded {
    schema: u32,
    event: String,
    #[serde(flatten)]
    reload: Reload,
}

#[derive(Debug, Deserialize, Serialize)]
struct PeerStatus {
    name: String,
    key: String,
    /// What it may carry, if that is limited.
    quota: Option<QuotaStatus>,
    tunnels: Vec<TunnelStatus>,
}

#[derive(Debug, Deserialize, Serialize)]
struct QuotaStatus {
    /// Bytes of SCTP packets in both directions.
    used: u64,
    limit: u64,
    /// Hour, day, week or month.
    period: String,
    /// When the next one begins, as in RFC 3339.
    until: String,
}

impl QuotaStatus {
    fn of(peer: &PeerState) -> Option<Self> {
        let (quota, usage) = peer.usage(quota::now())?;
        Some(Self {
            used: usage.bytes,
            limit: quota.bytes,
            period: quota.period.name().to_owned(),
            until: quota
                .period
                .end(usage.begin)
                .to_rfc3339_opts(SecondsFormat::Secs, true),
        })
    }
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
    payload_duplicated: u64,
    payload_received: u64,
}

/// Prints the status of the tunnel that runs with `file`.
pub(super) async fn show(file: &Path, json: bool) -> Result<(), Failure> {
    let text = ask(file, STATUS).await?;
    if json {
        return print(text);
    }
    print(describe(&parsed(file, &text)?))
}

/// Has the tunnel that runs with `file` read it again, and prints what came of it.
pub(super) async fn reload(file: &Path, json: bool) -> Result<(), Failure> {
    let text = ask(file, RELOAD).await?;
    let Reloaded { reload, .. } = parsed(file, &text)?;
    if let Some(error) = reload.error {
        return Err(Failure::Usage(error));
    }
    match json {
        true => print(text),
        false => print(format!(
            "{}\n",
            reloaded_text(&reload.changes, &reload.needs_restart)
        )),
    }
}

/// Asks the tunnel that runs with `file`.
async fn ask(file: &Path, request: &str) -> Result<String, Failure> {
    let socket = socket_file_of(file);
    let asked = timeout(PATIENCE, ask_at(&socket, request)).await;
    asked
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        .map_err(|error| {
            let (socket, file) = (socket.display(), file.display());
            Failure::Work(format!(
                "{socket}: {error}; is `anabranch tunnel {file}` running, by the same user?"
            ))
        })
}

async fn ask_at(socket: &Path, request: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(request.as_bytes()).await?;
    stream.shutdown().await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}

fn parsed<'t, T: Deserialize<'t>>(file: &Path, text: &'t str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let socket = socket_file_of(file);
        Failure::Work(format!(
            "{}: not an answer of this version: {error}",
            socket.display()
        ))
    })
}

fn describe(status: &Status) -> String {
    let mut text = String::new();
    if let Some(ReloadStatus { seconds, reload }) = &status.reload {
        let told = match &reload.error {
            Some(error) => format!("failed, and changed nothing: {}", printable(error)),
            None => reloaded_text(&reload.changes, &reload.needs_restart),
        };
        text += &format!("reload {seconds:.0} s ago: {told}\n");
    }
    for peer in &status.peers {
        let name = printable(&peer.name);
        if let Some(quota) = &peer.quota {
            let (used, limit) = (bytes_text(quota.used), bytes_text(quota.limit));
            let (period, until) = (printable(&quota.period), printable(&quota.until));
            text += &format!("{name}: {used} of {limit} used, the next {period} begins {until}\n");
        }
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
                let duplicates = match path.payload_duplicated {
                    0 => String::new(),
                    bytes => format!(" (duplicates {})", bytes_text(bytes)),
                };
                let sent = path.payload_sent + path.payload_retransmitted + path.payload_duplicated;
                text += &format!(
                    "  {} -> {}{preference}: {}{rests}{rtt}, sent {}{duplicates}, received {}\n",
                    printable(&path.local),
                    printable(&path.remote),
                    printable(&path.state),
                    bytes_text(sent),
                    bytes_text(path.payload_received)
                );
            }
        }
    }
    text
}

/// Answers questions for the status, and passes requests for a reload on. Without the socket, everything else works.
pub(super) fn listen(
    shared: &Shared,
    reloads: mpsc::Sender<Asked>,
    parts: &mut JoinSet<Result<Infallible, Failure>>,
) {
    let file = socket_file_of(&shared.state.config().file);
    match SocketFile::open(&file) {
        Ok((listener, file)) => {
            let state = Arc::clone(&shared.state);
            parts.spawn(async move { Ok(answer_all(&state, &reloads, &listener, file).await) });
        }
        Err(error) => shared.warn(&format!(
            "{}: {error}; `anabranch tunnel status` and `anabranch tunnel reload` will not work",
            file.display()
        )),
    }
}

async fn answer_all(
    state: &State,
    reloads: &mpsc::Sender<Asked>,
    listener: &UnixListener,
    _file: SocketFile,
) -> Infallible {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PATIENCE).await;
            continue;
        };
        // A program that is gone, or does not read, gets no answer.
        let _ = timeout(PATIENCE, answer(state, reloads, stream)).await;
    }
}

async fn answer(state: &State, reloads: &mpsc::Sender<Asked>, mut stream: UnixStream) -> io::Result<()> {
    let mut request = String::new();
    (&mut stream)
        .take(LONGEST_REQUEST)
        .read_to_string(&mut request)
        .await?;
    let text = match request.as_str() {
        RELOAD => {
            let (asked, answer) = oneshot::channel();
            // Both fail when the program ends.
            let _ = reloads.send(asked).await;
            let reload = answer.await.map_err(io::Error::other)?;
            json_line(&Reloaded {
                schema: SCHEMA,
                event: "tunnel-reloaded".to_owned(),
                reload,
            })
        }
        _ => line(state),
    };
    stream.write_all(text.as_bytes()).await
}

/// The status of the moment, as a line of JSON.
pub(super) fn line(state: &State) -> String {
    json_line(&status(state))
}

fn json_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("invariant: it has string keys only") + "\n"
}

fn status(state: &State) -> Status {
    let peers = state.peers().into_iter().map(|peer| PeerStatus {
        name: peer.name(),
        key: peer.key().to_string(),
        quota: QuotaStatus::of(&peer),
        tunnels: peer
            .tunnels()
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
        reload: state.reloaded().map(|(at, reload)| ReloadStatus {
            seconds: at.elapsed().as_secs_f64(),
            reload,
        }),
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

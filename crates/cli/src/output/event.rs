//! Events reported to users and programs. Their JSON form is described in docs/cli-json.md.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use ipnet::IpNet;
use serde::{Serialize, Serializer};

use super::paths::PathReport;
use super::test_report::{IntervalReport, TestReport};
use crate::transfer::{Digest, Kind, Word};

/// JSON is UTF-8; file names need not be.
fn as_shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// An event reported to users and programs.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event<'a> {
    /// The receiver is ready.
    Listening {
        addresses: &'a [SocketAddr],
        /// What `--to` of senders takes, if packets are encrypted.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<&'a str>,
        /// What senders have to know (`--word`).
        #[serde(skip_serializing_if = "Option::is_none")]
        word: Option<&'a Word>,
        #[serde(serialize_with = "as_shown")]
        folder: &'a Path,
    },
    /// The live view can be opened.
    Dashboard { url: &'a str },
    /// The handshake is complete.
    Connected { transfer: u64, paths: &'a [PathReport] },
    /// An uplink was tested.
    Uplink(&'a UplinkReport),
    /// All uplinks were tested.
    Check { uplinks: u64, working: u64 },
    /// The receiver is busy with other senders.
    Waiting { transfer: u64, ahead: u64 },
    /// The receiver accepted an offer.
    Offered {
        transfer: u64,
        name: &'a str,
        /// Where the sender's packets come from.
        peer: SocketAddr,
        #[serde(skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
        /// Number of files, folders and links.
        entries: u64,
    },
    /// An entry that would be sent (`--dry-run`).
    Planned {
        path: &'a str,
        kind: Kind,
        #[serde(skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
    /// Everything that would be sent (`--dry-run`).
    Plan {
        files: u64,
        entries: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
    /// A file was sent, or is complete at the receiver.
    File {
        transfer: u64,
        path: &'a str,
        size: u64,
        /// Bytes that were there before.
        from: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        sha256: Option<Digest>,
    },
    /// The connection was lost, and the sender is going to make another (`--retry`).
    Retry {
        transfer: u64,
        message: &'a str,
        /// Time until then.
        seconds: f64,
    },
    /// Progress, at regular intervals.
    Progress(&'a Progress),
    /// A path changed.
    Path {
        transfer: u64,
        path: u64,
        local: SocketAddr,
        remote: SocketAddr,
        change: &'static str,
        /// The new path MTU, if that changed.
        #[serde(skip_serializing_if = "Option::is_none")]
        mtu: Option<u16>,
        /// Number of times that this change occurred since it was reported last.
        count: u64,
    },
    /// The receiver has stored and verified everything.
    Stored {
        transfer: u64,
        name: &'a str,
        peer: SocketAddr,
        files: u64,
        size: u64,
        entries: &'a [StoredReport],
        /// Path of the only entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<&'a str>,
        /// Digest of the only file.
        #[serde(skip_serializing_if = "Option::is_none")]
        sha256: Option<Digest>,
    },
    /// A transfer is complete.
    Summary(&'a Summary),
    /// A run of the demo begins.
    Run {
        run: &'a str,
        size: u64,
        upper_bound_bit_s: f64,
    },
    /// The demo has cut a path.
    Cut { path: u64 },
    /// A run of the demo is complete.
    Row { transfer: u64, row: &'a DemoRow },
    /// The demo's outcome, after its last run.
    Demo {
        rows: &'a [DemoRow],
        sum_of_single_bit_s: f64,
        verdict: &'a str,
        note: &'a str,
        passed: bool,
    },
    /// The server of tests is ready.
    TestListening {
        addresses: &'a [SocketAddr],
        /// What clients connect to, if packets are encrypted.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<&'a str>,
    },
    /// A test begins. For users only: programs get it with the results.
    #[serde(skip)]
    TestBegins(&'a str),
    /// An interval of a test is over. For users only: programs get all of them with the results.
    #[serde(skip)]
    TestInterval(&'a IntervalReport),
    /// A test is over.
    Test(&'a TestReport),
    /// The server of a tunnel is ready.
    TunnelListening {
        addresses: &'a [SocketAddr],
        /// Its public key.
        key: &'a str,
    },
    /// Programs can use a tunnel.
    TunnelEntrance {
        /// `socks`, `http` or `forward`.
        kind: &'static str,
        address: SocketAddr,
        /// Where a forward leads.
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<&'a str>,
        /// The peer that makes the connections.
        peer: &'a str,
    },
    /// Packets of this host go through a tunnel.
    TunnelDevice {
        name: &'a str,
        addresses: &'a [IpNet],
        /// Networks that are reached through it.
        routes: &'a [IpNet],
        peer: &'a str,
    },
    /// There is a tunnel to a peer.
    TunnelUp {
        peer: &'a str,
        /// Its number, also of its paths' changes.
        transfer: u64,
        paths: &'a [PathReport],
    },
    /// A tunnel has ended, or did not come up.
    TunnelDown {
        peer: &'a str,
        message: &'a str,
        /// Time until this end tries again, if it does.
        #[serde(skip_serializing_if = "Option::is_none")]
        seconds: Option<f64>,
    },
    /// The file of the tunnels was read again.
    TunnelReloaded {
        /// Why nothing has changed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<&'a str>,
        /// What has changed.
        changes: &'a [String],
        /// Keys that say something else, and need a restart.
        needs_restart: &'a [String],
    },
    /// A problem, of one transfer or of the program, that does not end it.
    Warning {
        #[serde(skip_serializing_if = "Option::is_none")]
        transfer: Option<u64>,
        /// The path concerned.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<u64>,
        message: &'a str,
    },
    /// A transfer failed, and the program goes on or ends.
    Error {
        #[serde(skip_serializing_if = "Option::is_none")]
        transfer: Option<u64>,
        message: &'a str,
        /// Absent if the program goes on.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<u8>,
    },
}

/// A file or folder that was stored.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StoredReport {
    pub(crate) name: String,
    /// Its path; JSON is UTF-8, names of folders need not be.
    pub(crate) file: String,
    pub(crate) kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<Digest>,
}

/// Result of the test of one uplink.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct UplinkReport {
    /// The device with the address.
    pub(crate) device: Option<String>,
    pub(crate) local: IpAddr,
    pub(crate) remote: SocketAddr,
    /// The route of its packets: `routing-table`, `bound-to-device`, `none` or `unknown`.
    pub(crate) route: &'static str,
    pub(crate) works: bool,
    pub(crate) rtt_ms: Option<f64>,
    /// Largest IP packet that passes, in bytes.
    pub(crate) mtu: Option<u16>,
    /// The source of its packets as the receiver sees it.
    pub(crate) seen_as: Option<SocketAddr>,
    /// Whether `seen_as` differs from the local address and port.
    pub(crate) nat: Option<bool>,
    /// What the user can do if the uplink does not work.
    pub(crate) advice: Option<String>,
}

/// Progress of a transfer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Progress {
    pub(crate) transfer: u64,
    /// Bytes of the files acknowledged (sender) or received (receiver), also in earlier sessions.
    pub(crate) bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<u64>,
    /// Time since the start.
    pub(crate) seconds: f64,
    pub(crate) paths: Vec<PathReport>,
}

/// Summary of a complete transfer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) transfer: u64,
    /// `send` or `recv`
    pub(crate) role: &'static str,
    pub(crate) name: String,
    /// Where it was sent, or came from: `IP:port`, of a receiver all that were given.
    pub(crate) peer: String,
    pub(crate) files: u64,
    pub(crate) size: u64,
    /// Bytes of them that were there before this session.
    pub(crate) resumed_bytes: u64,
    /// Digest of the only file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<Digest>,
    /// Time from the start (for a sender, the first packet of the handshake) to the confirmation.
    pub(crate) seconds: f64,
    pub(crate) goodput_bit_s: f64,
    pub(crate) paths: Vec<PathReport>,
}

/// One run of the demo.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DemoRow {
    pub(crate) run: String,
    pub(crate) size: u64,
    pub(crate) seconds: f64,
    pub(crate) goodput_bit_s: f64,
    /// Upper bound of the goodput: the links' rates without headers and losses.
    pub(crate) upper_bound_bit_s: f64,
    /// The receiver's SHA-256 is the sender's.
    pub(crate) verified: bool,
    /// A path was cut half-way.
    pub(crate) cut: bool,
    /// User data carried by each path, retransmissions included.
    pub(crate) carried: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn folder_name_that_is_not_utf_8_is_reported() {
        let folder = Path::new(OsStr::from_bytes(b"d\xff"));
        let event = Event::Listening {
            addresses: &[],
            to: None,
            word: None,
            folder,
        };
        let told = serde_json::to_value(event).unwrap();
        assert_eq!(told["folder"], "d\u{fffd}");
    }
}

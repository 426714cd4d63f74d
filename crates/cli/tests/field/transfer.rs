//! One transfer over a test network, compared byte by byte: what do both ends say, and when does something happen meanwhile?

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anabranch::SEAL_OVERHEAD;
use serde_json::Value;
use tempfile::TempDir;

use super::harness::{CONFIGURATION, PROGRAM, Running, file};
use super::network::Host;

/// A sender and a receiver that have begun.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) sender: Running,
    pub(crate) receiver: Running,
    path: PathBuf,
    inbox: TempDir,
    _outbox: TempDir,
}

/// What is sent, from where, to where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'a> {
    pub(crate) client: &'a Host,
    pub(crate) server: &'a Host,
    pub(crate) bytes: usize,
    /// Options of `send`, `--to` among them: the receiver's addresses without its key.
    pub(crate) send: &'a [&'a str],
    /// Options of `recv`.
    pub(crate) recv: &'a [&'a str],
}

impl Order<'_> {
    pub(crate) fn start(self) -> Transfer {
        let outbox = tempfile::tempdir().unwrap();
        let path = file(&outbox, "big.bin", self.bytes);
        let inbox = tempfile::tempdir().unwrap();
        let mut receive = anabranch_on(self.server);
        receive
            .args(["recv", "--json", "--once"])
            .args(self.recv)
            .arg(inbox.path());
        let mut receiver = Running::start(&mut receive);
        let key = key_of(&receiver.event("listening"));
        let mut send = anabranch_on(self.client);
        send.args(["send", "--json"]);
        let mut is_receiver = false;
        for argument in self.send {
            let argument = if is_receiver {
                format!("{key}@{argument}")
            } else {
                (*argument).to_owned()
            };
            is_receiver = argument == "--to";
            send.arg(argument);
        }
        let sender = Running::start(send.arg(&path));
        Transfer {
            sender,
            receiver,
            path,
            inbox,
            _outbox: outbox,
        }
    }
}

impl Transfer {
    /// Where the receiver stores the file.
    pub(crate) fn inbox(&self) -> &Path {
        self.inbox.path()
    }

    /// Waits for the end and compares the files. Returns the sender's summary.
    pub(crate) fn finish(mut self) -> Value {
        let summary = self.sender.event("summary");
        assert_eq!(self.receiver.event("stored")["sha256"], summary["sha256"]);
        let stored = std::fs::read(self.inbox.path().join("big.bin")).unwrap();
        assert!(stored == std::fs::read(&self.path).unwrap(), "the files differ");
        summary
    }
}

/// The public key of a receiver by its event `listening`.
pub(crate) fn key_of(listening: &Value) -> String {
    let (key, _) = listening["to"].as_str().unwrap().split_once('@').unwrap();
    key.to_owned()
}

/// The program under test on `host`. `ip` becomes that program, so that killing the child ends it.
pub(crate) fn anabranch_on(host: &Host) -> Command {
    let mut command = host.command(PROGRAM);
    command
        .env("XDG_CONFIG_HOME", CONFIGURATION)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The largest IP packet that a path of a summary carries, in bytes.
pub(crate) fn mtu(summary: &Value, path: usize) -> u64 {
    summary["paths"][path]["mtu"].as_u64().unwrap() + u64::from(SEAL_OVERHEAD)
}

/// User data that each path of a summary carried for the first time, in bytes.
pub(crate) fn carried(summary: &Value) -> Vec<u64> {
    let paths = summary["paths"].as_array().unwrap().iter();
    paths.map(|path| path["payload_sent"].as_u64().unwrap()).collect()
}

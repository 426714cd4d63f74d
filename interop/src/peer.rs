//! Driver of peer programs: starts them with options and reads their reports.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde::Deserialize;

/// How long a program may take to open its socket.
const START: Duration = Duration::from_secs(30);

/// A JSON line that a program prints.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line {
    Listening {
        #[serde(default)]
        fingerprint: Option<String>,
    },
    Report(Report),
}

/// Final report of a program; see `peers/README.md`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Report {
    /// Whether the handshake was completed.
    pub connected: bool,
    /// `finished`, `aborted`, or another reason.
    pub ended: String,
    /// Messages sent.
    pub sent: u32,
    /// Messages received.
    pub received: u32,
    /// Bytes received.
    pub bytes: u64,
    /// Bits per second, from the first message received to the last.
    pub goodput_bit_per_second: f64,
    /// Number of our addresses that it knows.
    pub paths: i32,
    /// First error in received messages; empty if none.
    pub error: String,
}

/// A running program. It is killed when this is dropped.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    lines: Receiver<Result<Line, String>>,
    report: Option<Report>,
}

impl Peer {
    /// Starts it and waits until its socket is open.
    ///
    /// # Errors
    ///
    /// The program does not start.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let parsed = serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"));
                if sender.send(parsed).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            lines,
            report: None,
        })
    }

    /// Waits until its socket is open. Returns the fingerprint of its certificate if it uses DTLS.
    ///
    /// # Errors
    ///
    /// It ended early or takes too long.
    pub fn wait_until_listening(&mut self) -> io::Result<Option<String>> {
        match self.lines.recv_timeout(START) {
            Ok(Ok(Line::Listening { fingerprint })) => Ok(fingerprint),
            other => Err(io::Error::other(format!("no word of listening: {other:?}"))),
        }
    }

    /// Its report, once it has printed one.
    ///
    /// # Errors
    ///
    /// Its output is not valid.
    pub fn report(&mut self) -> io::Result<Option<&Report>> {
        for line in self.lines.try_iter() {
            match line.map_err(io::Error::other)? {
                Line::Report(report) => self.report = Some(report),
                Line::Listening { .. } => {}
            }
        }
        Ok(self.report.as_ref())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may already have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

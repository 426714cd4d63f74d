//! How is a foreign program spoken to? It is told what to do when it starts, and reports at the end.

use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde::Deserialize;

/// The longest that a program may take to open its socket.
const START: Duration = Duration::from_secs(30);

/// A line that a program prints.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line {
    Listening,
    Report(Report),
}

/// What a program says in the end; see `peers/README.md`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Report {
    /// Whether the handshake was completed.
    pub connected: bool,
    /// `finished`, `aborted`, or what else.
    pub ended: String,
    /// Messages sent.
    pub said: u32,
    /// Messages received.
    pub heard: u32,
    /// Bytes of them.
    pub bytes: u64,
    /// Bits per second, from the first message received to the last.
    pub goodput_bit_per_second: f64,
    /// Addresses of ours that it knows.
    pub paths: i32,
    /// What was wrong with what it received, or nothing.
    pub complaint: String,
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
    /// It does not start, or says something else than it should.
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

    /// Waits until its socket is open.
    ///
    /// # Errors
    ///
    /// It ended before, or takes too long.
    pub fn listens(&mut self) -> io::Result<()> {
        match self.lines.recv_timeout(START) {
            Ok(Ok(Line::Listening)) => Ok(()),
            other => Err(io::Error::other(format!("no word of listening: {other:?}"))),
        }
    }

    /// Its report, once there is one.
    ///
    /// # Errors
    ///
    /// It said something that is no report.
    pub fn report(&mut self) -> io::Result<Option<&Report>> {
        for line in self.lines.try_iter() {
            match line.map_err(io::Error::other)? {
                Line::Report(report) => self.report = Some(report),
                Line::Listening => {}
            }
        }
        Ok(self.report.as_ref())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing is left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

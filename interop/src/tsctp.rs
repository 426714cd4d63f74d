//! How is usrsctp spoken to? Its test program sends to us, or receives from us and says how much.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use tempfile::NamedTempFile;

/// A running `tsctp`. It is killed when this is dropped.
#[derive(Debug)]
pub struct Tsctp {
    child: Child,
    output: NamedTempFile,
}

impl Tsctp {
    /// A server on the SCTP port `sctp_port`, encapsulated at the UDP port `own`; the peer's is `theirs`. It
    /// needs a moment to open its socket.
    ///
    /// # Errors
    ///
    /// The program does not start.
    pub fn serve(program: &Path, own: u16, theirs: u16, sctp_port: u16) -> io::Result<Self> {
        let mut command = Command::new(program);
        ports(&mut command, own, theirs, sctp_port);
        Self::start(command)
    }

    /// A client that sends `count` messages of `length` bytes to `peer` from the UDP port `own`, and parts.
    ///
    /// # Errors
    ///
    /// The program does not start.
    pub fn send(
        program: &Path,
        own: u16,
        peer: SocketAddr,
        sctp_port: u16,
        (count, length): (usize, usize),
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        ports(&mut command, own, peer.port(), sctp_port);
        command.args(["-n", &count.to_string(), "-l", &length.to_string()]);
        command.arg(peer.ip().to_string());
        Self::start(command)
    }

    /// What it prints goes to a file: it chats without end, and would stop once a pipe is full.
    fn start(mut command: Command) -> io::Result<Self> {
        let output = NamedTempFile::new()?;
        let stdout = File::options().append(true).open(output.path())?;
        let child = command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .stdout(stdout)
            .spawn()?;
        Ok(Self { child, output })
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    ///
    /// Those of the operating system.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// The number of messages that a server has received from a client that has parted: it says so in a line
    /// `length, messages, calls, bytes, seconds, …`.
    ///
    /// # Errors
    ///
    /// Its output cannot be read.
    pub fn messages(&self) -> io::Result<Option<usize>> {
        let output = std::fs::read(self.output.path())?;
        let output = String::from_utf8_lossy(&output);
        let mut reports = output.lines().filter_map(|line| {
            let numbers: Vec<_> = line.split(", ").collect();
            let is_report = numbers.len() >= 6 && numbers.iter().all(|number| number.parse::<f64>().is_ok());
            is_report.then(|| numbers[1].parse().ok()).flatten()
        });
        Ok(reports.next())
    }
}

fn ports(command: &mut Command, own: u16, theirs: u16, sctp_port: u16) {
    for (option, port) in [("-E", own), ("-U", theirs), ("-p", sctp_port)] {
        command.args([option, &port.to_string()]);
    }
}

impl Drop for Tsctp {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing is left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

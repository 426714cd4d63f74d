//! usrsctp on both hosts: a C program at each end, built on demand, that reports its progress.

use core::time::Duration;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anabranch_emu::bed::{Hosts, Side};
use anabranch_netsim::topology;
use anabranch_sim::DataCounters;
use serde::Deserialize;
use tempfile::TempDir;

use super::stack::{Stack, StackCounters};
use crate::plan::Setting;
use crate::run::samples::EVERY;

/// Sources of the program; `interop` also uses them.
const SOURCE: &str = include_str!("usrsctp_peer.c");
const OPTIONS: &str = include_str!("usrsctp_options.h");
/// Port of the UDP encapsulation, if used.
const UDP_PORT: u16 = 9_899;
/// Longer than any run.
const FOR_EVER: u32 = 1_000_000;
/// Maximum time for the program to open its socket.
const START: Duration = Duration::from_secs(10);

/// Both ends.
pub(super) struct Usrsctp {
    near: Program,
    far: Program,
    _folder: TempDir,
}

/// One end.
struct Program {
    child: Child,
    said: Arc<Mutex<Said>>,
    reader: Option<JoinHandle<()>>,
}

/// Output of a program so far.
#[derive(Clone, Debug, Default)]
struct Said {
    is_listening: bool,
    progress: Progress,
    /// Its standard error, once it has ended.
    last_words: Option<String>,
}

/// A line of the program's output.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line {
    Listening,
    Progress(Progress),
    Report(Progress),
}

/// Progress of a program.
#[derive(Clone, Debug, Default, Deserialize)]
struct Progress {
    connected: bool,
    received: u64,
    bytes: u64,
    data_chunks: u64,
    retransmitted: u64,
    fast_retransmitted: u64,
    timeouts: u64,
    error: String,
}

impl Usrsctp {
    pub(super) fn start(setting: &Setting, hosts: &Hosts) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let program = folder.path().join("usrsctp_peer");
        let source = program.with_extension("c");
        std::fs::write(&source, SOURCE)?;
        std::fs::write(folder.path().join("usrsctp_options.h"), OPTIONS)?;
        let mut compiler = Command::new("cc");
        compiler
            .arg("-O2")
            .arg("-o")
            .args([&program, &source])
            .args(["-lusrsctp", "-lpthread"]);
        let output = compiler
            .output()
            .map_err(|error| needed(&format!("cc: {error}")))?;
        if !output.status.success() {
            return Err(needed(&String::from_utf8_lossy(&output.stderr)));
        }
        let start = |side| {
            let mut command = Command::new(&program);
            command.args(arguments(setting, side));
            Program::start(command, hosts, side)
        };
        let far = start(Side::Far)?;
        far.listens()?;
        Ok(Self {
            near: start(Side::Near)?,
            far,
            _folder: folder,
        })
    }

    fn check(&self) -> io::Result<()> {
        for (end, program) in [("near", &self.near), ("far", &self.far)] {
            let said = program.said();
            if let Some(last_words) = &said.last_words {
                let error = &said.progress.error;
                return Err(io::Error::other(format!(
                    "usrsctp, {end} end, has ended: {error} {last_words}"
                )));
            }
        }
        Ok(())
    }
}

fn needed(why: &str) -> io::Error {
    let text = format!(
        "usrsctp is built from C with Debian's libusrsctp-dev and a compiler: {}",
        why.trim()
    );
    io::Error::other(text)
}

fn arguments(setting: &Setting, side: Side) -> Vec<String> {
    let addresses = |side| {
        let address = if side == Side::Near {
            topology::near_addr
        } else {
            topology::far_addr
        };
        let numbers = 0..u8::try_from(setting.paths.len()).unwrap_or(u8::MAX);
        let addresses: Vec<String> = numbers.map(|number| address(number).to_string()).collect();
        addresses.join(",")
    };
    let udp = if setting.association.udp { UDP_PORT } else { 0 };
    let app = setting.apps.iter().next().map(|(_, app)| app);
    let streams = app.and_then(|app| app.streams).map_or(1, |streams| streams.0);
    let mut arguments: Vec<String> = [
        ("--own", addresses(side)),
        ("--own-udp", udp.to_string()),
        ("--peer-udp", udp.to_string()),
        (
            "--send-buffer",
            setting.association.send_buffer.bytes().to_string(),
        ),
        (
            "--receive-buffer",
            setting.association.receive_buffer.bytes().to_string(),
        ),
        ("--streams", streams.to_string()),
        ("--lengths", app.map_or(1_000, |app| app.message.0).to_string()),
        ("--end", "wait".to_owned()),
        ("--progress", EVERY.as_millis().to_string()),
    ]
    .into_iter()
    .flat_map(|(option, value)| [option.to_owned(), value])
    .collect();
    if side == Side::Near {
        arguments.extend(["--connect".to_owned(), "--peer".to_owned(), addresses(Side::Far)]);
        let (option, count) = match app.and_then(|app| app.messages) {
            Some(messages) => ("--send", messages.0),
            None => ("--seconds", FOR_EVER),
        };
        arguments.extend([option.to_owned(), count.to_string()]);
    }
    for (knob, value) in setting.usrsctp.iter() {
        arguments.extend(["--set".to_owned(), format!("{knob}={}", value.0)]);
    }
    arguments
}

impl Program {
    fn start(mut command: Command, hosts: &Hosts, side: Side) -> io::Result<Self> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = hosts.within(side, move || command.spawn())??;
        let said = Arc::<Mutex<Said>>::default();
        let (Some(output), Some(mut errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let reader = {
            let said = Arc::clone(&said);
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    hear(&said, &line);
                }
                let mut last_words = String::new();
                // Unreadable output is treated as empty.
                let _ = errors.read_to_string(&mut last_words);
                lock(&said).last_words = Some(last_words.trim().to_owned());
            })
        };
        Ok(Self {
            child,
            said,
            reader: Some(reader),
        })
    }

    fn said(&self) -> Said {
        lock(&self.said).clone()
    }

    fn listens(&self) -> io::Result<()> {
        let end = Instant::now() + START;
        while Instant::now() < end {
            let said = self.said();
            if said.is_listening {
                return Ok(());
            }
            if let Some(last_words) = said.last_words {
                return Err(io::Error::other(format!("usrsctp does not start: {last_words}")));
            }
            thread::sleep(EVERY);
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

fn hear(said: &Mutex<Said>, line: &str) {
    let mut said = lock(said);
    match serde_json::from_str(line) {
        Ok(Line::Listening) => said.is_listening = true,
        Ok(Line::Progress(progress) | Line::Report(progress)) => said.progress = progress,
        Err(error) => said.progress.error = format!("{error}: {line}"),
    }
}

fn lock(said: &Mutex<Said>) -> MutexGuard<'_, Said> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Program {
    fn drop(&mut self) {
        // The program may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            // A panic has already been printed.
            let _ = reader.join();
        }
    }
}

impl Stack for Usrsctp {
    fn is_connected(&mut self) -> io::Result<bool> {
        self.check()?;
        Ok(self.far.said().progress.connected)
    }

    fn bytes_read(&mut self) -> io::Result<u64> {
        self.check()?;
        Ok(self.far.said().progress.bytes)
    }

    fn counters(&mut self) -> io::Result<StackCounters> {
        self.check()?;
        let (near, far) = (self.near.said().progress, self.far.said().progress);
        // Counted in chunks.
        let data = DataCounters {
            timeouts: Some(near.timeouts),
            fast_retransmits: Some(near.fast_retransmitted),
            sent: Some(near.data_chunks),
            retransmitted: Some(near.retransmitted),
            ..DataCounters::default()
        };
        let damaged = u64::from(!far.error.is_empty());
        Ok(StackCounters::new(data, Vec::new()).read(far.received, far.bytes, damaged))
    }
}

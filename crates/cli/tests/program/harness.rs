//! Test harness. How do tests run the program? As a child process whose lines of JSON are awaited: nothing sleeps.

use std::io::{BufRead, BufReader, Lines};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// No program of these tests runs longer; one that hangs is killed, and fails its test.
pub(crate) const DEADLINE: Duration = Duration::from_secs(240);

/// The file of the program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_anabranch");

/// Where programs keep their keys: receivers have one key in all tests.
pub(crate) const CONFIGURATION: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/configuration");

/// The program under test, as a terminal starts it: the tests themselves may run under `nohup`.
pub(crate) fn anabranch() -> Command {
    let mut command = Command::new("env");
    command
        .env("XDG_CONFIG_HOME", CONFIGURATION)
        .args(["--default-signal=HUP", PROGRAM])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The program under test, in a network namespace.
pub(crate) fn anabranch_within(namespace: &str) -> Command {
    let mut command = Command::new("ip");
    command
        .env("XDG_CONFIG_HOME", CONFIGURATION)
        .args(["netns", "exec", namespace, PROGRAM])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs `ip`, which root uses to make networks; whether it succeeded.
pub(crate) fn ip(arguments: &[&str]) -> bool {
    let output = Command::new("ip").args(arguments).output();
    output.is_ok_and(|output| output.status.success())
}

/// The result of `make`, which needs root. Without root, the test is skipped with a message, except in CI.
pub(crate) fn needs_root<T>(what: &str, make: impl FnOnce() -> Option<T>) -> Option<T> {
    let made = make();
    if made.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{what}: this test needs root");
        eprintln!("skipped: {what} need root");
    }
    made
}

/// Runs the command to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    anabranch().args(arguments).output().unwrap()
}

/// A child that writes events; killed when dropped, or at the deadline.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    /// Until they are taken.
    lines: Option<Lines<BufReader<ChildStdout>>>,
    /// Ends the wait for the deadline when dropped.
    _watched: Sender<()>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::start_for(DEADLINE, command)
    }

    /// Starts a program that may run for so long.
    pub(crate) fn start_for(deadline: Duration, command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            _watched: killed_after(deadline, child.id()),
            child,
            lines: Some(lines),
        }
    }

    fn lines(&mut self) -> &mut Lines<BufReader<ChildStdout>> {
        self.lines.as_mut().expect("the lines are read elsewhere")
    }

    /// Its further lines, to be read elsewhere.
    pub(crate) fn take_lines(&mut self) -> Lines<BufReader<ChildStdout>> {
        self.lines.take().expect("the lines are read elsewhere")
    }

    /// The next event of this name; those before it are skipped.
    pub(crate) fn event(&mut self, name: &str) -> Value {
        self.event_after(name, |_| {})
    }

    /// Like [`Self::event`]; `each` gets the events before it.
    pub(crate) fn event_after(&mut self, name: &str, mut each: impl FnMut(&Value)) -> Value {
        let parsed = self
            .lines()
            .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let mut seen = Vec::new();
        for event in parsed {
            if event["event"] == name {
                return event;
            }
            each(&event);
            seen.push(event);
        }
        panic!("no event {name} among {seen:#?}");
    }

    /// Reads events until `stop` says so; false if they end before.
    pub(crate) fn skip_until(&mut self, mut stop: impl FnMut(&Value) -> bool) -> bool {
        let lines = self.lines().map_while(Result::ok);
        let mut parsed = lines.map_while(|line| serde_json::from_str::<Value>(&line).ok());
        parsed.any(|event| stop(&event))
    }

    /// Waits for the end: exit code and standard error.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut errors = String::new();
        std::io::Read::read_to_string(&mut self.child.stderr.take().unwrap(), &mut errors).unwrap();
        (self.child.wait().unwrap().code(), errors)
    }

    /// Waits for the end: exit code.
    pub(crate) fn exit_code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGINT, like Ctrl-C.
    pub(crate) fn interrupt(&self) {
        self.signal("-INT");
    }

    /// Sends SIGHUP, like a terminal that closes.
    pub(crate) fn hang_up(&self) {
        self.signal("-HUP");
    }

    /// Sends it a signal, as `kill` names it.
    pub(crate) fn signal(&self, name: &str) {
        assert!(send_signal(self.child.id(), name));
    }

    /// Whether it handles Ctrl-C itself by now (Linux).
    pub(crate) fn listens_to_interrupts(&self) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
        // Signal n is bit n - 1, and SIGINT is 2.
        caught & 0b10 != 0
    }

    pub(crate) fn standard_input(&mut self) -> std::process::ChildStdin {
        self.child.stdin.take().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Kills a process after so long, unless the result is dropped before.
pub(crate) fn killed_after(deadline: Duration, process: u32) -> Sender<()> {
    let (watched, ended) = mpsc::channel();
    thread::spawn(move || {
        if ended.recv_timeout(deadline) == Err(RecvTimeoutError::Timeout) {
            send_signal(process, "-KILL");
        }
    });
    watched
}

/// Sends a signal to a process; whether there was one.
pub(crate) fn send_signal(process: u32, name: &str) -> bool {
    let status = Command::new("kill").args([name, &process.to_string()]).status();
    status.is_ok_and(|status| status.success())
}

/// A receiver, its folder, and where it listens.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) running: Running,
    pub(crate) folder: TempDir,
    /// As `--to` takes it.
    pub(crate) to: String,
    /// What senders have to know.
    pub(crate) word: Option<String>,
    /// Address of the live view, if it has one.
    pub(crate) url: Option<String>,
}

impl Receiver {
    /// Listens on free ports of `addresses`, separated by commas.
    pub(crate) fn start(addresses: &str, options: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), addresses, options)
    }

    pub(crate) fn start_in(folder: TempDir, addresses: &str, options: &[&str]) -> Self {
        let listen: Vec<String> = addresses
            .split(',')
            .map(|address| format!("{address}:0"))
            .collect();
        let mut command = anabranch();
        command
            .args(["recv", "--json", "--listen", &listen.join(",")])
            .args(options)
            .arg(folder.path());
        let mut running = Running::start(&mut command);
        let mut url = None;
        let listening = running.event_after("listening", |event| {
            url = event["url"].as_str().map(str::to_owned);
        });
        let addresses = listening["addresses"].as_array().unwrap().iter();
        let to = addresses
            .map(|address| address.as_str().unwrap())
            .collect::<Vec<_>>()
            .join(",");
        let to = listening["to"].as_str().map_or(to, str::to_owned);
        Self {
            running,
            folder,
            to,
            word: listening["word"].as_str().map(str::to_owned),
            url,
        }
    }

    /// Starts it again at the same port, when it has ended or is to be killed.
    pub(crate) fn restart(&mut self, options: &[&str]) {
        self.running.kill();
        let (_, address) = self.to.split_once('@').unwrap();
        let mut command = anabranch();
        command
            .args(["recv", "--json", "--listen", address])
            .args(options)
            .arg(self.folder.path());
        self.running = Running::start(&mut command);
        self.running.event("listening");
    }

    /// A sender to this receiver.
    pub(crate) fn sender(&self, file: &Path, options: &[&str]) -> Running {
        Running::start(
            anabranch()
                .args(["send", "--json", "--to", &self.to])
                .args(options)
                .arg(file),
        )
    }

    /// Names in the folder, without what the receiver keeps there until the sender knows that everything is stored.
    pub(crate) fn stored_names(&self) -> Vec<String> {
        let is_visible = |name: &String| !name.starts_with('.');
        let mut names: Vec<String> = self.names().into_iter().filter(is_visible).collect();
        names.sort();
        names
    }

    /// Names of all files in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

/// A file with bytes that differ everywhere.
pub(crate) fn file(folder: &TempDir, name: &str, size: usize) -> PathBuf {
    let path = folder.path().join(name);
    let mut state = 0x9e37_79b9_u32;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(size)
    .collect();
    std::fs::write(&path, bytes).unwrap();
    path
}

/// An address that never answers while the socket is open.
pub(crate) fn silent_address() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    (socket, address)
}

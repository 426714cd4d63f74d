//! Test harness. How do tests run programs with the library preloaded, and when is a server ready?

use std::ffi::OsStr;
use std::fs;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;

/// Seconds after which a program is killed.
const LIMIT: &str = "60";

/// The library, beside the folder of this test.
pub(crate) fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let library = test.with_file_name("libanabranch_sctp.so");
    assert!(library.is_file(), "{} is missing", library.display());
    library
}

/// Whether a file or program that the test needs is there. If not, the test is skipped with a message, except in CI.
pub(crate) fn has(path: &str) -> bool {
    let found = Path::new(path).exists();
    if !found {
        assert!(
            std::env::var_os("CI").is_none(),
            "{path} is missing: run scripts/setup"
        );
        eprintln!("skipped: {path} is missing: run scripts/setup");
    }
    found
}

/// A free port, also in TCP.
pub(crate) fn port() -> String {
    let free = std::iter::repeat_with(|| UdpSocket::bind("127.0.0.1:0").unwrap());
    let port = |udp: UdpSocket| udp.local_addr().unwrap().port();
    let is_free = |port: &u16| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok();
    // stress-ng takes no port above this one.
    let mut fit = free.map(port).filter(|port| *port <= 57_343);
    fit.find(is_free).unwrap().to_string()
}

/// A program with the library preloaded, which is killed after some time.
pub(crate) fn program<S: AsRef<OsStr>>(name: &str, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", LIMIT, name]).args(arguments);
    command
        .env("LD_PRELOAD", library())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A program whose system calls the library answers from another process, as `anabranch run` starts those that nothing can be preloaded
/// into. It is killed after some time.
pub(crate) fn supervised<S: AsRef<OsStr>>(path: &Path, arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new("timeout");
    // `env` runs a program that the library takes over; so `timeout` stays as it is.
    command.args(["--kill-after=1", LIMIT, "env", "ANABRANCH_SUPERVISE="]);
    command.arg(format!("LD_PRELOAD={}", library().display()));
    command.arg("/bin/true").args([path, path]).args(arguments);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a program to its end, which has to be a success; returns what it wrote.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = text(&output);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    text
}

fn text(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// A program that runs beside the test, and is killed with it.
pub(crate) struct Running {
    child: Option<Child>,
    output: Option<JoinHandle<String>>,
}

impl Running {
    /// Starts a program; what it writes is collected.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let errors = std::thread::spawn(|| all(stderr));
        let output = std::thread::spawn(move || all(stdout) + &errors.join().unwrap());
        Self {
            child: Some(child),
            output: Some(output),
        }
    }

    /// Starts a server; returns when it has bound the UDP port of its SCTP port.
    pub(crate) fn serve(command: &mut Command, udp_port: &str) -> Self {
        let mut server = Self::start(command);
        let number: u16 = udp_port.parse().unwrap();
        let wanted = format!(":{number:04X} ");
        let is_bound = || {
            let tables = ["/proc/net/udp", "/proc/net/udp6"]
                .map(|table| fs::read_to_string(table).unwrap_or_default());
            tables.iter().any(|table| table.contains(&wanted))
        };
        while !is_bound() {
            let ended = server.child.as_mut().and_then(|child| child.try_wait().unwrap());
            if ended.is_some() {
                panic!("{command:?} has ended: {}", server.finish());
            }
            std::thread::yield_now();
        }
        server
    }

    /// Waits until the program has written this to its standard error.
    pub(crate) fn until(command: &mut Command, wanted: &str) -> Self {
        let mut child = command.spawn().unwrap();
        let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
        let mut seen = String::new();
        while !seen.contains(wanted) {
            let length = std::io::BufRead::read_line(&mut errors, &mut seen).unwrap();
            assert!(length > 0, "{command:?} has ended: {seen}");
        }
        let output = std::thread::spawn(move || seen + &all(errors));
        Self {
            child: Some(child),
            output: Some(output),
        }
    }

    /// Waits for the end; returns what the program wrote.
    pub(crate) fn finish(mut self) -> String {
        if let Some(mut child) = self.child.take() {
            child.wait().unwrap();
        }
        self.output
            .take()
            .map(|output| output.join().unwrap())
            .unwrap_or_default()
    }

    /// Ends the program as Ctrl-C does; returns what it wrote.
    pub(crate) fn interrupt(self) -> String {
        if let Some(child) = &self.child {
            let id = child.id().to_string();
            // `timeout` passes the signal on.
            run(Command::new("kill").args(["-TERM", &id]));
        }
        self.finish()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // `timeout` ends its program with itself.
            let _ = Command::new("kill")
                .args(["-TERM", &child.id().to_string()])
                .status();
            let _ = child.wait();
        }
    }
}

fn all(mut pipe: impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A file of the tests, beside the programs in C.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/unmodified")
        .join(name)
}

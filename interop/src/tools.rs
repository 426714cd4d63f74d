//! Which foreign programs are there? What is missing where CI runs is an error; elsewhere a test is skipped, and says so.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};

/// A program that tests need, and who has it.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    name: &'static str,
    /// A folder to look in before those of the variable `PATH`.
    home: &'static str,
    /// Where to get it.
    advice: &'static str,
}

/// Wireshark's dissector for terminals.
pub const TSHARK: Tool = Tool::new("tshark", "/usr/bin", "scripts/setup, or apt-get install tshark");
/// What leads packets between a device and a socket.
pub const SOCAT: Tool = Tool::new("socat", "/usr/bin", "scripts/setup, or apt-get install socat");
/// The compiler of C.
pub const CC: Tool = Tool::new("cc", "/usr/bin", "scripts/setup, or apt-get install gcc");
/// The compiler of Go. Where it is missing, or too old, it is fetched.
pub const GO: Tool = Tool::new(
    "go",
    "/usr/local/go/bin",
    "Go 1.24 or newer, from go.dev or a package",
);
/// The interpreter of Python.
pub const PYTHON: Tool = Tool::new("python3", "/usr/bin", "Python 3.10 or newer, and its pip");

impl Tool {
    const fn new(name: &'static str, home: &'static str, advice: &'static str) -> Self {
        Self { name, home, advice }
    }

    /// Finds it. `None`, and a message, if it is missing on somebody's own machine.
    ///
    /// # Panics
    ///
    /// If it is missing where CI runs: there, a test that is skipped is a lie.
    #[must_use]
    pub fn find(&self) -> Option<PathBuf> {
        needed(self.look(), self.name, self.advice)
    }

    /// Finds it, where nothing depends on it.
    #[must_use]
    pub fn look(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain([PathBuf::from(self.home)]);
        let mut files = folders.map(|folder| folder.join(self.name));
        files.find(|file| Path::is_file(file))
    }
}

/// Something that a test cannot do without: `None`, and a message, if it is not there on somebody's own machine.
///
/// # Panics
///
/// If it is not there where CI runs (the variable `CI` is set).
#[must_use]
pub fn needed<T>(found: Option<T>, name: &str, advice: &str) -> Option<T> {
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{name} is missing: {advice}");
        eprintln!("skipped: {name} is missing: {advice}");
    }
    found
}

/// A UDP port that was free a moment ago, for a program that wants a number.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub fn free_udp_port() -> u16 {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a free port");
    socket.local_addr().expect("it is bound").port()
}

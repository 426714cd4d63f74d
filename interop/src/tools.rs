//! External programs. A missing one is an error in CI; elsewhere the test is skipped with a message.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};

/// A program that tests need.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    name: &'static str,
    /// A folder to search besides those of `PATH`.
    home: &'static str,
    /// How to install it.
    advice: &'static str,
}

/// Wireshark's dissector for terminals.
pub const TSHARK: Tool = Tool::new("tshark", "/usr/bin", "scripts/setup, or apt-get install tshark");
/// Relays packets between a device and a socket.
pub const SOCAT: Tool = Tool::new("socat", "/usr/bin", "scripts/setup, or apt-get install socat");
/// C compiler.
pub const CC: Tool = Tool::new("cc", "/usr/bin", "scripts/setup, or apt-get install gcc");
/// Go compiler. If missing or too old, it is downloaded.
pub const GO: Tool = Tool::new(
    "go",
    "/usr/local/go/bin",
    "Go 1.24 or newer, from go.dev or a package",
);
/// Python interpreter.
pub const PYTHON: Tool = Tool::new("python3", "/usr/bin", "Python 3.10 or newer, and its pip");

impl Tool {
    const fn new(name: &'static str, home: &'static str, advice: &'static str) -> Self {
        Self { name, home, advice }
    }

    /// Finds the program. `None`, with a message, if it is missing outside CI.
    ///
    /// # Panics
    ///
    /// If it is missing in CI, where tests must not be skipped.
    #[must_use]
    pub fn find(&self) -> Option<PathBuf> {
        needed(self.look(), self.name, self.advice)
    }

    /// Finds an optional program.
    #[must_use]
    pub fn look(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain([PathBuf::from(self.home)]);
        let mut files = folders.map(|folder| folder.join(self.name));
        files.find(|file| Path::is_file(file))
    }
}

/// Checks a precondition of a test: `None`, with a message, if it does not hold outside CI.
///
/// # Panics
///
/// If it does not hold in CI (the variable `CI` is set).
#[must_use]
pub fn needed<T>(found: Option<T>, name: &str, advice: &str) -> Option<T> {
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{name} is missing: {advice}");
        eprintln!("skipped: {name} is missing: {advice}");
    }
    found
}

/// Returns a UDP port that is free now.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub fn free_udp_port() -> u16 {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a free port");
    socket.local_addr().expect("it is bound").port()
}
